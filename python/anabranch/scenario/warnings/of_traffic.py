"""Traffic whose flows never start."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from anabranch import units
from anabranch.scenario.problems import Problem

if TYPE_CHECKING:
    from anabranch.scenario import Case


def late_flows(case: "Case") -> Iterator[Problem]:
    """Flows of a trace that would start when the run has ended."""
    variant = case.variant
    for index, entry in enumerate(variant.traffic):
        if entry.trace is None:
            continue
        first_late = units.duration(variant.run.duration) - units.duration(entry.start)
        late = [number for number, start in enumerate(entry.trace.starts) if start >= first_late]
        if late:
            latest = units.duration(entry.start) + max(entry.trace.starts)
            message = (
                f'{len(late)} of {len(entry.trace.starts)} flows start after the end of the run (duration "{variant.run.duration}"), '
                f"such as {entry.trace.place(late[0])}; the last starts at {latest / units.PICOSECONDS_PER_SECOND:g}s"
            )
            yield Problem(("traffic", index, "trace"), message)
