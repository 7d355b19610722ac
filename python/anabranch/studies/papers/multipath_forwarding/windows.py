"""The gain of each proposal by the window that a flow has: the fewer flows share the paths, the larger is the window of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.studies.papers import charts, measures
from anabranch.studies.papers.multipath_forwarding import schemes
from anabranch.studies.papers.multipath_forwarding.goodput import Ratios, relative, total
from anabranch.studies.papers.multipath_forwarding.schemes import merged
from anabranch.studies.papers.study import Experiment, Figure, Findings, drawn
from anabranch.studies.papers.verdicts import Truth, by_parts, every

if TYPE_CHECKING:
    from anabranch.results.result import Result
    from anabranch.studies.papers.study import Lab, Verdict

SCENARIO = "parallel.toml"
FLOWS = (1, 2, 3, 5, 10)
"""Flows of each of the ten pairs; the paper has ten."""
_PATHS = 3
_SEGMENT_BITS = 512 * 8
_QUICK = {"run.duration": '"5s"', "run.warm_up": '"2s"', "run.seeds": "3"}


def experiments(lab: Lab) -> list[Experiment]:
    """The experiments: a single path, and each proposal over three."""
    flows = {"traffic.0.flows": str(list(FLOWS))}
    runs = {"single": merged(schemes.STANDARD.settings(), {"topology.generate.paths": "1"}, flows)}
    for scheme in schemes.PROPOSED:
        runs[scheme.name] = merged(scheme.settings(), {"topology.generate.paths": str(_PATHS)}, flows)
    return [
        Experiment(f"windows-{name}", lab.scenario(SCENARIO, full=settings, quick=merged(settings, _QUICK)))
        for name, settings in runs.items()
    ]


@dataclass(frozen=True)
class Windows:
    """Goodput over three paths relative to a single path, by scheme and flows of a pair."""

    ratios: Ratios
    segments: Mapping[int, float]
    """The mean window of a flow on the single path, by flows of a pair."""

    @classmethod
    def of(cls, results: Mapping[str, Result]) -> Windows:
        """The results of the experiments."""
        names = {"traffic[0].flows": "flows"}
        single = total(results["windows-single"], names)
        tables = [
            relative(total(results[f"windows-{scheme.name}"], names), single, on=["flows"]).with_columns(
                scheme=pl.lit(scheme.label)
            )
            for scheme in schemes.PROPOSED
        ]
        table = measures.flows(results["windows-single"], names).filter(pl.col("traffic") == "ftp")
        windows = table.with_columns(window=pl.col("goodput_bps") * pl.col("srtt_s") / _SEGMENT_BITS)
        segments = dict(windows.group_by("flows", maintain_order=True).agg(pl.col("window").mean()).iter_rows())
        return cls(Ratios(pl.concat(tables)), segments)

    def best(self, flows: int) -> Truth:
        """Whether the integrated scheme has more than each change alone, seed by seed."""
        integrated = {"scheme": schemes.INTEGRATED.label, "flows": flows}
        return every(
            *(
                self.ratios.more(integrated, {"scheme": other.label, "flows": flows})
                for other in (schemes.MODIFIED, schemes.THRESHOLD)
            )
        )

    def verdict(self) -> Verdict:
        """The verdict by windows: it holds at all of them, or at some."""
        return by_parts(*map(self.best, FLOWS))

    def text(self) -> str:
        """The relative goodput of each scheme at each window."""
        return "; ".join(
            f"windows of {self.segments[flows]:.0f} segments: "
            + ", ".join(str(self.ratios.at(scheme=scheme.label, flows=flows)) for scheme in schemes.PROPOSED)
            for flows in FLOWS
        )

    def chart(self) -> Any:
        """Relative goodput over the window."""
        table = self.ratios.summary("flows", "scheme").with_columns(
            window=pl.col("flows").replace_strict(self.segments, return_dtype=pl.Float64)
        )
        return charts.lines(
            table,
            x="window",
            colour="scheme",
            x_title="mean window of a flow on one path, segments",
            y_title="relative goodput over three paths",
            order=[scheme.label for scheme in schemes.PROPOSED],
        )


FIGURES = (
    Figure(
        "windows",
        "Figure 8, by window",
        "Goodput over three paths relative to one, over the window that a flow has on one path. The larger it is, the better is the integrated scheme.",
        Windows.chart,
    ),
)


def findings(_: Lab, results: Mapping[str, Result]) -> Findings:
    """The picture; the claim is among those about parallel paths."""
    return Findings([], [], drawn(FIGURES, Windows.of(results)))
