"""Ranges of delays: median, 95th and 99th percentile."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from anabranch.pages.report.chart.bars import LYING, height_of_bars
from anabranch.pages.report.chart.colours import stack_colour
from anabranch.pages.report.chart.measure import Measure
from anabranch.pages.report.parts import largest, smallest
from anabranch.pages.report.vega_lite import Specification, layered, mark, nominal, quantitative


def delay_ranges(table: pl.DataFrame, shown: Measure, *, stacks: Sequence[str]) -> Specification:
    """A lying bar from the median to the 95th percentile, a line to the 99th, and a dot at the median.

    The scale is logarithmic if the values span more than a factor of 30.

    Args:
        table: ``group``, ``stack``, ``delay_median_s``, ``delay_p95_s`` and ``delay_p99_s``.
        shown: how to show the delays.
        stacks: all stacks, in the order of their colours.
    """
    rows = table.select(
        "group",
        "stack",
        *(
            (pl.col(f"delay_{name}_s") * shown.factor).round_sig_figs(4).alias(name)
            for name in ("median", "p95", "p99")
        ),
    )
    least, most = smallest(rows["median"]), largest(rows["p99"])
    wide = least > 0 and most > 30 * least
    scale = {"type": "log", "nice": True} if wide else {"type": "linear", "zero": True, "nice": True}
    place = {"y": nominal("group", title=None, sort=None, axis=LYING)}
    if rows["group"].is_duplicated().any():
        place["yOffset"] = nominal("stack", sort=list(stacks))
    tooltip = [
        nominal("stack", title="stack"),
        nominal("group", title="variant"),
        *(quantitative(name, title=f"{title}, {shown.unit}") for name, title in _TITLES.items()),
    ]
    begin = {"x": quantitative("median", title=shown.axis, scale=scale)}
    shared = {**place, **begin, "color": stack_colour(stacks), "tooltip": tooltip}
    layers = [
        mark("rule", {**shared, "x2": {"field": "p99"}}, strokeWidth=1.5),
        mark("bar", {**shared, "x2": {"field": "p95"}}, height=7, cornerRadius=2, opacity=0.6),
        mark("point", shared, size=36, filled=True, opacity=1),
    ]
    return layered(layers, rows, width=640, height=height_of_bars(rows["group"]))


_TITLES = {"median": "median", "p95": "95th percentile", "p99": "99th percentile"}
