"""htsim's connection matrices (``.cm``): who sends how much to whom, and which flow a trigger starts.

As ``connection_matrix.cpp`` and ``main_uec.cpp`` of uet-htsim read them: starts count microseconds. ``id`` and ``prio`` have no effect.
"""

import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from anabranch.foundation import units

Flow = tuple[int, str, str, int, int]
"""Line, source, destination, start in picoseconds and size in bytes."""
After = tuple[int, int]
"""A flow, and an earlier one that it waits for, by their places in the list."""

_ENDS = re.compile(r"(\d+)->(\d+)", re.ASCII)
_COUNTS = ("nodes", "connections", "triggers", "failures")
_DONE = ("send_done_trigger", "recv_done_trigger")
_WORDS = ("start", "size", "id", "trigger", "prio", *_DONE)
_KINDS = ("oneshot", "multishot", "barrier")


@dataclass
class _Trigger:
    """What sets a trigger off, and what it starts: flows by their places in the file."""

    kind: str | None = None
    line: int = 0
    count: int | None = None
    causes: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)


def flows(text: str, source: str) -> tuple[list[Flow], list[After]]:
    """The flows, each behind the flows that it waits for, and their dependencies.

    A flow whose source is the triggering flow's destination waits until all data is delivered there, with either kind of trigger. One of the same
    source waits until all data is acknowledged. The flows that a multishot trigger starts follow its causes in the order of the file.

    Raises:
        ValueError: names the file, the line, its value and what would be right.
    """
    found: list[Flow] = []
    counts: dict[str, tuple[int, int]] = {}
    triggers: dict[int, _Trigger] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        words, where = raw.split(), f"{source}: line {number}"
        if not words or words[0].startswith("#"):
            continue
        if words[0].lower() in _COUNTS and len(words) == 2:
            counts[words[0].lower()] = number, number_in(words[1], f"{where}, {words[0]}", "a whole number")
        elif words[0] == "trigger":
            _declare(triggers, words[1:], number, where)
        elif words[0] == "failure":
            raise ValueError(
                f'{where}: failures are not read; give the scenario an event with fail = ["agg0", "core0"]'
            )
        else:
            found.append(_flow(words, triggers, len(found), number, where))
    declared = sum(trigger.kind is not None for trigger in triggers.values())
    for what, follow in (("connections", len(found)), ("triggers", declared), ("failures", 0)):
        line, count = counts.get(what, (0, follow))
        if count != follow:
            raise ValueError(f"{source}: line {line} says {count} {what}, and {follow} follow")
    return _in_order(found, list(_dependencies(found, triggers, source)), source)


def checked(number: int, source: str, target: str, start: int, size: int, where: str) -> Flow:
    """The flow, whose ends differ."""
    if source == target:
        raise ValueError(f"{where}: {source} cannot send to itself")
    return number, source, target, start, size


def number_in(written: str | None, where: str, expectation: str, least: int = 0) -> int:
    """The whole number that is written."""
    if written is not None and re.fullmatch(r"\d{1,19}(\.0*)?", written, re.ASCII):
        value = int(written.partition(".")[0])
        if least <= value <= units.LARGEST:
            return value
    raise ValueError(f'{where} "{(written or "")[:60]}" must be {expectation}')


