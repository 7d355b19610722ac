"""A study that takes a fraction of a second, in the place of a paper's: runs, a computation that is kept, a figure, a table."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from anabranch.results.result import Result
from anabranch.scenario import Scenario
from anabranch.studies.papers import charts, registry
from anabranch.studies.papers.study import Claim, Experiment, Findings, Lab, Number, Picture, Table
from bench.kills.scenarios import SMALL

NAME = "mprc"
"""The paper that it stands for."""


def install() -> None:
    """Let ``anabranch paper mprc`` run this study, in this process."""
    folder = Path("paper")
    if not folder.exists():
        folder.mkdir()
        (folder / "about.md").write_text("# A toy\n\nOne flow.\n\n## How we read it\n\nLiterally.\n")
        (folder / "published.toml").write_text("")
    registry.study = lambda name: _Study()  # type: ignore[assignment]
    registry.folder = lambda name: folder  # type: ignore[assignment]


class _Study:
    def experiments(self, lab: Lab) -> list[Experiment]:
        seeds = lab.seeds or 2
        return [
            Experiment(f"flow-{size}", Scenario.from_toml(SMALL.format(title="Toy", segments=size, seeds=seeds)))
            for size in (500, 1000)
        ]

    def findings(self, lab: Lab, results: Mapping[str, Result]) -> Findings:
        goodput = [float(result.flows["goodput_bps"].sum()) for result in results.values()]
        total = lab.kept("sum", goodput, lambda: sum(goodput))
        frame = pl.DataFrame({"x": [1.0, 2.0], "who": ["we", "we"], "mean": goodput, "half_width": [0.1, None]})
        chart = charts.lines(frame, x="x", colour="who", x_title="x", y_title="y", published=frame)
        return Findings(
            [Claim("c", "Figure 1", "It is fast.", "It ends.", "holds", f"{total:.0f} bit/s.")],
            [Number("total", total, what="goodput", where="Figure 1")],
            [Picture("figure-1", "Figure 1", "Goodput.", chart)],
            [Table("t", "Table 1", "Goodput.", ["x"], [[f"{one:.0f}"] for one in goodput])],
        )
