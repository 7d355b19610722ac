"""What commands hand to a run that draws it or writes pages about it: the run itself knows no page."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from anabranch.runs.run import Finished, PendingRun


class RunView(AbstractContextManager[Any], Protocol):
    """Draws runs while they go on (:class:`anabranch.pages.live_view.LiveView`)."""

    def update(self, ended: Sequence[Finished], going: Sequence[PendingRun], share: float) -> None:
        """Draw anew: the runs that have ended since the last time, those under way, and the share of virtual time that is simulated."""


class ReportWriter(Protocol):
    """Writes the report of run directories to a file (:func:`anabranch.pages.report.write`)."""

    def __call__(self, run_directories: list[Path], output: Path, *, destination: Path | None = None) -> object:
        """``destination`` is where a single run directory is moved to afterwards."""
