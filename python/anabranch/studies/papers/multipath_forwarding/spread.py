"""Another reading of Figures 5, 6 and 8: the difference is that between the last path and the first; the others lie between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from anabranch.foundation import units
from anabranch.studies.papers.multipath_forwarding import schemes
from anabranch.studies.papers.multipath_forwarding.goodput import Ratios, relative, total
from anabranch.studies.papers.multipath_forwarding.schemes import merged
from anabranch.studies.papers.study import Findings, Table

if TYPE_CHECKING:
    from anabranch.results.result import Result
    from anabranch.studies.papers.study import Lab

_PATHS = (3, 4, 5)
"""Numbers of paths; with two paths both readings are the same."""
_SCHEMES = (schemes.STANDARD, *schemes.PROPOSED)
_KEYS = {"topology.generate.paths": "paths", "topology.generate.difference": "difference"}


def settings(lab: Lab) -> dict[str, dict[str, str]]:
    """The settings of the experiments, by their names."""
    delays = {
        "topology.generate.paths": str(list(_PATHS)),
        "topology.generate.difference": '["2.5ms", "10ms"]' if lab.quick else '["2.5ms", "5ms", "10ms"]',
    }
    return {f"spread-{scheme.name}": merged(scheme.settings(), delays) for scheme in _SCHEMES}


def findings(lab: Lab, results: Mapping[str, Result], single: pl.DataFrame, grid: Ratios) -> Findings:
    """A table of both readings side by side."""
    tables = [
        relative(total(results[f"spread-{scheme.name}"], _KEYS), single).with_columns(scheme=pl.lit(scheme.label))
        for scheme in _SCHEMES
    ]
    ratios = Ratios(pl.concat(tables))
    texts = sorted(ratios.table["difference"].unique(), key=units.duration)
    rows = []
    for scheme in _SCHEMES:
        for text in texts:
            percent = 100 * units.duration(text) / units.duration("10ms")
            ours = [grid.at(scheme=scheme.label, paths=n, difference=percent, loss=0.0) for n in _PATHS]
            other = [ratios.at(scheme=scheme.label, paths=n, difference=text) for n in _PATHS]
            rows.append([scheme.label, f"{percent:g} %", *map(str, ours), *map(str, other)])
    columns = ["Scheme", "Difference", *(f"{n} paths{of}" for of in (", each path", ", the last path") for n in _PATHS)]
    caption = "Relative goodput in two readings: each path takes longer than the one before by the difference (as we read it), or only the last path takes longer than the first."
    return Findings([], [], [], [Table("spread", "Other readings, delay differences", caption, columns, rows)])
