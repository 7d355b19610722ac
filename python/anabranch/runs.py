"""All variants and seeds of a scenario through an engine, in threads, into a run directory.

A run directory holds ``manifest.json``, ``flows.parquet`` and ``links.parquet`` of all runs, ``series/`` written while
the runs go on, and ``captures/``; ``states.parquet`` and ``routes.parquet`` if there is anything for them.

Several scenarios run together (:func:`execute_all`), so that no thread waits for the last run of one of them; with
:class:`anabranch.kept_runs.KeptRuns` runs that have been finished before are taken from there.
"""

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event, current_thread, main_thread
from typing import Any

import polars as pl

from anabranch import version
from anabranch.captures import FOLDER, CaptureFiles
from anabranch.compile import compile_run, stationary_loss, traffic_name
from anabranch.engines import packet
from anabranch.kept_runs import KeptRun, KeptRuns
from anabranch.matrix_columns import key_table, with_keys
from anabranch.progress import Reporter
from anabranch.results import (
    FLOWS,
    FORMAT,
    LINKS,
    MANIFEST,
    ROUTES_FILE,
    SERIES_SCHEMAS,
    STATES_FILE,
    Columns,
    Result,
    frame,
    result_hash,
    route_frame,
    state_frame,
    write_json,
)
from anabranch.scenario import Case, Scenario
from anabranch.units import PICOSECONDS_PER_SECOND

ROWS_PER_PART = 250_000
"""Rows of a time series held in memory before they are written."""
COMPLETE = "complete"
"""The status of a run that was not cut short."""
SERIES = "series"
"""The folder of the time series."""
ENGINES = ("packet",)
"""The engines there are."""


class RunError(ValueError):
    """What an engine refuses, or a directory that cannot be used."""


