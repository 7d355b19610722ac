"""One variant and seed of a scenario on its way through the engine."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import polars as pl

from anabranch.compile import compile_run, traffic_name
from anabranch.engines import packet
from anabranch.matrix_columns import with_keys
from anabranch.result_tables import frame
from anabranch.results import COMPLETE, result_hash
from anabranch.runs.kept import KeptRun, KeptRuns
from anabranch.runs.recorder import Recorder
from anabranch.scenario import Case
from anabranch.units import PICOSECONDS_PER_SECOND, duration

MOST_ATTEMPTS = 3
"""Attempts at a run whose results cannot be used, such as one in real time while the machine was busy."""


@dataclass
class Run:
    """A run that is to be made, or taken from those that were finished before."""

    number: int
    case: Case
    keys: pl.DataFrame
    """The values of the matrix, one row."""
    seed: int
    kept: KeptRuns
    engine: str = "packet"
    was_kept: bool = False
    _recorder: Recorder | None = None

    @property
    def duration_s(self) -> float:
        """The virtual time that it takes."""
        return duration(self.case.variant.run.duration) / PICOSECONDS_PER_SECOND

    @property
    def now_s(self) -> float:
        """The virtual time that it has reached."""
        return self._recorder.now_s if self._recorder else 0.0

    @property
    def packet_hops(self) -> int:
        """Packets that have crossed a link so far."""
        return self._recorder.packet_hops if self._recorder else 0

    def goodput_over_time(self) -> pl.DataFrame:
        """What :meth:`anabranch.runs.recorder.Recorder.goodput_over_time` returns; without rows before the run has begun."""
        recorder = self._recorder
        return pl.DataFrame() if recorder is None else recorder.goodput_over_time()

    def execute(self, stop: Event, make: Callable[[str], packet.Simulation]) -> "Finished | None":
        """The results of the run; ``None`` if it was stopped before it began."""
        if stop.is_set():
            return None
        spec = compile_run(self.case, self.seed)
        traffic = [traffic_name(entry, index) for index, entry in enumerate(self.case.variant.traffic)]
        key = self.kept.key(spec, traffic, self.engine)
        former = self.kept.get(key)
        if former is not None:
            self.was_kept = True
            return Finished(self, spec, former)
        result = self._simulated(spec, traffic, key, stop, make)
        if result.facts["status"] == COMPLETE:
            result = self.kept.put(key, result)
        return Finished(self, spec, result)

    def _simulated(
        self,
        spec: dict[str, Any],
        traffic: Sequence[str],
        key: str,
        stop: Event,
        make: Callable[[str], packet.Simulation],
    ) -> KeptRun:
        folder, recorder, outcome, attempts = self._attempted(spec, key, stop, make)
        names = {
            "traffic": traffic,
            "src": spec["nodes"],
            "dst": spec["nodes"],
            "stack": [stack["name"] for stack in spec["stacks"]],
            "routing": [routing["name"] for routing in spec["routings"]],
        }
        constants = {"run": self.number, "seed": self.seed}
        reported = {
            "flows": outcome.flows,
            "links": outcome.links,
            "states": outcome.states,
            "routes": outcome.routes,
        }
        tables = {table: frame(table, columns, constants, names) for table, columns in reported.items()}
        facts = {
            "status": COMPLETE if outcome.complete else "interrupted",
            "warm_up_s": spec["warm_up"] / PICOSECONDS_PER_SECOND,
            "simulated_s": outcome.now_s,
            "packet_hops": outcome.packet_hops,
            "packets_without_route": outcome.packets_without_route,
            "packets_expired": outcome.packets_expired,
            "threads": outcome.threads,
            "result_hash": result_hash(tables["flows"], tables["links"]),
            "captures": recorder.captures(),
            **outcome.facts,
        }
        if attempts > 1:
            facts["attempts"] = attempts
        return KeptRun(folder, tables, facts, is_new=True)

    def _attempted(
        self, spec: dict[str, Any], key: str, stop: Event, make: Callable[[str], packet.Simulation]
    ) -> tuple[Path, Recorder, packet.Outcome, int]:
        """What a run has recorded, and its outcome, of the first attempt that can be used."""
        for attempt in range(1, MOST_ATTEMPTS + 1):
            folder = self.kept.begin(key)
            recorder = self._recorder = Recorder(folder, self.number, self.keys, spec)
            try:
                outcome = packet.simulate(spec, recorder, stop, make)
            except packet.RunAgain:
                shutil.rmtree(folder, ignore_errors=True)
                if attempt == MOST_ATTEMPTS or stop.is_set():
                    raise
            else:
                recorder.close()
                return folder, recorder, outcome, attempt
        raise AssertionError("the last attempt returns or raises")


@dataclass(frozen=True)
class Finished:
    """A run that has ended or was stopped, its compiled form, and its results."""

    run: Run
    spec: dict[str, Any]
    result: KeptRun

    def table(self, name: str) -> pl.DataFrame:
        """A table with the number that the run has now, and with the keys of the matrix."""
        return self.labelled(self.result.tables[name])

    def labelled(self, table: pl.DataFrame) -> pl.DataFrame:
        """A table without the keys of the matrix, with them and the number of the run."""
        return with_keys(table.with_columns(run=pl.lit(self.run.number, dtype=table.schema["run"])), self.run.keys)
