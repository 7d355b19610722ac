"""Bars of means, with intervals."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from anabranch.pages.report.chart.colours import stack_colour
from anabranch.pages.report.chart.measure import Measure, rate, three_digits
from anabranch.pages.report.parts import largest, longest
from anabranch.pages.report.vega_lite import Specification, calculate, layered, mark, nominal, quantitative

_MOST_UPRIGHT = 16
_ROOM, _CHARACTER = 580, 6
"""Pixels between the axis and the end of a chart as wide as a page of text, and of a character of a name."""
_HEADROOM = 1.08
"""The axis of upright bars ends at this multiple of the highest bar or interval."""
_LINE_END = r" · | (?=\S+=)"
"""A line for each key of a group's name, and for each parameter of a value: names beside each other have little room."""
_UPRIGHT = {"labelAngle": 0, "labelExpr": "split(datum.label, regexp('" + _LINE_END.replace("\\", "\\\\") + "'))"}
_BAR, _LINE, _LETTERS = 17, 15, 13
"""Pixels of a lying bar, and of a line of a group's name with the gap to those of other groups and without."""
LYING = {
    "labelExpr": "split(datum.label, ' · ')",
    "labelLimit": 240,
    "labelLineHeight": _LETTERS,
    # Vega has the first line beside the bar. Half of the others must be above it.
    "labelOffset": {
        "condition": {"test": "true", "expr": f"-{_LETTERS / 2} * (length(split(datum.label, ' · ')) - 1)"},
        "value": 0,
    },
}
"""The axis of the names of lying bars: a line for each key, in the middle beside the bar."""


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
    upright = are_upright(rows["x"])
    group, offset, value, end = ("x", "xOffset", "y", "y2") if upright else ("y", "yOffset", "x", "x2")
    axis = _UPRIGHT if upright else LYING
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


def are_upright(groups: pl.Series) -> bool:
    """Whether bars stand beside each other, one for each name of a group: while there is room for the numbers above them and the names below."""
    names = groups.cast(pl.String).unique().to_list()
    lines = [line for name in names for line in re.split(_LINE_END, name)]
    return groups.len() <= _MOST_UPRIGHT and _CHARACTER * longest(lines) * len(names) <= _ROOM


def height_of_bars(groups: pl.Series) -> int:
    """Pixels of lying bars, one for each name of a group: room for them, and for the lines of the names."""
    lines = max((name.count(" · ") + 1 for name in groups.cast(pl.String)), default=1)
    return max(_BAR * groups.len(), _LINE * lines * groups.n_unique())
