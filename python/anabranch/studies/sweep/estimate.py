"""Estimates the time, memory and disk space of a sweep, from a few pilot runs in a process of their own."""

import os
import resource
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import polars as pl

from anabranch.engines.registry import ENGINES
from anabranch.foundation.json_text import json_text
from anabranch.foundation.progress import StatusLine
from anabranch.foundation.units import PICOSECONDS_PER_SECOND
from anabranch.runs.kept import engine_build
from anabranch.studies.sweep.columns import COMPLETE, FLOWS, LINKS
from anabranch.studies.sweep.plan import Sweep
from anabranch.studies.sweep.store import finished_runs
from anabranch.studies.sweep.tasks import Batch, Chunk, Task
from anabranch.studies.sweep.workers import Processes

PILOTS = 12
"""Pilot runs of each engine, at points that are spread over all of them."""
BUDGET_S = 20.0
"""No pilot run begins later than this, except the first of each engine."""


@dataclass(frozen=True)
class Estimate:
    """The number of runs left to do, and the time, memory and disk space that they will take."""

    runs: int
    finished: int
    pilots: int
    failed: int
    """Pilot runs that failed."""
    least_s: float
    """Seconds of the shortest pilot run, as ``most_s`` of the longest."""
    most_s: float
    seconds: float
    """Seconds of the sweep if each process has a core; without the engines that are ``unknown``."""
    unknown: list[str]
    """Engines of whose runs no pilot run was complete."""
    processes: int
    worker_bytes: int
    """The greatest memory of the process of the pilot runs."""
    own_bytes: int
    """The memory of this process."""
    disk_bytes: int


def estimate(sweep: Sweep, directory: Path, jobs: int | None = None) -> Estimate:
    """Run some of the plan's runs, whose results are not kept, and scale what they take.

    Runs in real time are not tried: they take their virtual time. Results of other plans in the directory are not counted as finished.
    """
    jobs = jobs or os.cpu_count() or 1
    done = finished_runs(directory, sweep)
    left: dict[str, list[int]] = {engine: [] for engine in sweep.engines}
    for number in sweep.numbers():
        if number not in done:
            left[sweep.run(number).engine].append(number)
    pilots = _Pilots(sweep)
    for engine, numbers in left.items():
        pilots.run(engine, numbers)
    seconds = sum(
        len(left[engine]) * sum(times) / len(times) / (1 if ENGINES[engine].in_real_time else jobs)
        for engine, times in pilots.took.items()
        if times
    )
    every = [one for times in pilots.took.values() for one in times] or [0.0]
    runs = sum(map(len, left.values()))
    scale = runs / max(pilots.count, 1)
    return Estimate(
        runs=sweep.planned,
        finished=sweep.planned - runs,
        pilots=pilots.count,
        failed=pilots.failed,
        least_s=min(every),
        most_s=max(every),
        seconds=max(seconds, pilots.compiled_s * scale),  # this process compiles while the others run
        unknown=[engine for engine, times in pilots.took.items() if left[engine] and not times],
        processes=jobs,
        worker_bytes=_peak(resource.RUSAGE_CHILDREN),
        own_bytes=_peak(resource.RUSAGE_SELF),
        disk_bytes=round(scale * sum(_parquet_bytes(rows) for rows in pilots.tables.values() if rows)),
    )


class _Pilots:
    """Pilot runs, and what they took."""

    def __init__(self, sweep: Sweep) -> None:
        self.took: dict[str, list[float]] = {engine: [] for engine in sweep.engines}
        self.tables: dict[str, list[pl.DataFrame]] = {FLOWS: [], LINKS: []}
        self.count = self.failed = 0
        self.compiled_s = 0.0
        self._sweep = sweep
        self._end = time.monotonic() + BUDGET_S

    def run(self, engine: str, numbers: list[int]) -> None:
        """Run one of each of several points."""
        of_points: dict[int, int] = {}
        for number in numbers:
            of_points.setdefault(self._sweep.run(number).point, number)
        with closing(Processes(1)) as workers, StatusLine() as line:
            for place, number in enumerate([*of_points.values()][:PILOTS]):
                if place and time.monotonic() > self._end:
                    return
                began = time.perf_counter()
                try:
                    spec = self._sweep.compiled(self._sweep.run(number))
                except ValueError:
                    self.failed += 1
                    continue
                self.compiled_s += time.perf_counter() - began
                self.count += 1
                if ENGINES[engine].in_real_time:
                    self.took[engine].append(spec["duration"] / PICOSECONDS_PER_SECOND)
                    continue
                workers.submit(Chunk([Task("pilot", engine, json_text(spec))], self._sweep.links, engine_build()))
                while not (answers := workers.collect(1.0)):
                    line.say(f"pilot run {self.count} ({engine}): {line.elapsed_s():.0f} s")
                self._take(engine, answers[0][1])

    def _take(self, engine: str, answer: object) -> None:
        if not isinstance(answer, Batch) or answer.facts[0]["status"] != COMPLETE:
            self.failed += 1
        if isinstance(answer, Batch):
            self.took[engine].append(answer.seconds)
            for name, rows in answer.tables.items():
                self.tables[name] += rows


def _parquet_bytes(tables: list[pl.DataFrame]) -> int:
    """The bytes that rows add to a file."""
    rows = pl.concat(tables, how="diagonal")
    sizes = []
    for table in (rows, rows.clear()):
        buffer = BytesIO()
        table.write_parquet(buffer)
        sizes.append(buffer.tell())
    return sizes[0] - sizes[1]


def _peak(who: int) -> int:
    """The greatest memory, in bytes; Linux counts in KiB, macOS in bytes."""
    return resource.getrusage(who).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
