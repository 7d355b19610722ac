"""Figures 4 to 9 as pictures and numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from anabranch.studies.papers import charts
from anabranch.studies.papers.multipath_forwarding import schemes
from anabranch.studies.papers.multipath_forwarding.goodput import Ratios
from anabranch.studies.papers.multipath_forwarding.parallel_claims import LOSSES
from anabranch.studies.papers.study import Figure, Number


def numbers(grid: Ratios) -> list[Number]:
    """Numbers of every scheme at the greatest difference in delay, and the text's numbers of the modified delayed ACK."""
    found = []
    for name, n in (("figure-6-two-paths", 2), ("figure-6-three-paths", 3)):
        estimate = grid.at(scheme=schemes.MODIFIED.label, paths=n, difference=100.0, loss=0.0)
        found.append(Number(name, estimate.mean, estimate.half_width, remark="at 100 %"))
    figures = dict(zip(schemes.ALL, ("6 (a)", "6 (b)", "6 (c)", "5", "8", "9"), strict=True))
    for scheme, figure in figures.items():
        for n in (2, 3, 5):
            estimate = grid.at(scheme=scheme.label, paths=n, difference=100.0, loss=0.0)
            found.append(
                Number(
                    f"parallel-{scheme.name}-{n}",
                    estimate.mean,
                    estimate.half_width,
                    what=f"relative goodput, {scheme.label}, {n} paths, delays differ by 100 %",
                    where=f"Figure {figure}",
                )
            )
    return found


@dataclass(frozen=True)
class Parallel:
    """Relative goodput over parallel paths: by scheme, paths, difference and loss, and by threshold."""

    grid: Ratios
    thresholds: Ratios


def _by_paths(found: Parallel, scheme: schemes.Scheme, loss: float) -> Any:
    table = found.grid.summary("difference", "paths", scheme=scheme.label, loss=loss)
    return charts.lines(
        table.with_columns(pl.format("{} %", pl.col("difference").cast(pl.Int32)).alias("difference")),
        x="paths",
        colour="difference",
        x_title="paths",
        y_title="relative goodput",
        colour_title="delay difference",
    )


def _by_threshold(found: Parallel, difference: float) -> Any:
    table = found.thresholds.summary("paths", "threshold", difference=difference)
    return charts.lines(
        table.with_columns(pl.col("paths").cast(pl.String)),
        x="threshold",
        colour="paths",
        x_title="duplicate-ACK threshold",
        y_title="relative goodput",
        colour_title="paths",
    )


def _thresholds(found: Parallel) -> Any:
    titled = [(f"delays differ by {difference} %", _by_threshold(found, difference)) for difference in (100, 25)]
    return charts.side_by_side(titled)


def _panels(compared: Sequence[schemes.Scheme], losses: Sequence[float]) -> Callable[[Parallel], Any]:
    """Draws a panel for each scheme and loss."""

    def draw(found: Parallel) -> Any:
        titled = [
            (f"{scheme.label}{', loss 0.001' if loss else ''}", _by_paths(found, scheme, loss))
            for scheme in compared
            for loss in losses
        ]
        return charts.side_by_side(titled)

    return draw


_RECEIVERS = (schemes.STANDARD, schemes.DELAYED, schemes.MODIFIED)
FIGURES = (
    Figure(
        "figure-4",
        "Figure 4",
        "Goodput over that of a single path by threshold and number of paths, link loss 0.001; the paper has a difference of 100 %.",
        _thresholds,
    ),
    Figure(
        "figure-5",
        "Figure 5",
        "The threshold of three, and by the number of paths; without and with link loss.",
        _panels((schemes.STANDARD, schemes.THRESHOLD), LOSSES),
    ),
    Figure("figure-6", "Figure 6", "Three receivers, threshold 3, no link loss.", _panels(_RECEIVERS, (0.0,))),
    Figure("figure-7", "Figure 7", "Three receivers, threshold 3, link loss 0.001.", _panels(_RECEIVERS, (0.001,))),
    Figure(
        "figure-8",
        "Figure 8",
        "Threshold by the number of paths and modified delayed ACK together.",
        _panels((schemes.INTEGRATED,), LOSSES),
    ),
    Figure(
        "figure-9",
        "Figure 9",
        "Flow by flow, by a hash of the source address.",
        _panels((schemes.FLOW_LEVEL,), LOSSES),
    ),
)
