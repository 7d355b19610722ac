"""Traffic whose flows never start, or are left out."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from anabranch.foundation import units
from anabranch.scenario.arrivals import link_capacities
from anabranch.scenario.demands import scaled_demands
from anabranch.scenario.pairs import pairs_of
from anabranch.scenario.problems import MISSING, Problem

if TYPE_CHECKING:
    from anabranch.scenario import Case
    from anabranch.scenario.traffic import Traffic


def late_flows(case: "Case") -> Iterator[Problem]:
    """Flows of a trace, or behind one another by ``stagger``, that would start when the run or their group has ended."""
    for index, entry in enumerate(case.variant.traffic):
        if entry.trace is not None:
            yield from _of_trace(case, entry, index)
        elif units.duration(entry.stagger) > 0 and entry.every is None:
            yield from _staggered(case, entry, index)


def _of_trace(case: "Case", entry: "Traffic", index: int) -> Iterator[Problem]:
    assert entry.trace is not None
    first_late = _end(case, entry) - units.duration(entry.start)
    late = [number for number, start in enumerate(entry.trace.starts) if start >= first_late]
    if late:
        said = _said(case, entry, len(late), len(entry.trace.starts))
        latest = _seconds(units.duration(entry.start) + max(entry.trace.starts))
        message = f"{said}, such as {entry.trace.place(late[0])}; the last starts at {latest}"
        yield Problem(("traffic", index, "trace"), message)


def _staggered(case: "Case", entry: "Traffic", index: int) -> Iterator[Problem]:
    start, stagger = units.duration(entry.start), units.duration(entry.stagger)
    flows = len(pairs_of(entry, case.names, draw="")) * entry.flows
    in_time = -(-(_end(case, entry) - start) // stagger)
    if flows > in_time:
        latest = _seconds(start + (flows - 1) * stagger)
        message = f"{_said(case, entry, flows - in_time, flows)}; the last starts at {latest}"
        yield Problem(("traffic", index, "stagger"), message, entry.stagger)


def small_demands(case: "Case") -> Iterator[Problem]:
    """Demands of a matrix or of gravity that round to no bit/s, so that their pairs have no flow."""
    names, section = case.names, case.variant.topology
    for index, entry in enumerate(case.variant.traffic):
        if not entry.has_rates:
            continue
        capacities = link_capacities(section, case.topology, names, units.duration(case.variant.run.duration))
        demands = scaled_demands(entry, case.topology, names, capacities)
        small = [(source, target) for source, target, rate in demands if rate > 0 and round(rate) == 0]
        if small:
            source, target = (names.nodes[node] for node in small[0])
            message = f"leaves out {len(small)} of {len(demands)} demands, such as {source} -> {target}: they are below 1 bit/s"
            key = "scale" if entry.scale is not None else "matrix" if entry.matrix is not None else "gravity"
            yield Problem(("traffic", index, key), message, entry.scale if key == "scale" else MISSING)


def _end(case: "Case", entry: "Traffic") -> int:
    """From when on no flow of a group starts, picoseconds."""
    duration = units.duration(case.variant.run.duration)
    return duration if entry.stop is None else min(units.duration(entry.stop), duration)


def _said(case: "Case", entry: "Traffic", late: int, flows: int) -> str:
    duration = case.variant.run.duration
    stopped = _end(case, entry) < units.duration(duration)
    end = f'their stop "{entry.stop}"' if stopped else f'the end of the run (duration "{duration}")'
    return f"{late} of {flows} flows start after {end}"


def _seconds(picoseconds: int) -> str:
    return f"{picoseconds / units.PICOSECONDS_PER_SECOND:g}s"
