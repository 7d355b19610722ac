"""A figure of flows by their size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from anabranch.pages.report.chart.colours import DASHES, stack_colour
from anabranch.pages.report.chart.measure import Measure
from anabranch.pages.report.parts import smallest
from anabranch.pages.report.vega_lite import Specification, faceted, mark, nominal, quantitative


def by_size(
    table: pl.DataFrame,
    measure: Measure,
    *,
    columns: Mapping[str, str],
    half: str | None,
    sizes: Sequence[str],
    panels: Sequence[str],
    stacks: Sequence[str],
    panels_in_row: int = 3,
) -> Specification:
    """Lines over the classes of sizes on a logarithmic scale, a colour for each stack, dashes for each statistic.

    Args:
        table: what :func:`anabranch.results.statistics.completion_times` returns, with ``panel`` and ``size``, the class's name.
        measure: how to show the values.
        columns: the statistics: names and columns.
        half: the column with half the width of the interval of the first of them.
        sizes: the classes, in order.
        panels: the panels, in order.
        stacks: all stacks, in the order of their colours.
        panels_in_row: panels in a row.
    """
    rows = pl.concat(
        table.select(
            "panel",
            "stack",
            "size",
            "flows",
            statistic=pl.lit(name),
            value=pl.col(column) * measure.factor,
            half=pl.col(half) * measure.factor if half and place == 0 else pl.lit(None, pl.Float64),
        )
        for place, (name, column) in enumerate(columns.items())
    ).drop_nulls("value")
    # A logarithmic axis has no zero: what reaches below it ends at the frame.
    floor = smallest(rows["value"].filter(rows["value"] > 0)) / 2
    rows = rows.with_columns(
        low=(pl.col("value") - pl.col("half")).clip(lower_bound=floor), high=pl.col("value") + pl.col("half")
    ).with_columns(pl.col("value", "low", "high", "half").round_sig_figs(4))
    scale = {"type": "log", "domainMin": floor, "nice": False}
    dash = {"domain": list(columns), "range": DASHES[: len(columns)]}
    shared = {
        "x": nominal("size", title="Size of the flow", sort=list(sizes), axis={"labelAngle": -30}),
        "color": stack_colour(stacks),
        "detail": nominal("statistic"),
    }
    tooltip = [
        *(nominal(name, title=name) for name in ("stack", "size", "statistic")),
        quantitative("value", title=measure.axis),
        quantitative("flows", title="flows"),
    ]
    line = {
        **shared,
        "y": quantitative("value", title=measure.axis, scale=scale, axis={"tickCount": 4}),
        "strokeDash": nominal("statistic", scale=dash, legend=None),
        "tooltip": tooltip,
    }
    band = {**shared, "y": quantitative("low", scale=scale), "y2": {"field": "high"}}
    layers = [mark("line", line, strokeWidth=1.8, point={"size": 30})]
    if rows["half"].count():
        layers.insert(0, mark("area", band, {"filter": "isValid(datum.half)"}, opacity=0.15))
    small = {"width": 280, "height": 180, "layer": layers}
    return faceted(small, rows, panels, panels_in_row)
