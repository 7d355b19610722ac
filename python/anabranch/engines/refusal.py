"""Finds the parts of a scenario that an engine refuses."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from anabranch.compile.run import compile_run
from anabranch.engines import packet
from anabranch.foundation.toml_text import Path
from anabranch.scenario import Case, Scenario
from anabranch.scenario.problems import Listing, Problem
from anabranch.scenario.stacks import preset_stack
from anabranch.scenario.traffic import traffic_name


def refusals(scenario: Scenario, make: Callable[[packet.CompiledRun], object] = packet.new_simulation) -> Listing:
    """The packet engine's refusals of each variant, or those of ``make``, found without running it, or any control in Python."""
    found = []
    for case in scenario.cases:
        spec = compile_run(case, scenario.seeds[0])
        if make is packet.new_simulation:
            spec["stacks"] = [_without_code(stack) for stack in spec["stacks"]]
        is_over = False
        while not is_over:
            try:
                make(spec)
                is_over = True
            except ValueError as error:
                found.append(_of_variant(case, error))
                is_over = not _lift(spec, case, str(error))
    return scenario.listing(found)


def _without_code(stack: dict[str, Any]) -> dict[str, Any]:
    """A compiled stack with NewReno instead of a control in Python, whose file would be executed."""
    if "python" not in stack["congestion"]:
        return stack
    return stack | {"congestion": preset_stack("newreno").policies()[0]}


def _lift(spec: dict[str, Any], case: Case, refused: str) -> bool:
    """Remove the refused part from a compiled run, so that the engine finds the next problem. Returns whether that is possible."""
    if link := _SHAPER.match(refused):
        shaper = spec["links"][case.names.link_index[link[1], link[2]]]["shaper"]
        spec["links"] = [one | {"shaper": None} if one.get("shaper") == shaper else one for one in spec["links"]]
        return True
    if link := _QUEUE.match(refused):
        queue = spec["links"][case.names.link_index[link[1], link[2]]]["queue"]
        if "bytes" not in queue["limit"]:
            return False
        other = queue | {"limit": {"packets": 1}}
        spec["links"] = [one | {"queue": other} if one["queue"] == queue else one for one in spec["links"]]
        return True
    match = _NAMED.match(refused)
    left = [group for group in spec["traffic"] if match is None or match.groups() != ("traffic", group["name"])]
    is_less = 0 < len(left) < len(spec["traffic"])
    spec["traffic"] = left
    return is_less


def refusal(scenario: Scenario, case: Case, error: ValueError) -> str:
    """Describes an engine's refusal of a variant, with its place in the scenario."""
    return scenario.listing([_of_variant(case, error)]).describe()[0]


def _of_variant(case: Case, error: ValueError) -> Problem:
    problem = problem_of(case, error)
    return replace(problem, message=described(case.values, problem.message))


def problem_of(case: Case, error: ValueError) -> Problem:
    """An engine's refusal, at the key of the queue, shaper, traffic group, stack or routing that it names."""
    text = str(error)
    if link := _QUEUE.match(text):
        path, queue = _of_link(case, (link[1], link[2]), "queue") or (
            ("topology", "queue"),
            case.variant.topology.queue,
        )
        return Problem((*path, "limit"), text, queue.limit)
    if (link := _SHAPER.match(text)) and (found := _of_link(case, (link[1], link[2]), "shaper")):
        path, shaper = found
        return Problem((*path, "burst"), text, shaper.burst)
    section, name = match.groups() if (match := _NAMED.match(text)) else ("", "")
    if section == "traffic":
        names = [traffic_name(entry, index) for index, entry in enumerate(case.variant.traffic)]
        return Problem((section, names.index(name)) if name in names else (), text)
    own = {"stack": "stacks", "routing": "routing"}.get(section, "")
    return Problem((own, name) if name in getattr(case.variant, own, ()) else (), text)


_QUEUE = re.compile("link (.+) -> (.+), queue: limit")
_SHAPER = re.compile("link (.+) -> (.+), shaper: burst")
_NAMED = re.compile("(traffic|stack|routing) '(.*?)'")


def _of_link(case: Case, link: tuple[str, str], key: str) -> tuple[Path, Any] | None:
    """The queue or shaper that the last override gives a link, and where it stands."""
    names = case.names
    for index, override in reversed([*enumerate(case.variant.topology.override)]):
        value = getattr(override, key)
        if value is not None and names.link_index[link] in names.links_between(override.link, override.one_way):
            return ("topology", "override", index, key), value
    return None


def described(variant: Mapping[str, Any], why: str) -> str:
    """The same, of the variant with these values of the matrix."""
    values = ", ".join(f"{key} = {value}" for key, value in variant.items())
    return f"{values}: {why}" if values else why
