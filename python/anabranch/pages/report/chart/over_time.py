"""Small multiples of a measure over time: of flows, of links, and of what is known of links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from anabranch.pages.report.chart.colours import DASHES, directory_dash, stack_colour
from anabranch.pages.report.chart.measure import Measure
from anabranch.pages.report.vega_lite import Specification, faceted, legend, mark, nominal, quantitative

# Links are no stacks: another set of colours, told apart by dashes too.
_LINK_PALETTE = ["#6f5bd0", "#b8860b", "#6b7280", "#c2497b"]


def time_series(
    series: pl.DataFrame,
    measure: Measure,
    *,
    panel: str,
    panels: Sequence[str],
    stacks: Sequence[str],
    columns: int = 4,
    directories: Sequence[str] = (),
) -> Specification:
    """Small multiples of a measure over time, a panel for each variant, all with the same axes.

    Args:
        series: what :func:`anabranch.pages.report.series.flow_series` returns.
        measure: which of its measures, and how to show it.
        panel: the column that names the panel.
        panels: the panels, in order.
        stacks: all stacks, in the order of their colours.
        columns: panels in a row.
        directories: the run directories that lie over each other, named by the column ``directory`` and told apart by dashes.
    """
    line = {"strokeDash": directory_dash(directories)} if directories else {}
    return _panels(series, measure, panel, panels, columns, stack_colour(stacks), line)


def link_time_series(
    series: pl.DataFrame,
    measure: Measure,
    *,
    panel: str,
    panels: Sequence[str],
    columns: int = 4,
    directories: Sequence[str] = (),
) -> Specification:
    """Small multiples of a link's measure over time, a line for each link; ``series`` as
    :func:`anabranch.pages.report.series.link_series` returns it, and up to four links. ``directories`` as in :func:`time_series`.
    """
    links = series["series"].unique(maintain_order=True).to_list()

    def channel(values: Sequence[Any]) -> Specification:
        scale = {"domain": links, "range": values[: len(links)]}
        return nominal("series", scale=scale, legend=legend("Link"), title="Link")

    line = {"strokeDash": directory_dash(directories) if directories else channel(DASHES)}
    return _panels(series, measure, panel, panels, columns, channel(_LINK_PALETTE), line)


def link_estimates(
    series: pl.DataFrame,
    links: pl.DataFrame,
    measure: Measure,
    *,
    panel: str,
    panels: Sequence[str],
    columns: int = 3,
) -> Specification:
    """Small multiples of the estimates of links over time, with the configured values as a dotted line of the same colour.

    Args:
        series: what :func:`anabranch.pages.report.series.link_series` returns.
        links: ``variant``, ``series`` (name), and the configured value in the measure's column, null where it is not known; up to four names.
        measure: which measure, and how to show it.
        panel: the column that names the panel.
        panels: the panels, in order.
        columns: panels in a row.
    """
    names = links["series"].unique(maintain_order=True).to_list()
    configured = {name: f"{name}, configured" for name in names}
    known = links.select("variant", "series", known=measure.column)
    ends = series.group_by(panel, "variant", "series", maintain_order=True).agg(
        pl.col("time_s").sort().gather([0, -1]), pl.lit(measure.column).alias("measure")
    )
    flat = (
        ends.explode("time_s")
        .join(known, on=["variant", "series"], maintain_order="left")
        .drop_nulls("known")
        .select(
            panel,
            "measure",
            "time_s",
            series=pl.col("series").replace_strict(configured),
            **{part: pl.col("known") for part in ("value", "low", "high")},
        )
    )
    lines = pl.concat([series.select(flat.columns), flat])
    domain = [*names, *configured.values()]
    scale = {"domain": domain, "range": _LINK_PALETTE[: len(names)] * 2}
    shown = legend("Link", values=names)
    colour = nominal("series", scale=scale, legend=shown, title="Link")
    dashes = {"domain": domain, "range": [[1, 0]] * len(names) + [[2, 3]] * len(names)}
    line = {"strokeDash": nominal("series", scale=dashes, legend=shown, title="Link")}
    return _panels(lines, measure, panel, panels, columns, colour, line)


def _panels(
    series: pl.DataFrame,
    measure: Measure,
    panel: str,
    panels: Sequence[str],
    columns: int,
    colour: Specification,
    line: Mapping[str, Any],
) -> Specification:
    rows = series.filter(pl.col("measure") == measure.column).select(
        pl.col(panel).alias("panel"),
        *(name for name in ("stack", "directory") if name in series.columns),
        "series",
        pl.col("time_s").round(3),
        *((pl.col(part) * measure.factor).round_sig_figs(4) for part in ("value", "low", "high")),
    )
    spread = not rows.filter(pl.col("low") < pl.col("high")).is_empty()
    parts = ["time_s", "value", *(["low", "high"] if spread else [])]
    names = [name for name in rows.columns if name in ("panel", "stack", "directory", "series")]
    # A row a line with arrays, which Vega takes apart: names are long, and would be repeated with every point.
    packed = rows.group_by(names, maintain_order=True).agg(parts)
    x = quantitative("time_s", title="Time, s", axis={"tickCount": 4}, scale={"nice": False})
    detail = [nominal(name) for name in names if name in ("directory", "series")]
    shared = {"x": x, "color": colour, "detail": detail}

    def y(part: str) -> Specification:
        return quantitative(part, title=measure.axis, axis={"tickCount": 4}, scale={"zero": measure.from_zero})

    layers = [mark("line", {**shared, "y": y("value"), "tooltip": detail, **line}, strokeWidth=1.5)]
    if spread:
        layers.insert(0, mark("area", {**shared, "y": y("low"), "y2": {"field": "high"}}, opacity=0.2))
    small = {"width": 200, "height": 110, "layer": layers}
    return faceted(small, packed, panels, columns) | {"transform": [{"flatten": parts}]}
