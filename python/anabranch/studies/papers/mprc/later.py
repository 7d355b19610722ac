"""Topics that the thesis leaves for later: background traffic, and failures of a link and of a node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.studies.papers import charts, measures, statements
from anabranch.studies.papers.measures import Mean
from anabranch.studies.papers.mprc import bounds, pictures
from anabranch.studies.papers.mprc.measure import (
    FULL,
    STACKS,
    more,
    over_time,
    payload,
    per_flow,
    percent,
    settled,
    short,
)
from anabranch.studies.papers.mprc.places import ABILENE, FORWARDING
from anabranch.studies.papers.study import Claim, Figure, Findings, Number, Table, drawn
from anabranch.studies.papers.verdicts import above, by_parts

if TYPE_CHECKING:
    from anabranch.results.result import Result

_CLAIMS = statements.beside(__file__)

ALL_STACKS = STACKS | {"newreno-rack-tlp": "NewReno + RACK-TLP"}
DUPLICATE_ACKS = ("newreno", "cubic", "bbr-dup-ack")
LOADS = {"200kbps": 10, "600kbps": 30, "1Mbps": 50}
"""Background load in percent of every link, by the peak rate of the link's ten sources, which are on half of the time."""
NODE = ("Kansas City", "Indianapolis"), ("Chicago", "Indianapolis"), ("Atlanta", "Indianapolis")
PHASES: dict[str, tuple[tuple[float, float], tuple[bounds.Ends, ...]]] = {
    "all is up": ((4, 10), ()),
    "link lost": ((10, 14), (("Los Angeles", "Houston"),)),
    "link down": ((14, 20), (("Los Angeles", "Houston"),)),
    "link back": ((24, 30), ()),
    "node lost": ((30, 34), NODE),
    "node down": ((34, 40), NODE),
    "node back": ((44, 50), ()),
}
"""The seconds of each phase, and the links that are down in it. The first four seconds after a failure are a phase of their own."""
SETTLED = [phase for phase in PHASES if "lost" not in phase]
REROUTED = {
    "ospf": "one path",
    "disjoint": "disjoint paths",
    "disjoint-for-good": "disjoint paths, never computed anew",
}
WHERE = "Chapter 6, left for later"


def findings(results: Mapping[str, Result]) -> Findings:
    """The findings on background traffic and on failures, with their pictures."""
    background, failures = _Background(results["background"], results["abilene"]), _Failures(results["failures"])
    return Findings(
        [background.claim(), failures.claim()],
        [*background.numbers(), *failures.numbers()],
        drawn(FIGURES, background, failures),
        [failures.table()],
    )


class _Background:
    """Results of one flow among bursts on every link."""

    def __init__(self, background: Result, abilene: Result) -> None:
        with_load = per_flow(background).filter(pl.col("traffic") == "measured")
        without = per_flow(abilene).filter((pl.col("loss") == 0) & (pl.col("routing") != "ecmp"))
        columns = ["stack", "routing", "load", "seed", "mbps"]
        self.runs = pl.concat([
            without.with_columns(load=pl.lit(0)).select(columns),
            with_load.with_columns(load=pl.col("peak").replace_strict(LOADS, return_dtype=pl.Int32)).select(columns),
        ])  # fmt: skip
        self.rates = measures.means(self.runs, ["stack", "routing", "load"], "mbps")

    def claim(self) -> Claim:
        left = {load: payload(2) * (1 - load / 100) for load in LOADS.values()}
        mprc = {load: self.rates["mprc", "disjoint", load] for load in left}
        ahead = [more(mprc[load], self.rates[stack, "disjoint", load]) for load in left for stack in DUPLICATE_ACKS]
        worth = [more(mprc[load], self.rates["mprc", "ospf", load]) for load in left]
        rack = ", ".join(str(self.rates["newreno-rack-tlp", "disjoint", load]) for load in left)
        return _CLAIMS.claim(
            "background",
            by_parts(*ahead, *worth),
            loads=", ".join(f"{mprc[load]} Mbit/s of {left[load]:.1f} left by a load of {load} %" for load in left),
            rack=rack,
            one_path=", ".join(str(self.rates["mprc", "ospf", load]) for load in left),
        )

    def numbers(self) -> list[Number]:
        return [
            Number(f"background-{load}-{short(stack)}", *self.rates[stack, "disjoint", load], where=WHERE, unit="Mbit/s",
                   what=f"{name} over disjoint paths, background of {load} %")
            for load in LOADS.values()
            for stack, name in ALL_STACKS.items()
            if stack not in DUPLICATE_ACKS
        ]  # fmt: skip

    def chart(self) -> Any:
        panels = []
        for routing in ("disjoint", "ospf"):
            shown = self.runs.filter(pl.col("routing") == routing).with_columns(
                pl.col("stack").replace_strict(ALL_STACKS)
            )
            means = measures.summary(shown, ["stack", "load"], "mbps")
            panels.append((
                FORWARDING[routing],
                charts.lines(means, x="load", colour="stack", x_title="background, % of every link", y_title="goodput, Mbit/s",
                             order=list(ALL_STACKS.values())),
            ))  # fmt: skip
        return charts.side_by_side(panels)


