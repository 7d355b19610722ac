"""All variants and seeds of a scenario through an engine, in threads, into a run directory.

A run directory holds ``manifest.json``, ``flows.parquet`` and ``links.parquet`` of all runs, ``series/`` and ``captures/``;
``states.parquet`` and ``routes.parquet`` if there is anything for them. Finished runs are kept until all are finished, so that a
command that was stopped or killed goes on where it was (:mod:`anabranch.runs.kept`, :mod:`anabranch.runs.directory`).

Several scenarios run together (:func:`execute_all`), so that no thread waits for the last run of one of them.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from operator import index
from pathlib import Path
from threading import Event

import polars as pl

from anabranch.compile import compile_run
from anabranch.engines import packet
from anabranch.forks import refuse_after_fork
from anabranch.matrix_columns import key_table
from anabranch.output_files import FileError
from anabranch.progress import Reporter
from anabranch.results import REPORT, Result
from anabranch.runs import tables
from anabranch.runs.directory import RunDirectory, purpose, unused
from anabranch.runs.interrupts import Interruptible
from anabranch.runs.kept import KeptRuns
from anabranch.runs.run import Finished, Run
from anabranch.scenario import Case, Scenario

ENGINES = ("packet",)
"""The engines there are."""


class RunError(ValueError):
    """What an engine refuses, or an argument that cannot be used."""


@dataclass(frozen=True)
class Plan:
    """A scenario that is to be run into a directory, with these seeds or its own."""

    scenario: Scenario
    directory: Path
    seeds: Sequence[int] | None = None

    @property
    def purpose(self) -> str:
        """The same for the same runs."""
        return _purpose(self.scenario, self.seeds)

    def runs(self, kept: KeptRuns) -> list[Run]:
        """One for each variant and seed."""
        keys = self.keys()
        seeds = _seeds(self.scenario, self.seeds)
        pairs = [(case, keys.slice(row, 1), seed) for row, case in enumerate(self.scenario.cases) for seed in seeds]
        return [Run(number, *pair, kept) for number, pair in enumerate(pairs)]

    def keys(self) -> pl.DataFrame:
        """The values of the matrix, one row for each variant."""
        return key_table([case.values for case in self.scenario.cases])


def execute(
    scenario: Scenario,
    *,
    engine: str = "packet",
    seeds: Sequence[int] | None = None,
    directory: str | Path | None = None,
    jobs: int | None = None,
    threads: int = 1,
    command: Sequence[str] = (),
    report: bool = False,
    show_progress: bool = True,
    make: Callable[[str], packet.Simulation] | None = None,
) -> Result:
    """Run every variant with every seed; Ctrl-C ends the runs early and keeps what there is (``interrupted``).

    Without a directory the files are temporary and live as long as the result. The same call with the directory of one that was stopped or
    killed goes on where that was. A former result in the directory stands until the new one is complete. ``jobs`` is how many
    runs go on at a time, by default as many as the cores allow, and ``threads`` how many threads one of them takes at most; neither changes
    results. ``report`` also writes ``report.html``. ``make`` makes a simulation from a compiled run.

    Raises:
        RunError: an argument cannot be used, or the engine refuses the scenario.
        FileError: the directory is in use, is not a run directory, or cannot be written.
    """
    if threads < 1:
        raise RunError(f"threads = {threads}: must be at least 1")
    make = make or partial(packet.new_simulation, threads=threads)
    if jobs is None:
        jobs = max(1, (os.cpu_count() or 1) // threads)
    temporary = None
    if directory is None:
        temporary = tempfile.TemporaryDirectory(prefix="anabranch-")
        directory = temporary.name
    plan = Plan(scenario, Path(directory), seeds)
    (result,) = execute_all(
        [plan], engine=engine, jobs=jobs, command=command, report=report, show_progress=show_progress, make=make
    )
    if temporary is not None:
        result.temporary = temporary
    return result


def execute_all(
    plans: Sequence[Plan],
    *,
    engine: str = "packet",
    jobs: int | None = None,
    command: Sequence[str] = (),
    report: bool = False,
    show_progress: bool = True,
    make: Callable[[str], packet.Simulation] = packet.new_simulation,
    kept: KeptRuns | None = None,
) -> list[Result]:
    """Run several scenarios, each into its directory, as :func:`execute` does with one.

    ``kept`` keeps finished runs for good; without it each directory keeps its own until its result is complete.
    """
    if engine not in ENGINES:
        raise RunError(f'engine "{engine}" is not there; possible: {", ".join(ENGINES)}')
    if jobs is not None and jobs < 1:
        raise RunError(f"jobs = {jobs}: must be at least 1")
    refuse_after_fork()
    stop = Event()
    purposes = [plan.purpose for plan in plans]
    with ExitStack() as stack:
        directories = [
            stack.enter_context(RunDirectory(plan.directory, text)) for plan, text in zip(plans, purposes, strict=True)
        ]
        if kept is not None:
            kept.sweep()
            stack.callback(kept.sweep)
        planned = [plan.runs(kept or own.kept) for plan, own in zip(plans, directories, strict=True)]
        with Interruptible(stop) as signals:
            together = [run for runs in planned for run in runs]
            try:
                finished = iter(_all(together, jobs or os.cpu_count() or 1, stop, show_progress, make))
                results = []
                for plan, own, runs in zip(plans, directories, planned, strict=True):
                    ended = [one for one in (next(finished) for _ in runs) if one is not None]
                    results.append(_result(plan, own, engine, ended, len(runs), command, report))
            except FileError as error:
                count = sum(store.count() for store in {run.kept for run in together})
                raise FileError(f"{error}{_KEPT.format(count) if count else ''}") from None
    if signals.came and not any(result.interrupted for result in results):  # it came while whole tables were written
        raise KeyboardInterrupt
    return results


_KEPT = "; finished runs are kept ({}), and the same command goes on from there"


def _result(
    plan: Plan,
    own: RunDirectory,
    engine: str,
    finished: Sequence[Finished],
    planned: int,
    command: Sequence[str],
    report: bool,
) -> Result:
    """The result of a scenario's runs: in its directory, or in a temporary one if a complete result stands there and this one is not."""
    folder = own.new_result()
    manifest = tables.write(folder, plan.scenario, plan.keys(), engine, finished, planned, command)
    again = sum(one.run.was_kept for one in finished)
    if not own.takes(manifest):
        temporary = tempfile.TemporaryDirectory(prefix="anabranch-")
        shutil.copytree(folder, temporary.name, dirs_exist_ok=True)
        result = Result(Path(temporary.name), manifest, again)
        result.temporary = temporary
        return result
    failure = None
    if report and finished:
        from anabranch.report import write

        try:
            write([folder], folder / REPORT)
        except ValueError as error:
            failure = error
    own.publish(folder, manifest)
    if failure is not None:
        raise failure
    return Result(plan.directory, manifest, again)


