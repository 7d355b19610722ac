"""What works beside the measurement, in a thread of its own."""

import threading
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Background(ABC):
    """Works until the ``with`` block ends."""

    def __init__(self, name: str) -> None:
        """A thread of this name, which begins with the block."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name=name)

    @abstractmethod
    def _work(self) -> None:
        """Work until ``_stop`` is set."""

    def _close(self) -> None:  # noqa: B027 - not all have something to close
        """Close what the work has opened."""

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop, and close."""
        self._stop.set()
        self._thread.join()
        self._close()
