"""Both bounds closing, on standard error."""

import sys
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING

from anabranch.progress import QUIET_S

if TYPE_CHECKING:
    from rich.status import Status

LINE_INTERVAL_S = 2.0
"""Without a terminal, one line in so many seconds at most."""


class Bounds(AbstractContextManager["Bounds"]):
    """Shows the bounds once the search has taken longer than a second: a line that changes on a terminal, else lines."""

    def __init__(self) -> None:
        """The clock starts."""
        self._began = self._last_line = time.monotonic()
        self._status: Status | None = None

    def __call__(self, lower: float, upper: float, what: str) -> None:
        """The worst-case load lies between the two."""
        now = time.monotonic()
        if now - self._began < QUIET_S:
            return
        gap = (upper - lower) / upper if upper > 0 else 0.0
        text = f"worst-case load {lower:.6f} to {upper:.6f}, gap {gap:.2%}, {now - self._began:.0f} s; {what}"
        if sys.stderr.isatty():
            self._shown(text)
        elif now - self._last_line >= LINE_INTERVAL_S:
            self._last_line = now
            print(text, file=sys.stderr, flush=True)

    def _shown(self, text: str) -> None:
        if self._status is None:
            from rich.console import Console

            self._status = Console(stderr=True).status(text)
            self._status.start()
        self._status.update(text)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clear the line."""
        if self._status is not None:
            self._status.stop()
