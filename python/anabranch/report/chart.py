"""The charts of a report, from polars frames, for a notebook as well.

Every function returns a Vega-Lite specification without configuration; in a notebook, ``altair.Chart.from_dict`` draws it. A stack has the
same colour in all charts, if they get the same list of stacks. Columns may have any name: what a chart needs of them is
copied to columns of its own, since Vega-Lite takes dots, brackets and colons in a field's name for a path.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from anabranch import statistics
from anabranch.report.vega_lite import (
    Specification,
    calculate,
    drawing,
    faceted,
    layered,
    legend,
    mark,
    nominal,
    quantitative,
)
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


def stack_colour(stacks: Sequence[str], symbol: str = "stroke") -> Specification:
    """The colours of stacks, by their place in the list."""
    colours = [PALETTE[place % len(PALETTE)] for place in range(len(stacks))]
    return nominal("stack", scale={"domain": list(stacks), "range": colours}, legend=legend("Stack", symbol))


def seconds(column: str, title: str, largest_s: float | None) -> Measure:
    """A time in seconds, or in milliseconds below one second."""
    return Measure(column, title, "s") if (largest_s or 0) >= 1 else Measure(column, title, "ms", 1e3)


def goodput_bars(summary: pl.DataFrame, *, x: str, x_title: str, stacks: Sequence[str]) -> Specification:
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


def completion_bars(times: pl.DataFrame, *, x: str, x_title: str, stacks: Sequence[str]) -> Specification:
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
) -> Specification:
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
    axis = {"labelAngle": 0, "labelExpr": "split(datum.label, ' · ')"}
    place = {
        group: nominal("x", title=x_title, sort=None, axis=axis),
        offset: nominal("stack", sort=list(stacks)),
    }
    tooltip = [
        nominal("stack", title="stack"),
        nominal("x", title=x_title or "variant"),
        quantitative("mean", title=shown.axis),
        quantitative("half", title="± (95 %)"),
        quantitative("count", title=count),
    ]
    length = {value: quantitative("mean", title=shown.axis)}
    colour = stack_colour(stacks, "square")
    bars = mark("bar", {**place, **length, "color": colour, "tooltip": tooltip}, cornerRadiusEnd=2)
    ends_of_interval = {value: quantitative("low", title=shown.axis), end: {"field": "high"}}
    known = {"filter": "datum.half !== null"}
    intervals = mark("rule", {**place, **ends_of_interval, "tooltip": tooltip}, known, strokeWidth=1.5)
    beside = {"dy": -7} if upright else {"dx": 5, "align": "left"}
    ends = calculate(end="max(datum.mean, datum.high)")
    labels = mark("text", {**place, value: quantitative("end"), "text": nominal("text")}, *ends, fontSize=11, **beside)
    return layered([bars, intervals, labels], rows, width=640, height=300 if upright else 17 * rows.height)


def time_series(
    series: pl.DataFrame,
    measure: Measure,
    *,
    panel: str,
    panels: Sequence[str],
    stacks: Sequence[str],
    columns: int = 4,
) -> Specification:
    """Small multiples of a measure over time, a panel for each variant, all with the same axes.

    Args:
        series: what :func:`anabranch.report.series.flow_series` returns.
        measure: which of its measures, and how to show it.
        panel: the column that names the panel.
        panels: the panels, in order.
        stacks: all stacks, in the order of their colours.
        columns: panels in a row.
    """
    return _panels(series, measure, panel, panels, columns, stack_colour(stacks), {})


def link_time_series(
    series: pl.DataFrame, measure: Measure, *, panel: str, panels: Sequence[str], columns: int = 4
) -> Specification:
    """Small multiples of a link's measure over time, a line for each link; ``series`` as
    :func:`anabranch.report.series.link_series` returns it, and up to four links.
    """
    links = series["series"].unique(maintain_order=True).to_list()

    def channel(values: Sequence[Any]) -> Specification:
        scale = {"domain": links, "range": values[: len(links)]}
        return nominal("series", scale=scale, legend=legend("Link"), title="Link")

    line = {"strokeDash": channel(_DASHES)}
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
    scale = {"domain": domain, "range": _LINK_PALETTE[: len(names)] * 2}
    colour = nominal("series", scale=scale, legend=legend("Link", values=names), title="Link")
    dashes = {"domain": domain, "range": [[1, 0]] * len(names) + [[2, 3]] * len(names)}
    line = {"strokeDash": nominal("series", scale=dashes, legend=None)}
    return _panels(lines, measure, panel, panels, columns, colour, line)


def route_timeline(spans: pl.DataFrame, rows: Sequence[str]) -> Specification:
    """Bars that say which path each pair had when.

    Args:
        spans: one row for each path of a pair: ``row`` (the pair's name), ``path``, ``number`` (of the path among those of
            the pair, which chooses its colour), ``start`` and ``end`` in seconds.
        rows: the names of the pairs, in order.
    """
    total = _largest(spans["end"])
    data = spans.with_columns(pl.col("number") % len(PALETTE), chars=pl.col("path").str.len_chars())
    place = {
        "x": quantitative("start", title="Time, s", scale={"domain": [0, total], "nice": False}),
        "y": nominal("row", title=None, sort=list(rows)),
    }
    tooltip = [
        nominal("row", title="pair"),
        nominal("path", title="path"),
        quantitative("start", title="from, s"),
        quantitative("end", title="to, s"),
    ]
    scale = {"domain": list(range(len(PALETTE))), "range": PALETTE}
    colour = {"field": "number", "type": "ordinal", "scale": scale, "legend": None}
    until = {"x2": {"field": "end"}, "color": colour, "tooltip": tooltip}
    bars = mark("bar", {**place, **until}, height=16, cornerRadius=2, opacity=0.35)
    # A name that does not fit is in the bar's tooltip, and in the table.
    fits = {"filter": f"datum.chars * 6.5 + 8 < (datum.end - datum.start) / {total} * width"}
    words = {**place, "text": nominal("path"), "tooltip": tooltip}
    labels = mark("text", words, fits, align="left", dx=5, fontSize=11)
    return layered([bars, labels], data, width=640, height=26 * len(rows))


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
    x = quantitative("time_s", title="Time, s", axis={"tickCount": 4}, scale={"nice": False})
    shared = {"x": x, "color": colour, "detail": nominal("series")}

    def y(part: str) -> Specification:
        return quantitative(part, title=measure.axis, axis={"tickCount": 4}, scale={"zero": measure.from_zero})

    layers = [mark("line", {**shared, "y": y("value"), "tooltip": nominal("series"), **line}, strokeWidth=1.5)]
    if spread:
        layers.insert(0, mark("area", {**shared, "y": y("low"), "y2": {"field": "high"}}, opacity=0.2))
    small = {"width": 200, "height": 110, "layer": layers}
    return faceted(small, packed, panels, columns) | {"transform": [{"flatten": parts}]}


def distributions(
    values: pl.DataFrame,
    measure: Measure,
    *,
    panel: str,
    panels: Sequence[str],
    stacks: Sequence[str],
    columns: int = 3,
) -> Specification:
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
    scale = {"type": "log" if wide else "linear", "zero": not wide, "nice": not wide}
    encoding = {
        "x": quantitative("value", title=measure.axis, scale=scale, axis={"tickCount": 4}),
        "y": quantitative("share", title="Share of flows", scale={"domain": [0, 1]}, axis={"format": "%"}),
        "color": stack_colour(stacks),
        "tooltip": [nominal("stack")],
    }
    small = mark("line", encoding, interpolate="step-after", strokeWidth=1.8) | {"width": 280, "height": 180}
    return faceted(small, rows, panels, columns)


def link_map(
    nodes: Sequence[Mapping[str, Any]], links: pl.DataFrame, variants: Mapping[int, str], *, width: int = 760
) -> Specification:
    """The topology with the load of each directed link, and a selector for the variant.

    The two directions of a link lie side by side, as traffic drives on the right. Colour and width are the utilisation.

    Args:
        nodes: ``name``, and ``latitude`` and ``longitude``, or ``x`` and ``y``, or nulls.
        links: what :func:`anabranch.statistics.link_summary` returns, of one topology.
        variants: their labels by the number in ``links``.
        width: pixels.
    """
    places = positions([Node(**node) for node in nodes], links.select("src", "dst").unique(maintain_order=True).rows())
    tall = max(y for _, y in places.values())
    wide = max(x for x, _ in places.values()) or 0.35
    # Nodes in a row need room for their names only.
    margin_x, margin_y = 0.09 * wide, max(0.1 * tall, 0.06 * wide)
    frame_x, frame_y = [-margin_x, wide + margin_x], [-margin_y, tall + margin_y]
    span = frame_x[1] - frame_x[0]

    chosen: Specification = {"name": "variant", "value": 0}
    if len(variants) > 1:
        numbers, labels = list(range(len(variants))), list(variants.values())
        chosen["bind"] = {"input": "select", "options": numbers, "labels": labels, "name": "Variant "}
    load = calculate(
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

    def percent(sizes: Sequence[int]) -> Specification:
        return quantitative("percent", scale={"domain": [0, 100], "range": sizes, "clamp": True}, legend=None)

    def frame(domain: Sequence[float]) -> Specification:
        return {"scale": {"domain": domain, "nice": False, "zero": False}, "axis": None}

    colour = quantitative(
        "load",
        scale={"domain": [0, 1], "range": _LOAD_COLOURS, "clamp": True},
        legend={"title": "Utilisation", "orient": "top", "format": "%"},
    )
    tooltip = [
        nominal("name", title="link"),
        quantitative("load", title="utilisation", format=".1%"),
        quantitative("throughput", title="load, Mbit/s", format=".4~r"),
        quantitative("capacity", title="capacity, Mbit/s", format=".4~r"),
        quantitative("delay", title="propagation delay, ms", format=".4~r"),
        quantitative("queue", title="mean queueing delay, ms", format=".3~r"),
        quantitative("drops", title="dropped by the queue", format=".3~%"),
    ]
    along = {
        "x": quantitative("x1", **frame(frame_x)),
        "y": quantitative("y1", **frame(frame_y)),
        "x2": {"field": "x2"},
        "y2": {"field": "y2"},
    }
    lines = mark(
        "rule", {**along, "color": colour, "strokeWidth": percent([1, 6]), "tooltip": tooltip}, *load, strokeCap="butt"
    )
    middle = {
        "x": quantitative("arrow_x"),
        "y": quantitative("arrow_y"),
        "angle": quantitative("angle", scale=None),
    }
    arrows = mark(
        "point",
        {**middle, "color": colour, "size": percent([45, 190]), "tooltip": tooltip},
        *load,
        {"filter": "datum.load > 0.005"},
        shape="triangle",
        filled=True,
        opacity=1,
    )
    node = {"x": quantitative("x"), "y": quantitative("y"), "tooltip": nominal("name", title="node")}
    few = len(places) <= 60
    nodes_drawn = [mark("circle", node, size=70 if few else 18, color="#475569", opacity=1)]
    if few:
        nodes_drawn.append(mark("text", {**node, "text": nominal("name")}, dy=-11, fontSize=11))
    return drawing(
        {
            "links": _map_links(links, places, list(variants)),
            "nodes": [{"name": name, "x": round(x, 5), "y": round(y, 5)} for name, (x, y) in places.items()],
        },
        [
            *({"data": {"name": "links"}, **layer} for layer in (lines, arrows)),
            *({"data": {"name": "nodes"}, **layer} for layer in nodes_drawn),
        ],
        [chosen],
        width=width,
        height=round(width * (frame_y[1] - frame_y[0]) / span),
    )


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
