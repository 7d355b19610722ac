"""The charts of a report, from polars frames, for a notebook as well.

Every function returns an Altair chart without configuration, so that charts can be combined. A stack has the same
colour in all of them, if they get the same list of stacks. Columns may have any name: what a chart needs of them is
copied to columns of its own, since Vega-Lite takes dots, brackets and colons in a field's name for a path.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from anabranch import statistics
from anabranch.topologies.map_layout import Point, positions
from anabranch.topologies.model import Node

# Okabe and Ito (2008), without black and yellow, in an order in which neighbours differ in lightness too; then four of
# Tol's "muted" scheme (2021). Both stay apart under the common colour vision deficiencies, on white and on black.
PALETTE = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#999933", "#882255", "#44AA99", "#AA4499"]

# Links are no stacks: another set of colours, told apart by dashes too.
_LINK_PALETTE = ["#6f5bd0", "#b8860b", "#6b7280", "#c2497b"]
_DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3]]
_LOAD_COLOURS = ["#98a4b3", "#6f86d6", "#9a58c4", "#d1457f", "#ee4b2b"]


UPRIGHT_BARS = 16


@dataclass(frozen=True)
class Measure:
    """How a column is shown: its title, the factor from its unit to the one shown, that one's name, and the axis."""

    column: str
    title: str
    unit: str
    factor: float = 1.0
    from_zero: bool = True

    @property
    def axis(self) -> str:
        """The title of an axis."""
        return f"{self.title}, {self.unit}" if self.unit else self.title


def rate(column: str, title: str, largest_bps: float | None) -> Measure:
    """A rate in the largest of bit/s, kbit/s, Mbit/s and Gbit/s that leaves ``largest_bps`` at 1 or more."""
    for unit, factor in (("Gbit/s", 1e-9), ("Mbit/s", 1e-6), ("kbit/s", 1e-3)):
        if (largest_bps or 0) * factor >= 1:
            return Measure(column, title, unit, factor)
    return Measure(column, title, "bit/s")


def stack_scale(stacks: Sequence[str]) -> alt.Scale:
    """The colours of stacks, by their place in the list."""
    return alt.Scale(domain=list(stacks), range=[PALETTE[place % len(PALETTE)] for place in range(len(stacks))])


def seconds(column: str, title: str, largest_s: float | None) -> Measure:
    """A time in seconds, or in milliseconds below one second."""
    return Measure(column, title, "s") if (largest_s or 0) >= 1 else Measure(column, title, "ms", 1e3)


def goodput_bars(summary: pl.DataFrame, *, x: str, x_title: str, stacks: Sequence[str]) -> alt.LayerChart:
    """Bars of goodput, side by side for the stacks, with the 95 % confidence interval where there is one.

    Args:
        summary: what :func:`anabranch.statistics.summary` returns: ``stack``, the column ``x``, ``goodput_bps``,
            ``goodput_interval_bps``, ``runs``.
        x: the column to compare by.
        x_title: what that column is, for the axis.
        stacks: all stacks, in the order of their colours.
    """
    shown = rate("goodput_bps", "Goodput", _largest(summary["goodput_bps"]))
    return _bars(summary, shown, "goodput_interval_bps", "runs", x=x, x_title=x_title, stacks=stacks)


def completion_bars(times: pl.DataFrame, *, x: str, x_title: str, stacks: Sequence[str]) -> alt.LayerChart:
    """Bars of mean completion times, as :func:`goodput_bars`.

    ``times`` is what :func:`anabranch.statistics.completion_times` returns of one class of sizes.
    """
    shown = seconds("fct_mean_s", "Mean completion time", _largest(times["fct_mean_s"]))
    return _bars(times, shown, "fct_interval_s", "flows", x=x, x_title=x_title, stacks=stacks)