def _flow(words: Sequence[str], triggers: dict[int, _Trigger], place: int, number: int, where: str) -> Flow:
    ends = _ENDS.fullmatch(words[0])
    names = words[1::2]
    unknown = next((name for name in names if name not in _WORDS), None)
    if ends is None or len(words) % 2 == 0 or unknown is not None or len(set(names)) < len(names):
        more = "; messages of one connection (msg) are not read" if "msg" in names else ""
        raise ValueError(
            f'{where} "{" ".join(words)[:60]}" must be a connection such as 3->5 start 0 size 2000000, or 3->5 trigger 1 size 2000000{more}'
        )
    values = dict(zip(names, words[2::2], strict=True))
    size = number_in(
        values.get("size"),
        f"{where}, size",
        "bytes, at least 1; a flow without end is bulk = true of a traffic group",
        1,
    )
    start = 0
    if "trigger" in values:
        if "start" in values:
            raise ValueError(f"{where} has start and trigger; leave out one")
        _of(triggers, values["trigger"], f"{where}, trigger").targets.append(place)
    else:
        most = units.LARGEST // units.PICOSECONDS_PER_SECOND * 10**6
        start = number_in(
            values.get("start"), f"{where}, start", "whole microseconds from 0, unless a trigger starts the flow"
        )
        if start > most:
            raise ValueError(f'{where}, start "{start}" must be at most {most} microseconds')
    for name in _DONE:
        if name in values:
            _of(triggers, values[name], f"{where}, {name}").causes.append(place)
    return checked(number, ends[1], ends[2], start * (units.PICOSECONDS_PER_SECOND // 10**6), size, where)


def _of(triggers: dict[int, _Trigger], written: str, where: str) -> _Trigger:
    return triggers.setdefault(number_in(written, where, "the number of a trigger, at least 1", 1), _Trigger())


def _declare(triggers: dict[int, _Trigger], words: Sequence[str], number: int, where: str) -> None:
    kinds = [word for word in words if word in _KINDS]
    rest = [word for word in words if word not in _KINDS]
    values = dict(zip(rest[::2], rest[1::2], strict=False))
    if len(kinds) != 1 or len(rest) % 2 or not {"id"} <= values.keys() <= {"id", "count"}:
        raise ValueError(f"{where} must be a trigger such as trigger id 1 oneshot, or trigger id 1 barrier count 2")
    trigger = _of(triggers, values["id"], f"{where}, id")
    if trigger.kind is not None:
        raise ValueError(f"{where}: trigger {values['id']} is also that of line {trigger.line}")
    trigger.kind, trigger.line = kinds[0], number
    if "count" in values:
        trigger.count = number_in(values["count"], f"{where}, count", "a number of flows, at least 1", 1)


def _dependencies(found: Sequence[Flow], triggers: dict[int, _Trigger], source: str) -> Iterator[After]:
    for number, trigger in triggers.items():
        causes, targets = trigger.causes, trigger.targets
        if trigger.kind is None:
            line = found[(causes + targets)[0]][0]
            raise ValueError(
                f"{source}: line {line}: there is no trigger {number}; add the line trigger id {number} oneshot"
            )
        where = f"{source}: line {trigger.line}: trigger {number}"
        if trigger.kind == "multishot":
            pairs = list(zip(targets, causes, strict=False))
            needed = len(targets)
        else:
            pairs = [(target, cause) for target in targets for cause in causes]
            needed = 1 if trigger.kind == "oneshot" else trigger.count or len(causes)
        if len(causes) < needed or (trigger.kind != "multishot" and len(causes) > needed and targets):
            raise ValueError(f"{where} is set off by {len(causes)} flows; {trigger.kind} needs {needed}")
        for target, cause in pairs:
            line, sender, *_ = found[target]
            if sender not in found[cause][1:3]:
                earlier = f"{found[cause][1]}->{found[cause][2]} of line {found[cause][0]}"
                raise ValueError(
                    f"{source}: line {line}: {sender} does not see the end of {earlier}, which starts its flow; it must be one of its ends"
                )
            yield target, cause


def _in_order(found: Sequence[Flow], after: Sequence[After], source: str) -> tuple[list[Flow], list[After]]:
    """Every flow behind the flows that it waits for, else in the order of the file."""
    left = [0] * len(found)
    followers: dict[int, list[int]] = {}
    for flow, earlier in after:
        left[flow] += 1
        followers.setdefault(earlier, []).append(flow)
    ready = [flow for flow, count in enumerate(left) if count == 0]
    order: list[int] = []
    while ready:
        order.append(heapq.heappop(ready))
        for flow in followers.get(order[-1], ()):
            left[flow] -= 1
            if left[flow] == 0:
                heapq.heappush(ready, flow)
    if len(order) < len(found):
        line = next(flow[0] for place, flow in enumerate(found) if left[place])
        raise ValueError(f"{source}: line {line}: its flow never starts, because it waits for itself over its triggers")
    place_of = {flow: place for place, flow in enumerate(order)}
    return [found[flow] for flow in order], [(place_of[flow], place_of[earlier]) for flow, earlier in after]
