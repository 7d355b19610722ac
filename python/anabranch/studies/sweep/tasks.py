"""Executes compiled runs, in whichever process and on whichever machine: the same runs give the same tables everywhere."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Any

import polars as pl

from anabranch.engines import packet
from anabranch.engines.registry import ENGINES
from anabranch.results.joined import RunRows, joined
from anabranch.runs.kept import engine_build
from anabranch.runs.outcomes import attempted, facts_of, names_of
from anabranch.studies.sweep.columns import COMPLETE, FAILED, FLOWS, LINKS, REFUSED


@dataclass(frozen=True)
class Task:
    """A run to execute."""

    run_hash: str
    engine: str
    spec: str
    """The compiled run as JSON."""


@dataclass(frozen=True)
class Chunk:
    """Runs that one worker executes one after the other."""

    tasks: Sequence[Task]
    links: bool
    """Whether their links are wanted."""
    build: str
    """The build of Anabranch that they are for."""
    deaths: int = 0
    """The number of workers that have died with it."""


@dataclass(frozen=True)
class Batch:
    """The results of runs: ``facts`` has a dictionary for each, ``tables`` the rows of each table, by the run's hash."""

    facts: list[dict[str, Any]]
    tables: Mapping[str, Sequence[pl.DataFrame]]
    seconds: float
    """How long they took."""

    @classmethod
    def of_error(cls, run_hash: str, status: str, error: str) -> "Batch":
        """A run that gave nothing but an error."""
        return cls([{"run_hash": run_hash, "status": status, "error": error}], {FLOWS: [], LINKS: []}, 0.0)


class OtherBuildError(ValueError):
    """A worker with another build of Anabranch: its results could differ."""


class Silent:
    """Takes what an engine records; a sweep keeps none of it."""

    def flow_series(self, columns: object) -> None:
        """Not kept."""

    def link_series(self, columns: object) -> None:
        """Not kept."""

    def link_state(self, columns: object) -> None:
        """Not kept."""

    def capture(self, link: int, piece: bytes) -> None:
        """Not kept."""

    def progress(self, now_s: float, packet_hops: int) -> None:
        """Not shown: progress counts runs."""


def execute(chunk: Chunk, stop: Event | None = None) -> Batch:
    """Execute runs. The batch lacks the runs that ``stop`` cuts short or leaves out.

    Raises:
        OtherBuildError: they are for another build of Anabranch than this process has.
    """
    if chunk.build != engine_build():
        raise OtherBuildError("a worker has another build of Anabranch; install the same wheel everywhere")
    began = time.perf_counter()
    stop = stop or Event()
    facts: list[dict[str, Any]] = []
    rows: dict[str, dict[str, list[RunRows]]] = {FLOWS: {}, LINKS: {}}
    for number, task in enumerate(chunk.tasks):
        if stop.is_set():
            break
        head = {"run_hash": task.run_hash}
        spec = json.loads(task.spec)
        try:
            make = partial(_simulation, task.engine, stop)
            _, outcome, _ = attempted(spec, Silent, lambda recorder: None, stop, make)
        except packet.RunAgain as error:
            facts.append(head | {"status": FAILED, "error": str(error)})
            continue
        except ValueError as error:
            facts.append(head | {"status": REFUSED, "error": str(error)})
            continue
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # also a panic of the core, which is no Exception: one run does not end a sweep
            facts.append(head | {"status": FAILED, "error": f"{type(error).__name__}: {error}"})
            continue
        if not outcome.complete:
            break
        facts.append(
            head | {"status": COMPLETE, "warning": "; ".join(_doubts(outcome.facts)) or None} | facts_of(spec, outcome)
        )
        for name, columns in ((FLOWS, outcome.flows), (LINKS, outcome.links)):
            if name == FLOWS or chunk.links:
                own = RunRows(number, 0, columns, names_of(spec))  # the plan says its seed
                rows[name].setdefault(task.engine, []).append(own)
    hashes = pl.Series([task.run_hash for task in chunk.tasks], dtype=pl.String)
    tables = {name: [_hashed(joined(name, own), hashes) for own in engines.values()] for name, engines in rows.items()}
    return Batch(facts, tables, time.perf_counter() - began)


def _hashed(table: pl.DataFrame, hashes: pl.Series) -> pl.DataFrame:
    """A table with the hash of each row's run, instead of its place in the chunk and its seed."""
    return table.select(pl.lit(hashes).gather(pl.col("run")).alias("run_hash"), pl.exclude("run", "seed"))


def _doubts(facts: Mapping[str, Any]) -> list[str]:
    """Why a prediction may not hold."""
    found = []
    if not facts.get("converged", True):
        found.append("the equations are not solved")
    elif not facts.get("unique", True):
        found.append("the equations have more than one solution")
    if links := facts.get("in_phase"):
        found.append(f"fewer than ten flows of one RTT share the drop-tail queue of {', '.join(links)}")
    return found


def _simulation(engine: str, stop: Event, spec: packet.CompiledRun) -> packet.Simulation:
    return ENGINES[engine].simulation(spec, 1, stop)
