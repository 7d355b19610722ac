"""Traffic whose flows never start."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from anabranch import units
from anabranch.scenario.groups import Names
from anabranch.scenario.pairs import pairs_of
from anabranch.scenario.problems import Problem

if TYPE_CHECKING:
    from anabranch.scenario import Case
    from anabranch.scenario.traffic import Traffic


def late_flows(case: "Case") -> Iterator[Problem]:
    """Flows of a trace, or behind one another by ``stagger``, that would start when the run has ended."""
    for index, entry in enumerate(case.variant.traffic):
        if entry.trace is not None:
            yield from _of_trace(case, entry, index)
        elif units.duration(entry.stagger) > 0 and entry.every is None:
            yield from _staggered(case, entry, index)


def _of_trace(case: "Case", entry: "Traffic", index: int) -> Iterator[Problem]:
    assert entry.trace is not None
    first_late = units.duration(case.variant.run.duration) - units.duration(entry.start)
    late = [number for number, start in enumerate(entry.trace.starts) if start >= first_late]
    if late:
        said = _said(case, len(late), len(entry.trace.starts))
        latest = _seconds(units.duration(entry.start) + max(entry.trace.starts))
        message = f"{said}, such as {entry.trace.place(late[0])}; the last starts at {latest}"
        yield Problem(("traffic", index, "trace"), message)


def _staggered(case: "Case", entry: "Traffic", index: int) -> Iterator[Problem]:
    start, stagger = units.duration(entry.start), units.duration(entry.stagger)
    flows = len(pairs_of(entry, Names.of(case.topology), draw="")) * entry.flows
    in_time = -(-(units.duration(case.variant.run.duration) - start) // stagger)
    if flows > in_time:
        latest = _seconds(start + (flows - 1) * stagger)
        message = f"{_said(case, flows - in_time, flows)}; the last starts at {latest}"
        yield Problem(("traffic", index, "stagger"), message, entry.stagger)


def _said(case: "Case", late: int, flows: int) -> str:
    return f'{late} of {flows} flows start after the end of the run (duration "{case.variant.run.duration}")'


def _seconds(picoseconds: int) -> str:
    return f"{picoseconds / units.PICOSECONDS_PER_SECOND:g}s"
