"""What the engine refuses of a scenario."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from anabranch.compile import compile_run
from anabranch.engines import packet
from anabranch.scenario import Case, Scenario


def refusals(scenario: Scenario, make: Callable[[str], packet.Simulation] = packet.new_simulation) -> list[str]:
    """What the packet engine refuses of each variant, without running it."""
    found = []
    for case in scenario.cases:
        try:
            make(json.dumps(compile_run(case, scenario.seeds[0])))
        except ValueError as error:
            found.append(of_variant(case, error))
    return list(dict.fromkeys(found))


def of_variant(case: Case, error: ValueError) -> str:
    """What is refused, after the values of the matrix."""
    return described(case.values, str(error))


def described(variant: Mapping[str, Any], why: str) -> str:
    """The same, of the variant with these values of the matrix."""
    values = ", ".join(f"{key} = {value}" for key, value in variant.items())
    return f"{values}: {why}" if values else why
