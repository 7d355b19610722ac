"""The data behind the figures and tables of a page: the runs, the names of their rows, and their summaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import polars as pl

from anabranch.pages.report import treatments
from anabranch.pages.report.treatments import CONDITION, TREATMENT
from anabranch.results import run_directory, statistics
from anabranch.results.run_directory import Runs

NO_STACK = "UDP"
"""The name in place of a stack for flows that have none."""
RUN = ("source", "run", "seed")
"""The columns that identify a run."""


_OF_FLOWS = {*RUN, "flow", "variant"}
_OF_LINKS = {*RUN[:2], "variant", "capacity_bps", "delay_s"}
"""Numbers of the tables that are not measured; the number of a link tells it from others of the run."""


@dataclass(frozen=True)
class Evaluation:
    """Runs, and what all parts of a page need of them.

    ``by`` are the columns that identify a row of the summary: variant, stack, and other columns that differ among the flows
    of a run. ``stack_keys`` are the keys of the matrix that say no more than the stack's name. ``summary`` and ``times``
    are the results of :func:`anabranch.results.statistics.summary` and :func:`anabranch.results.statistics.completion_times` by ``by``,
    with the names of their rows: ``group`` without the stack, ``label`` in full.
    """

    runs: Runs
    by: list[str]
    stack_keys: set[str]
    summary: pl.DataFrame
    times: pl.DataFrame

    @cached_property
    def stacks(self) -> list[str]:
        """All stacks, in the order of the matrix: a stack's colour is its place here."""
        flows = self.runs.flows.sort("variant", "run", "flow", maintain_order=True)
        return flows["stack"].unique(maintain_order=True).to_list()

    @cached_property
    def groups(self) -> pl.DataFrame:
        """The treatment and the condition of each row of the summary, as :func:`anabranch.pages.report.treatments.named` returns them."""
        rows = self.runs.flows.select(self.by).unique(maintain_order=True)
        return treatments.named(self.runs, rows, self.by)

    @cached_property
    def whole_times(self) -> pl.DataFrame:
        """The rows of ``times`` for all sizes."""
        return self.times.filter(statistics.ALL_SIZES)

    @cached_property
    def links(self) -> pl.DataFrame:
        """The table of :func:`anabranch.results.statistics.link_summary`, and ``peak``: the utilisation in the busiest sample after the warm-up.

        A sample may last longer than the traffic, so the peak is at least the mean.
        """
        links = statistics.link_summary(self.runs.links)
        key = ["source", "variant", "link"]
        if self.runs.link_series is None:
            return links.with_columns(peak=pl.lit(None, pl.Float64))
        measured = self.runs.link_series.filter(pl.col("time_s") > pl.col("warm_up_s"))
        peaks = measured.group_by(key).agg(peak=pl.col("utilisation").max()).collect()
        found = links.join(
            peaks.with_columns(pl.col("link").cast(links.schema["link"])), on=key, how="left", maintain_order="left"
        )
        return found.with_columns(
            peak=pl.when(pl.col("peak").is_not_null()).then(pl.max_horizontal("peak", "utilisation"))
        )

    def values(self, runs: pl.DataFrame, column: str) -> pl.DataFrame:
        """A row for each run and row of the summary: :data:`RUN`, ``by``, ``value`` from the column, treatment and condition.

        ``predicted`` says whether it is a prediction; of goodput, ``low`` and ``high`` are its interval, where one is known.
        """
        predicted = self.runs.flows.group_by(RUN).agg(predicted=statistics.is_predicted(self.runs.flows))
        has_interval = column == "goodput_bps" and "low_bps" in runs.columns
        ends = {name: f"{name}_bps" if has_interval else pl.lit(None, pl.Float64) for name in ("low", "high")}
        rows = runs.select(*RUN, *self.by, value=column, **ends)
        return rows.join(predicted, on=RUN, maintain_order="left").join(self.groups, on=self.by, maintain_order="left")

    @cached_property
    def measured(self) -> dict[str, tuple[int, ...]]:
        """For each condition the hashes of its runs: of treatment, seed, and all measured numbers of flows and links.

        Conditions that change nothing have the same ones.
        """
        flows = _sums(self.runs.flows, [*RUN, *self.by], _OF_FLOWS, "of_flows")
        links = _sums(self.runs.links, RUN[:2], _OF_LINKS, "of_links")
        runs = flows.join(links, on=RUN[:2], how="left").join(self.groups, on=self.by, how="left")
        hashes = runs.select(CONDITION, hash=runs.select(TREATMENT, "seed", "of_flows", "of_links").hash_rows())
        of_conditions = hashes.group_by(CONDITION).agg(pl.col("hash").sort())
        return {condition: tuple(own) for condition, own in of_conditions.iter_rows()}

    @property
    def has_several_seeds(self) -> bool:
        """Whether some variant has more than one complete run."""
        return self.runs.table.filter(~pl.col("interrupted"))["variant"].is_duplicated().any()


