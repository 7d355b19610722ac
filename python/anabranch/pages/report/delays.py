"""How long packets took, where runs ask for delays."""

from __future__ import annotations

from anabranch.pages.report import chart
from anabranch.pages.report.evaluation import Evaluation
from anabranch.pages.report.parts import Figure, largest, longest
from anabranch.results import delays


def figures(e: Evaluation) -> list[Figure]:
    """The delays of the packets of each row of the summary; nothing without delays."""
    rows = delays.summary(e.runs.flows, e.by)
    if rows.is_empty():
        return []
    named = rows.join(e.summary.select(*e.by, "group"), on=e.by, maintain_order="left")
    shown = chart.seconds("delay", "One-way delay", largest(named["delay_p99_s"]))
    drawing = chart.delay_ranges(named, shown, stacks=e.stacks)
    caption = (
        "Line: from the median to the 99th percentile of the delays of a flow's packets from host to host. Bar: to the 95th. Dot: the median. "
        "Means over flows and seeds."
    )
    height = chart.height_of_bars(named["group"])
    layout = {"kind": "single", "height": height + 60, "legend": longest(e.stacks)}
    return [Figure("delay", "Delay of packets", caption, drawing, layout)]
