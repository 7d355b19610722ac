"""Shows the progress of long work on standard error: rate and time left."""

import sys
import threading
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from anabranch.foundation.printable import printable_line

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
    from rich.status import Status

QUIET_S = 1.0
"""Work that ends sooner says nothing."""
LINE_INTERVAL_S = 10.0
"""Seconds between two lines where there is no terminal."""
STATUS_INTERVAL_S = 2.0
"""Seconds between two lines about work of unknown length."""


class Shown(AbstractContextManager["Shown"]):
    """Progress once the work has taken longer than a second: a bar on a terminal, else a line now and then."""

    def __init__(self, total: float, enabled: bool = True) -> None:
        """``total`` is the amount of work, in any unit."""
        self._all = self._total = total
        self._enabled = enabled
        self._began = time.monotonic()
        self._last_line = self._began
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def show(self, done: float, what: str, rate: str) -> None:
        """Show that ``done`` of the work is done; ``what`` stands before the bar, ``rate`` behind it."""
        elapsed = time.monotonic() - self._began
        if not self._enabled or elapsed < QUIET_S:
            return
        what, rate = printable_line(what), printable_line(rate)
        if sys.stderr.isatty():
            bar = self._started_bar()
            assert self._task is not None
            bar.update(self._task, completed=min(done, self._total), total=self._total, rate=rate, what=what)
        elif time.monotonic() - self._last_line >= LINE_INTERVAL_S:
            self._last_line = time.monotonic()
            share = min(1.0, done / self._total) if self._total > 0 else 1.0
            left = f", {elapsed / share - elapsed:.0f} s left" if share > 0 else ""
            print(f"{what}, {share:.0%}, {rate}{left}", file=sys.stderr, flush=True)

    def stop(self) -> None:
        """Show nothing more."""
        self._enabled = False
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def skip(self, kept: float) -> None:
        """Leave ``kept`` out of the work: it counts neither as done nor as left."""
        self._total = self._all - kept

    def elapsed_s(self) -> float:
        """Seconds since the work began."""
        return time.monotonic() - self._began

    def _started_bar(self) -> "Progress":
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            columns = ("{task.fields[what]}", BarColumn(), TaskProgressColumn(), "{task.fields[rate]}")
            parts = [TextColumn(part, markup=False) if isinstance(part, str) else part for part in columns]
            self._bar = Progress(
                *parts, TimeRemainingColumn(), TextColumn("left"), console=Console(stderr=True), transient=True
            )
            self._task = self._bar.add_task("", total=self._total, what="", rate="")
            self._bar.start()
        return self._bar

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clear the bar."""
        self.stop()


class Steps(Shown):
    """Progress of work that is counted in steps."""

    def __init__(self, total: int, what: str) -> None:
        """``total`` steps; ``what`` names them."""
        super().__init__(total)
        self._what = what
        self._done = 0

    def __enter__(self) -> "Steps":
        """Begin."""
        return self

    def advance(self, steps: int = 1) -> None:
        """Count further steps as done."""
        self._done += steps
        self.show(self._done, self._what, f"{self._done:,} of {self._total:,.0f}")


class Reporter(Shown):
    """Progress of runs."""

    def __enter__(self) -> "Reporter":
        """Begin."""
        return self

    def __init__(self, total_s: float, enabled: bool = True) -> None:
        """``total_s`` is the virtual time of all runs."""
        super().__init__(total_s, enabled)

    def update(self, done_s: float, packet_hops: int, runs: str, before_packets: str) -> None:
        """``done_s`` of virtual time and ``packet_hops`` are done. ``runs`` says how many runs have ended. ``before_packets`` is shown before the first hop."""
        per_s = packet_hops / max(self.elapsed_s(), 1e-9)
        rate = f"{per_s / 1e6:.1f} M" if per_s >= 1e5 else f"{per_s:,.0f}"
        self.show(done_s, runs, f"{rate} packet-hops/s" if packet_hops else before_packets)


class StatusLine(AbstractContextManager["StatusLine"]):
    """The status of work of unknown length, once it has taken longer than a second: a line that changes on a terminal, else lines."""

    def __init__(self) -> None:
        """The clock starts."""
        self._began = self._last_line = time.monotonic()
        self._status: Status | None = None

    def elapsed_s(self) -> float:
        """Seconds since the work began."""
        return time.monotonic() - self._began

    def say(self, text: str) -> None:
        """Show this instead of what was shown before."""
        if self.elapsed_s() < QUIET_S:
            return
        text = printable_line(text)
        if sys.stderr.isatty():
            self._shown(text)
        elif time.monotonic() - self._last_line >= STATUS_INTERVAL_S:
            self._last_line = time.monotonic()
            print(text, file=sys.stderr, flush=True)

    def _shown(self, text: str) -> None:
        from rich.text import Text

        if self._status is None:
            from rich.console import Console

            self._status = Console(stderr=True).status("")
            self._status.start()
        self._status.update(Text(text))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clear the line."""
        if self._status is not None:
            self._status.stop()


class Ticking(StatusLine):
    """A status that is shown again from time to time, because it has the time, or because the work keeps the caller busy."""

    def __init__(self, interval_s: float) -> None:
        """``interval_s`` lies between two lines where there is no terminal."""
        super().__init__()
        self._interval_s = interval_s
        self._over = threading.Event()
        self._ticking = threading.Thread(target=self._tick, daemon=True)

    def status(self) -> str:
        """The present status."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Begin."""
        self._ticking.start()
        return self

    def _tick(self) -> None:
        while not self._over.wait(QUIET_S if sys.stderr.isatty() else self._interval_s):
            self.say(self.status())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clear the line."""
        self._over.set()
        self._ticking.join()
        super().__exit__(kind, error, trace)


class Computing(Ticking):
    """Shows for how long something has been computed, while the computation keeps this thread busy."""

    def __init__(self, what: str) -> None:
        """``what`` is computed."""
        super().__init__(LINE_INTERVAL_S)
        self._what = what

    def status(self) -> str:
        """The name of the computation, and its time so far."""
        return f"computing {self._what}: {self.elapsed_s():.0f} s"
