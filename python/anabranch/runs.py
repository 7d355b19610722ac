"""All variants and seeds of a scenario through an engine, in threads, into a run directory.

A run directory holds ``manifest.json``, ``flows.parquet`` and ``links.parquet`` of all runs, ``series/`` written while
the runs go on, and ``captures/``; ``states.parquet`` and ``routes.parquet`` if there is anything for them.
"""

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, current_thread, main_thread
from typing import Any

import polars as pl

from anabranch import version
from anabranch.captures import FOLDER, CaptureFiles
from anabranch.compile import compile_run, stationary_loss, traffic_name
from anabranch.engines import packet
from anabranch.progress import Reporter
from anabranch.results import (
    FLOW_SERIES,
    FLOWS,
    FORMAT,
    LINK_SERIES,
    LINK_STATE,
    LINKS,
    MANIFEST,
    ROUTES_FILE,
    STATES_FILE,
    Columns,
    Result,
    Schema,
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
    spec: dict[str, Any] = field(default_factory=dict)
    now_s: float = 0.0
    packet_hops: int = 0
    _pending: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    _parts: dict[str, int] = field(default_factory=dict)
    _captures: CaptureFiles | None = None

    def execute(self, stop: Event, make: Callable[[str], packet.Simulation]) -> "_Finished | None":
        """The tables of the run; ``None`` if it was stopped before it began."""
        if stop.is_set():
            return None
        self.spec = compile_run(self.case, self.seed)
        outcome = packet.simulate(self.spec, self, stop, make)
        for kind in list(self._pending):
            self._write_part(kind)
        names = {
            "traffic": [traffic_name(entry, index) for index, entry in enumerate(self.case.variant.traffic)],
            "src": self.spec["nodes"],
            "dst": self.spec["nodes"],
            "stack": [stack["name"] for stack in self.spec["stacks"]],
            "routing": [routing["name"] for routing in self.spec["routings"]],
        }
        constants = {"run": self.number, "seed": self.seed}
        flows = frame(outcome.flows, FLOWS, constants, names)
        links = frame(outcome.links, LINKS, constants, names)
        states = state_frame(outcome.states, flows)
        return _Finished(self, outcome, flows, states, links, route_frame(outcome.routes, constants, names))

    def flow_series(self, columns: Columns) -> None:
        """Keep, and write when there is enough."""
        self._record("flows", columns, FLOW_SERIES)

    def link_series(self, columns: Columns) -> None:
        """Keep, and write when there is enough."""
        self._record("links", columns, LINK_SERIES)

    def link_state(self, columns: Columns) -> None:
        """Keep, and write when there is enough."""
        self._record("link_state", columns, LINK_STATE)

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

    def _record(self, kind: str, columns: Columns, schema: Schema) -> None:
        names = {"routing": [routing["name"] for routing in self.spec["routings"]]}
        table = frame(columns, schema, {"run": self.number}, names)
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
        folder = self.directory / "series"
        folder.mkdir(exist_ok=True)
        pl.concat(pending).write_parquet(folder / f"{kind}-{self.number}-{number}.parquet")


@dataclass(frozen=True)
class _Finished:
    run: _Run
    outcome: packet.Outcome
    flows: pl.DataFrame
    states: pl.DataFrame
    links: pl.DataFrame
    routes: pl.DataFrame

    def record(self) -> dict[str, Any]:
        return {
            "run": self.run.number,
            "variant": self.run.case.values,
            "seed": self.run.seed,
            "status": "complete" if self.outcome.complete else "interrupted",
            "warm_up_s": self.run.spec["warm_up"] / PICOSECONDS_PER_SECOND,
            "simulated_s": self.outcome.now_s,
            "packet_hops": self.outcome.packet_hops,
            "packets_without_route": self.outcome.packets_without_route,
            "packets_expired": self.outcome.packets_expired,
            "result_hash": result_hash(self.flows, self.links),
            "captures": self.run.captures(),
        }


def execute(
    scenario: Scenario,
    *,
    engine: str = "packet",
    seeds: Sequence[int] | None = None,
    directory: str | Path | None = None,
    jobs: int | None = None,
    command: Sequence[str] = (),
    show_progress: bool = True,
    make: Callable[[str], packet.Simulation] = packet.new_simulation,
) -> Result:
    """Run every variant with every seed; Ctrl-C ends the runs early and keeps what there is (``interrupted``).

    Without a directory the files are temporary and live as long as the result. ``jobs`` is the number of threads, by
    default one for each core; it does not change results. ``make`` makes a simulation from a compiled run.
    :class:`RunError` says what the engine refuses.
    """
    if engine not in ENGINES:
        raise RunError(f'engine "{engine}" is not there; possible: {", ".join(ENGINES)}')
    temporary = None
    if directory is None:
        temporary = tempfile.TemporaryDirectory(prefix="anabranch-")
        directory = temporary.name
    target = Path(directory)
    fresh = not target.exists()
    _prepare(target)
    pairs = [(case, seed) for case in scenario.cases for seed in (scenario.seeds if seeds is None else seeds)]
    runs = [_Run(number, case, seed, target) for number, (case, seed) in enumerate(pairs)]
    stop = Event()
    try:
        with _Interruptible(stop) as signals:
            finished = _all(runs, jobs or os.cpu_count() or 1, stop, show_progress, make)
            manifest = _manifest(scenario, engine, finished, len(runs), command)
            for name, schema in (("flows", FLOWS), ("links", LINKS)):
                tables = [getattr(one, name) for one in finished] or [pl.DataFrame(schema=schema)]
                pl.concat(tables).write_parquet(target / f"{name}.parquet")
            if any(one.states.height for one in finished):
                pl.concat([one.states for one in finished]).write_parquet(target / STATES_FILE)
            if any(one.routes.height for one in finished):
                pl.concat([one.routes for one in finished]).write_parquet(target / ROUTES_FILE)
            write_json(target / MANIFEST, manifest)
    except BaseException:
        _clear(target)
        if fresh:
            target.rmdir()
        raise
    result = Result(target, manifest, temporary)
    if signals.came and not result.interrupted:  # it came while whole tables were written
        raise KeyboardInterrupt
    return result


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
    runs: list[_Run], jobs: int, stop: Event, show_progress: bool, make: Callable[[str], packet.Simulation]
) -> list[_Finished]:
    total = sum(_duration_s(run.case) for run in runs)
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
                one = future.result()
            except ValueError as error:
                raise RunError(_of_variant(run.case, error)) from None
            if one is not None:
                finished.append(one)
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
        label = f"{ended} of {len(runs)} runs"
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
    for name in ("series", FOLDER):
        if (directory / name).is_dir():
            shutil.rmtree(directory / name)
