"""Completion time and slowdown of flows by their size."""

from __future__ import annotations

import polars as pl

from anabranch.foundation.text_table import size_class
from anabranch.pages.report import chart
from anabranch.pages.report.chart import Measure
from anabranch.pages.report.distributions import in_panels, panel_layout
from anabranch.pages.report.evaluation import Evaluation
from anabranch.pages.report.parts import Figure, largest
from anabranch.results import statistics


def figures(e: Evaluation) -> list[Figure]:
    """Completion time and slowdown; nothing if no group has flows of more than one class of sizes."""
    classes = statistics.worth_showing(e.times, e.by).filter(~statistics.ALL_SIZES, pl.col("flows") > 0)
    if classes.is_empty():
        return []
    rows, panels, omitted = in_panels(e, classes, overlaid=False)
    bounds = ["size_from_bytes", "size_below_bytes"]
    sizes = rows.select(bounds).unique().sort(bounds, nulls_last=True).rows()
    names = {low: size_class(low, high) for low, high in sizes}
    rows = rows.with_columns(size=pl.col("size_from_bytes").replace_strict(names, return_dtype=pl.String))
    unfinished = (
        " A point is missing where flows had not finished, so that its value is not known."
        if rows["unfinished"].sum()
        else ""
    )
    layout = panel_layout(e, len(panels))

    def figure(name: str, shown: Measure, typical: str, half: str | None, words: str) -> Figure:
        drawing = chart.by_size(
            rows,
            shown,
            columns={words: typical, "99th percentile": shown.column},
            half=half,
            sizes=list(names.values()),
            panels=panels,
            stacks=e.stacks,
            panels_in_row=layout["columns"],
        )
        band = " Band: 95 % confidence interval of the mean." if half and e.has_several_seeds else ""
        caption = f"Solid: {words}. Dashed: 99th percentile, over the flows of all seeds.{band}{unfinished}{omitted}"
        return Figure(name, f"{shown.axis}, by size", caption, drawing, layout)

    found = []
    longest = largest(rows.select(pl.max_horizontal("fct_mean_s", "fct_p99_s")).to_series())
    if longest > 0:
        time = chart.seconds("fct_p99_s", "Completion time", longest)
        found.append(figure("completion-by-size", time, "fct_mean_s", "fct_interval_s", "mean"))
    if rows["slowdown_median"].count():
        slow = Measure("slowdown_p99", "Slowdown", "")
        found.append(figure("slowdown-by-size", slow, "slowdown_median", None, "median"))
    return found
