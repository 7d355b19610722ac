"""Ctrl-C while runs go on."""

import signal
from contextlib import AbstractContextManager
from threading import Event, current_thread, main_thread
from typing import Any


class Interruptible(AbstractContextManager["Interruptible"]):
    """Ctrl-C or a request to terminate ends the runs, and what there is is kept; a second one interrupts at once."""

    def __init__(self, stop: Event) -> None:
        """``stop`` is what the runs look at."""
        self.came = False
        self._stop = stop
        self._former: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Interruptible":
        """Handle signals."""
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
        """Handle signals as before."""
        self._restore()
