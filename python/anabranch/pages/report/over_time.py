"""Flows and queues over time: a panel for each variant, in which several run directories lie over each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from anabranch.pages.report import chart, series
from anabranch.pages.report.chart import Measure
from anabranch.pages.report.evaluation import Evaluation
from anabranch.pages.report.parts import MOST_PANELS, Figure, largest, longest
from anabranch.results.run_directory import DIRECTORY

MOST_LINKS = 3


def figures(e: Evaluation) -> list[Figure]:
    """Goodput, windows, RTTs and queues over time; nothing of runs without samples."""
    names = list(dict.fromkeys(variant.own_label for variant in e.runs.variants))
    drawn = [variant for variant in e.runs.variants if variant.own_label in set(names[:MOST_PANELS])]
    labels = pl.DataFrame(
        {
            "variant": [variant.index for variant in drawn],
            "panel": [variant.own_label for variant in drawn],
            "directory": [e.runs.sources[variant.source].name for variant in drawn],
        },
        schema={"variant": pl.UInt32, "panel": pl.String, "directory": pl.String},
    )
    omitted = f" The first {MOST_PANELS} of {len(names)} variants." if len(names) > MOST_PANELS else ""
    return _flows(e, labels, omitted) + _queues(e, labels, omitted)


def _flows(e: Evaluation, labels: pl.DataFrame, omitted: str) -> list[Figure]:
    flows = e.runs.flows.join(labels, on="variant", how="semi")
    if e.runs.flow_series is None or flows.is_empty():
        return []
    samples = e.runs.flow_series.join(labels.lazy(), on="variant", how="semi")
    measured = ["goodput_bps", "cwnd_segments", "srtt_s", "in_flight_segments"]
    thinned = series.flow_series(samples, flows, measured).join(labels, on="variant", maintain_order="left")
    measures = [
        chart.rate("goodput_bps", "Goodput", largest(thinned.filter(measure="goodput_bps")["value"])),
        Measure("cwnd_segments", "Congestion window", "segments"),
        Measure("srtt_s", "Smoothed RTT", "ms", 1e3, from_zero=False),
        Measure("in_flight_segments", "In flight", "segments"),
    ]
    caption = _band_caption(e, flows) + omitted
    found = []
    for measure in measures:
        if thinned.filter(measure=measure.column).is_empty():
            continue
        drawing = chart.time_series(thinned, measure, stacks=e.stacks, **_panels(e, labels))
        name = measure.column.rsplit("_", 1)[0].replace("_", "-")
        found.append(Figure(f"time-{name}", f"{measure.axis}, over time", caption, drawing, _layout(e, e.stacks)))
    return found


def _queues(e: Evaluation, labels: pl.DataFrame, omitted: str) -> list[Figure]:
    if e.runs.link_series is None:
        return []
    names = _busiest(e)
    samples = e.runs.link_series.join(labels.lazy(), on="variant", how="semi")
    thinned = series.link_series(samples, names, "queue_packets").join(labels, on="variant", maintain_order="left")
    if thinned.is_empty():
        return []
    measure = Measure("queue_packets", "Queue", "packets")
    drawing = chart.link_time_series(thinned, measure, **_panels(e, labels))
    caption = "Packets waiting or in transmission" + (
        ", mean over the seeds; band: least and most of the seeds." if e.has_several_seeds else "."
    )
    title = "Queue of the busiest links, packets, over time"
    return [Figure("time-queue", title, caption + omitted, drawing, _layout(e, names["series"].to_list()))]


def _panels(e: Evaluation, labels: pl.DataFrame) -> dict[str, Any]:
    panels = labels["panel"].unique(maintain_order=True).to_list()
    directories = [source.name for source in e.runs.sources] if len(e.runs.sources) > 1 else []
    return {"panel": "panel", "panels": panels, "columns": _columns(e), "directories": directories}


def _layout(e: Evaluation, legend: Sequence[str]) -> dict[str, Any]:
    size = {"kind": "panels", "columns": _columns(e), "least": 150, "aspect": 0.42, "tallest": 150}
    return size | {"legend": longest(legend)}


def _columns(e: Evaluation) -> int:
    """The number of panels in a row: that of the last key's values, so that a row compares along that key."""
    keys = [key for key in e.runs.keys if key != DIRECTORY]
    last = {variant.values[keys[-1]] for variant in e.runs.variants} if keys else set()
    return len(last) if 2 <= len(last) <= 5 else min(4, len({variant.own_label for variant in e.runs.variants}))


def _band_caption(e: Evaluation, flows: pl.DataFrame) -> str:
    if flows["flow"].n_unique() > series.LINES:
        return "Median over flows and seeds; band: from the 10 % to the 90 % quantile."
    if e.has_several_seeds:
        return "A line for each flow, mean over the seeds; band: least and most of the seeds."
    return "A line for each flow."


def _busiest(e: Evaluation) -> pl.DataFrame:
    """The links of the highest utilisation in any variant; of those about as busy, the ones with the longest queues."""
    links = e.links.with_columns(series=pl.format("{} → {}", "src", "dst"))
    ranked = (
        links.group_by("source", "series", maintain_order=True)
        .agg(pl.col("utilisation").max().round(1), pl.col("queue_delay_mean_s").max())
        .sort(["utilisation", "queue_delay_mean_s"], descending=True, nulls_last=True, maintain_order=True)
    )
    chosen = ranked["series"].unique(maintain_order=True).head(MOST_LINKS)
    # A number is that of one topology, and each variant may have its own.
    return links.filter(pl.col("series").is_in(chosen.to_list())).select("variant", "link", "series")
