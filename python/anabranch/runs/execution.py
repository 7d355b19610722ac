"""Scenarios through an engine: their plans become jobs, and what these give becomes results in run directories."""

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

from anabranch.engines import packet
from anabranch.engines.registry import ENGINES, Engine
from anabranch.foundation.forks import refuse_after_fork
from anabranch.foundation.interrupts import Interruptible
from anabranch.foundation.memory import return_freed_memory
from anabranch.foundation.output_files import FileError
from anabranch.results.files import REPORT
from anabranch.results.result import Result
from anabranch.runs import tables
from anabranch.runs.directory import RunDirectory
from anabranch.runs.errors import Refusal, RunError
from anabranch.runs.jobs import run_all
from anabranch.runs.kept import KeptRuns
from anabranch.runs.pages import ReportWriter, RunView
from anabranch.runs.plan import RunPlan
from anabranch.runs.run import Finished
from anabranch.scenario import Scenario


def run(
    scenario: Scenario,
    engine: str = "packet",
    seed: int | None = None,
    seeds: Sequence[int] | None = None,
    directory: str | Path | None = None,
    jobs: int | None = None,
    threads: int | None = None,
) -> Result:
    """Run all variants with one seed, several, or the scenario's, as :func:`execute` does.

    Raises:
        RunError: both ``seed`` and ``seeds`` are given, or what :func:`execute` raises it for.
    """
    if seed is not None and seeds is not None:
        raise RunError(f"seed = {seed}, seeds = {list(seeds)}: give either seed or seeds")
    chosen = list(seeds) if seeds is not None else None if seed is None else [seed]
    return execute(scenario, engine=engine, seeds=chosen, directory=directory, jobs=jobs, threads=threads)


