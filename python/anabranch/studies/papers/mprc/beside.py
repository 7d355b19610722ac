"""MPRC beside other stacks. The thesis only says that MPRC is compatible with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from anabranch.results.statistics import jain_index
from anabranch.studies.papers import measures, statements
from anabranch.studies.papers.measures import Mean
from anabranch.studies.papers.mprc.fairness import FAIR
from anabranch.studies.papers.mprc.measure import OTHERS, STACKS, per_flow, short
from anabranch.studies.papers.mprc.places import FORWARDING
from anabranch.studies.papers.study import Claim, Findings, Number, Table
from anabranch.studies.papers.verdicts import above, by_parts

if TYPE_CHECKING:
    from anabranch.results.result import Result

_CLAIMS = statements.beside(__file__)

WITH = {
    "newreno": "NewReno",
    "newreno-rack-tlp": "NewReno + RACK-TLP",
    "cubic": "Cubic",
    "bbr-dup-ack": "BBR",
    "mprc": "MPRC",
}
WHERE = "Abstract, Chapter 6"


def findings(results: Mapping[str, Result]) -> Findings:
    """Findings on one flow of MPRC and one of another stack, on one path and over two."""
    pairs = _Pairs.of(results["competition"], results["abilene"])
    numbers = [
        Number(f"beside-{routing}-{short(stack)}", *pairs.jain[stack, routing], where=WHERE,
               what=f"Jain's index of MPRC and {WITH[stack]}, {FORWARDING[routing]}")
        for stack, routing in pairs.jain
    ]  # fmt: skip
    return Findings([pairs.claim()], numbers, [], [pairs.table()])


@dataclass(frozen=True)
class _Pairs:
    """Results of the pairs, by the other stack and the routing."""

    rates: Mapping[tuple[str, str, str], Mean]
    """Goodput in Mbit/s; the third key names the flow of the pair."""
    jain: Mapping[tuple[str, str], Mean]
    alone: Mapping[tuple[str, str], Mean]
    """Goodput in Mbit/s of a stack that has the paths to itself."""
    rtt_ms: Mapping[tuple[str, str, str], Mean]
    rtt_alone_ms: Mapping[tuple[str, str], Mean]

    @classmethod
    def of(cls, competition: Result, abilene: Result) -> _Pairs:
        by = ["stack", "routing"]
        milliseconds = (pl.col("srtt_s") * 1e3).alias("ms")
        flows = per_flow(competition).with_columns(milliseconds)
        alone = per_flow(abilene).filter(pl.col("loss") == 0).with_columns(milliseconds)
        runs = flows.group_by("run", *by, maintain_order=True).agg(jain=jain_index(pl.col("mbps")))
        return cls(
            measures.means(flows, [*by, "traffic"], "mbps"),
            measures.means(runs, by, "jain"),
            measures.means(alone, by, "mbps"),
            measures.means(flows, [*by, "traffic"], "ms"),
            measures.means(alone, by, "ms"),
        )

    def claim(self) -> Claim:
        fair = {key: above(mean, FAIR) for key, mean in self.jain.items()}
        found = by_parts(*fair.values())

        def says(routing: str) -> str:
            return ", ".join(WITH[stack] for stack in WITH if fair[stack, routing]) or "none"

        falls = ", ".join(
            f"{STACKS[stack]} from {self.alone[stack, 'disjoint']} to {self.rates[stack, 'disjoint', 'other']}"
            for stack in OTHERS
        )
        return _CLAIMS.claim(
            "beside-others",
            found,
            fair=FAIR,
            one_path=says("ospf"),
            sprayed=says("disjoint"),
            falls=falls,
            rtt=self.rtt_ms["newreno", "disjoint", "other"],
            rtt_alone=self.rtt_alone_ms["newreno", "disjoint"],
        )

    def table(self) -> Table:
        return Table(
            "beside",
            "Left for later: MPRC beside other stacks",
            "Two flows from Seattle to Atlanta, Mbit/s from 10 to 60 s.",
            ["forwarding", "the other", "MPRC", "the other's", "Jain's index"],
            [
                [
                    FORWARDING[routing],
                    name,
                    *(str(self.rates[stack, routing, whose]) for whose in ("mprc", "other")),
                    str(self.jain[stack, routing]),
                ]
                for routing in ("ospf", "disjoint")
                for stack, name in WITH.items()
            ],
        )
