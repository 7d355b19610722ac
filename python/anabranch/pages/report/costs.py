"""The costs of treatments beside their outcome: packet delay, queueing and retransmissions."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from anabranch.pages.report import chart, delays
from anabranch.pages.report.chart import Measure
from anabranch.pages.report.evaluation import RUN, Evaluation
from anabranch.pages.report.parts import largest
from anabranch.results import statistics


@dataclass(frozen=True)
class Cost:
    """One cost and its display; ``values`` has the columns of :attr:`anabranch.pages.report.outcomes.Outcome.values`."""

    name: str
    shown: Measure
    meaning: str
    values: pl.DataFrame


def costs(e: Evaluation) -> list[Cost]:
    """The costs that are known of some run, and not zero in all."""
    runs = statistics.per_run(e.runs.flows, e.by)
    waits = e.runs.links.group_by("source", "run").agg(value=pl.col("queue_delay_mean_s").max())
    queueing = runs.join(waits, on=["source", "run"], how="left", maintain_order="left")
    resent = runs.with_columns(value=(pl.col("retransmits") / pl.col("segments_sent")).fill_nan(None))
    found = [
        *_delay(e),
        Cost(
            "queueing",
            chart.seconds("value", "Mean wait in the longest queue", largest(queueing["value"])),
            "Mean wait of a packet at the link of the run where it is longest",
            e.values(queueing, "value"),
        ),
        Cost(
            "retransmitted",
            Measure("value", "Retransmitted", "%", 100),
            "Retransmissions per segment sent",
            e.values(resent, "value"),
        ),
    ]
    return [cost for cost in found if largest(cost.values["value"]) > 0]


def _delay(e: Evaluation) -> list[Cost]:
    """The delay of packets, where runs ask for delays."""
    flows = delays.known(e.runs.flows)
    runs = flows.group_by([*RUN, *e.by], maintain_order=True).agg(value=pl.col("delay_p95_s").mean())
    if runs.is_empty():
        return []
    return [
        Cost(
            "delay",
            chart.seconds("value", "95th percentile of packet delay", largest(runs["value"])),
            "95 % of a flow's packets take no longer from host to host; mean over the flows",
            e.values(runs, "value"),
        )
    ]
