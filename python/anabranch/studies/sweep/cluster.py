"""Workers on many machines, through dask.distributed."""

import asyncio
import concurrent.futures
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from anabranch.foundation.progress import StatusLine
from anabranch.studies.sweep.errors import SweepError
from anabranch.studies.sweep.tasks import Batch, Chunk, OtherBuildError, execute
from anabranch.studies.sweep.workers import Answer, Died

CONNECT_S = 10
AHEAD = 2
"""Chunks for each thread of the cluster, so that none waits for the network."""
_LOST = (OSError, asyncio.CancelledError, concurrent.futures.CancelledError)
"""The errors that dask raises once the scheduler has gone."""
ASK_S = 1.0
"""Seconds between two questions to the scheduler about its workers."""


class Cluster:
    """The workers of a dask scheduler. Workers may come and go; the scheduler gives the chunks of one that dies to another."""

    def __init__(self, address: str, show: bool = True) -> None:
        """Connect; ``show`` says on standard error for how long that goes on.

        Raises:
            SweepError: dask.distributed is not installed, or no scheduler answers.
        """
        try:
            from distributed import Client
        except ImportError:
            raise SweepError(
                f"cluster {address}: needs dask.distributed; install it by pip install 'anabranch[cluster]'"
            ) from None
        for name in ("distributed", "distributed.client"):  # workers may come and go; the sweep says what matters
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._address = address
        if reason := _why_no_scheduler(address, show):
            raise SweepError(
                f"cluster {address}: no scheduler answers ({reason}); give its address, such as tcp://10.0.0.1:8786"
            )
        try:
            self._client = Client(address, timeout=CONNECT_S, set_as_default=False)
        except OSError:
            raise self._gone() from None
        self._ended: SimpleQueue[Any] = SimpleQueue()
        self._under_way: dict[str, tuple[Chunk, Any]] = {}
        """The chunks and their futures, by the future's key."""
        self._threads, self._asked_at = 0, float("-inf")

    def free(self) -> int:
        """The number of chunks that give each thread of the cluster one at work and one ahead."""
        return self.capacity() - len(self._under_way)

    def capacity(self) -> int:
        """The chunks that may be under way; one without workers, which waits for the first of them.

        Raises:
            SweepError: the scheduler has gone.
        """
        if time.monotonic() - self._asked_at > ASK_S:
            self._asked_at = time.monotonic()
            try:
                self._threads = sum(self._client.nthreads().values())
            except _LOST:
                raise self._gone() from None
        return max(1, AHEAD * self._threads)

    def lacking(self) -> str:
        """The first worker, as long as there is none."""
        return "" if self._threads else ", waiting for a worker"

    def submit(self, chunk: Chunk) -> None:
        """Have the scheduler give it to a worker."""
        future = self._client.submit(execute, chunk, pure=False)
        self._under_way[future.key] = chunk, future
        future.add_done_callback(self._ended.put)

    def collect(self, timeout_s: float) -> list[Answer]:
        """The answers of the workers.

        Raises:
            OtherBuildError: a worker has another build of Anabranch.
            SweepError: the scheduler has gone, or a worker cannot run Anabranch.
        """
        ended = []
        try:
            ended.append(self._ended.get(timeout=timeout_s))
            while True:
                ended.append(self._ended.get_nowait())
        except Empty:
            pass
        return [(self._under_way.pop(future.key)[0], self._answer(future)) for future in ended]

    def _answer(self, future: Any) -> Batch | Died:
        from distributed import KilledWorker

        try:
            answer: Batch = future.result()
        except KilledWorker:
            return Died("workers died with it")
        except OtherBuildError:
            raise
        except _LOST:
            raise self._gone() from None
        except Exception as error:
            raise SweepError(
                f"cluster {self._address}: a worker cannot run Anabranch ({type(error).__name__}: {error})"
            ) from None
        return answer

    def _gone(self) -> SweepError:
        return SweepError(
            f"cluster {self._address}: the scheduler has gone; finished runs are kept, and the same command continues with another"
        )

    def close(self) -> None:
        """Cancel what is under way."""
        with suppress(*_LOST):  # the scheduler has gone
            self._client.cancel([future for _, future in self._under_way.values()])
        self._client.close()


def _why_no_scheduler(address: str, show: bool) -> str | None:
    """Why no scheduler answers there, if none does. A client of dask would wait without end for a server that says nothing."""
    with ThreadPoolExecutor(1) as thread, StatusLine() as line:  # a notebook's own thread has an event loop already
        asked = thread.submit(asyncio.run, asyncio.wait_for(_kind(address), CONNECT_S))
        while not concurrent.futures.wait([asked], timeout=ASK_S).done:
            if show:
                line.say(f"cluster {address}: waiting for an answer of the scheduler, {CONNECT_S} s at most")
        try:
            kind = asked.result()
        except TimeoutError:
            return f"no connection or no answer of dask within {CONNECT_S} s"
        except (OSError, ValueError) as error:
            return str(error).partition("\n")[0]
        except Exception:  # whatever foreign bytes lead to, such as a message of exabytes
            return "what answers is no server of dask"
    return None if kind == "Scheduler" else f"a {kind} of dask does"


async def _kind(address: str) -> str:
    """The kind of dask's server at the address."""
    from distributed.core import rpc

    async with rpc(address) as server:
        kind: str = (await server.identity())["type"]
    return kind
