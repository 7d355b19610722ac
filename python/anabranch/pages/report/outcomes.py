"""Outcomes by which treatments are judged: goodput, and completion times of flows that finish."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from anabranch.pages.report import chart
from anabranch.pages.report.chart import Measure
from anabranch.pages.report.evaluation import NO_STACK, RUN, Evaluation
from anabranch.pages.report.parts import largest
from anabranch.results import statistics


@dataclass(frozen=True)
class OutcomeMeasure:
    """One outcome: its name, its chart and its values to compare.

    ``table`` has a row for each row of the summary, with the mean in the column of ``shown`` and half the width of its
    interval in the column ``half``. The column ``counted`` has the number of runs or flows. ``values`` has a row for each run and row of the summary: the columns by which rows
    are made, ``seed``, ``value``, and the treatment and the condition.
    """

    name: str
    heading: str
    caption: str
    table: pl.DataFrame
    shown: Measure
    half: str
    counted: str
    values: pl.DataFrame
    most_is_best: bool

    @property
    def ranked(self) -> pl.DataFrame:
        """The rows of ``values`` that rank treatments. The goodput of UDP is the rate of its source: where TCP runs as well, it ranks nothing."""
        is_tcp = pl.col("stack") != NO_STACK
        found = self.values.filter(is_tcp) if self.most_is_best else self.values
        return self.values if found.is_empty() else found

    @property
    def column(self) -> str:
        """The column of ``table`` with the mean."""
        return self.shown.column


def outcomes(e: Evaluation) -> list[OutcomeMeasure]:
    """Goodput, if flows send to the end, and completion times, if flows end."""
    return [found for found in (_goodput(e), _completion(e)) if found.table.height]


def _goodput(e: Evaluation) -> OutcomeMeasure:
    has_times = e.whole_times["flows"].sum() > 0
    together = ", all flows of the group together" if largest(e.summary["flows"]) > 1 else ""
    return OutcomeMeasure(
        name="goodput",
        heading="Goodput",
        caption=f"Payload per second, each byte counted once, when it first arrives{together}",
        table=e.summary.drop_nulls("goodput_bps") if has_times else e.summary,
        shown=chart.rate("goodput_bps", "Goodput", largest(e.summary["goodput_bps"])),
        half="goodput_interval_bps",
        counted="runs",
        values=e.values(statistics.per_run(e.runs.flows, e.by), "goodput_bps"),
        most_is_best=True,
    )


def _completion(e: Evaluation) -> OutcomeMeasure:
    """The mean completion time, or the median if flows have not finished and no mean includes them."""
    times = statistics.completion_times(e.runs.flows, [*RUN, *e.by]).filter(statistics.ALL_SIZES)
    what = "median" if times["unfinished"].sum() else "mean"
    column = f"fct_{what}_s"
    # A treatment has a value only if all of its runs have one: those that lack it were the slow ones.
    known = times.filter(pl.col("flows") > 0).with_columns(
        pl.when(pl.col(column).is_not_null().all().over(e.by)).then(column).alias(column)
    )
    values = e.values(known, column)
    # Over the runs, as the answer and the interval: a mean over all flows would give runs of many flows more weight.
    over_runs = values.group_by(e.by).agg(pl.col("value").mean(), half=pl.col("value").filter(~pl.col("predicted")))
    over_runs = over_runs.with_columns(statistics.half_widths("half")).rename({"value": column})
    table = e.whole_times.drop(column).join(over_runs, on=e.by, maintain_order="left").drop_nulls(column)
    return OutcomeMeasure(
        name=f"completion-{what}",
        heading="Completion time",
        caption=f"From the start of a flow to the arrival of its last byte, {what} over the flows with a size",
        table=table,
        shown=chart.seconds(column, f"{what.capitalize()} completion time", largest(table[column])),
        half="half",
        counted="flows",
        values=values,
        most_is_best=False,
    )
