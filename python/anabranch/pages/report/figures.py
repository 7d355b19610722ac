"""All figures of a report, by the section of the page that shows them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from anabranch.pages.report import (
    by_size,
    delays,
    distributions,
    evaluation,
    load,
    over_time,
    overview,
    routes,
    trade_offs,
)
from anabranch.pages.report.evaluation import Evaluation
from anabranch.pages.report.outcomes import OutcomeMeasure, outcomes
from anabranch.pages.report.parts import Figure


def by_section(e: Evaluation, judged: list[OutcomeMeasure]) -> dict[str, list[Figure]]:
    """The figures of each section; a section without any is empty."""
    timeline = routes.timeline(e.runs)
    return {
        "answer": overview.figures(e, judged),
        "trade_offs": trade_offs.figures(e, judged),
        "map": load.maps(e),
        "time": over_time.figures(e),
        "routes": [timeline, *routes.estimates(e.runs)] if timeline else [],
        "sizes": by_size.figures(e),
        "distributions": [*delays.figures(e), *distributions.figures(e)],
    }


def figures(run_directories: Sequence[Path]) -> list[Figure]:
    """All figures of the report of run directories, in the order of the page. Their names are distinct.

    Raises:
        anabranch.results.run_directory.RunDirectoryError: a run directory lacks a file or has a broken one.
    """
    e = evaluation.read(run_directories)
    return [figure for section in by_section(e, outcomes(e)).values() for figure in section]
