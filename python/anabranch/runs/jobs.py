"""Runs as jobs: several at a time in threads, with their progress."""

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from threading import Event
from typing import TYPE_CHECKING

from anabranch.engines import packet
from anabranch.engines.packet import RunAgain
from anabranch.engines.refusal import of_variant
from anabranch.engines.registry import ENGINES
from anabranch.output_files import FileError
from anabranch.progress import Reporter
from anabranch.runs.errors import Refusal, RunError
from anabranch.runs.run import Finished, Run
from anabranch.scenario import Case

if TYPE_CHECKING:
    from anabranch.runs.live_view import LiveView

GOLDEN_RATIO = (5**0.5 - 1) / 2


def run_all(
    runs: list[Run],
    jobs: int,
    stop: Event,
    show_progress: bool,
    make: Callable[[str], packet.Simulation],
    watch: bool = False,
    leave_out: bool = False,
) -> list[Finished | Refusal | None]:
    """What each run gave; ``None`` for those that were stopped before they began. ``watch`` draws them instead of a progress bar.

    The engine may refuse a variant. If it is to be left out, the others go on, and all of its runs give the same refusal.

    Raises:
        RunError: the engine refuses a run that is not to be left out, or all variants.
        FileError: its files cannot be written.
    """
    total = sum(run.duration_s for run in runs)
    refusals: dict[int, Refusal] = {}
    threads = min(jobs, max(1, len(runs)))
    with ExitStack() as stack:
        reporter = Reporter(total, show_progress and not watch)
        stack.enter_context(reporter)
        view = stack.enter_context(_live_view(runs)) if watch else None
        pool = stack.enter_context(ThreadPoolExecutor(threads))
        try:
            submitted = {index: pool.submit(runs[index].execute, stop, make) for index in spread(len(runs))}
            futures = [submitted[index] for index in range(len(runs))]
            for run, error in _watch(runs, futures, reporter, view):
                if isinstance(error, RunAgain):
                    raise RunError(of_variant(run.case, error)) from None
                refusals.setdefault(id(run.case), Refusal(run.case, str(error)))
                if not leave_out or len(refusals) == len({id(run.case) for run in runs}):
                    stop.set()
                    raise RunError(of_variant(*_first_refused(runs, futures))) from None
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


def _live_view(runs: list[Run]) -> "LiveView":
    from anabranch.runs.live_view import LiveView

    return LiveView(runs)


def _watch(
    runs: list[Run], futures: list[Future[Finished | None]], reporter: Reporter, view: "LiveView | None"
) -> Iterator[tuple[Run, ValueError]]:
    """Shows the progress of the runs until all have ended. Gives each run that the engine refuses, with the error."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=0.1, return_when=FIRST_EXCEPTION)
        for run, future in zip(runs, futures, strict=True):
            if future in done and not future.cancelled():
                if (error := _refusal(future)) is None:
                    future.result()
                else:
                    yield run, error
        ended = len(futures) - len(pending)
        again = [run for run in runs if run.was_kept]
        gone = [run for run, future in zip(runs, futures, strict=True) if run.was_kept or _is_refused(future)]
        label = f"{ended} of {len(runs)} runs" + (f" ({len(again)} kept)" if again else "")
        reporter.skip(sum(run.duration_s for run in gone))
        done_s, packet_hops = sum(run.now_s for run in runs), sum(run.packet_hops for run in runs)
        reporter.update(done_s, packet_hops, label, ENGINES[runs[0].engine].before_packets)
        if view is not None:
            ended_runs = (future.result() for future in futures if future.done() and not _is_refused(future))
            view.update([one for one in ended_runs if one is not None])


def _first_refused(runs: list[Run], futures: list[Future[Finished | None]]) -> tuple[Case, ValueError]:
    """The first refused variant in the order of the runs, with its error. A run that has begun is waited for."""
    errors = ((run.case, _refusal(future)) for run, future in zip(runs, futures, strict=True))
    return next((case, error) for case, error in errors if error is not None)


def _refusal(future: Future[Finished | None]) -> ValueError | None:
    """The error with which the engine refuses the run of this future, which is waited for; ``None`` if it does not."""
    error = None if future.cancelled() else future.exception()
    return error if isinstance(error, ValueError) and not isinstance(error, FileError) else None


def _is_refused(future: Future[Finished | None]) -> bool:
    """Whether it has an error, or is not to begin because of one."""
    return future.cancelled() or (future.done() and future.exception() is not None)
