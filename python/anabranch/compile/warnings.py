"""Warnings about valid scenarios that need the routes of the traffic: those of the core (``review``) as problems of the document."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from anabranch import _core
from anabranch.compile.run import compile_run, same_for_all_seeds
from anabranch.foundation import units
from anabranch.foundation.json_text import json_text
from anabranch.scenario.problems import Problem
from anabranch.scenario.routing import Disjoint, Shortest
from anabranch.scenario.schedules import Schedule
from anabranch.scenario.traffic import traffic_name

if TYPE_CHECKING:
    from anabranch.scenario import Case


def route_warnings(case: "Case") -> Iterator[Problem]:
    """What the core finds in a compiled run.

    A routing has fewer paths than it asks for, or failures leave a pair without one. DCTCP meets queues that do not mark. A round trip is
    longer than the greatest FastRTO or the run. A queue is far shorter than long flows need.
    """
    if not _is_concerned(case):
        return
    spec = compile_run(case, case.variant.run.seed_list()[0])
    for found in json.loads(_core.review(json_text(spec))):
        yield _SAID[found["kind"]](case, spec, found)


def _is_concerned(case: "Case") -> bool:
    """Whether there can be anything to find: to find routes takes time."""
    variant = case.variant
    return (
        any(event.fail is not None for event in variant.events)
        or any(isinstance(routing.paths, Disjoint | Shortest) for routing in variant.all_routings().values())
        or any(stack.detection.name == "fast-rto" for stack in variant.all_stacks().values())
        or any(stack.congestion.name in ("dctcp", "prague") for stack in variant.all_stacks().values())
        or _is_long(case)
    )


def _is_long(case: "Case") -> bool:
    """Whether a path over all links would be too long for the run, or for a queue: an upper bound that needs no routes."""
    section, same = case.variant.topology, same_for_all_seeds(case)
    if any(isinstance(one.delay, Schedule) for one in section.override):
        return True
    delay = sum(same.delays)
    starts = [units.duration(entry.start) for entry in case.variant.traffic]
    if 2 * delay >= same.spec["duration"] - max(starts):
        return True
    if not any(entry.is_bulk and entry.transport == "tcp" for entry in case.variant.traffic):
        return False
    queues = [section.queue, *(one.queue for one in section.override if one.queue)]
    limits = [units.queue_limit(queue.limit) for queue in queues]
    least = min(limit.amount * (1 if limit.unit == "bytes" else 500) for limit in limits)
    rate = max(same.rates)
    return same.has_bdp or 10 * 8 * least < rate * 2 * delay / units.PICOSECONDS_PER_SECOND


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
    otherwise = "ecn = true" if "ecn" in link["queue"] else 'queue = "ecn-threshold"'
    default = "mark_from below 1" if discipline == "trimming" else otherwise
    more = "" if found["links"] == 1 else f", and those of {found['links'] - 1} other links"
    stack = spec["stacks"][spec["traffic"][found["traffic"]]["transport"]["tcp"]["stack"]]
    is_prague = stack["congestion"]["name"] == "prague"
    control, remedy = ("Prague", 'queue = "dualpi2"') if is_prague else ("DCTCP", default)
    message = (
        f"is {control}, and the {discipline} queue from {_pair(spec, link)} does not mark its packets{more}; "
        f"give such queues {remedy}"
    )
    return _of_stack(case, spec, found, message)


def _early_expiry(case: "Case", spec: dict[str, Any], found: dict[str, Any]) -> Problem:
    timeout, round_trip = (units.format_duration(found[key]) for key in ("timeout", "round_trip"))
    others = "" if found["pairs"] == 1 else f", the longest of {found['pairs']} pairs,"
    message = (
        f"is FastRTO of at most {timeout}, and the round trip of {_pair(spec, found)}{others} takes {round_trip}: each segment there expires "
        f'before its ACK; give detection = {{ name = "fast-rto", max_rto = "{units.format_duration(2 * found["round_trip"])}" }}'
    )
    return _of_stack(case, spec, found, message)


def _entry(case: "Case", spec: dict[str, Any], found: dict[str, Any]) -> int:
    """The entry of a traffic group, which may have made several: one for each pair of a matrix."""
    names = [traffic_name(entry, index) for index, entry in enumerate(case.variant.traffic)]
    return names.index(spec["traffic"][found["traffic"]]["name"])


def _of_stack(case: "Case", spec: dict[str, Any], found: dict[str, Any], message: str) -> Problem:
    """A problem of the stack of a traffic group."""
    index = _entry(case, spec, found)
    entry, path = case.variant.traffic[index], ("traffic", index)
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


def _too_late(case: "Case", spec: dict[str, Any], found: dict[str, Any]) -> Problem:
    pairs = "" if found["of"] == 1 else f" for {found['pairs']} of {found['of']} pairs"
    what = "a round trip" if found["is_answered"] else "the way"
    left, travel = (units.format_duration(found[key]) for key in ("left", "travel"))
    message = (
        f"has no time{pairs}: {what} of {_pair(spec, found)} takes {travel}, and the run ends {left} after the start; "
        f'give [run] a longer duration than "{case.variant.run.duration}", or links a shorter delay'
    )
    return Problem(("traffic", _entry(case, spec, found)), message)


def _short_queue(case: "Case", spec: dict[str, Any], found: dict[str, Any]) -> Problem:
    more = "" if found["links"] == 1 else f", as those of {found['links'] - 1} other links"
    flows = "1 long flow" if found["flows"] == 1 else f"{found['flows']} long flows"
    needed = found["product"] / found["flows"] ** 0.5
    message = (
        f"meets a queue of {found['queue']} bytes from {_pair(spec, spec['links'][found['link']])}{more}, less than a tenth of the {needed:.0f} bytes "
        f"that {flows} with a round trip of {units.format_duration(found['round_trip'])} need to use the link (RTT x C / sqrt(n)); "
        'give such queues limit = "1 bdp"'
    )
    return _of_stack(case, spec, found, message)


_SAID = {
    "too-late": _too_late,
    "short-queue": _short_queue,
    "fewer-paths": _fewer_paths,
    "unmarked": _unmarked,
    "early-expiry": _early_expiry,
    "cut-off": _cut_off,
}