class _Failures:
    """Results of the failures: a link fails and comes back, then a node."""

    def __init__(self, result: Result) -> None:
        self.bins = over_time(result, pictures.BIN_S)
        links = bounds.links(result)
        self.bounds = {
            phase: payload(bounds.max_flow(bounds.without(links, *down), ABILENE.source, ABILENE.target))
            for phase, (_, down) in PHASES.items()
        }
        self.rates: dict[tuple[str, str, str], Mean] = {}
        for phase, (seconds, _) in PHASES.items():
            runs = settled(self.bins, *seconds).group_by("run", "stack", "routing", maintain_order=True)
            means = measures.means(runs.agg(pl.col("mbps").mean()), ["stack", "routing"], "mbps")
            self.rates |= {(*key, phase): mean for key, mean in means.items()}

    def claim(self) -> Claim:
        mprc = {phase: self.rates["mprc", "disjoint", phase] for phase in SETTLED}
        full = [above(mean, FULL * self.bounds[phase]) for phase, mean in mprc.items()]
        ahead = [
            more(mean, self.rates[stack, "disjoint", phase])
            for phase, mean in mprc.items()
            if self.bounds[phase] > payload(1)
            for stack in DUPLICATE_ACKS
        ]
        return _CLAIMS.claim(
            "failures",
            by_parts(*full, *ahead),
            phases=", ".join(f"{phase} {mean} of {self.bounds[phase]:.2f}" for phase, mean in mprc.items()),
            mprc=self._says("mprc", "disjoint", "lost"),
            bbr=self._says("bbr-dup-ack", "disjoint", "lost"),
            dead_path=self._says("mprc", "disjoint-for-good", "down"),
            full=percent(FULL),
            reason_applies=False in full,
        )

    def _says(self, stack: str, routing: str, what: str) -> str:
        return " and ".join(str(self.rates[stack, routing, f"{part} {what}"]) for part in ("link", "node"))

    def numbers(self) -> list[Number]:
        return [
            Number(f"failures-{phase.replace(' ', '-')}-{short(stack)}", *self.rates[stack, "disjoint", phase], where=WHERE,
                   unit="Mbit/s", what=f"{name} over disjoint paths, {phase}")
            for phase in SETTLED
            for stack, name in ALL_STACKS.items()
            if stack not in DUPLICATE_ACKS
        ]  # fmt: skip

    def chart(self) -> Any:
        panels = [
            (words, pictures.over_time(self.bins.filter(pl.col("routing") == routing), ALL_STACKS))
            for routing, words in list(REROUTED.items())[:2]
        ]
        return charts.side_by_side(panels)

    def table(self) -> Table:
        return Table(
            "failures",
            "Left for later: failures",
            "Mbit/s in the first four seconds after a failure (lost), and from four seconds after each change on. The bound is the "
            "payload of the maximum flow.",
            ["forwarding", "stack", *PHASES],
            [
                ["bound", "", *(f"{self.bounds[phase]:.2f}" for phase in PHASES)],
                *(
                    [words, name, *(str(self.rates[stack, routing, phase]) for phase in PHASES)]
                    for routing, words in REROUTED.items()
                    for stack, name in ALL_STACKS.items()
                ),
            ],
        )


FIGURES = (
    Figure(
        "background",
        "Left for later: background traffic",
        "One flow on Abilene among Pareto bursts (shape 1.5, mean 0.5 s) on every link.",
        lambda background, _: background.chart(),
    ),
    Figure(
        "failures",
        "Left for later: failures",
        "Los Angeles - Houston fails from 10 to 20 s, Indianapolis from 30 to 40 s; routes are computed anew a second after each change.",
        lambda _, failures: failures.chart(),
    ),
)