def execute(
    scenario: Scenario,
    *,
    engine: str = "packet",
    seeds: Sequence[int] | None = None,
    directory: str | Path | None = None,
    jobs: int | None = None,
    threads: int | None = None,
    jitter: float = 0.0,
    command: Sequence[str] = (),
    report: ReportWriter | None = None,
    show_progress: bool = True,
    make: Callable[[packet.CompiledRun], packet.Simulation] | None = None,
    watch: Callable[[int], RunView] | None = None,
    leave_out: bool = False,
) -> Result:
    """Run every variant with every seed; Ctrl-C ends the runs early and keeps the results so far (``interrupted``).

    Without a directory the files are temporary and live as long as the result. If a call was stopped or killed, the same call with its
    directory continues where it was. A former result in the directory stands until the new one is complete.

    ``jobs`` is the number of runs at a time, by default as many as the cores allow. ``threads`` is the most threads of one run. By default it
    is one; the predict engine shares all cores among the runs. Neither changes results. ``jitter`` varies delays and starts from seed to
    seed (:mod:`anabranch.compile.jitter`). ``report`` writes ``report.html``. ``make`` makes a simulation from a compiled run.
    ``watch`` makes a view of so many runs, which draws them while they go on. ``leave_out`` leaves out the variants that the engine refuses, and
    the manifest says why (``refused``).

    Raises:
        RunError: an argument cannot be used, or the engine refuses a variant that is not to be left out, or all of them.
        FileError: the directory is in use, is not a run directory, or cannot be written.
    """
    if threads is not None and threads < 1:
        raise RunError(f"threads = {threads}: must be at least 1")
    found = _engine(engine)
    cores = os.cpu_count() or 1
    if threads is None:
        runs = len(scenario.cases) * len(seeds or scenario.seeds)
        threads = max(1, cores // min(runs, jobs or cores)) if found.takes_idle_cores else 1
    if jobs is None:
        jobs = 1 if found.in_real_time else max(1, cores // threads)
    temporary = None
    if directory is None:
        temporary = tempfile.TemporaryDirectory(prefix="anabranch-")
        directory = temporary.name
    plan = RunPlan(scenario, Path(directory), seeds, engine, jitter)
    (result,) = execute_all(
        [plan],
        engine=engine,
        jobs=jobs,
        threads=threads,
        command=command,
        report=report,
        show_progress=show_progress,
        make=make,
        watch=watch,
        leave_out=leave_out,
    )
    if temporary is not None:
        result.temporary = temporary
    return result


def execute_all(
    plans: Sequence[RunPlan],
    *,
    engine: str = "packet",
    jobs: int | None = None,
    threads: int = 1,
    command: Sequence[str] = (),
    report: ReportWriter | None = None,
    show_progress: bool = True,
    make: Callable[[packet.CompiledRun], packet.Simulation] | None = None,
    kept: KeptRuns | None = None,
    watch: Callable[[int], RunView] | None = None,
    leave_out: bool = False,
) -> list[Result]:
    """Run several scenarios, each into its directory, as :func:`execute` does with one.

    ``kept`` keeps finished runs for good; without it each directory keeps its own until its result is complete.
    """
    found = _engine(engine)
    if jobs is not None and jobs < 1:
        raise RunError(f"jobs = {jobs}: must be at least 1")
    if found.in_real_time and jobs not in (None, 1):
        raise RunError(f"jobs = {jobs}: the engine {engine} runs in real time, one run after another; leave jobs out")
    jobs = 1 if found.in_real_time else jobs
    refuse_after_fork()
    stop = Event()
    make = make or partial(_simulation, found, threads, stop)
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
                ended = iter(
                    run_all(together, jobs or os.cpu_count() or 1, stop, show_progress, make, watch, leave_out)
                )
                return_freed_memory()
                results = [
                    _result(plan, own, [next(ended) for _ in runs], command, report)
                    for plan, own, runs in zip(plans, directories, planned, strict=True)
                ]
            except FileError as error:
                count = sum(len(store.finished()) for store in {run.kept for run in together})
                raise FileError(f"{error}{_KEPT.format(count) if count else ''}") from None
    if signals.came and not any(result.interrupted for result in results):  # it came while whole tables were written
        raise KeyboardInterrupt
    return_freed_memory()
    return results


def _engine(name: str) -> Engine:
    if name not in ENGINES:
        raise RunError(f'engine "{name}" is not there; possible: {", ".join(ENGINES)}')
    return ENGINES[name]


def _simulation(engine: Engine, threads: int, stop: Event, spec: packet.CompiledRun) -> packet.Simulation:
    return engine.simulation(spec, threads, stop)


_KEPT = "; finished runs are kept ({}), and the same command continues from there"


def _result(
    plan: RunPlan,
    own: RunDirectory,
    ended: Sequence[Finished | Refusal | None],
    command: Sequence[str],
    report: ReportWriter | None,
) -> Result:
    """The result of a scenario's runs: in its directory, or in a temporary one if a complete result stands there and this one is not."""
    folder = own.new_result()
    finished = [one for one in ended if isinstance(one, Finished)]
    manifest = tables.write(folder, plan, ended, command)
    again = sum(one.run.was_kept for one in finished)
    if not own.takes(manifest):
        temporary = tempfile.TemporaryDirectory(prefix="anabranch-")
        shutil.copytree(folder, temporary.name, dirs_exist_ok=True)
        result = Result(Path(temporary.name), manifest, again)
        result.temporary = temporary
        return result
    former, failure = own.former(), None
    if report is not None and finished:
        try:
            report([folder], folder / REPORT, destination=plan.directory)
        except ValueError as error:
            failure = error
    own.publish(manifest)
    if failure is not None:
        raise failure
    gains = [one.run.thread_gain for one in finished if one.run.thread_gain is not None]
    result = Result(plan.directory, manifest, again, gains)
    if former is not None and _what_ran(former) != _what_ran(manifest):
        result.replaced = former
    return result


def _what_ran(manifest: Mapping[str, Any]) -> tuple[Any, ...]:
    """What tells results of other runs from these: the scenario, the engine and the seeds. A manifest may be anyone's."""
    runs = manifest.get("runs")
    seeds = {str(run.get("seed")) for run in runs if isinstance(run, Mapping)} if isinstance(runs, list) else None
    return manifest.get("scenario_hash"), manifest.get("engine"), seeds
