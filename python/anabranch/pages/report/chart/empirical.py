"""Empirical distribution functions."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from anabranch.pages.report.chart.colours import directory_dash, stack_colour
from anabranch.pages.report.chart.measure import Measure
from anabranch.pages.report.parts import largest, smallest
from anabranch.pages.report.vega_lite import Specification, faceted, mark, nominal, quantitative
from anabranch.results import statistics


def distributions(
    values: pl.DataFrame,
    measure: Measure,
    *,
    panel: str,
    panels: Sequence[str],
    stacks: Sequence[str],
    columns: int = 3,
    directories: Sequence[str] = (),
) -> Specification:
    """Empirical distribution functions with confidence bands, a line for each stack, a panel for each value of ``panel``.

    The scale is logarithmic if the values span more than a factor of 30.

    Args:
        values: one row a flow: ``panel``, ``stack`` and the measure's column; with ``directories`` also ``directory``.
        measure: the value whose distribution is drawn, and how to show it.
        panel: the column that names the panel.
        panels: the panels, in order.
        stacks: all stacks, in the order of their colours.
        columns: panels in a row.
        directories: the run directories that lie over each other, told apart by dashes.
    """
    key = [panel, "stack", *(["directory"] if directories else [])]
    parts = [
        statistics.cumulative_distribution(group[measure.column] * measure.factor).with_columns(
            pl.lit(name).alias(column) for column, name in zip(["panel", *key[1:]], of, strict=True)
        )
        for of, group in values.group_by(key, maintain_order=True)
    ]
    rows = pl.concat(parts).with_columns(pl.col("value", "share", "low", "high").round_sig_figs(4))
    least, most = smallest(rows["value"]), largest(rows["value"])
    wide = least > 0 and most > 30 * least
    scale = {"type": "log", "nice": False} if wide else {"type": "linear", "zero": True, "nice": True}
    detail = [nominal(name) for name in key[2:]]
    shared = {
        "x": quantitative("value", title=measure.axis, scale=scale, axis={"tickCount": 4}),
        "color": stack_colour(stacks),
        "detail": detail,
    }
    y = quantitative("share", title="Share of flows", scale={"domain": [0, 1]}, axis={"format": "%"})
    dash = {"strokeDash": directory_dash(directories)} if directories else {}
    names = [nominal(name) for name in key[1:]]
    band = {**shared, "y": quantitative("low", scale={"domain": [0, 1]}), "y2": {"field": "high"}}
    small = {
        "width": 280,
        "height": 180,
        "layer": [
            mark("area", band, interpolate="step-after", opacity=0.15),
            mark("line", {**shared, "y": y, "tooltip": names, **dash}, interpolate="step-after", strokeWidth=1.8),
        ],
    }
    return faceted(small, rows, panels, columns)
