"""Figures 5.9 and 5.10: MPRC applications that share two paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.results.statistics import jain_index
from anabranch.studies.papers import measures, statements
from anabranch.studies.papers.measures import Mean
from anabranch.studies.papers.mprc import pictures
from anabranch.studies.papers.mprc.measure import FULL, more, over_time, payload, percent, settled
from anabranch.studies.papers.study import Claim, Figure, Findings, Number, drawn
from anabranch.studies.papers.verdicts import above, by_parts

if TYPE_CHECKING:
    from anabranch.results.result import Result

_CLAIMS = statements.beside(__file__)

FAIR = 0.95
"""The least Jain's index (Jain, Chiu and Hawe 1984) that counts as equal shares."""
ALONE, TOGETHER, PAIR, ALL = (2.0, 10.0), (15.0, 20.0), (12.0, 15.0), (20.0, 30.0)
"""The seconds of each phase that count. They begin some seconds after the phase."""
ALL_AT_FIRST = (20.0, 25.0)
"""Of the phase with three applications, as long and as late as :data:`TOGETHER` is of that with two: shares drift over time."""


def findings(results: Mapping[str, Result]) -> Findings:
    """The findings on the shares in each phase."""
    two, three = _Applications(results["two-applications"]), _Applications(results["three-applications"])
    return Findings(
        [_two(two), _three(two, three)],
        [
            *two.numbers("two", "Figure 5.9", {"alone": (1, ALONE), "first": (1, TOGETHER), "second": (2, TOGETHER)}),
            two.jain_number("two", "Figure 5.9", TOGETHER),
            *three.numbers("three", "Figure 5.10", {"alone": (1, ALONE), "first": (1, PAIR), "second": (2, PAIR)}),
            *three.numbers("three", "Figure 5.10", {f"of-three-{n}": (n, ALL) for n in (1, 2, 3)}),
            three.jain_number("three", "Figure 5.10", ALL),
        ],
        drawn(FIGURES, two, three),
    )


class _Applications:
    """Several applications over the same two paths."""

    def __init__(self, result: Result) -> None:
        self.bins = over_time(result, pictures.BIN_S)

    def shares(self, phase: tuple[float, float]) -> pl.DataFrame:
        """The mean throughput of each application in each run."""
        return settled(self.bins, *phase).group_by("run", "traffic", maintain_order=True).agg(pl.col("mbps").mean())

    def share(self, number: int, phase: tuple[float, float]) -> Mean:
        own = self.shares(phase).filter(pl.col("traffic") == f"application {number}")
        return Mean(*measures.over_seeds(own["mbps"].to_list()))

    def jain(self, phase: tuple[float, float]) -> Mean:
        """Jain's index of the mean throughputs in a phase."""
        runs = self.shares(phase).group_by("run", maintain_order=True).agg(jain=jain_index(pl.col("mbps")))
        return Mean(*measures.over_seeds(runs["jain"].to_list()))

    def total(self, phase: tuple[float, float]) -> Mean:
        runs = self.shares(phase).group_by("run", maintain_order=True).agg(pl.col("mbps").sum())
        return Mean(*measures.over_seeds(runs["mbps"].to_list()))

    def varies(self, phase: tuple[float, float]) -> Mean:
        """Standard deviation over mean of an application's seconds in a phase, in percent: a mean over the applications of a run."""
        percent = pl.col("mbps").std() / pl.col("mbps").mean() * 100
        each = settled(self.bins, *phase).group_by("run", "traffic", maintain_order=True).agg(percent=percent)
        runs = each.group_by("run", maintain_order=True).agg(pl.col("percent").mean())
        return Mean.of(runs["percent"].to_list())

    def numbers(self, key: str, where: str, wanted: Mapping[str, tuple[int, tuple[float, float]]]) -> list[Number]:
        return [
            Number(f"{key}-{name}", *self.share(number, phase), where=where, unit="Mbit/s",
                   what=f"application {number} from {phase[0]:g} to {phase[1]:g} s")
            for name, (number, phase) in wanted.items()
        ]  # fmt: skip

    def jain_number(self, key: str, where: str, phase: tuple[float, float]) -> Number:
        return Number(
            f"{key}-jain", *self.jain(phase), where=where, what=f"Jain's index from {phase[0]:g} to {phase[1]:g} s"
        )

    def chart(self) -> Any:
        names = {text: text for text in self.bins["traffic"].unique().sort()}
        return pictures.over_time(self.bins, names, "traffic")


FIGURES = (
    Figure(
        "figure-5-9",
        "Figure 5.9",
        "Means over seeds, second by second; thin lines are one seed.",
        lambda two, _: two.chart(),
    ),
    Figure(
        "figure-5-10",
        "Figure 5.10",
        "Means over seeds, second by second; thin lines are one seed.",
        lambda _, three: three.chart(),
    ),
)


def _two(two: _Applications) -> Claim:
    jain, total = two.jain(TOGETHER), two.total(TOGETHER)
    found = by_parts(above(jain, FAIR), above(total, FULL * payload(2)))
    return _CLAIMS.claim(
        "fair-two",
        found,
        alone=two.share(1, ALONE),
        first=two.share(1, TOGETHER),
        second=two.share(2, TOGETHER),
        total=total,
        jain=jain,
        fair=FAIR,
        full=percent(FULL),
    )


def _three(two: _Applications, three: _Applications) -> Claim:
    jain, total = three.jain(ALL), three.total(ALL)
    before, after = two.varies(TOGETHER), three.varies(ALL_AT_FIRST)
    found = by_parts(above(jain, FAIR), above(total, FULL * payload(2)), more(after, before))
    shares = ", ".join(str(three.share(number, ALL)) for number in (1, 2, 3))
    return _CLAIMS.claim(
        "fair-three",
        found,
        shares=shares,
        total=total,
        jain=jain,
        after=after,
        before=before,
        fair=FAIR,
        full=percent(FULL),
    )