@dataclass
class _Run:
    """One variant and seed on its way through the engine; also its recorder."""

    number: int
    case: Case
    seed: int
    directory: Path
    keys: pl.DataFrame
    """The values of the matrix, one row."""
    spec: dict[str, Any] = field(default_factory=dict)
    now_s: float = 0.0
    packet_hops: int = 0
    from_kept: bool = False
    _pending: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    _parts: dict[str, int] = field(default_factory=dict)
    _captures: CaptureFiles | None = None

    def execute(
        self, stop: Event, make: Callable[[str], packet.Simulation], kept: KeptRuns | None = None
    ) -> "_Finished | None":
        """The tables of the run; ``None`` if it was stopped before it began."""
        if stop.is_set():
            return None
        self.spec = compile_run(self.case, self.seed)
        traffic = [traffic_name(entry, index) for index, entry in enumerate(self.case.variant.traffic)]
        if kept is None or self.spec["captures"]:
            return self._simulated(traffic, stop, make)
        key = kept.key(self.spec, traffic)
        former = kept.get(key)
        if former is not None:
            return self._again(former)
        finished = self._simulated(traffic, stop, make)
        if finished.facts["status"] == COMPLETE:
            kept.put(key, KeptRun(finished.tables, finished.facts, self._parts_of_series()))
        return finished

    def _simulated(self, traffic: Sequence[str], stop: Event, make: Callable[[str], packet.Simulation]) -> "_Finished":
        outcome = packet.simulate(self.spec, self, stop, make)
        for kind in list(self._pending):
            self._write_part(kind)
        names = {
            "traffic": traffic,
            "src": self.spec["nodes"],
            "dst": self.spec["nodes"],
            "stack": [stack["name"] for stack in self.spec["stacks"]],
            "routing": [routing["name"] for routing in self.spec["routings"]],
        }
        constants = {"run": self.number, "seed": self.seed}
        flows = frame(outcome.flows, FLOWS, constants, names)
        links = frame(outcome.links, LINKS, constants, names)
        tables = {
            "flows": flows,
            "links": links,
            "states": state_frame(outcome.states, flows),
            "routes": route_frame(outcome.routes, constants, names),
        }
        facts = {
            "status": COMPLETE if outcome.complete else "interrupted",
            "warm_up_s": self.spec["warm_up"] / PICOSECONDS_PER_SECOND,
            "simulated_s": outcome.now_s,
            "packet_hops": outcome.packet_hops,
            "packets_without_route": outcome.packets_without_route,
            "packets_expired": outcome.packets_expired,
            "threads": outcome.threads,
            "result_hash": result_hash(flows, links),
        }
        return _Finished(self, tables, facts)

    def _again(self, former: KeptRun) -> "_Finished":
        """A run that was finished before, with the number that it has now."""
        self.from_kept = True
        for part in former.series:
            kind, _, piece = part.stem.rsplit("-", 2)
            folder = self.directory / SERIES
            folder.mkdir(exist_ok=True)
            samples = self._numbered(pl.read_parquet(part, columns=list(SERIES_SCHEMAS[kind])))
            with_keys(samples, self.keys).write_parquet(folder / f"{kind}-{self.number}-{piece}.parquet")
        tables = {name: self._numbered(table) for name, table in former.tables.items()}
        return _Finished(self, tables, former.facts)

    def _numbered(self, table: pl.DataFrame) -> pl.DataFrame:
        return table.with_columns(run=pl.lit(self.number, dtype=table.schema["run"]))

    def _parts_of_series(self) -> list[Path]:
        folder = self.directory / SERIES
        return [
            folder / f"{kind}-{self.number}-{piece}.parquet"
            for kind, pieces in self._parts.items()
            for piece in range(pieces)
        ]

    def flow_series(self, columns: Columns) -> None:
        """Keep, and write when there is enough."""
        self._record("flows", columns)

    def link_series(self, columns: Columns) -> None:
        """Keep, and write when there is enough."""
        self._record("links", columns)

    def link_state(self, columns: Columns) -> None:
        """Keep, and write when there is enough."""
        self._record("link_state", columns)

    def capture(self, link: int, piece: bytes) -> None:
        """Append to the capture of the link."""
        if self._captures is None:
            self._captures = CaptureFiles(self.directory, self.number, self.spec)
        self._captures.append(link, piece)

    def captures(self) -> list[dict[str, Any]]:
        """What the manifest says of the captures."""
        return self._captures.records() if self._captures else []

    def progress(self, now_s: float, packet_hops: int) -> None:
        """Keep for the reporter, which reads it from another thread."""
        self.now_s, self.packet_hops = now_s, packet_hops

    def _record(self, kind: str, columns: Columns) -> None:
        names = {"routing": [routing["name"] for routing in self.spec["routings"]]}
        table = frame(columns, SERIES_SCHEMAS[kind], {"run": self.number}, names)
        pending = self._pending.setdefault(kind, [])
        if table.height:
            pending.append(table)
        if sum(part.height for part in pending) >= ROWS_PER_PART:
            self._write_part(kind)

    def _write_part(self, kind: str) -> None:
        pending = self._pending.pop(kind)
        if not pending:
            return
        number = self._parts.get(kind, 0)
        self._parts[kind] = number + 1
        folder = self.directory / SERIES
        folder.mkdir(exist_ok=True)
        samples = with_keys(pl.concat(pending), self.keys)
        samples.write_parquet(folder / f"{kind}-{self.number}-{number}.parquet")


@dataclass(frozen=True)
class _Finished:
    run: _Run
    tables: Mapping[str, pl.DataFrame]
    facts: Mapping[str, Any]

    def table(self, name: str) -> pl.DataFrame:
        """A table with the keys of the matrix."""
        return with_keys(self.tables[name], self.run.keys)

    def record(self) -> dict[str, Any]:
        head = {"run": self.run.number, "variant": self.run.case.values, "seed": self.run.seed}
        return head | dict(self.facts) | {"captures": self.run.captures()}