def _bars(
    table: pl.DataFrame,
    shown: Measure,
    interval: str,
    count: str,
    *,
    x: str,
    x_title: str,
    stacks: Sequence[str],
) -> alt.LayerChart:
    rows = table.select(
        pl.col(x).cast(pl.String).alias("x"),
        "stack",
        pl.col(count).alias("count"),
        mean=pl.col(shown.column) * shown.factor,
        half=pl.col(interval) * shown.factor,
    ).with_columns(low=pl.col("mean") - pl.col("half"), high=pl.col("mean") + pl.col("half"))
    rows = rows.with_columns(
        pl.col("mean", "half", "low", "high").round_sig_figs(5),
        text=pl.col("mean").map_elements(three_digits, return_dtype=pl.String),
    )
    # Beside each other while there is room for the numbers above them, else below each other.
    upright = rows.height <= UPRIGHT_BARS
    group, offset, value, end = ("x", "xOffset", "y", "y2") if upright else ("y", "yOffset", "x", "x2")
    along, within, across = (alt.X, alt.XOffset, alt.Y) if upright else (alt.Y, alt.YOffset, alt.X)
    axis = alt.Axis(labelAngle=0, labelExpr="split(datum.label, ' · ')")
    place: dict[str, Any] = {
        group: along("x:N", title=x_title, sort=None, axis=axis),
        offset: within("stack:N", sort=list(stacks)),
    }
    base = alt.Chart(_data(rows)).encode(**place)
    tooltip = [
        alt.Tooltip("stack:N", title="stack"),
        alt.Tooltip("x:N", title=x_title or "variant"),
        alt.Tooltip("mean:Q", title=shown.axis),
        alt.Tooltip("half:Q", title="± (95 %)"),
        alt.Tooltip("count:Q", title=count),
    ]
    colour = alt.Color("stack:N", scale=stack_scale(stacks), legend=_legend("Stack", "square"))
    length: dict[str, Any] = {value: across("mean:Q", title=shown.axis)}
    bars = base.mark_bar(cornerRadiusEnd=2).encode(**length, color=colour, tooltip=tooltip)
    known = alt.datum.half != None  # noqa: E711 - builds a Vega expression
    ends_of_interval: dict[str, Any] = {value: across("low:Q", title=shown.axis), end: "high:Q"}
    intervals = base.transform_filter(known).mark_rule(strokeWidth=1.5).encode(**ends_of_interval, tooltip=tooltip)
    beyond: dict[str, Any] = {value: "end:Q"}
    beside: dict[str, Any] = {"dy": -7} if upright else {"dx": 5, "align": "left"}
    ends = base.transform_calculate(end="max(datum.mean, datum.high)")
    labels = ends.mark_text(fontSize=11, **beside).encode(**beyond, text="text:N")
    drawing = _layered([bars, intervals, labels])
    return drawing.properties(width=640, height=300 if upright else 17 * rows.height)


def time_series(
    series: pl.DataFrame,
    measure: Measure,
    *,
    panel: str,
    panels: Sequence[str],
    stacks: Sequence[str],
    columns: int = 4,
) -> alt.FacetChart:
    """Small multiples of a measure over time, a panel for each variant, all with the same axes.

    Args:
        series: what :func:`anabranch.report.series.flow_series` returns.
        measure: which of its measures, and how to show it.
        panel: the column that names the panel.
        panels: the panels, in order.
        stacks: all stacks, in the order of their colours.
        columns: panels in a row.
    """
    colour = alt.Color("stack:N", scale=stack_scale(stacks), legend=_legend("Stack"))
    return _panels(series, measure, panel, panels, columns, colour, {})


def link_time_series(
    series: pl.DataFrame, measure: Measure, *, panel: str, panels: Sequence[str], columns: int = 4
) -> alt.FacetChart:
    """Small multiples of a link's measure over time, a line for each link; ``series`` as
    :func:`anabranch.report.series.link_series` returns it, and up to four links.
    """
    links = series["series"].unique(maintain_order=True).to_list()
    legend = _legend("Link")
    colour = alt.Color(
        "series:N", scale=alt.Scale(domain=links, range=_LINK_PALETTE[: len(links)]), legend=legend, title="Link"
    )
    dash = alt.StrokeDash(
        "series:N", scale=alt.Scale(domain=links, range=_DASHES[: len(links)]), legend=legend, title="Link"
    )
    return _panels(series, measure, panel, panels, columns, colour, {"strokeDash": dash})


