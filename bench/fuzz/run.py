"""One random scenario: compiled, run, and its results looked at."""

import json
from threading import Event
from typing import Any

import numpy as np

from anabranch import _core
from anabranch.engines import packet
from anabranch.foundation.array_types import Columns
from bench.fuzz.invariants import violations
from bench.fuzz.scenarios import compiled, random_scenario

BOTH_LOOPS_EVERY = 10
"""One scenario in this number is also run by both event loops and on two threads."""


class Samples:
    """Keeps the series of a run."""

    def __init__(self) -> None:
        """Nothing is kept yet."""
        self._parts: dict[str, list[Columns]] = {"flows": [], "links": []}

    def flow_series(self, columns: Columns) -> None:
        """Keep the samples of the flows."""
        self._parts["flows"].append(columns)

    def link_series(self, columns: Columns) -> None:
        """Keep the samples of the links."""
        self._parts["links"].append(columns)

    def link_state(self, columns: Columns) -> None:
        """Drop the estimates."""

    def capture(self, link: int, piece: bytes) -> None:
        """Drop the packets."""

    def progress(self, now_s: float, packet_hops: int) -> None:
        """Say nothing."""

    def whole(self) -> dict[str, Columns]:
        """The samples of the whole run."""
        return {
            kind: {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
            for kind, parts in self._parts.items()
            if parts
        }


def problems(number: int) -> list[str]:
    """The faults in the scenario's results; a scenario that is refused by name has none."""
    spec = compiled(random_scenario(number))
    if spec is None:
        return []
    samples = Samples()
    try:
        outcome = packet.simulate(spec, samples, Event())
    except ValueError as error:
        return [str(error)] if "internal error" in str(error) else []
    found = violations(spec, outcome, samples.whole())
    if number % BOTH_LOOPS_EVERY == 0:
        found += _disagreements(spec, outcome)
    return found


def _disagreements(spec: dict[str, Any], outcome: packet.RunOutcome) -> list[str]:
    difference = _core.disagreement(json.dumps(spec))
    found = [] if difference is None else [f"the event loops disagree: {difference}"]
    threads = packet.simulate(spec, Samples(), Event(), lambda spec: packet.new_simulation(spec, 2))
    for kind, one, other in (("flows", outcome.flows, threads.flows), ("links", outcome.links, threads.links)):
        unequal = [
            name for name in one if not np.array_equal(one[name], other[name], equal_nan=one[name].dtype.kind == "f")
        ]
        found += [f"{kind}: {name} differs on two threads" for name in unequal]
    return found
