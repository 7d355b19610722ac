"""Figures 5.7 and 5.8: one packet in ten thousand lost on the critical path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.engineering.predict.models import mathis
from anabranch.studies.papers import charts, measures, statements
from anabranch.studies.papers.measures import Mean
from anabranch.studies.papers.mprc import pictures
from anabranch.studies.papers.mprc.measure import (
    FULL,
    LINK_MBPS,
    OTHERS,
    STACKS,
    arriving,
    fluctuation,
    goodput,
    more,
    over_time,
    payload,
    per_flow,
    percent,
    settled,
    short,
)
from anabranch.studies.papers.mprc.places import ABILENE, FORWARDING, QUEUES
from anabranch.studies.papers.study import Claim, Figure, Findings, Number, Table, drawn
from anabranch.studies.papers.verdicts import above, below, by_parts, every

if TYPE_CHECKING:
    from anabranch.results.result import Result

_CLAIMS = statements.beside(__file__)

ERROR_RATE = 1e-4
FIGURES = {"ospf": "Figure 5.7", "disjoint": "Figure 5.8"}
AHEAD, WELL_BELOW = 1.05, 0.8
"""Least ratio of goodputs that counts as ahead, and the ratio to a bound that counts as well below it."""


def findings(results: Mapping[str, Result]) -> Findings:
    """The verdicts at 1e-4, and the goodput at other error rates, which explains them."""
    errors = _Errors(results["abilene"], results["error-rates"], results["queues"])
    return Findings(
        [errors.mprc_on_one_path(), errors.others_on_one_path(), errors.tolerance(), errors.mprc(), errors.others()],
        errors.numbers(),
        drawn(_FIGURES, errors),
        [errors.table()],
    )


class _Errors:
    """Abilene with errors on one link of OSPF's path."""

    def __init__(self, abilene: Result, error_rates: Result, queues: Result) -> None:
        by = ["stack", "routing", "loss"]
        self.rates: Mapping[tuple[str, str, float], Mean] = goodput(abilene, by)
        self.swept: Mapping[tuple[str, str, float], Mean] = goodput(error_rates, by)
        self.sweep = measures.summary(per_flow(error_rates), by, "mbps")
        self.seconds = settled(over_time(abilene, 1.0)).filter(pl.col("loss") == ERROR_RATE)
        self.arrived = settled(arriving(abilene, ABILENE.target, 1.0)).filter(pl.col("loss") == ERROR_RATE)
        self.bins = over_time(abilene, pictures.BIN_S).filter(pl.col("loss") == ERROR_RATE)
        self.by_queue = fluctuation(
            settled(arriving(queues, ABILENE.target, 1.0)).filter(pl.col("loss") == ERROR_RATE),
            ["stack", "routing", "queue"],
        )
        one_path = per_flow(abilene).filter((pl.col("routing") == "ospf") & (pl.col("stack") == "newreno"))
        self.rtt_s = float(one_path["min_rtt_s"].min())  # type: ignore[arg-type]

    def rate(self, stack: str, routing: str) -> Mean:
        return self.rates[stack, routing, ERROR_RATE]

    def says(self, stacks: Sequence[str], routing: str) -> str:
        return ", ".join(f"{STACKS[stack]} {self.rate(stack, routing)}" for stack in stacks) + " Mbit/s"

    def varies(self, stack: str, routing: str) -> Mean:
        """Standard deviation over mean of the rate of arriving bytes, by seconds, in percent."""
        own = self.arrived.filter((pl.col("stack") == stack) & (pl.col("routing") == routing))
        return fluctuation(own, ["stack"])[stack]

    def mprc_on_one_path(self) -> Claim:
        mean = self.rate("mprc", "ospf")
        return _CLAIMS.claim(
            "errors-one-path-mprc", by_parts(above(mean, FULL * payload(1))), mean=mean, payload=payload(1)
        )

    def others_on_one_path(self) -> Claim:
        low = {stack: below(self.rate(stack, "ospf"), WELL_BELOW * payload(1)) for stack in OTHERS}
        found = by_parts(*low.values())
        predicted = float(mathis(self.rtt_s, ERROR_RATE)) / 1e6
        return _CLAIMS.claim(
            "errors-one-path-others",
            found,
            others=self.says(OTHERS, "ospf"),
            predicted=predicted,
            rtt_ms=self.rtt_s * 1000.0,
            where_newreno_falls=self._where_newreno_falls(),
        )

    def _where_newreno_falls(self) -> str:
        known = [
            (loss, mean)
            for (stack, routing, loss), mean in self.swept.items()
            if (stack, routing) == ("newreno", "ospf")
        ]
        low = [(loss, mean) for loss, mean in sorted(known) if mean.value < WELL_BELOW * payload(1)]
        if not low:
            return "No error rate that was tried takes it there."
        loss, mean = low[0]
        return (
            f"The least error rate tried that takes NewReno well below 10 Mbit/s is {loss:g} ({mean} Mbit/s). It takes MPRC to "
            f"{self.swept['mprc', 'ospf', loss]}. ns-3's error model counts bytes by default; 1e-4 a byte would "
            "be 0.14 a packet."
        )

    def tolerance(self) -> Claim:
        mprc = self.rate("mprc", "ospf")
        ahead = [more(mprc, self.rate(stack, "ospf"), AHEAD) for stack in OTHERS]
        found = by_parts(*ahead)
        losses = sorted({loss for _, _, loss in self.swept})
        same = "; ".join(
            f"{loss:g}: NewReno {self.swept['newreno', 'ospf', loss]}, MPRC {self.swept['mprc', 'ospf', loss]}"
            for loss in losses
        )
        return _CLAIMS.claim(
            "errors-tolerance",
            found,
            mprc=self.rate("mprc", "ospf"),
            others=self.says(OTHERS, "ospf"),
            same=same,
            bbr=self.swept["bbr-dup-ack", "ospf", losses[-1]],
            greatest=losses[-1],
        )

    def mprc(self) -> Claim:
        mean, sprayed, single = (
            self.rate("mprc", "disjoint"),
            self.varies("mprc", "disjoint"),
            self.varies("mprc", "ospf"),
        )
        full, steadier = above(mean, FULL * payload(2)), more(single, sprayed)
        found = by_parts(full, steadier)
        return _CLAIMS.claim(
            "errors-sprayed-mprc",
            found,
            mean=mean,
            of_payload=percent(mean.value / payload(2), 1),
            sprayed=sprayed,
            single=single,
            by_queue=self._steadiness_by_queue(),
            reason_applies=not steadier,
        )

    def _steadiness_by_queue(self) -> str:
        says = "; ".join(
            f"{name} {self.by_queue['mprc', 'disjoint', queue]} % and {self.by_queue['mprc', 'ospf', queue]} %"
            for queue, name in QUEUES.items()
            if ("mprc", "ospf", queue) in self.by_queue
        )
        return f"It is the same with other queues, sprayed and on one path: {says}."

    def newreno_peak(self) -> Mean:
        """NewReno's goodput in its best second under spraying, Mbit/s, as a mean over seeds."""
        own = self.seconds.filter((pl.col("stack") == "newreno") & (pl.col("routing") == "disjoint"))
        return Mean(*measures.over_seeds(own.group_by("run").agg(pl.col("mbps").max())["mbps"].to_list()))

    def others(self) -> Claim:
        peak = self.newreno_peak()
        newreno, cubic, bbr = (self.rate(stack, "disjoint") for stack in OTHERS)
        found = by_parts(
            below(newreno, 2.5),
            below(cubic, 2.5),
            below(peak, LINK_MBPS / 2),
            every(more(newreno, bbr), more(cubic, bbr)),
        )
        without = ", ".join(f"{STACKS[stack]} {self.rates[stack, 'disjoint', 0.0]}" for stack in OTHERS)
        return _CLAIMS.claim(
            "errors-sprayed-others", found, others=self.says(OTHERS, "disjoint"), peak=peak, without=without
        )

    def numbers(self) -> list[Number]:
        return [
            Number(
                f"abilene-errors-{routing}-{short(stack)}", *self.rate(stack, routing), where=where, unit="Mbit/s",
                what=f"{name} on Abilene with errors, {FORWARDING[routing]}",
            )
            for routing, where in FIGURES.items()
            for stack, name in STACKS.items()
        ] + [Number("abilene-errors-disjoint-newreno-peak", *self.newreno_peak())]  # fmt: skip

    def over_time(self, routing: str) -> Any:
        return pictures.over_time(self.bins.filter(pl.col("routing") == routing))

    def over_rates(self) -> Any:
        panels = []
        for routing in FIGURES:
            shown = self.sweep.filter(pl.col("routing") == routing).with_columns(pl.col("stack").replace_strict(STACKS))
            panels.append((
                FORWARDING[routing],
                charts.lines(shown, x="loss", colour="stack", x_title="error rate", y_title="goodput, Mbit/s", log_x=True,
                             order=list(STACKS.values())),
            ))  # fmt: skip
        return charts.side_by_side(panels)

    def table(self) -> Table:
        losses = sorted({loss for _, _, loss in self.swept})
        return Table(
            "error-rates",
            "Other error rates",
            "Mbit/s over the error rate of one link of OSPF's path.",
            ["forwarding", "stack", *(f"{loss:g}" for loss in losses)],
            [
                [FORWARDING[routing], name, *(str(self.swept[stack, routing, loss]) for loss in losses)]
                for routing in FIGURES
                for stack, name in STACKS.items()
            ],
        )


def _figure(routing: str, id: str) -> Figure:
    caption = f"{ABILENE.name} with an error rate of 1e-4 on a link of OSPF's path, {FORWARDING[routing]}: means over seeds, second by second; thin lines are one seed."
    return Figure(id, FIGURES[routing], caption, lambda errors: errors.over_time(routing))


_FIGURES = (
    _figure("ospf", "figure-5-7"),
    _figure("disjoint", "figure-5-8"),
    Figure(
        "error-rates",
        "Other error rates",
        "Goodput over the error rate of one link. On one path MPRC falls where NewReno does.",
        _Errors.over_rates,
    ),
)
