"""Requests to terminate: Ctrl-C, the signal that ``kill`` and ``timeout`` send, and a terminal that closes."""

import errno
import io
import os
import signal
import time
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threading import Event

REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
TOGETHER_S = 1.0
"""Signals within this time after a request are part of it: ``timeout`` sends one to the process and one to its group."""
_TERMINALS = [stream for stream in (1, 2) if os.isatty(stream)]
"""Outputs that are a terminal. One that has closed no longer says that it is one."""


class GuardedStream(io.FileIO):
    """Standard output or standard error. If it is a terminal that closes while the process goes on, what cannot be written is left out."""

    def __init__(self, stream: int, title: str) -> None:
        """``title`` names it in errors."""
        super().__init__(stream, "w", closefd=False)
        self._title = title

    def write(self, data: Any, /) -> int:
        """Write, or discard this and all later output once the terminal has closed.

        Raises:
            BrokenPipeError: the reader has gone.
            OSError: says which output cannot be written, and why.
        """
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            if error.errno != errno.EIO or self.fileno() not in _TERMINALS:
                raise OSError(f"{self._title} cannot be written ({error.strerror})") from None
            discard_output()
            return memoryview(data).nbytes


def discard_output() -> None:
    """Put the null device in the place of a terminal that has closed, so that no message fails."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in _TERMINALS:
        os.dup2(null, stream)
    os.close(null)


_taken_at = float("-inf")


def take(number: int) -> None:
    """Begin a request: the signals that come together with it are no further ones."""
    global _taken_at
    _taken_at = time.monotonic()
    if number == signal.SIGHUP:
        discard_output()


def is_without_terminal(number: int) -> bool:
    """Whether ``nohup`` or a shell's ``disown`` has asked to go on without a terminal, and the signal says that it closes."""
    return number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN


def is_repeated() -> bool:
    """Whether a signal that comes now is part of the last request."""
    return time.monotonic() - _taken_at <= TOGETHER_S


class Interruptible(AbstractContextManager["Interruptible"]):
    """The first Ctrl-C stops the runs and keeps the results so far; a second one interrupts at once."""

    def __init__(self, stop: "Event") -> None:
        """``stop`` is what the runs look at."""
        self.came = False
        self._stop = stop
        self._former: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Interruptible":
        """Handle signals."""
        from threading import current_thread, main_thread

        if current_thread() is main_thread():  # Python lets no other thread handle signals
            for number in REQUESTS:
                if not is_without_terminal(number):
                    self._former[number] = signal.signal(number, self._handle)
        return self

    def _handle(self, number: int, _: object) -> None:
        if not self.came:
            self.came = True
            take(number)
            self._stop.set()
        elif not is_repeated():
            self._restore()
            signal.raise_signal(number)

    def _restore(self) -> None:
        for number in list(self._former):
            signal.signal(number, self._former.pop(number))

    def __exit__(self, *_: object) -> None:
        """Handle signals as before."""
        self._restore()
