"""Warnings of the core, which need the routes of the traffic."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from anabranch import units
from anabranch.scenario.problems import Problem
from anabranch.scenario.routing import Disjoint, Shortest

if TYPE_CHECKING:
    from anabranch.scenario import Case


def routes(case: "Case") -> Iterator[Problem]:
    """Fewer paths than a routing asks for, DCTCP in queues that do not mark, round trips beyond the greatest FastRTO, pairs that failures
    leave without a path."""
    if not _is_concerned(case):
        return
    from anabranch import _core
    from anabranch.compile import compile_run

    spec = compile_run(case, case.variant.run.seed_list()[0])
    for found in json.loads(_core.review(json.dumps(spec))):
        yield _SAID[found["kind"]](case, spec, found)


def _is_concerned(case: "Case") -> bool:
    """Whether there can be anything to find: to find routes takes time."""
    variant = case.variant
    return (
        any(event.fail is not None for event in variant.events)
        or any(isinstance(routing.paths, Disjoint | Shortest) for routing in variant.all_routings().values())
        or any(stack.detection.name == "fast-rto" for stack in variant.all_stacks().values())
        or any(stack.congestion.name == "dctcp" for stack in variant.all_stacks().values())
    )


def _fewer_paths(case: "Case", spec: dict[str, Any], found: dict[str, Any]) -> Problem:
    name = spec["routings"][found["routing"]]["name"]
    paths = case.variant.routing[name].paths
    assert isinstance(paths, Disjoint | Shortest)
    said = "no path" if not found["paths"] else "1 path" if found["paths"] == 1 else f"{found['paths']} paths"
    message = (
        f"{found['pairs']} of {found['of']} pairs with {_packets(found)} have fewer, such as {_pair(spec, found)} with {said}; "
        "ask for fewer, or add links"
    )
    return Problem(("routing", name, "paths"), message, paths.model_dump(exclude_unset=True))


def _unmarked(case: "Case", spec: dict[str, Any], found: dict[str, Any]) -> Problem:
    link = spec["links"][found["link"]]
    discipline = link["queue"]["discipline"]
    remedy = 'queue = "ecn-threshold"' if discipline == "drop-tail" else "ecn = true"
    more = "" if found["links"] == 1 else f", and those of {found['links'] - 1} other links"
    message = (
        f"is DCTCP, and the {discipline} queue from {_pair(spec, link)} does not mark its packets{more}; "
        f"give such queues {remedy}"
    )
    return _of_stack(case, found, message)


def _early_expiry(case: "Case", spec: dict[str, Any], found: dict[str, Any]) -> Problem:
    timeout, round_trip = (units.format_duration(found[key]) for key in ("timeout", "round_trip"))
    others = "" if found["pairs"] == 1 else f", the longest of {found['pairs']} pairs,"
    message = (
        f"is FastRTO of at most {timeout}, and the round trip of {_pair(spec, found)}{others} takes {round_trip}: each segment there expires "
        f'before its ACK; give detection = {{ name = "fast-rto", max_rto = "{units.format_duration(2 * found["round_trip"])}" }}'
    )
    return _of_stack(case, found, message)


def _of_stack(case: "Case", found: dict[str, Any], message: str) -> Problem:
    """A problem of the stack of a traffic group."""
    entry, path = case.variant.traffic[found["traffic"]], ("traffic", found["traffic"])
    return Problem(path, message) if entry.stack is None else Problem((*path, "stack"), message, entry.stack)


def _cut_off(case: "Case", spec: dict[str, Any], found: dict[str, Any]) -> Problem:
    name = spec["routings"][found["routing"]]["name"]
    pairs = "a pair" if found["pairs"] == 1 else f"{found['pairs']} pairs"
    such = "" if found["pairs"] == 1 else "such as "
    until = "for the rest of the run" if found["until"] is None else f"until {units.format_duration(found['until'])}"
    is_told = found["is_connected"] and name in case.variant.all_routings()
    remedy = f'give [routing.{name}] reconverge = "1s"' if is_told else "repair it, or add a link"
    message = (
        f'leaves {pairs} with {_packets(found)} without a path of routing "{name}" {until}, '
        f"{such}from {_pair(spec, found)}; {remedy}"
    )
    return Problem(("events", found["event"], "fail"), message, case.variant.events[found["event"]].fail)


def _packets(found: dict[str, Any]) -> str:
    return "ACKs" if found["acks"] else "traffic"


def _pair(spec: dict[str, Any], ends: dict[str, Any]) -> str:
    return f"{spec['nodes'][ends['src']]} to {spec['nodes'][ends['dst']]}"


_SAID = {"fewer-paths": _fewer_paths, "unmarked": _unmarked, "early-expiry": _early_expiry, "cut-off": _cut_off}
