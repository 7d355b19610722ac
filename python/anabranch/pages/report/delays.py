"""How long packets took, where runs ask for delays."""

from __future__ import annotations

import polars as pl

from anabranch.pages.report import chart
from anabranch.pages.report.evaluation import Evaluation
from anabranch.pages.report.parts import Figure, largest, longest
from anabranch.results.run_directory import DELAYS

_SHOWN = ("delay_median_s", "delay_p95_s", "delay_p99_s")


def known(flows: pl.DataFrame) -> pl.DataFrame:
    """The flows whose delays are known; none in runs that do not ask for them."""
    if not set(DELAYS) <= set(flows.columns):
        return flows.clear().with_columns(pl.lit(None, pl.Float64).alias(name) for name in DELAYS)
    return flows.filter(pl.col("delay_mean_s").is_not_null())


def figures(e: Evaluation) -> list[Figure]:
    """The delays of the packets of each row of the summary; nothing without delays."""
    rows = known(e.runs.flows).group_by(e.by, maintain_order=True).agg(pl.col(_SHOWN).mean())
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
