"""One variant and seed of a scenario on its way through the engine."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Event
from typing import Any

import polars as pl

from anabranch.compile.jitter import jittered
from anabranch.compile.run import compile_run
from anabranch.engines import packet
from anabranch.foundation.units import PICOSECONDS_PER_SECOND, duration
from anabranch.results.files import COMPLETE
from anabranch.results.joined import RunRows
from anabranch.results.matrix_columns import with_keys
from anabranch.runs.kept import KeptRun, KeptRuns, run_key
from anabranch.runs.outcomes import attempted, facts_of, names_of
from anabranch.runs.recorder import RunRecorder
from anabranch.scenario import Case, Scenario


def compiled(case: Case, seed: int, engine: str, jitter: float) -> tuple[dict[str, Any], str]:
    """The compiled form of a run, and the name by which it is known (:func:`anabranch.runs.kept.run_key`)."""
    spec = compile_run(case, seed)
    if jitter:
        spec = jittered(spec, seed, jitter)
    return spec, run_key(spec, engine)


@dataclass
class PendingRun:
    """A run to make, or to take from the runs that were finished before."""

    number: int
    scenario: Scenario
    case: Case
    keys: pl.DataFrame
    """The values of the matrix, one row."""
    seed: int
    kept: KeptRuns
    engine: str = "packet"
    jitter: float = 0.0
    was_kept: bool = False
    thread_gain: float | None = None
    """That of its outcome (:class:`anabranch.engines.packet.RunOutcome`)."""
    _recorder: RunRecorder | None = None

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
        """The rows of :meth:`anabranch.runs.recorder.Recorder.goodput_over_time`; none before the run has begun."""
        recorder = self._recorder
        return pl.DataFrame() if recorder is None else recorder.goodput_over_time()

    def execute(self, stop: Event, make: Callable[[packet.CompiledRun], packet.Simulation]) -> "Finished | None":
        """The results of the run; ``None`` if it was stopped before it began."""
        if stop.is_set():
            return None
        spec, key = self.compiled()
        former = self.kept.get(key)
        if former is not None:
            self.was_kept = True
            return Finished(self, spec, key, former)
        try:
            result = self._simulated(spec, key, stop, make)
        except KeyboardInterrupt:  # before there was a simulation
            stop.set()
            return None
        if result.facts["status"] == COMPLETE:
            result = self.kept.put(key, result)
        return Finished(self, spec, key, result)

    def compiled(self) -> tuple[dict[str, Any], str]:
        """As :func:`compiled`."""
        return compiled(self.case, self.seed, self.engine, self.jitter)

    def _simulated(
        self, spec: dict[str, Any], key: str, stop: Event, make: Callable[[packet.CompiledRun], packet.Simulation]
    ) -> KeptRun:
        def begin() -> RunRecorder:
            self._recorder = RunRecorder(self.kept.begin(key), self.number, self.keys, spec)
            return self._recorder

        def discard(recorder: RunRecorder) -> None:
            shutil.rmtree(recorder.folder, ignore_errors=True)

        recorder, outcome, attempts = attempted(spec, begin, discard, stop, make)
        recorder.close()
        self.thread_gain = outcome.thread_gain if outcome.threads > 1 else None
        tables = {
            "flows": outcome.flows,
            "links": outcome.links,
            "states": outcome.states,
            "routes": outcome.routes,
        }
        facts = {
            "status": COMPLETE if outcome.complete else "interrupted",
            **facts_of(spec, outcome),
            "threads": outcome.threads,
            "captures": recorder.captures(),
            **outcome.facts,
        }
        if attempts > 1:
            facts["attempts"] = attempts
        return KeptRun(recorder.folder, tables, facts, is_new=True)


@dataclass(frozen=True)
class Finished:
    """A run that has ended or was stopped, its compiled form, the name by which it is known, and its results."""

    run: PendingRun
    spec: dict[str, Any]
    key: str
    result: KeptRun

    @cached_property
    def names(self) -> Mapping[str, Sequence[str]]:
        """The names in its tables."""
        return names_of(self.spec)

    def rows(self, table: str) -> RunRows:
        """Its rows in a table."""
        return RunRows(self.run.number, self.run.seed, self.result.tables[table], self.names)

    def labelled(self, table: pl.DataFrame) -> pl.DataFrame:
        """A table without the keys of the matrix, with them and the number that the run has now."""
        return with_keys(table.with_columns(run=pl.lit(self.run.number, dtype=table.schema["run"])), self.run.keys)