@dataclass(frozen=True)
class Plan:
    """A scenario that is to be run into a directory, with these seeds or its own."""

    scenario: Scenario
    directory: Path
    seeds: Sequence[int] | None = None

    def runs(self) -> list[_Run]:
        """One for each variant and seed."""
        seeds = self.scenario.seeds if self.seeds is None else self.seeds
        keys = self.keys()
        pairs = [(case, keys.slice(row, 1), seed) for row, case in enumerate(self.scenario.cases) for seed in seeds]
        return [_Run(number, case, seed, self.directory, keys) for number, (case, keys, seed) in enumerate(pairs)]

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
    show_progress: bool = True,
    make: Callable[[str], packet.Simulation] | None = None,
) -> Result:
    """Run every variant with every seed; Ctrl-C ends the runs early and keeps what there is (``interrupted``).

    Without a directory the files are temporary and live as long as the result. ``jobs`` is how many runs go on at a time, by
    default as many as the cores allow, and ``threads`` how many threads one of them takes at most; neither changes results.
    ``make`` makes a simulation from a compiled run. :class:`RunError` says what the engine refuses.
    """
    make = make or partial(packet.new_simulation, threads=threads)
    jobs = jobs or max(1, (os.cpu_count() or 1) // threads)
    temporary = None
    if directory is None:
        temporary = tempfile.TemporaryDirectory(prefix="anabranch-")
        directory = temporary.name
    plan = Plan(scenario, Path(directory), seeds)
    (result,) = execute_all([plan], engine=engine, jobs=jobs, command=command, show_progress=show_progress, make=make)
    result.temporary = temporary
    return result


def execute_all(
    plans: Sequence[Plan],
    *,
    engine: str = "packet",
    jobs: int | None = None,
    command: Sequence[str] = (),
    show_progress: bool = True,
    make: Callable[[str], packet.Simulation] = packet.new_simulation,
    kept: KeptRuns | None = None,
) -> list[Result]:
    """Run several scenarios, each into its directory, as :func:`execute` does with one.

    ``kept`` has runs that were finished before, which are not run again, and keeps those that are finished now.
    """
    if engine not in ENGINES:
        raise RunError(f'engine "{engine}" is not there; possible: {", ".join(ENGINES)}')
    fresh = [plan.directory for plan in plans if not plan.directory.exists()]
    for plan in plans:
        _prepare(plan.directory)
    planned = [plan.runs() for plan in plans]
    stop = Event()
    try:
        with _Interruptible(stop) as signals:
            together = [run for runs in planned for run in runs]
            finished = iter(_all(together, jobs or os.cpu_count() or 1, stop, show_progress, make, kept))
            results = []
            for plan, runs in zip(plans, planned, strict=True):
                own = [one for one in (next(finished) for _ in runs) if one is not None]
                results.append(_written(plan, engine, own, len(runs), command))
    except BaseException:
        for plan in plans:
            _clear(plan.directory)
        for folder in fresh:
            folder.rmdir()
        raise
    if signals.came and not any(result.interrupted for result in results):  # it came while whole tables were written
        raise KeyboardInterrupt
    return results


def _written(plan: Plan, engine: str, finished: list[_Finished], planned: int, command: Sequence[str]) -> Result:
    """The tables and the manifest of a scenario's runs, in its directory."""
    target = plan.directory
    manifest = _manifest(plan.scenario, engine, finished, planned, command)
    for name, schema in (("flows", FLOWS), ("links", LINKS)):
        tables = [one.table(name) for one in finished] or [with_keys(pl.DataFrame(schema=schema), plan.keys().clear())]
        pl.concat(tables).write_parquet(target / f"{name}.parquet")
    for name, file in (("states", STATES_FILE), ("routes", ROUTES_FILE)):
        tables = [one.table(name) for one in finished]
        if any(table.height for table in tables):
            pl.concat(tables).write_parquet(target / file)
    write_json(target / MANIFEST, manifest)
    return Result(target, manifest)


def refusals(scenario: Scenario, make: Callable[[str], packet.Simulation] = packet.new_simulation) -> list[str]:
    """What the packet engine refuses of each variant, without running it."""
    import json

    found = []
    for case in scenario.cases:
        try:
            make(json.dumps(compile_run(case, scenario.seeds[0])))
        except ValueError as error:
            found.append(_of_variant(case, error))
    return list(dict.fromkeys(found))


def _all(
    runs: list[_Run],
    jobs: int,
    stop: Event,
    show_progress: bool,
    make: Callable[[str], packet.Simulation],
    kept: KeptRuns | None,
) -> "list[_Finished | None]":
    """What each run gave; ``None`` for those that were stopped before they began."""
    total = sum(_duration_s(run.case) for run in runs)
    threads = min(jobs, max(1, len(runs)))
    with Reporter(total, show_progress) as reporter, ThreadPoolExecutor(threads) as pool:
        try:
            futures = [pool.submit(run.execute, stop, make, kept) for run in runs]
            _watch(runs, futures, reporter)
        finally:
            stop.set()
        finished = []
        for run, future in zip(runs, futures, strict=True):
            try:
                finished.append(future.result())
            except ValueError as error:
                raise RunError(_of_variant(run.case, error)) from None
        return finished


class _Interruptible(AbstractContextManager["_Interruptible"]):
    """Ctrl-C or a request to terminate ends the runs, and what there is is kept; a second one interrupts at once."""

    def __init__(self, stop: Event) -> None:
        self.came = False
        self._stop = stop
        self._former: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "_Interruptible":
        if current_thread() is main_thread():  # Python lets no other thread handle signals
            for number in (signal.SIGINT, signal.SIGTERM):
                self._former[number] = signal.signal(number, self._handle)
        return self

    def _handle(self, *_: object) -> None:
        self.came = True
        self._stop.set()
        self._restore()

    def _restore(self) -> None:
        for number in list(self._former):
            signal.signal(number, self._former.pop(number))

    def __exit__(self, *_: object) -> None:
        self._restore()


def _watch(runs: list[_Run], futures: "list[Future[_Finished | None]]", reporter: Reporter) -> None:
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=0.1, return_when=FIRST_EXCEPTION)
        if any(future.exception() for future in done):
            return
        ended = len(futures) - len(pending)
        again = [run for run in runs if run.from_kept]
        label = f"{ended} of {len(runs)} runs" + (f" ({len(again)} kept)" if again else "")
        reporter.skip(sum(_duration_s(run.case) for run in again))
        reporter.update(sum(run.now_s for run in runs), sum(run.packet_hops for run in runs), label)


