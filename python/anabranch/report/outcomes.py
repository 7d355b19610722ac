"""Outcomes by which treatments are judged: goodput, and completion times of flows that finish."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from anabranch import statistics
from anabranch.report import chart
from anabranch.report.chart import Measure
from anabranch.report.evaluation import RUN, Evaluation
from anabranch.report.parts import largest
from anabranch.report.vega_lite import Specification


@dataclass(frozen=True)
class Outcome:
    """One outcome: its name, its chart and its values to compare.

    ``table`` has a row for each row of the summary, with the mean in the column of ``shown`` and half the width of its
    interval in the column ``half``. ``values`` has a row for each run and row of the summary: the columns by which rows
    are made, ``seed``, ``value``, and the treatment and the condition.
    """

    name: str
    heading: str
    caption: str
    table: pl.DataFrame
    shown: Measure
    half: str
    draw: Callable[..., Specification]
    values: pl.DataFrame
    most_is_best: bool

    @property
    def column(self) -> str:
        """The column of ``table`` with the mean."""
        return self.shown.column


def outcomes(e: Evaluation) -> list[Outcome]:
    """Goodput, if flows send to the end, and completion times, if flows end."""
    return [found for found in (_goodput(e), _completion(e)) if found.table.height]


def _goodput(e: Evaluation) -> Outcome:
    has_times = e.whole_times["fct_mean_s"].count() > 0
    together = ", all flows of the group together" if largest(e.summary["flows"]) > 1 else ""
    return Outcome(
        name="goodput",
        heading="Goodput",
        caption=f"Payload per second, each byte counted once, when it first arrives{together}",
        table=e.summary.drop_nulls("goodput_bps") if has_times else e.summary,
        shown=chart.rate("goodput_bps", "Goodput", largest(e.summary["goodput_bps"])),
        half="goodput_interval_bps",
        draw=chart.goodput_bars,
        values=e.values(statistics.per_run(e.runs.flows, e.by), "goodput_bps"),
        most_is_best=True,
    )


def _completion(e: Evaluation) -> Outcome:
    times = statistics.completion_times(e.runs.flows, [*RUN, *e.by]).filter(statistics.ALL_SIZES)
    # Over the runs, as the answer and the interval: a mean over all flows would give runs of many flows more weight.
    means = times.group_by(e.by).agg(pl.col("fct_mean_s").mean())
    table = e.whole_times.drop("fct_mean_s").join(means, on=e.by, maintain_order="left").drop_nulls("fct_mean_s")
    caption = "From the start of a flow to the arrival of its last byte, mean over the flows with a size"
    if table["unfinished"].sum():
        caption += " (a flow that had not finished counts with the time that it had had: such a mean is a lower bound)"
    return Outcome(
        name="completion-mean",
        heading="Completion time",
        caption=caption,
        table=table,
        shown=chart.seconds("fct_mean_s", "Mean completion time", largest(table["fct_mean_s"])),
        half="fct_interval_s",
        draw=chart.completion_bars,
        values=e.values(times, "fct_mean_s"),
        most_is_best=False,
    )
