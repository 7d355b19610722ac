"""Runs as jobs: several at a time in threads, with their progress."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from threading import Event, Lock

from anabranch.engines import packet
from anabranch.engines.packet import RunAgain
from anabranch.engines.refusal import problem_of, refusal
from anabranch.engines.registry import ENGINES
from anabranch.foundation.output_files import FileError
from anabranch.foundation.progress import Reporter
from anabranch.runs.errors import Refusal, RunError
from anabranch.runs.pages import RunView
from anabranch.runs.run import Finished, PendingRun

GOLDEN_RATIO = (5**0.5 - 1) / 2
LOOK_S = 0.1
"""Seconds between two looks at the runs."""


def run_all(
    runs: list[PendingRun],
    jobs: int,
    stop: Event,
    show_progress: bool,
    make: Callable[[packet.CompiledRun], packet.Simulation],
    watch: Callable[[int], RunView] | None = None,
    leave_out: bool = False,
) -> list[Finished | Refusal | None]:
    """The result of each run; ``None`` for runs that were stopped before they began. ``watch`` makes the view that draws them instead of a progress bar.

    The engine may refuse a variant. If it is to be left out, the others continue, and all of its runs give the same refusal.

    Raises:
        RunError: the engine refuses a run that is not to be left out, or all variants.
        FileError: its files cannot be written.
    """
    going: dict[int, PendingRun] = {}
    ends = _Ends(len(runs))

    def execute(index: int) -> Finished | None:
        going[index] = runs[index]
        return runs[index].execute(stop, make)

    refusals: dict[int, Refusal] = {}
    threads = min(jobs, max(1, len(runs)))
    with ExitStack() as stack:
        reporter = Reporter(sum(run.duration_s for run in runs), show_progress and watch is None)
        stack.enter_context(reporter)
        view = stack.enter_context(watch(len(runs))) if watch is not None else None
        pool = ThreadPoolExecutor(threads)
        stack.push(lambda kind, *_: pool.shutdown(wait=kind is not KeyboardInterrupt, cancel_futures=True))
        try:
            submitted = {index: pool.submit(execute, index) for index in spread(len(runs))}
            futures = [submitted[index] for index in range(len(runs))]
            for index, future in submitted.items():
                future.add_done_callback(partial(ends.put, index))
            for run, error in _watch(runs, futures, going, ends, reporter, view):
                if isinstance(error, RunAgain):
                    raise RunError(refusal(run.scenario, run.case, error)) from None
                refusals.setdefault(id(run.case), Refusal(run.case, problem_of(run.case, error).describe()))
                if not leave_out or len(refusals) == len({id(run.case) for run in runs}):
                    stop.set()
                    raise RunError(_first_refusal(runs, futures)) from None
                for other, future in zip(runs, futures, strict=True):
                    if other.case is run.case:
                        future.cancel()
        finally:
            stop.set()
        return [refusals.get(id(run.case)) or future.result() for run, future in zip(runs, futures, strict=True)]


def spread(count: int) -> list[int]:
    """An order of ``count`` runs that visits all parts of the list evenly: a Kronecker sequence with the golden ratio.

    Neighbours in the list cost about the same. Others cost up to a thousand times as much per second of virtual time. In this order the
    runs that have ended are a fair sample of all runs, so their share gives the time left.
    """
    return sorted(range(count), key=lambda index: index * GOLDEN_RATIO % 1)


class _Ends:
    """The runs that have ended, or are not to begin, since the last look at them."""

    def __init__(self, count: int) -> None:
        """Starts with ``count`` runs, none of which has ended."""
        self._new: list[int] = []
        self._left = count
        self._lock = Lock()
        self._look = Event()

    def put(self, index: int, future: Future[Finished | None]) -> None:
        """One more. An error ends the wait for the next look, and so does the last run."""
        with self._lock:
            self._new.append(index)
            self._left -= 1
            if self._left == 0 or _has_failed(future):
                self._look.set()

    def take(self) -> list[int]:
        """These runs, a tenth of a second after the last look. A look at the end of each run would stop the threads of the others."""
        self._look.wait(LOOK_S)
        self._look.clear()
        with self._lock:
            new, self._new = self._new, []
        return new


def _watch(
    runs: list[PendingRun],
    futures: list[Future[Finished | None]],
    going: dict[int, PendingRun],
    ends: _Ends,
    reporter: Reporter,
    view: RunView | None,
) -> Iterator[tuple[PendingRun, ValueError]]:
    """Shows the progress of the runs until all have ended. Yields each run that the engine refuses, with the error.

    ``going`` has the runs that have begun and not ended. A look visits these and the new ends only, as there may be many thousand runs.
    """
    left, again = len(runs), 0
    total_s = sum(run.duration_s for run in runs)
    done_s, skipped_s, packet_hops = 0.0, 0.0, 0
    while left:
        new = ends.take()
        left -= len(new)
        for index in new:
            run, future = runs[index], futures[index]
            going.pop(index, None)
            done_s, packet_hops, again = done_s + run.now_s, packet_hops + run.packet_hops, again + run.was_kept
            if run.was_kept or _has_failed(future):
                skipped_s += run.duration_s
            if (error := _refusal(future)) is not None:
                yield run, error
            elif not future.cancelled():
                future.result()  # raises any other error
        on = list(going.values())
        reached_s = done_s + sum(run.now_s for run in on)
        label = f"{len(runs) - left} of {len(runs)} runs" + (f" ({again} kept)" if again else "")
        reporter.skip(skipped_s)
        reporter.update(
            reached_s,
            packet_hops + sum(run.packet_hops for run in on),
            label,
            ENGINES[runs[0].engine].before_packets,
        )
        if view is not None:
            ended = (futures[index].result() for index in new if not _has_failed(futures[index]))
            share = reached_s / (total_s - skipped_s) if total_s > skipped_s else 1.0
            view.update([one for one in ended if one is not None], on, share)


def _first_refusal(runs: list[PendingRun], futures: list[Future[Finished | None]]) -> str:
    """The refusal of the first variant, in the order of the runs, that an engine refuses. A run that has begun is waited for."""
    errors = ((run, _refusal(future)) for run, future in zip(runs, futures, strict=True))
    return next(refusal(run.scenario, run.case, error) for run, error in errors if error is not None)


def _refusal(future: Future[Finished | None]) -> ValueError | None:
    """The error with which the engine refuses the run of this future, which is waited for; ``None`` if it does not."""
    error = None if future.cancelled() else future.exception()
    return error if isinstance(error, ValueError) and not isinstance(error, FileError) else None


def _has_failed(future: Future[Finished | None]) -> bool:
    """Whether a run that is over has an error, or is not to begin because of one."""
    return future.cancelled() or future.exception() is not None