def _of_variant(case: Case, error: ValueError) -> str:
    values = ", ".join(f"{key} = {value}" for key, value in case.values.items())
    return f"{values}: {error}" if values else str(error)


def _duration_s(case: Case) -> float:
    from anabranch.units import duration

    return duration(case.variant.run.duration) / PICOSECONDS_PER_SECOND


def _manifest(
    scenario: Scenario, engine: str, finished: list[_Finished], planned: int, command: Sequence[str]
) -> dict[str, Any]:
    case = scenario.cases[0]
    spec = finished[0].run.spec if finished else compile_run(case, scenario.seeds[0])
    names = spec["nodes"]
    return {
        "format": FORMAT,
        "anabranch": version(),
        "title": scenario.title,
        "engine": engine,
        "scenario": scenario.document,
        "scenario_hash": scenario.hash(),
        "command": list(command),
        "keys": scenario.keys,
        "topology": {
            "nodes": [
                {"name": n.name, "latitude": n.latitude, "longitude": n.longitude, "x": n.x, "y": n.y}
                for n in case.topology.nodes
            ],
            "links": [
                {
                    "src": names[link["src"]],
                    "dst": names[link["dst"]],
                    "capacity_bps": link["rate"],
                    "delay_s": link["delay"] / PICOSECONDS_PER_SECOND,
                    "loss": stationary_loss(link["loss"]),
                }
                for link in spec["links"]
            ],
        },
        "planned_runs": planned,
        "runs": [one.record() for one in finished],
    }


def _prepare(directory: Path) -> None:
    """Make the directory empty: a former run directory is replaced, anything else is refused."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        entries = list(directory.iterdir())
        if entries and not (directory / MANIFEST).is_file():
            raise RunError(f"{directory}: is neither empty nor a run directory; give another one")
        _clear(directory)
    except OSError as error:
        raise RunError(f"{directory}: cannot be written ({error.strerror})") from None


def _clear(directory: Path) -> None:
    """Remove what a run writes."""
    for name in (MANIFEST, "flows.parquet", "links.parquet", STATES_FILE, ROUTES_FILE, "report.html"):
        (directory / name).unlink(missing_ok=True)
    for name in (SERIES, FOLDER):
        if (directory / name).is_dir():
            shutil.rmtree(directory / name)
