"""Runs a sweep: compiles the unfinished runs, has workers execute them in chunks, and writes the results every few seconds."""

import os
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from hashlib import sha256
from pathlib import Path
from threading import Event

from anabranch.engines.registry import ENGINES
from anabranch.foundation.forks import refuse_after_fork
from anabranch.foundation.interrupts import Interruptible
from anabranch.foundation.json_text import json_text
from anabranch.foundation.progress import Shown
from anabranch.runs.kept import engine_build, run_key
from anabranch.studies.sweep.columns import COMPLETE, FAILED, REFUSED
from anabranch.studies.sweep.errors import SweepError
from anabranch.studies.sweep.plan import Sweep
from anabranch.studies.sweep.result import SweepResult
from anabranch.studies.sweep.store import Store
from anabranch.studies.sweep.tasks import Batch, Chunk, Task
from anabranch.studies.sweep.until import Rounds, Until
from anabranch.studies.sweep.workers import Died, Here, Processes, Workers

FLUSH_S = 5.0
"""A kill loses at most the runs of this number of seconds, and the runs that are under way."""
CHUNK_S = 0.5
"""A worker answers about so often: often enough for progress, rarely enough to cost little."""
LARGEST_CHUNK = 200
PATIENCE_S = 0.05
"""Seconds for which runs are compiled between two looks at the workers."""
MOST_DEATHS = 3
"""Workers that die with a run before it counts as failed."""


def execute(
    sweep: Sweep,
    directory: Path,
    *,
    jobs: int | None = None,
    cluster: str | None = None,
    until: str | None = None,
    max_seeds: int | None = None,
    show_progress: bool = True,
    command: Sequence[str] = (),
) -> SweepResult:
    """Run what is not finished in the directory yet. Ctrl-C ends early and keeps what is finished (``interrupted``).

    ``jobs`` is the number of runs at a time on this machine, by default the number of its cores. ``cluster`` is the address of a dask scheduler
    whose workers run them instead. Neither changes results. ``until`` (``"ci < 2 %"``) adds seeds, at most ``max_seeds`` for a cell.
    ``command`` is the command line that reports show.

    Raises:
        SweepError: an argument cannot be used, or the cluster cannot.
        anabranch.foundation.output_files.FileError: the directory is in use, holds something else, or cannot be written.
    """
    if jobs is not None and jobs < 1:
        raise SweepError(f"jobs = {jobs}: must be at least 1")
    if jobs is not None and cluster is not None:
        raise SweepError("give either jobs or cluster: a cluster's workers decide how many runs go on at a time")
    real = [name for name in sweep.engines if ENGINES[name].in_real_time]
    if cluster is not None and real:
        raise SweepError(f"the engine {real[0]} runs in real time and needs a machine for itself; leave cluster out")
    rule = Until.read(until, max_seeds)
    refuse_after_fork()
    stop = Event()
    notes = []
    with Store(directory, sweep, command) as store, Interruptible(stop):
        notes += [f"{path} was damaged and has been removed; its runs are run again." for path in store.damaged]
        work = _Work(sweep, store, stop, jobs or os.cpu_count() or 1, cluster, show_progress)
        work.run(sweep.numbers())
        if rule is not None:
            rounds = Rounds(sweep, rule)
            found = SweepResult.load(directory)
            while not stop.is_set() and (further := rounds.further(found.scan())):
                work.run(further)
            if not stop.is_set():
                notes.append(rounds.describe(found.scan()))
        store.complete()
    result = SweepResult.load(directory)
    return SweepResult(directory, result.document, interrupted=stop.is_set(), note="\n".join(notes))


