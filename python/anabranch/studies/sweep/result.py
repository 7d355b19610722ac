"""The results of a sweep, also of one that is going on: tables of all runs that are finished."""

from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from anabranch.foundation.forks import refuse_after_fork
from anabranch.results.files import UNREADABLE
from anabranch.results.run_directory import active_share
from anabranch.studies.sweep.columns import COMPLETE, FLOWS, HEAD, LINKS, RESULT_SCHEMAS, ROWS_OF_A_RUN, SUMMED_UP
from anabranch.studies.sweep.errors import SweepError
from anabranch.studies.sweep.store import part_files, read_plan


class SweepResult:
    """The directory of a sweep: :attr:`flows` has a row for each run and flow, :attr:`links` for each run and directed link."""

    def __init__(self, directory: Path, document: dict[str, Any], *, interrupted: bool = False, note: str = "") -> None:
        """Takes the contents of ``sweep.json``; ``interrupted`` says that the sweep was stopped just now, ``note`` describes damaged files and the seeds added."""
        self.directory = directory
        self.document = document
        self.interrupted = interrupted
        self.note = note

    @classmethod
    def load(cls, directory: str | Path) -> "SweepResult":
        """Read what is there so far.

        Raises:
            anabranch.studies.sweep.errors.SweepError: it is not the directory of a sweep.
        """
        return cls(Path(directory), read_plan(Path(directory)))

    @property
    def keys(self) -> list[str]:
        """The columns that tell runs apart besides the seed: the engine, treatments and conditions."""
        return ["engine", *self.document["treatments"], *self.document["conditions"]]

    @property
    def varied(self) -> list[str]:
        """The keys with several values in the plan, even if only one of them has a result so far."""
        named = self.document.get("varied", self.keys)  # earlier versions did not name them
        return [key for key in self.keys if key in named]

    def scan(self, table: str = FLOWS) -> pl.LazyFrame:
        """A table (``flows`` or ``links``), its rows in any order. The checksums of its files are verified; rows are read when they are wanted.

        Raises:
            anabranch.studies.sweep.errors.SweepError: a file is damaged, and which.
        """
        refuse_after_fork()
        found = part_files(self.directory, table)
        if found:
            return pl.scan_parquet(found, glob=False)
        labels = dict.fromkeys([*self.document["treatments"], *self.document["conditions"]], pl.String)
        return pl.LazyFrame(schema={column.name: column.type for column in HEAD} | labels | RESULT_SCHEMAS[table])

    @cached_property
    def flows(self) -> pl.DataFrame:
        """All flows, in the order of the plan's runs."""
        return self._collected(self.scan()).sort(ROWS_OF_A_RUN[FLOWS])

    @cached_property
    def links(self) -> pl.DataFrame:
        """All directed links, in the order of the plan's runs; empty if the plan does not ask for links."""
        return self._collected(self.scan(LINKS)).sort(ROWS_OF_A_RUN[LINKS])

    @cached_property
    def failures(self) -> pl.DataFrame:
        """The runs that are not complete, with their ``error``."""
        failed = self.scan().filter(pl.col("status") != COMPLETE)
        return self._collected(failed.select("run", *self.keys, "seed", "status", "error")).sort("run")

    @cached_property
    def summary(self) -> pl.DataFrame:
        """A row for each engine, treatment and condition: :func:`anabranch.results.statistics.summary` over its seeds.

        Flows with a size add their mean completion time, its lower bound, half the width of its interval, and how many had ``finished``
        and were ``unfinished``. The mean is null if one was unfinished.
        """
        from anabranch.results import statistics

        # A key may have any name, also one that statistics uses for a column of its own.
        keys = {f"key {number}": key for number, key in enumerate(self.keys)}
        by = list(keys)
        labels = {name: pl.col(key) for name, key in keys.items()}
        complete = self.scan().filter(pl.col("status") == COMPLETE).select(*SUMMED_UP, "flow", **labels)
        measured = complete.with_columns(
            active_share(), interrupted=pl.lit(False)
        )  # a run that was stopped has no rows
        rows = self._collected(measured).sort(ROWS_OF_A_RUN[FLOWS])
        flows, runs = rows.drop_nulls("flow"), rows.unique("run", keep="first", maintain_order=True)
        times = statistics.completion_times(flows, by).filter(statistics.ALL_SIZES)
        times = times.with_columns(finished=pl.col("flows") - pl.col("unfinished"))
        figures = ["fct_mean_s", "fct_mean_at_least_s", "fct_interval_s", "finished", "unfinished"]
        return (
            statistics.summary(flows, by, runs)
            .join(times.select(*by, *figures), on=by, how="left", nulls_equal=True, maintain_order="left")
            .rename(keys)
        )

    def runs(self) -> int:
        """How many runs are finished."""
        found: int = self._collected(self.scan().select(pl.col("run").n_unique())).item()
        return found

    def _collected(self, frame: pl.LazyFrame) -> pl.DataFrame:
        """The rows of a frame over the tables.

        Raises:
            SweepError: polars cannot read them, although their checksums are right.
        """
        try:
            return frame.collect()
        except UNREADABLE as error:
            reason = str(error).partition("\n")[0]
            raise SweepError(f"{self.directory}: its tables cannot be read ({reason})") from None

    def to_json(self) -> dict[str, Any]:
        """The summary and the failures, as JSON has them."""
        head = {"title": self.document["title"], "runs": self.runs(), "interrupted": self.interrupted}
        return head | {"summary": self.summary.to_dicts(), "failures": self.failures.to_dicts()}

    def __repr__(self) -> str:
        """The title and the summary."""
        return f"{self.document['title']}\n{self.summary}"
