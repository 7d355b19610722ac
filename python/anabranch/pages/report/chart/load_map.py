"""The load of links on the map of their network."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import polars as pl

from anabranch.network.topologies.map_layout import Point, positions
from anabranch.network.topologies.model import Node
from anabranch.pages.report.parts import largest
from anabranch.pages.report.vega_lite import Specification, calculate, drawing, mark, nominal, quantitative

_OF_VARIANTS = ("capacity_mbps", "delay_ms", "utilisation", "peak", "queue_drop_ratio", "queue_delay_ms")
"""The values that a link has in each variant, by the names of their columns where the chart is saved as CSV."""
_MOST_NAMED = 12
"""Nodes with a name on a map of many."""
_NAME = (0.11, 0.035)
"""Width and height of a name, as shares of the map."""
_LOAD_COLOURS = ["#98a4b3", "#6f86d6", "#9a58c4", "#d1457f", "#ee4b2b"]


def link_map(
    nodes: Sequence[Mapping[str, Any]], links: pl.DataFrame, variants: Mapping[int, str], *, width: int = 760
) -> Specification:
    """The topology with the load of each directed link, and selectors for the variant and for mean or peak.

    The two directions of a link lie side by side, as traffic drives on the right. Colour and width are the utilisation,
    on a scale up to the least round share that no link exceeds.

    Args:
        nodes: ``name``, and ``latitude`` and ``longitude``, or ``x`` and ``y``, or nulls; further nodes of links have no coordinates.
        links: what :func:`anabranch.results.statistics.link_summary` returns, of one run directory, with ``peak``: the highest
            utilisation of a sample, or null.
        variants: their labels by the number in ``links``.
        width: pixels.
    """
    ends = links.select("src", "dst").unique(maintain_order=True).rows()
    known = {node["name"]: Node(**node) for node in nodes}
    # A variant may have another topology, with nodes of its own.
    places = positions(list({name: known.get(name, Node(name)) for name in [*known, *chain(*ends)]}.values()), ends)
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
    params = [chosen]
    means, peaks = _scale_end(links["utilisation"]), _scale_end(links["peak"])
    load_shown, end = "datum.utilisation[variant]", f"{means:g}"
    if links["peak"].count():
        choice = {"input": "select", "options": [0, 1], "labels": ["mean", "peak"], "name": "Utilisation "}
        params.append({"name": "peak", "value": 0, "bind": choice})
        load_shown, end = "(peak ? datum.peak[variant] : datum.utilisation[variant])", f"(peak ? {peaks:g} : {means:g})"
    load = calculate(
        # 3.5 pixels to the right on a map of any width.
        shift=f"3.5 * {span} / width",
        x1="datum.x + datum.right_x * datum.shift",
        y1="datum.y + datum.right_y * datum.shift",
        x2="datum.to_x + datum.right_x * datum.shift",
        y2="datum.to_y + datum.right_y * datum.shift",
        arrow_x="datum.x1 * 0.4 + datum.x2 * 0.6",
        arrow_y="datum.y1 * 0.4 + datum.y2 * 0.6",
        load=load_shown,
        # In per cent: Vega-Lite makes one legend of symbols of all scales that have the same domain.
        percent="100 * datum.load",
        mean="datum.utilisation[variant]",
        busiest="datum.peak[variant]",
        capacity="datum.capacity_mbps[variant]",
        delay="datum.delay_ms[variant]",
        throughput="datum.utilisation[variant] * datum.capacity_mbps[variant]",
        drops="datum.queue_drop_ratio[variant]",
        queue="datum.queue_delay_ms[variant]",
    )

    def percent(sizes: Sequence[int]) -> Specification:
        return quantitative(
            "percent",
            scale={"domain": [0, {"expr": f"100 * {end}"}], "range": sizes, "clamp": True},
            legend=None,
        )

    def frame(domain: Sequence[float]) -> Specification:
        return {"scale": {"domain": domain, "nice": False, "zero": False}, "axis": None}

    colour = quantitative(
        "load",
        scale={"domain": [0, {"expr": end}], "range": _LOAD_COLOURS, "clamp": True, "nice": False},
        legend={"title": "Utilisation", "orient": "top", "format": ".3~%"},
    )
    tooltip = [
        nominal("name", title="link"),
        quantitative("mean", title="utilisation, mean", format=".3~%"),
        *([quantitative("busiest", title="utilisation, peak", format=".3~%")] if len(params) > 1 else []),
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
    is_there = {"filter": "isValid(datum.capacity_mbps[variant])"}
    lines = mark(
        "rule",
        {**along, "color": colour, "strokeWidth": percent([1, 6]), "tooltip": tooltip},
        is_there,
        *load,
        strokeCap="butt",
    )
    middle = {
        "x": quantitative("arrow_x"),
        "y": quantitative("arrow_y"),
        "angle": quantitative("angle", scale=None),
    }
    arrows = mark(
        "point",
        {**middle, "color": colour, "size": percent([45, 190]), "tooltip": tooltip},
        is_there,
        *load,
        {"filter": f"datum.load > 0.005 * {end}"},
        shape="triangle",
        filled=True,
        opacity=1,
    )
    node = {"x": quantitative("x"), "y": quantitative("y"), "tooltip": nominal("name", title="node")}
    few = len(places) <= 60
    nodes_drawn = [mark("circle", node, size=70 if few else 18, color="#475569", opacity=1)]
    # Many names would cover one another: those at the ends of the busiest links are the ones that a reader looks for.
    wanted = [] if few else [{"filter": {"field": "name", "oneOf": _at_busiest(links, places)}}]
    nodes_drawn.append(mark("text", {**node, "text": nominal("name")}, *wanted, dy=-11 if few else -7, fontSize=11))
    return drawing(
        {
            "links": _map_links(links, places, list(variants)),
            "nodes": [{"name": name, "x": round(x, 5), "y": round(y, 5)} for name, (x, y) in places.items()],
        },
        [
            *({"data": {"name": "links"}, **layer} for layer in (lines, arrows)),
            *({"data": {"name": "nodes"}, **layer} for layer in nodes_drawn),
        ],
        params,
        width=width,
        height=round(width * (frame_y[1] - frame_y[0]) / span),
    )


def _at_busiest(links: pl.DataFrame, places: Mapping[str, Point]) -> list[str]:
    """Nodes at the ends of the busiest links, those of the busiest first, without names that would cover one another."""
    ranked = links.sort("utilisation", "src", "dst", descending=[True, False, False], nulls_last=True)
    named: list[str] = []
    for name in dict.fromkeys(end for link in ranked.select("src", "dst").iter_rows() for end in link):
        x, y = places[name]
        apart = (abs(x - places[other][0]) > _NAME[0] or abs(y - places[other][1]) > _NAME[1] for other in named)
        if all(apart):
            named.append(name)
        if len(named) == _MOST_NAMED:
            break
    return named


def _scale_end(shares: pl.Series) -> float:
    """The least of 1, 2, 5, 10, 20, 50 and 100 % (and so on below) that no share exceeds."""
    most = min(largest(shares), 1.0)
    if most <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(most))
    return float(next(f"{step * size:.1g}" for step in (1, 2, 5, 10) if most <= step * size * (1 + 1e-9)))


def _map_links(links: pl.DataFrame, places: Mapping[str, Point], variants: Sequence[int]) -> list[dict[str, Any]]:
    """One row for each link: its position, and arrays of its values in each variant."""
    order = {variant: place for place, variant in enumerate(variants)}
    # Not by their numbers, which are of one topology.
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for link in links.filter(pl.col("variant").is_in(list(variants))).to_dicts():
        row = rows.get((link["src"], link["dst"]))
        if row is None:
            (x, y), (to_x, to_y) = places[link["src"]], places[link["dst"]]
            length = math.hypot(to_x - x, to_y - y) or 1.0
            row = rows[link["src"], link["dst"]] = {
                "name": f"{link['src']} → {link['dst']}",
                "x": round(x, 5),
                "y": round(y, 5),
                "to_x": round(to_x, 5),
                "to_y": round(to_y, 5),
                "right_x": round((to_y - y) / length, 5),
                "right_y": round(-(to_x - x) / length, 5),
                # A triangle points up, and turns clockwise.
                "angle": round(math.degrees(math.atan2(to_x - x, to_y - y)), 2),
                **{part: [None] * len(order) for part in _OF_VARIANTS},
            }
        place = order[link["variant"]]
        row["capacity_mbps"][place] = link["capacity_bps"] / 1e6
        row["delay_ms"][place] = _significant(link["delay_s"] * 1e3)
        row["utilisation"][place] = _significant(link["utilisation"])
        row["peak"][place] = _significant(link["peak"])
        row["queue_drop_ratio"][place] = _significant(link["queue_drop_ratio"])
        row["queue_delay_ms"][place] = _significant(
            None if link["queue_delay_mean_s"] is None else link["queue_delay_mean_s"] * 1e3
        )
    # The loaded ones on top.
    return sorted(
        rows.values(), key=lambda row: max((load for load in row["utilisation"] if load is not None), default=0.0)
    )


def _significant(value: float | None, digits: int = 4) -> float | None:
    return None if value is None or value != value else float(f"{value:.{digits}g}")