def default_directory(wanted: Path, scenario: Scenario, seeds: Sequence[int] | None) -> Path:
    """Where to run a scenario if nobody says so: ``NAME``, ``NAME-2``, ..., the first that does not exist or was not finished with these runs."""
    return unused(wanted, _purpose(scenario, seeds))


def refusals(scenario: Scenario, make: Callable[[str], packet.Simulation] = packet.new_simulation) -> list[str]:
    """What the packet engine refuses of each variant, without running it."""
    found = []
    for case in scenario.cases:
        try:
            make(json.dumps(compile_run(case, scenario.seeds[0])))
        except ValueError as error:
            found.append(_of_variant(case, error))
    return list(dict.fromkeys(found))


def _purpose(scenario: Scenario, seeds: Sequence[int] | None) -> str:
    return purpose(scenario.hash(), list(_seeds(scenario, seeds)))


def _seeds(scenario: Scenario, seeds: Sequence[int] | None) -> Sequence[int]:
    chosen = scenario.seeds if seeds is None else [index(seed) for seed in seeds]
    if not chosen or len(set(chosen)) != len(chosen) or not all(0 <= seed < 2**63 for seed in chosen):
        raise RunError(f"seeds = {chosen}: must be different whole numbers from 0, at least one, such as [1, 2, 3]")
    return chosen


def _all(
    runs: list[Run], jobs: int, stop: Event, show_progress: bool, make: Callable[[str], packet.Simulation]
) -> list[Finished | None]:
    """What each run gave; ``None`` for those that were stopped before they began."""
    total = sum(run.duration_s for run in runs)
    threads = min(jobs, max(1, len(runs)))
    with Reporter(total, show_progress) as reporter, ThreadPoolExecutor(threads) as pool:
        try:
            futures = [pool.submit(run.execute, stop, make) for run in runs]
            _watch(runs, futures, reporter)
        finally:
            stop.set()
        finished = []
        for run, future in zip(runs, futures, strict=True):
            try:
                finished.append(future.result())
            except FileError:
                raise
            except ValueError as error:
                raise RunError(_of_variant(run.case, error)) from None
        return finished


def _watch(runs: list[Run], futures: list[Future[Finished | None]], reporter: Reporter) -> None:
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=0.1, return_when=FIRST_EXCEPTION)
        if any(future.exception() for future in done):
            return
        ended = len(futures) - len(pending)
        again = [run for run in runs if run.was_kept]
        label = f"{ended} of {len(runs)} runs" + (f" ({len(again)} kept)" if again else "")
        reporter.skip(sum(run.duration_s for run in again))
        reporter.update(sum(run.now_s for run in runs), sum(run.packet_hops for run in runs), label)


def _of_variant(case: Case, error: ValueError) -> str:
    values = ", ".join(f"{key} = {value}" for key, value in case.values.items())
    return f"{values}: {error}" if values else str(error)
