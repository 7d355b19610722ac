"""Figures 4 to 9: one to five parallel paths. Each takes longer than the one before, by a share of the first path's delay."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from anabranch.foundation import units
from anabranch.studies.papers.multipath_forwarding import parallel_claims, parallel_figures, readings, schemes, spread
from anabranch.studies.papers.multipath_forwarding.goodput import Ratios, relative, total
from anabranch.studies.papers.multipath_forwarding.parallel_claims import LOSSES, PATHS, THRESHOLDS
from anabranch.studies.papers.multipath_forwarding.schemes import merged
from anabranch.studies.papers.multipath_forwarding.windows import Windows
from anabranch.studies.papers.study import Experiment, Findings, drawn

if TYPE_CHECKING:
    from anabranch.results.result import Result
    from anabranch.studies.papers.study import Lab

SCENARIO = "parallel.toml"
_QUICK = {"run.duration": '"5s"', "run.warm_up": '"2s"', "run.seeds": "3"}

_DELAY_MS = 10
_PATHS, _DIFFERENCE, _LOSS = (f"topology.generate.{key}" for key in ("paths", "difference", "loss"))
_KEYS = {_DIFFERENCE: "difference", _LOSS: "loss", "stacks.tcp.detection.threshold": "threshold"}
_FIGURE_4 = {
    _LOSS: str(LOSSES[-1]),
    "stacks.tcp.detection": f'{{ name = "dup-ack", threshold = {list(THRESHOLDS)} }}',
}
_FIGURE_4_DIFFERENCES = (25, 100)
_BOTH_ON_ONE = merged(schemes.INTEGRATED.settings(), {"stacks.tcp.detection": '{ name = "dup-ack", threshold = 6 }'})
"""Both changes over a single path. The threshold by the number of paths would be three there."""


def experiments(lab: Lab) -> list[Experiment]:
    """The experiments: each scheme by number of paths, difference and loss; and thresholds by number of paths."""

    def experiment(name: str, *settings: Mapping[str, str]) -> Experiment:
        full = merged(*settings)
        return Experiment(name, lab.scenario(SCENARIO, full=full, quick=merged(full, _QUICK)))

    losses = {_LOSS: str(list(LOSSES))}
    made = [
        experiment(f"parallel-{scheme.name}-{paths}", scheme.settings(), _delays(paths, _differences(lab)), losses)
        for scheme in schemes.ALL
        for paths in PATHS
    ]
    made += [
        experiment(f"figure-4-{paths}", schemes.STANDARD.settings(), _delays(paths, _FIGURE_4_DIFFERENCES), _FIGURE_4)
        for paths in PATHS
    ]
    made.append(experiment("both-on-a-single-path", _BOTH_ON_ONE, _delays(1, ()), losses))
    made.append(experiment("parallel-ports", schemes.FLOW_LEVEL.settings(), readings.ALL_FIELDS))
    return made + [experiment(name, settings) for name, settings in spread.settings(lab).items()]


def findings(lab: Lab, results: Mapping[str, Result]) -> Findings:
    """The findings on the six figures."""
    goodputs = {scheme: _collected(results, f"parallel-{scheme.name}", _differences(lab)) for scheme in schemes.ALL}
    single = goodputs[schemes.STANDARD].filter((pl.col("paths") == 1) & (pl.col("difference") == 0))
    lossy, lossless = (single.filter(pl.col("loss") == loss) for loss in reversed(LOSSES))
    grid = Ratios(
        pl.concat(
            relative(goodput, single, on=["loss"]).with_columns(scheme=pl.lit(scheme.label))
            for scheme, goodput in goodputs.items()
        )
    )
    thresholds = Ratios(relative(_collected(results, "figure-4", _FIGURE_4_DIFFERENCES), lossy))
    ports = Ratios(relative(total(results["parallel-ports"], {_PATHS: "paths"}), lossless))
    both = Ratios(relative(total(results["both-on-a-single-path"], _KEYS), single, on=["loss"]))
    claims = parallel_claims.claims(grid, thresholds, both, ports, readings.ratios(results), Windows.of(results))
    pictures = drawn(parallel_figures.FIGURES, parallel_figures.Parallel(grid, thresholds))
    other = spread.findings(lab, results, lossless, grid)
    return Findings(claims, parallel_figures.numbers(grid), pictures, other.tables)


def _differences(lab: Lab) -> tuple[int, ...]:
    """Differences in delay between a path and the one before, in percent of the first path's delay."""
    return (0, 25, 100) if lab.quick else (0, 25, 50, 100)


def _delays(paths: int, differences: tuple[int, ...]) -> dict[str, str]:
    """Settings for these differences. The scenario's ``difference`` is that between the last path and the first."""
    if paths == 1:
        return {_PATHS: "1", _DIFFERENCE: '"0ms"'}
    texts = [f"{_DELAY_MS * (paths - 1) * difference / 100:g}ms" for difference in differences]
    return {_PATHS: str(paths), _DIFFERENCE: json.dumps(texts)}


def _collected(results: Mapping[str, Result], name: str, differences: tuple[int, ...]) -> pl.DataFrame:
    """Goodput by number of paths and difference; a single path has the same rows for every difference."""
    tables = []
    for paths in PATHS:
        table = total(results[f"{name}-{paths}"], _KEYS)
        if paths == 1:
            table = table.join(
                pl.DataFrame({"difference": differences}, schema={"difference": pl.Float64}), how="cross"
            )
        else:
            step = units.duration(f"{_DELAY_MS}ms") * (paths - 1)
            percent = {text: round(100 * units.duration(text) / step, 6) for text in table["difference"].unique()}
            table = table.with_columns(pl.col("difference").replace_strict(percent, return_dtype=pl.Float64))
        tables.append(table.with_columns(paths=pl.lit(paths, dtype=pl.Int64)).select(sorted([*table.columns, "paths"])))
    return pl.concat(tables)
