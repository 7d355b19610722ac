"""How far a search for plans is, on standard error."""

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


class Moves(AbstractContextManager["Moves"]):
    """Shows the searches once they have taken longer than a second: a line that changes on a terminal, else lines."""

    def __init__(self) -> None:
        """The clock starts."""
        self._began = self._last_line = self._search_began = time.monotonic()
        self._status: Status | None = None

    def __call__(self, what: str, done: float) -> None:
        """That share of a search is done."""
        now = time.monotonic()
        if done == 0:
            self._search_began = now
        if now - self._began < QUIET_S:
            return
        left = f", {(now - self._search_began) * (1 - done) / done:.0f} s left of this search" if done > 0 else ""
        text = f"{what}, {done:.0%}{left}"
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
