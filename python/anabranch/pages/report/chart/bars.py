"""Bars of means, with intervals."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from anabranch.pages.report.chart.colours import stack_colour
from anabranch.pages.report.chart.measure import Measure, rate, three_digits
from anabranch.pages.report.parts import largest
from anabranch.pages.report.vega_lite import Specification, calculate, layered, mark, nominal, quantitative

UPRIGHT_BARS = 16
_HEADROOM = 1.08
"""The axis of upright bars ends at this multiple of the highest bar or interval."""
_LINES = r"split(datum.label, regexp(' · | (?=\\S+=)'))"
"""A line for each key of a group's name, and for each parameter of a value: names beside each other have little room."""
_LYING = {"labelExpr": "split(datum.label, ' · ')", "labelLimit": 240}
_BAR, _LINE = 17, 15
"""Pixels of a lying bar, and of a line of a group's name."""


def goodput_bars(summary: pl.DataFrame, *, x: str, x_title: str, stacks: Sequence[str]) -> Specification:
    """:func:`measure_bars` of goodput, from what :func:`anabranch.results.statistics.summary` returns."""
    shown = rate("goodput_bps", "Goodput", largest(summary["goodput_bps"]))
    return measure_bars(
        summary, shown, half="goodput_interval_bps", counted="runs", x=x, x_title=x_title, stacks=stacks
    )


def measure_bars(
    table: pl.DataFrame,
    shown: Measure,
    *,
    half: str,
    counted: str,
    x: str,
    x_title: str,
    stacks: Sequence[str],
) -> Specification:
    """Bars of means, side by side for the stacks, with the 95 % confidence interval where there is one.

    Args:
        table: as :func:`anabranch.results.statistics.summary` or :func:`anabranch.results.statistics.completion_times` returns it, with
            ``stack`` and the columns that the other arguments name.
        shown: the means, and how to show them.
        half: the column with half the width of their intervals.
        counted: the column with the number of runs or flows.
        x: the column to compare by.
        x_title: what that column is, for the axis.
        stacks: all stacks, in the order of their colours.
    """
    rows = table.select(
        pl.col(x).cast(pl.String).alias("x"),
        "stack",
        pl.col(counted).alias("count"),
        mean=pl.col(shown.column) * shown.factor,
        half=pl.col(half) * shown.factor,
    ).with_columns(
        # Neither a rate nor a time is below zero.
        low=(pl.col("mean") - pl.col("half")).clip(lower_bound=0),
        high=pl.col("mean") + pl.col("half"),
    )
    rows = rows.with_columns(
        pl.col("mean", "half", "low", "high").round_sig_figs(5),
        text=pl.col("mean").map_elements(three_digits, return_dtype=pl.String),
    )
    # Beside each other while there is room for the numbers above them, else below each other.
    upright = rows.height <= UPRIGHT_BARS
    group, offset, value, end = ("x", "xOffset", "y", "y2") if upright else ("y", "yOffset", "x", "x2")
    axis = {"labelAngle": 0, "labelExpr": _LINES} if upright else _LYING
    place = {group: nominal("x", title=x_title, sort=None, axis=axis)}
    if rows["x"].is_duplicated().any():  # a bar alone is above its name
        place[offset] = nominal("stack", sort=list(stacks))
    tooltip = [
        nominal("stack", title="stack"),
        nominal("x", title=x_title or "variant"),
        quantitative("mean", title=shown.axis),
        quantitative("half", title="± (95 %)"),
        quantitative("count", title=counted),
    ]
    # Room for the number above the highest bar: without it, the number would be over the legend.
    top = _HEADROOM * max(largest(rows["mean"]), largest(rows["high"]))
    room = {"scale": {"domainMax": top}} if upright and top > 0 else {}
    length = {value: quantitative("mean", title=shown.axis, **room)}
    colour = stack_colour(stacks, "square")
    drawn = mark("bar", {**place, **length, "color": colour, "tooltip": tooltip}, cornerRadiusEnd=2)
    ends_of_interval = {value: quantitative("low", title=shown.axis), end: {"field": "high"}}
    known = {"filter": "datum.half !== null"}
    intervals = mark("rule", {**place, **ends_of_interval, "tooltip": tooltip}, known, strokeWidth=1.5)
    beside = {"dy": -7} if upright else {"dx": 5, "align": "left"}
    ends = calculate(end="max(datum.mean, datum.high)")
    labels = mark("text", {**place, value: quantitative("end"), "text": nominal("text")}, *ends, fontSize=11, **beside)
    layers = [drawn, *([intervals] if rows["half"].count() else []), labels]
    return layered(layers, rows, width=640, height=300 if upright else height_of_bars(rows["x"]))


def height_of_bars(groups: pl.Series) -> int:
    """Pixels of lying bars, one for each name of a group: room for them, and for the lines of the names."""
    lines = max((name.count(" · ") + 1 for name in groups.cast(pl.String)), default=1)
    return max(_BAR * groups.len(), _LINE * lines * groups.n_unique())
