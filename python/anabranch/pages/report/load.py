"""Where the load is: maps, and the table of the busiest links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from anabranch.network.topologies.folding import folded
from anabranch.pages.report import chart
from anabranch.pages.report.chart import three_digits
from anabranch.pages.report.evaluation import Evaluation
from anabranch.pages.report.parts import MOST_PANELS, Column, Figure, ReportTable, cells, count, get, largest

MOST_CELLS_OF_MAP = 60_000
MOST_LINKS_OF_TABLE = 20
LEAST_LINKS_OF_TABLE = 4
MOST_ROWS_OF_LINKS = 1000


def maps(e: Evaluation) -> list[Figure]:
    """A map for each run directory, with a selector for the variant."""
    figures = []
    for index, source in enumerate(e.runs.sources):
        own = e.links.filter(pl.col("source") == index)
        if own.is_empty():
            continue
        variants = [variant for variant in e.runs.variants if variant.source == index]
        most = max(MOST_CELLS_OF_MAP // max(own["link"].n_unique(), 1), 1)
        labels = {variant.index: variant.label for variant in variants[:most]}
        nodes = source.manifest["topology"]["nodes"]
        names = [node["name"] for node in nodes]
        groups = folded(names, own.select("src", "dst").unique(maintain_order=True).rows())
        if groups is not None:
            nodes, own = _nodes_of(groups), _between(groups, own)
        drawing = chart.link_map(nodes, own, labels)
        caption = (
            "Colour and width: share of the link's capacity in use, mean over all runs of the variant. "
            "If all flows have a size and have ended, it is of the time until then. "
            "Traffic keeps to the right: each direction is drawn on its own side, with an arrow. "
            "Point at a link for its numbers."
        )
        if groups is not None:
            caption += (
                f" The {len(names):,} nodes are folded: hosts by pod, switches by pod and tier. The name of a group is that of its first node, with the number of the others. A line is the sum of all links between two groups, "
                "and its peak the load of the busiest of them."
            )
        elif own["peak"].count():
            caption += " Peak: the busiest sample after the warm-up, of any run."
        if len(variants) > most:
            caption += f" The first {most} of {len(variants)} variants."
        layout = {"kind": "map", "aspect": drawing["height"] / drawing["width"], "legend": 3}
        layout |= {"variants": list(labels.values())}
        title = f"Load of the links, {source.name}" if len(e.runs.sources) > 1 else "Load of the links"
        figures.append(Figure(f"map-{index}", title, caption, drawing, layout))
    return figures


def _nodes_of(groups: Mapping[str, str]) -> list[dict[str, Any]]:
    """The groups as nodes, without places: their tiers give these."""
    places = {"latitude": None, "longitude": None, "x": None, "y": None}
    return [{"name": group, **places} for group in dict.fromkeys(groups.values())]


def _between(groups: Mapping[str, str], links: pl.DataFrame) -> pl.DataFrame:
    """The links between groups: capacities in sum, and the load and the peak as :func:`maps` says."""
    ends = [pl.col(end).replace_strict(groups, return_dtype=pl.String) for end in ("src", "dst")]
    capacity, packets = pl.col("capacity_bps"), pl.col("packets")

    def weighted(name: str, weight: pl.Expr, of_none: float | None = 0.0) -> pl.Expr:
        of_known = weight.filter(pl.col(name).is_not_null())
        return ((pl.col(name) * weight).sum() / of_known.sum()).fill_nan(of_none).alias(name)

    return (
        links.with_columns(ends)
        .group_by("source", "variant", "src", "dst", maintain_order=True)
        .agg(
            weighted("utilisation", capacity),
            pl.max_horizontal("utilisation", "peak").max().alias("peak"),
            weighted("queue_drop_ratio", packets),
            weighted("queue_delay_mean_s", packets, None),
            pl.col("delay_s").mean(),
            capacity.sum(),
        )
    )


def busiest(e: Evaluation) -> ReportTable:
    """The busiest links of each variant."""
    variants, links = e.runs.variants, e.links
    labels = {variant.index: variant.label for variant in variants}
    capacity = chart.rate("capacity_bps", "Capacity", largest(links["capacity_bps"]))
    peak = Column(
        "Peak", "%", "Utilisation in the busiest sample after the warm-up, of any seed.", get("peak", 100), three_digits
    )
    trimmed = Column(
        "Cut", "a run", "Packets whose payload the queue cut. Their headers went on.", get("trimmed"), count
    )
    columns = [
        *([Column("Variant", "", "Matrix values.", lambda row: labels[row["variant"]])] if len(variants) > 1 else []),
        Column(
            "Link", "", "From and to: a direction is a link of its own.", lambda row: f"{row['src']} → {row['dst']}"
        ),
        Column(
            "Capacity", capacity.unit, "Rate of the transmitter.", get("capacity_bps", capacity.factor), three_digits
        ),
        Column("Delay", "ms", "Propagation delay.", get("delay_s", 1e3), three_digits),
        Column(
            "Utilisation",
            "%",
            "Share of the capacity in use, headers included. If all flows have a size and have ended, it is of the time until then.",
            get("utilisation", 100),
            three_digits,
        ),
        *([peak] if links["peak"].count() else []),
        Column("Packets", "a run", "Packets transmitted.", get("packets"), count),
        Column("Queueing", "ms", "Mean time that a packet waited.", get("queue_delay_mean_s", 1e3), three_digits),
        Column(
            "Longest wait",
            "ms",
            "The longest that a packet waited, of any seed.",
            get("queue_delay_max_s", 1e3),
            three_digits,
        ),
        Column(
            "Dropped",
            "%",
            "Packets refused by the queue, of those that came.",
            get("queue_drop_ratio", 100),
            three_digits,
        ),
        Column(
            "Lost",
            "%",
            "Packets that the wire or a failure lost, of those that the queue let through or the failure took.",
            get("loss_ratio", 100),
            three_digits,
        ),
        Column("Marked", "a run", "Packets marked with congestion experienced (ECN).", get("marks"), count),
        *([trimmed] if "trimmed" in links.columns and links["trimmed"].sum() else []),
    ]
    most = min(max(MOST_ROWS_OF_LINKS // len(variants), LEAST_LINKS_OF_TABLE), MOST_LINKS_OF_TABLE)
    shown = (
        links.filter(pl.col("variant") < MOST_PANELS)
        .sort(["variant", "utilisation"], descending=[False, True], nulls_last=True, maintain_order=True)
        .group_by("variant", maintain_order=True)
        .head(most)
        .to_dicts()
    )
    note = f"The first {MOST_PANELS} of {len(variants)} variants." if len(variants) > MOST_PANELS else ""
    groups = [labels[row["variant"]] for row in shown]
    return ReportTable(columns, [cells(columns, row) for row in shown], groups, note)