def read(run_directories: Sequence[Path]) -> Evaluation:
    """Evaluate run directories.

    Raises:
        anabranch.results.run_directory.RunDirectoryError: a run directory lacks a file or has a broken one.
    """
    return evaluate(run_directory.read(run_directories))


def evaluate(runs: Runs) -> Evaluation:
    """Evaluate runs."""
    by = _grouping(runs)
    # Flows without a stack are named only after their statistics: Jain's index is over TCP flows.
    summary, times = (
        numbers.with_columns(pl.col("stack").fill_null(NO_STACK))
        for numbers in (statistics.summary(runs.flows, by, runs.table), statistics.completion_times(runs.flows, by))
    )
    runs = replace(runs, flows=runs.flows.with_columns(pl.col("stack").fill_null(NO_STACK)))
    stack_keys = _stack_keys(runs, summary)
    return Evaluation(runs, by, stack_keys, _named(runs, summary, stack_keys), _named(runs, times, stack_keys))


def _sums(rows: pl.DataFrame, by: Sequence[str], without: set[str], name: str) -> pl.DataFrame:
    """For each group a number that is the same for the same numbers in its rows, in any order: the sum of their hashes."""
    numbers = [column for column, kind in rows.schema.items() if kind.is_numeric() and column not in without]
    hashed = rows.with_columns(rows.select(numbers).hash_rows().alias(name))
    return hashed.group_by(by).agg(pl.col(name).sum())


def _grouping(runs: Runs) -> list[str]:
    by = ["variant", "stack"]
    for column in ("routing", "traffic"):
        # Where treatments vary, they are compared by the same traffic, even if the stacks of a run tell its traffic apart.
        within = [] if column == "traffic" and runs.chosen else by[1:]
        values = runs.flows.group_by(["source", "run", *within]).agg(pl.col(column).n_unique())[column].max()
        if isinstance(values, int) and 1 < values <= statistics.MOST_GROUPS:
            by.append(column)
    return by


def _stack_keys(runs: Runs, summary: pl.DataFrame) -> set[str]:
    rows = summary.select("variant", "stack").rows()
    return {key for key in runs.keys if all(runs.variants[variant].values[key] == stack for variant, stack in rows)}


def _named(runs: Runs, rows: pl.DataFrame, stack_keys: set[str]) -> pl.DataFrame:
    groups, labels = [], []
    extra = [column for column in ("routing", "traffic") if column in rows.columns]
    for row in rows.to_dicts():
        values = {key: text for key, text in runs.variants[row["variant"]].values.items() if key not in stack_keys}
        more = [row[column] for column in extra]
        beside = [text for key, text in values.items() if key not in runs.chosen or text != row["stack"]]
        groups.append(" · ".join([*values.values(), *more]) or "all traffic")
        labels.append(" · ".join([row["stack"], *beside, *more]))
    return rows.with_columns(pl.Series("group", groups, pl.String), pl.Series("label", labels, pl.String))
