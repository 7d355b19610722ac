"""Runs the study, and measures each row under each kind of traffic: means over seeds with their intervals."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from math import fsum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from anabranch.foundation.text_table import TextTable
from anabranch.results.files import COMPLETE
from anabranch.results.result import Result
from anabranch.results.statistics import half_width
from anabranch.runs import RunPlan, execute_all
from anabranch.scenario import Scenario
from anabranch.studies.fabrics.question import ROWS, Fabric, FabricRow

HEAD = (
    *("transport", "entropy", "median, us", "99th, us", "last, us", "times least"),
    *("cut or dropped", "sent again", "spurious", "timeouts", "extent", "held, kB"),
)
"""The columns of :meth:`FabricAnswer.table`."""
NOTES = (
    "Means over the seeds, and 95 % intervals. Times are from the handshake to the last byte; last: from the first start to the last completion.",
    "With adaptive and drill, switches choose by their queues and the sender has no entropy values.",
    "Times least: the last completion over the least time that an idle network takes. Extent (RFC 4737, packets) and held: the most of any receiver.",
)
"""What the columns mean."""

_MISSING = ("-",) * (len(HEAD) - 2)


@dataclass(frozen=True)
class Value:
    """A mean over seeds."""

    mean: float
    interval: float | None
    """Half of the 95 % interval; unknown for one seed."""

    @classmethod
    def of(cls, values: Sequence[float]) -> "Value":
        """The mean of these, one for each seed."""
        return cls(fsum(values) / len(values), half_width(values))

    def below(self, other: "Value") -> bool:
        """Whether this whole interval lies below the other. An unknown interval counts as none."""
        return self.mean + (self.interval or 0) < other.mean - (other.interval or 0)

    def written(self) -> str:
        """The mean with its interval, with digits as the mean needs them."""
        digits = 2 if self.mean < 10 else 1 if self.mean < 1000 else 0
        interval = "" if self.interval is None else f" ± {self.interval:,.{digits}f}"
        return f"{self.mean:,.{digits}f}{interval}"


@dataclass(frozen=True)
class FabricCell:
    """What a row has under a kind of traffic."""

    seeds: int
    unfinished: int
    """Messages, in all seeds together. With any, the times are unknown."""
    median_us: Value | None
    p99_us: Value | None
    last_us: Value | None
    """From the first start to the last completion: of a collective operation, its time."""
    times_least: Value | None
    """``last_us`` over the least time that the traffic takes (:meth:`Fabric.least_s`)."""
    lost: Value
    """Packets that queues have cut or dropped."""
    retransmits: Value
    spurious: Value
    timeouts: Value
    extent: int
    """The greatest reordering extent (RFC 4737) at any receiver and with any seed, packets."""
    held_bytes: int
    """The most that any receiver held beyond a hole, with any seed."""


@dataclass(frozen=True)
class FabricAnswer:
    """The cells of the study so far."""

    fabric: Fabric
    rows: tuple[FabricRow, ...]
    cells: Mapping[str, Mapping[str, FabricCell]]
    """By kind of traffic, and by name of the row. Rows without a complete run have none."""
    titles: Mapping[str, str]
    """Of each kind of traffic."""
    planned: int
    complete: int
    """Runs."""

    @property
    def interrupted(self) -> bool:
        """Whether runs are missing."""
        return self.complete < self.planned

    def table(self, kind: str) -> TextTable:
        """The rows under a kind of traffic, in their order."""
        cells = self.cells[kind]
        rows = [
            (row.transport, row.entropy, *(_written(cells[row.name]) if row.name in cells else _MISSING))
            for row in self.rows
        ]
        return TextTable(HEAD, rows, 2)

    def document(self) -> dict[str, Any]:
        """The answer for JSON."""
        records = [
            {"traffic": kind, "transport": row.transport, "entropy": row.entropy, **asdict(cells[row.name])}
            for kind, cells in self.cells.items()
            for row in self.rows
            if row.name in cells
        ]
        return {
            "fabric": asdict(self.fabric),
            "planned_runs": self.planned,
            "complete_runs": self.complete,
            "interrupted": self.interrupted,
            "cells": records,
        }


def study(
    fabric: Fabric | None = None,
    *,
    seeds: int = 3,
    rows: tuple[FabricRow, ...] = ROWS,
    directory: Path | None = None,
    jobs: int | None = None,
    command: Sequence[str] = (),
    show_progress: bool = True,
) -> FabricAnswer:
    """Run all kinds of traffic with all rows; Ctrl-C ends the runs early, and the answer has those that are complete.

    ``directory`` gets a run directory for each kind of traffic and selector of switches. The same call then continues where it was. Without it, all files are temporary.

    Raises:
        FileError: the directory is in use, or cannot be written.
    """
    fabric = fabric or Fabric()
    with ExitStack() as stack:
        if directory is None:
            directory = Path(stack.enter_context(TemporaryDirectory(prefix="anabranch-")))
        scenarios = {
            (kind, selector): document
            for selector in dict.fromkeys(row.selector for row in rows)
            for kind, document in fabric.scenarios(rows, selector).items()
        }
        numbers = range(1, seeds + 1)
        plans = [
            RunPlan(Scenario(document), directory / (kind if selector == "hash" else f"{kind}-{selector}"), numbers)
            for (kind, selector), document in scenarios.items()
        ]
        results = execute_all(plans, jobs=jobs, command=command, show_progress=show_progress)
        complete = [_complete(result) for result in results]
        found: dict[str, dict[str, FabricCell]] = {kind: {} for kind, _ in scenarios}
        for (kind, _), result, runs in zip(scenarios, results, complete, strict=True):
            found[kind] |= _cells(fabric, kind, result, runs)
        cells = {kind: {row.name: of[row.name] for row in rows if row.name in of} for kind, of in found.items()}
    planned = len(cells) * len(rows) * seeds
    titles = {kind: document["title"] for (kind, _), document in scenarios.items()}
    return FabricAnswer(fabric, rows, cells, titles, planned, sum(map(len, complete)))


def _complete(result: Result) -> dict[int, str]:
    """The stack of each complete run."""
    return {run["run"]: run["variant"]["stack"] for run in result.manifest["runs"] if run["status"] == COMPLETE}


def _cells(fabric: Fabric, kind: str, result: Result, runs: Mapping[int, str]) -> dict[str, FabricCell]:
    flows = result.flows.partition_by("run", as_dict=True)
    links = result.links.partition_by("run", as_dict=True)
    return {
        name: _cell(fabric, kind, [(flows[run,], links[run,]) for run, stack in runs.items() if stack == name])
        for name in dict.fromkeys(runs.values())
    }


def _cell(fabric: Fabric, kind: str, runs: Sequence[tuple[pl.DataFrame, pl.DataFrame]]) -> FabricCell:
    flows = [flows for flows, _ in runs]
    unfinished = sum(table["fct_s"].null_count() for table in flows)

    def per_seed(figure: pl.Expr) -> list[float]:
        return [float(table.select(figure).item()) for table in flows]

    def times(values: pl.Expr) -> Value | None:
        return None if unfinished else Value.of(per_seed(1e6 * values))

    fct, last = pl.col("fct_s"), pl.col("end_s").max() - pl.col("start_s").min()
    least = [fabric.least_s(kind, table["idle_fct_s"].to_list()) for table in flows]
    return FabricCell(
        seeds=len(runs),
        unfinished=unfinished,
        median_us=times(fct.median()),
        p99_us=times(fct.quantile(0.99, "linear")),
        last_us=times(last),
        times_least=None if unfinished else Value.of([a / b for a, b in zip(per_seed(last), least, strict=True)]),
        lost=Value.of([float(table["trimmed"].sum()) + float(table["queue_drops"].sum()) for _, table in runs]),
        retransmits=Value.of(per_seed(pl.col("retransmits").sum())),
        spurious=Value.of(per_seed(pl.col("spurious_retransmits").sum())),
        timeouts=Value.of(per_seed(pl.col("timeouts").sum())),
        extent=int(max(per_seed(pl.col("reordering_extent_max").max()))),
        held_bytes=int(max(per_seed(pl.col("reassembly_peak_bytes").max()))),
    )


def _written(cell: FabricCell) -> tuple[str, ...]:
    """A cell in the columns of :data:`HEAD`."""
    values = (cell.median_us, cell.p99_us, cell.last_us, cell.times_least)
    times = ["-" if value is None else value.written() for value in values]
    if cell.unfinished:
        times[0] = f"{cell.unfinished} unfinished"
    counts = (cell.lost, cell.retransmits, cell.spurious, cell.timeouts)
    return (*times, *(f"{value.mean:,.0f}" for value in counts), str(cell.extent), f"{cell.held_bytes / 1000:,.0f}")