def link_estimates(
    series: pl.DataFrame,
    links: pl.DataFrame,
    measure: Measure,
    *,
    panel: str,
    panels: Sequence[str],
    columns: int = 3,
) -> alt.FacetChart:
    """Small multiples of what was known of links over time, with what is configured as a dotted line of the same colour.

    Args:
        series: what :func:`anabranch.report.series.link_series` returns.
        links: ``series`` (name) and, in the measure's column, what is configured; up to four.
        measure: which measure, and how to show it.
        panel: the column that names the panel.
        panels: the panels, in order.
        columns: panels in a row.
    """
    names = links["series"].unique(maintain_order=True).to_list()
    configured = {name: f"{name}, configured" for name in names}
    known = links.unique("series", keep="first").select("series", known=measure.column)
    ends = series.group_by(panel, "series", maintain_order=True).agg(
        pl.col("time_s").sort().gather([0, -1]), pl.lit(measure.column).alias("measure")
    )
    flat = (
        ends.explode("time_s")
        .join(known, on="series")
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
    scale = alt.Scale(domain=domain, range=_LINK_PALETTE[: len(names)] * 2)
    legend = _legend("Link")
    legend.values = names
    colour = alt.Color("series:N", scale=scale, legend=legend, title="Link")
    dashes = alt.Scale(domain=domain, range=[[1, 0]] * len(names) + [[2, 3]] * len(names))
    dash = alt.StrokeDash("series:N", scale=dashes, legend=None)
    return _panels(lines, measure, panel, panels, columns, colour, {"strokeDash": dash})


def route_timeline(spans: pl.DataFrame, rows: Sequence[str]) -> alt.LayerChart:
    """Bars that say which path each pair had when.

    Args:
        spans: one row for each path of a pair: ``row`` (the pair's name), ``path``, ``number`` (of the path among those of
            the pair, which chooses its colour), ``start`` and ``end`` in seconds.
        rows: the names of the pairs, in order.
    """
    total = _largest(spans["end"])
    data = spans.with_columns(pl.col("number") % len(PALETTE), chars=pl.col("path").str.len_chars())
    base = alt.Chart(_data(data)).encode(
        x=alt.X("start:Q", title="Time, s", scale=alt.Scale(domain=[0, total], nice=False)),
        y=alt.Y("row:N", title=None, sort=list(rows)),
    )
    tooltip = [
        alt.Tooltip("row:N", title="pair"),
        alt.Tooltip("path:N", title="path"),
        alt.Tooltip("start:Q", title="from, s"),
        alt.Tooltip("end:Q", title="to, s"),
    ]
    colour = alt.Color("number:O", scale=alt.Scale(domain=list(range(len(PALETTE))), range=PALETTE), legend=None)
    bars = base.mark_bar(height=16, cornerRadius=2, opacity=0.35).encode(x2="end:Q", color=colour, tooltip=tooltip)
    # A name that does not fit is in the bar's tooltip, and in the table.
    fits = f"datum.chars * 6.5 + 8 < (datum.end - datum.start) / {total} * width"
    labels = (
        base.transform_filter(fits).mark_text(align="left", dx=5, fontSize=11).encode(text="path:N", tooltip=tooltip)
    )
    return _layered([bars, labels]).properties(width=640, height=26 * len(rows))


def _panels(
    series: pl.DataFrame,
    measure: Measure,
    panel: str,
    panels: Sequence[str],
    columns: int,
    colour: alt.Color,
    line: Mapping[str, Any],
) -> alt.FacetChart:
    rows = series.filter(pl.col("measure") == measure.column).select(
        pl.col(panel).alias("panel"),
        *(["stack"] if "stack" in series.columns else []),
        "series",
        pl.col("time_s").round(3),
        *((pl.col(part) * measure.factor).round_sig_figs(4) for part in ("value", "low", "high")),
    )
    spread = not rows.filter(pl.col("low") < pl.col("high")).is_empty()
    parts = ["time_s", "value", *(["low", "high"] if spread else [])]
    names = [name for name in rows.columns if name in ("panel", "stack", "series")]
    # A row a line with arrays, which Vega takes apart: names are long, and would be repeated with every point.
    packed = rows.group_by(names, maintain_order=True).agg(parts)
    x = alt.X("time_s:Q", title="Time, s", axis=alt.Axis(tickCount=4), scale=alt.Scale(nice=False))
    y_axis, y_scale = alt.Axis(tickCount=4), alt.Scale(zero=measure.from_zero)
    base = alt.Chart().encode(x=x, color=colour, detail="series:N")
    mean = base.mark_line(strokeWidth=1.5).encode(
        y=alt.Y("value:Q", title=measure.axis, axis=y_axis, scale=y_scale), tooltip="series:N", **line
    )
    layers = [mean]
    if spread:
        low = alt.Y("low:Q", title=measure.axis, axis=y_axis, scale=y_scale)
        layers.insert(0, base.mark_area(opacity=0.2).encode(y=low, y2="high:Q"))
    small = _layered(layers).properties(width=200, height=110)
    return _faceted(small, packed, panels, columns).transform_flatten([*parts])


def distributions(
    values: pl.DataFrame,
    measure: Measure,
    *,
    panel: str,
    panels: Sequence[str],
    stacks: Sequence[str],
    columns: int = 3,
) -> alt.FacetChart:
    """Empirical distribution functions, a line for each stack, a panel for each value of ``panel``.

    The scale is logarithmic if the values span more than a factor of 30.

    Args:
        values: one row a flow: ``panel``, ``stack`` and the measure's column.
        measure: what is distributed, and how to show it.
        panel: the column that names the panel.
        panels: the panels, in order.
        stacks: all stacks, in the order of their colours.
        columns: panels in a row.
    """
    parts = [
        statistics.cumulative_distribution(group[measure.column] * measure.factor).with_columns(
            panel=pl.lit(name), stack=pl.lit(stack)
        )
        for (name, stack), group in values.group_by([panel, "stack"], maintain_order=True)
    ]
    rows = pl.concat(parts).with_columns(pl.col("value", "share").round_sig_figs(4))
    least, most = _least(rows["value"]), _largest(rows["value"])
    wide = least > 0 and most > 30 * least
    small = (
        alt.Chart()
        .mark_line(interpolate="step-after", strokeWidth=1.8)
        .encode(
            x=alt.X(
                "value:Q",
                title=measure.axis,
                scale=alt.Scale(type="log" if wide else "linear", zero=not wide, nice=not wide),
                axis=alt.Axis(tickCount=4),
            ),
            y=alt.Y("share:Q", title="Share of flows", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%")),
            color=alt.Color("stack:N", scale=stack_scale(stacks), legend=_legend("Stack")),
            tooltip=["stack:N"],
        )
        .properties(width=280, height=180)
    )
    return _faceted(small, rows, panels, columns)


def link_map(
    nodes: Sequence[Mapping[str, Any]], links: pl.DataFrame, variants: Mapping[int, str], *, width: int = 760
) -> alt.LayerChart:
    """The topology with the load of each directed link, and a selector for the variant.

    The two directions of a link lie side by side, as traffic drives on the right. Colour and width are the utilisation.

    Args:
        nodes: ``name``, and ``latitude`` and ``longitude``, or ``x`` and ``y``, or nulls.
        links: what :func:`anabranch.statistics.link_summary` returns, of one topology.
        variants: their labels by the number in ``links``.
        width: pixels.
    """
    places = positions([Node(**node) for node in nodes], links.select("src", "dst").unique(maintain_order=True).rows())
    tall = max(y for _, y in places.values()) or 0.35
    wide = max(x for x, _ in places.values()) or 0.35
    margin_x, margin_y = 0.09 * wide, 0.1 * tall
    frame_x, frame_y = [-margin_x, wide + margin_x], [-margin_y, tall + margin_y]
    span = frame_x[1] - frame_x[0]

    selector = alt.binding_select(options=list(range(len(variants))), labels=list(variants.values()), name="Variant ")
    chosen = alt.param(name="variant", value=0, bind=selector if len(variants) > 1 else alt.Undefined)
    load = alt.Chart().transform_calculate(
        # 3.5 pixels to the right, whatever the width of the map.
        shift=f"3.5 * {span} / width",
        x1="datum.x + datum.right_x * datum.shift",
        y1="datum.y + datum.right_y * datum.shift",
        x2="datum.to_x + datum.right_x * datum.shift",
        y2="datum.to_y + datum.right_y * datum.shift",
        arrow_x="datum.x1 * 0.4 + datum.x2 * 0.6",
        arrow_y="datum.y1 * 0.4 + datum.y2 * 0.6",
        load="datum.u[variant]",
        # In per cent: Vega-Lite makes one legend of symbols of all scales that have the same domain.
        percent="100 * datum.u[variant]",
        throughput="datum.u[variant] * datum.capacity",
        drops="datum.d[variant]",
        queue="datum.q[variant]",
    )
    x_scale, y_scale = (
        alt.Scale(domain=frame_x, nice=False, zero=False),
        alt.Scale(domain=frame_y, nice=False, zero=False),
    )
    colour = alt.Color(
        "load:Q",
        scale=alt.Scale(domain=[0, 1], range=_LOAD_COLOURS, clamp=True),
        legend=alt.Legend(title="Utilisation", orient="top", format="%"),
    )
    tooltip = [
        alt.Tooltip("name:N", title="link"),
        alt.Tooltip("load:Q", title="utilisation", format=".1%"),
        alt.Tooltip("throughput:Q", title="load, Mbit/s", format=".4~r"),
        alt.Tooltip("capacity:Q", title="capacity, Mbit/s", format=".4~r"),
        alt.Tooltip("delay:Q", title="propagation delay, ms", format=".4~r"),
        alt.Tooltip("queue:Q", title="mean queueing delay, ms", format=".3~r"),
        alt.Tooltip("drops:Q", title="dropped by the queue", format=".3~%"),
    ]
    lines = load.mark_rule(strokeCap="butt").encode(
        x=alt.X("x1:Q", scale=x_scale, axis=None),
        y=alt.Y("y1:Q", scale=y_scale, axis=None),
        x2="x2:Q",
        y2="y2:Q",
        color=colour,
        strokeWidth=alt.StrokeWidth(
            "percent:Q", scale=alt.Scale(domain=[0, 100], range=[1, 6], clamp=True), legend=None
        ),
        tooltip=tooltip,
    )
    arrows = (
        load.transform_filter("datum.load > 0.005")
        .mark_point(shape="triangle", filled=True, opacity=1)
        .encode(
            x="arrow_x:Q",
            y="arrow_y:Q",
            angle=alt.Angle("angle:Q", scale=None),
            color=colour,
            size=alt.Size("percent:Q", scale=alt.Scale(domain=[0, 100], range=[45, 190], clamp=True), legend=None),
            tooltip=tooltip,
        )
    )
    dots = alt.Chart().encode(x="x:Q", y="y:Q", tooltip=alt.Tooltip("name:N", title="node"))
    few = len(places) <= 60
    layers = [lines, arrows, dots.mark_circle(size=70 if few else 18, color="#475569", opacity=1)]
    if few:
        layers.append(dots.mark_text(dy=-11, fontSize=11).encode(text="name:N"))
    height = width * (frame_y[1] - frame_y[0]) / span
    drawing = _layered(layers).add_params(chosen).properties(width=width, height=round(height))
    # At the end, since every step above copies the chart with its data.
    of_links = _data_of(_map_links(links, places, list(variants)))
    of_nodes = _data_of([{"name": name, "x": round(x, 5), "y": round(y, 5)} for name, (x, y) in places.items()])
    for place, layer in enumerate(drawing.layer):
        layer.data = of_links if place < 2 else of_nodes
    return drawing


def _map_links(links: pl.DataFrame, places: Mapping[str, Point], variants: Sequence[int]) -> list[dict[str, Any]]:
    """One row a link: where it lies, and arrays of what it did in each variant."""
    order = {variant: place for place, variant in enumerate(variants)}
    rows: dict[int, dict[str, Any]] = {}
    for link in links.filter(pl.col("variant").is_in(list(variants))).to_dicts():
        row = rows.get(link["link"])
        if row is None:
            (x, y), (to_x, to_y) = places[link["src"]], places[link["dst"]]
            length = math.hypot(to_x - x, to_y - y) or 1.0
            row = rows[link["link"]] = {
                "name": f"{link['src']} → {link['dst']}",
                "x": round(x, 5),
                "y": round(y, 5),
                "to_x": round(to_x, 5),
                "to_y": round(to_y, 5),
                "right_x": round((to_y - y) / length, 5),
                "right_y": round(-(to_x - x) / length, 5),
                # A triangle points up, and turns clockwise.
                "angle": round(math.degrees(math.atan2(to_x - x, to_y - y)), 2),
                "capacity": link["capacity_bps"] / 1e6,
                "delay": _significant(link["delay_s"] * 1e3),
                **{part: [None] * len(order) for part in "udq"},
            }
        place = order[link["variant"]]
        row["u"][place] = _significant(link["utilisation"])
        row["d"][place] = _significant(link["queue_drop_ratio"])
        row["q"][place] = _significant(None if link["queue_delay_mean_s"] is None else link["queue_delay_mean_s"] * 1e3)
    # The loaded ones on top.
    return sorted(rows.values(), key=lambda row: max((load for load in row["u"] if load is not None), default=0.0))


def three_digits(value: float | None) -> str:
    """A number with three significant digits, or a dash for an unknown one."""
    return digits(value, 3)


def digits(value: float | None, significant: int) -> str:
    """A number with so many significant digits, whole digits always, or a dash for an unknown one."""
    if value is None or value != value:
        return "–"
    if value == 0:
        return "0"
    decimals = max(significant - 1 - math.floor(math.log10(abs(value))), 0)
    return f"{value:,.{decimals}f}" if decimals <= 6 else f"{value:.1e}"


def with_interval(value: float, half: float | None) -> str:
    """A value of three significant digits, and the half width of its interval to the same decimal."""
    text = three_digits(value)
    if half is None or "e" in text:
        return text if half is None else f"{text} ± {three_digits(half)}"
    decimals = len(text.partition(".")[2])
    return f"{value:,.{decimals}f} ± {half:,.{decimals}f}"


def _significant(value: float | None, digits: int = 4) -> float | None:
    return None if value is None or value != value else float(f"{value:.{digits}g}")


def _largest(values: pl.Series) -> float:
    return float(values.max() or 0)  # type: ignore[arg-type]


def _least(values: pl.Series) -> float:
    return float(values.min() or 0)  # type: ignore[arg-type]


def _legend(title: str, symbol: str = "stroke") -> alt.Legend:
    return alt.Legend(
        title=title, orient="top", symbolType=symbol, symbolOpacity=1, symbolStrokeWidth=2.5, labelLimit=260
    )


def specification(drawing: alt.LayerChart | alt.FacetChart) -> dict[str, Any]:
    """What Vega-Lite draws, not compared with its schema, which would take longer than to make it."""
    return drawing.to_dict(validate=False)


def _layered(charts: list[alt.Chart]) -> alt.LayerChart:
    layered = alt.layer(*charts)
    # `alt.layer` lifts what all layers share, and returns a facet only for layers that are facets.
    assert isinstance(layered, alt.LayerChart)
    return layered


def _faceted(
    small: alt.Chart | alt.LayerChart, rows: pl.DataFrame, panels: Sequence[str], columns: int
) -> alt.FacetChart:
    facet = alt.Facet("panel:N", title=None, sort=list(panels), header=alt.Header(labelLimit=300))
    return alt.FacetChart(spec=small, facet=facet, columns=columns, data=_data(rows))


def _data(frame: pl.DataFrame) -> alt.InlineData:
    return _data_of(frame.to_dicts())


def _data_of(rows: list[dict[str, Any]]) -> alt.InlineData:
    return alt.InlineData(values=rows)