class _Work:
    """The numbers of runs on their way to the store."""

    def __init__(self, sweep: Sweep, store: Store, stop: Event, jobs: int, cluster: str | None, show: bool) -> None:
        self._sweep = sweep
        self._store = store
        self._stop = stop
        self._jobs = jobs
        self._cluster = cluster
        self._show = show
        self._waiting: dict[str, list[int]] = {}
        """The runs that want the results of one that is under way, by its hash."""
        self._ready: deque[Task] = deque()
        self._again: deque[Chunk] = deque()
        self._per_run_s = CHUNK_S
        self._flushed_at = time.monotonic()
        self._total = self._done = self._failed = self._kept = 0

    def run(self, numbers: Iterable[int]) -> None:
        """Execute the runs that are not finished. Runs in real time come last, one after another."""
        wanted = list(numbers)
        left = [number for number in wanted if number not in self._store.finished]
        apart: dict[bool, list[int]] = {False: [], True: []}
        for number in left:
            apart[ENGINES[self._sweep.run(number).engine].in_real_time].append(number)
        self._total, self._done, self._failed, self._kept = len(wanted), 0, 0, len(wanted) - len(left)
        with Shown(len(wanted), self._show) as shown:
            for in_real_time, own in apart.items():
                if not own or self._stop.is_set():
                    continue
                with ExitStack() as stack:
                    stack.callback(self._store.flush)  # whatever ends the runs
                    workers = stack.enter_context(closing(self._workers(in_real_time, len(own))))
                    self._pump(iter(own), workers, shown)

    def _workers(self, in_real_time: bool, runs: int) -> Workers:
        if self._cluster is not None:
            from anabranch.studies.sweep.cluster import Cluster

            return Cluster(self._cluster, self._show)
        jobs = 1 if in_real_time else min(self._jobs, runs)
        return Here(self._stop) if jobs == 1 else Processes(jobs)

    def _pump(self, numbers: Iterator[int], workers: Workers, shown: Shown) -> None:
        """Compile, submit and collect until nothing is left."""
        compiling, under_way = True, 0
        while not self._stop.is_set():
            while workers.free() > 0 and not self._stop.is_set():
                size = self._size(workers)
                if compiling and not self._again:
                    compiling = self._compile(numbers, size)
                chunk = self._again.popleft() if self._again else self._chunk(size)
                if chunk is None:
                    break
                workers.submit(chunk)
                under_way += 1
            if not under_way and not compiling:
                return
            ahead = compiling and len(self._ready) < LARGEST_CHUNK * workers.capacity()
            answers = workers.collect(0 if ahead else 0.1) if under_way else []
            under_way -= len(answers)
            for chunk, answer in answers:
                self._take(chunk, answer)
            if ahead and not answers:
                compiling = self._compile(numbers, len(self._ready) + LARGEST_CHUNK)
            if time.monotonic() - self._flushed_at > FLUSH_S:
                self._store.flush()
                self._flushed_at = time.monotonic()
            self._say(shown, workers.lacking())
        for chunk, answer in workers.collect(0):  # what has ended meanwhile
            self._take(chunk, answer)

    def _size(self, workers: Workers) -> int:
        """Runs of the next chunk; small ones at the end, so that no worker is busy long after the others."""
        fair = -(-(self._total - self._kept - self._done) // (2 * workers.capacity()))
        return max(1, min(int(CHUNK_S / self._per_run_s), LARGEST_CHUNK, fair))

    def _chunk(self, size: int) -> Chunk | None:
        tasks = [self._ready.popleft() for _ in range(min(size, len(self._ready)))]
        return Chunk(tasks, self._sweep.links, engine_build()) if tasks else None

    def _compile(self, numbers: Iterator[int], enough: int) -> bool:
        """Compile runs until there are enough, or for a moment; whether some may be left."""
        end = time.monotonic() + PATIENCE_S
        while len(self._ready) < enough and time.monotonic() < end:
            number = next(numbers, None)
            if number is None:
                return False
            self._prepare(number)
        return True

    def _prepare(self, number: int) -> None:
        run = self._sweep.run(number)
        try:
            spec = self._sweep.compiled(run)
        except ValueError as error:  # values that do not go together: they have no compiled form to be known by
            name = sha256(f"{engine_build()} {self._sweep.fingerprint} {number}".encode()).hexdigest()
            self._waiting[name] = [number]
            self._add(Batch.of_error(name, REFUSED, str(error)))
            return
        run_hash = run_key(spec, f"{run.engine} with links" if self._sweep.links else run.engine)
        if run_hash in self._waiting:
            self._waiting[run_hash].append(number)
        elif self._store.knows(run_hash):
            self._store.recall(run_hash, number)
            self._kept += 1
        else:
            self._waiting[run_hash] = [number]
            self._ready.append(Task(run_hash, run.engine, json_text(spec)))

    def _take(self, chunk: Chunk, answer: Batch | Died) -> None:
        if isinstance(answer, Batch):
            if answer.facts:
                self._per_run_s = max(1e-6, (self._per_run_s + 3 * answer.seconds / len(answer.facts)) / 4)
                self._add(answer)
            return
        deaths = chunk.deaths + 1
        if len(chunk.tasks) == 1 and deaths >= MOST_DEATHS:
            error = f"{answer.reason}, {deaths} times; perhaps it needs more memory than there is"
            self._add(Batch.of_error(chunk.tasks[0].run_hash, FAILED, error))
        else:  # one of them may be to blame: each is tried by itself
            self._again += [Chunk([task], chunk.links, chunk.build, deaths) for task in chunk.tasks]

    def _add(self, batch: Batch) -> None:
        numbers = {facts["run_hash"]: self._waiting.pop(facts["run_hash"]) for facts in batch.facts}
        self._done += sum(map(len, numbers.values()))
        self._failed += sum(len(numbers[facts["run_hash"]]) for facts in batch.facts if facts["status"] != COMPLETE)
        self._store.add(batch, numbers)

    def _say(self, shown: Shown, lacking: str) -> None:
        kept = f" ({self._kept} kept)" if self._kept else ""
        failed = f", {self._failed} failed" if self._failed else ""
        rate = self._done / max(shown.elapsed_s(), 1e-9)
        ended = self._kept + self._done
        shown.skip(self._kept)
        shown.show(self._done, f"{ended} of {self._total} runs{kept}{failed}{lacking}", f"{rate:.3g} runs/s")
