"""Workers that execute chunks of runs on this machine: this very process, or processes beside it."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from threading import Event, Thread
from typing import Protocol

from anabranch.studies.sweep.tasks import Batch, Chunk, OtherBuildError, execute

PARENT_CHECK_S = 1.0


@dataclass(frozen=True)
class Died:
    """Why a worker gave no answer."""

    reason: str


Answer = tuple[Chunk, Batch | Died]


class Workers(Protocol):
    """Executes chunks."""

    def free(self) -> int:
        """How many chunks may be submitted now."""

    def capacity(self) -> int:
        """How many chunks may be under way at once."""

    def lacking(self) -> str:
        """Text for the progress line if there is nothing to execute runs; otherwise empty."""

    def submit(self, chunk: Chunk) -> None:
        """Have a chunk executed."""

    def collect(self, timeout_s: float) -> list[Answer]:
        """The chunks that have ended; waits at most ``timeout_s`` for the first one."""

    def close(self) -> None:
        """End, and give up the chunks under way."""


class Here:
    """This process: a thread of it, so that progress goes on during a long run."""

    def __init__(self, stop: Event) -> None:
        """``stop`` ends a run early."""
        self._stop = stop
        self._pool = ThreadPoolExecutor(1)
        self._under_way: tuple[Chunk, Future[Batch]] | None = None

    def free(self) -> int:
        """One chunk at a time."""
        return 1 if self._under_way is None else 0

    def capacity(self) -> int:
        """One chunk."""
        return 1

    def lacking(self) -> str:
        """Nothing."""
        return ""

    def submit(self, chunk: Chunk) -> None:
        """Begin it."""
        self._under_way = chunk, self._pool.submit(execute, chunk, self._stop)

    def collect(self, timeout_s: float) -> list[Answer]:
        """The batch, if it has ended. One that is stopped ends soon, and is waited for."""
        if self._under_way is None:
            return []
        chunk, future = self._under_way
        try:
            batch = future.result(None if self._stop.is_set() else timeout_s)
        except TimeoutError:
            return []
        self._under_way = None
        return [(chunk, batch)]

    def close(self) -> None:
        """Leave the chunk under way, which a second Ctrl-C has given up."""
        self._pool.shutdown(wait=False)


class _Process:
    """A process with a pipe, and the chunk that it is at."""

    def __init__(self) -> None:
        self.connection, other = Pipe()
        path = [str(Path(__file__).parents[3]), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(path),
            "OPENBLAS_NUM_THREADS": "1",  # there are as many processes as cores
            "POLARS_MAX_THREADS": "1",
        }
        # Not by multiprocessing: it imports the main module again, which a notebook or a script without a guard does not survive.
        command = [sys.executable, "-m", "anabranch.studies.sweep.process", str(other.fileno())]
        # These signals go to the whole group, and the parent decides what ends. Blocked before the process begins, they interrupt no import of it.
        former = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGHUP])
        try:
            self.process = subprocess.Popen(
                command, pass_fds=[other.fileno()], env=environment, stdin=subprocess.DEVNULL
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, former)
        other.close()
        self.chunk: Chunk | None = None

    def died(self) -> Died:
        """Why, once it has."""
        code = self.process.wait()
        self.connection.close()
        return Died(
            f"its process was killed by signal {-code}" if code < 0 else f"its process ended with status {code}"
        )

    def close(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait()
        self.connection.close()


class Processes:
    """Processes on this machine. One that dies is replaced; they end with this process, however it ends."""

    def __init__(self, number: int) -> None:
        """Starts ``number`` processes."""
        self._processes = [_Process() for _ in range(number)]

    def free(self) -> int:
        """The number of processes without a chunk."""
        return sum(one.chunk is None for one in self._processes)

    def capacity(self) -> int:
        """A chunk for each."""
        return len(self._processes)

    def lacking(self) -> str:
        """Nothing."""
        return ""

    def submit(self, chunk: Chunk) -> None:
        """Send it to a process without a chunk."""
        one = next(one for one in self._processes if one.chunk is None)
        one.chunk = chunk
        with suppress(OSError):  # it has died; whoever collects learns it
            one.connection.send(chunk)

    def collect(self, timeout_s: float) -> list[Answer]:
        """The answers of processes, or the errors of which they died.

        Raises:
            OtherBuildError: the package was changed since this process began.
        """
        busy = [one for one in self._processes if one.chunk is not None]
        ended = set(wait([one.connection for one in busy], timeout_s))
        answers: list[Answer] = []
        for one in busy:
            if one.connection not in ended or one.chunk is None:
                continue
            chunk, one.chunk = one.chunk, None
            try:
                answer: Batch | OtherBuildError = one.connection.recv()
            except (EOFError, OSError):
                answers.append((chunk, one.died()))
                self._processes[self._processes.index(one)] = _Process()
                continue
            if isinstance(answer, OtherBuildError):
                raise answer
            answers.append((chunk, answer))
        return answers

    def close(self) -> None:
        """Kill them: the store has their answers."""
        for one in self._processes:
            one.close()


def serve(connection: Connection) -> None:
    """Answer chunks until the other end has gone."""
    _end_with_parent()
    with suppress(EOFError, OSError):
        while True:
            chunk = connection.recv()
            try:
                answer: Batch | OtherBuildError = execute(chunk)
            except OtherBuildError as error:
                answer = error
            connection.send(answer)


def _end_with_parent() -> None:
    """A run may take hours: end when the parent does, though it was killed."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_CHECK_S)
        os._exit(1)

    Thread(target=watch, daemon=True).start()
