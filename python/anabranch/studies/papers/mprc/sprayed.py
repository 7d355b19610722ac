"""Figures 2.4, 5.5 and 5.6: the goodput when packets are sprayed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from anabranch.studies.papers import measures, statements
from anabranch.studies.papers.measures import Mean
from anabranch.studies.papers.mprc import readings, tables
from anabranch.studies.papers.mprc.measure import FULL, LINK_MBPS, OTHERS, STACKS, STEADY, more, payload, percent
from anabranch.studies.papers.mprc.places import ABILENE, ATT, FORWARDING, GRID, Place
from anabranch.studies.papers.mprc.spread import Spread
from anabranch.studies.papers.study import Claim, Figure, Findings, Number, drawn
from anabranch.studies.papers.verdicts import above, below, between, by_parts, every, negated

if TYPE_CHECKING:
    from anabranch.results.result import Result

_CLAIMS = statements.beside(__file__)

IN_TURN = "disjoint-in-turn"
SELECTIONS = ("disjoint", IN_TURN)
"""The thesis does not say how a packet's path is selected: at random or in turn."""
STEADY_SECONDS = 0.95
"""Throughput is stable if it is at least ``STEADY`` of the bound in this share of the seconds."""


def findings(results: Mapping[str, Result]) -> Findings:
    """The verdicts, the bounds beside the results, and the effects of other readings."""
    spread = [Spread.of(place, results) for place in (GRID, ABILENE, ATT)]
    grid, abilene, att = spread
    read = readings.Readings.of(results["readings"], results["queues"], results["abilene"])
    return Findings(
        [
            _grid_others(grid),
            _grid_mprc(grid),
            _grid_bbr(grid),
            _abilene_mprc(abilene),
            _abilene_newreno(abilene, read),
            _abilene_cubic(abilene),
            _abilene_bbr(abilene, read),
            _att_mprc(att),
            _att_others(att),
            _hop_by_hop(abilene, att),
            _first(spread),
        ],
        [*(number for one in spread for number in one.numbers()), Number("grid-ecmp-bbr-peak", *_peak(grid))],
        drawn(FIGURES, {one.place: one for one in spread}),
        [
            tables.readings(abilene, att),
            tables.bounds(spread),
            tables.selectors(abilene, att),
            tables.steadiness(spread),
            *read.tables(),
        ],
    )


def _figure(place: Place, id: str) -> Figure:
    return Figure(
        id,
        place.sprayed,
        f"{place.name[0].upper()}{place.name[1:]}: {{left}} (left) and {{right}} (right). Means over seeds, second by second; thin lines are one seed.",
        lambda spread: spread[place].chart(),
        lambda spread: dict(zip(("left", "right"), (FORWARDING[one] for one in spread[place].shown), strict=True)),
    )


FIGURES = (_figure(GRID, "figure-2-4"), _figure(ABILENE, "figure-5-5"), _figure(ATT, "figure-5-6"))


def _grid_others(grid: Spread) -> Claim:
    newreno, cubic = grid.fluctuation("newreno"), grid.fluctuation("cubic")
    found = by_parts(
        above(grid.rate("newreno"), LINK_MBPS),
        above(grid.rate("cubic"), LINK_MBPS),
        grid.more_fluctuating("newreno", "cubic"),
        every(*(negated(grid.fills(stack)) for stack in OTHERS)),
    )
    return _CLAIMS.claim(
        "grid-others",
        found,
        rates=grid.says(*STACKS),
        bound=grid.bound,
        newreno=newreno,
        cubic=cubic,
        in_turn=grid.says(*OTHERS, routing="ecmp-in-turn"),
    )


def _grid_bbr(grid: Spread) -> Claim:
    peak = _peak(grid)
    found = by_parts(between(peak, 13.5, 16.5), below(grid.rate("bbr-dup-ack"), 2.5))
    return _CLAIMS.claim("grid-bbr", found, peak=peak, mean=grid.rate("bbr-dup-ack"))


def _peak(grid: Spread) -> Mean:
    """BBR's goodput in its best second, Mbit/s, as a mean over seeds."""
    peaks = grid.of_stack(grid.bins, "bbr-dup-ack").group_by("run").agg(pl.col("mbps").max())
    return Mean(*measures.over_seeds(peaks["mbps"].to_list()))


def _grid_mprc(grid: Spread) -> Claim:
    return _CLAIMS.claim(
        "grid-mprc",
        by_parts(grid.fills("mprc"), *(negated(grid.fills(stack)) for stack in OTHERS)),
        mean=grid.rate("mprc"),
        of_payload=percent(grid.rate("mprc").value / grid.bound, 1),
    )


def _abilene_mprc(abilene: Spread) -> Claim:
    mean, arriving = abilene.rate("mprc"), abilene.arriving("mprc")
    steady = sum(share >= STEADY for share in arriving) / len(arriving)
    found = by_parts(abilene.fills("mprc"), steady >= STEADY_SECONDS)
    return _CLAIMS.claim(
        "abilene-mprc",
        found,
        mean=mean,
        of_payload=percent(mean.value / abilene.bound, 1),
        steady_rate=percent(STEADY),
        steady=percent(steady, 1),
        least=percent(min(arriving)),
        full=percent(FULL),
        steady_seconds=percent(STEADY_SECONDS),
    )


def _att_mprc(att: Spread) -> Claim:
    mean = att.rate("mprc")
    return _CLAIMS.claim(
        "att-mprc",
        by_parts(att.fills("mprc")),
        mean=mean,
        of_payload=percent(mean.value / att.bound, 1),
        least=percent(min(att.arriving("mprc"))),
    )


def _abilene_newreno(abilene: Spread, read: readings.Readings) -> Claim:
    mean = abilene.rate("newreno")
    found = by_parts(
        *(between(abilene.rate("newreno", routing), STEADY * payload(1), 1.1 * LINK_MBPS) for routing in SELECTIONS)
    )
    return _CLAIMS.claim(
        "abilene-newreno",
        found,
        mean=mean,
        in_turn=abilene.rate("newreno", IN_TURN),
        by_hop=abilene.rate("newreno", "ecmp"),
        equal_delays=read.rate("newreno", "ecmp"),
    )


def _abilene_cubic(abilene: Spread) -> Claim:
    newreno, cubic = abilene.fluctuation("newreno"), abilene.fluctuation("cubic")
    found = by_parts(
        *(below(abilene.rate("cubic", routing), LINK_MBPS) for routing in SELECTIONS),
        abilene.more_fluctuating("newreno", "cubic"),
    )
    return _CLAIMS.claim(
        "abilene-cubic",
        found,
        mean=abilene.rate("cubic"),
        in_turn=abilene.rate("cubic", IN_TURN),
        cubic=cubic,
        newreno=newreno,
    )


def _abilene_bbr(abilene: Spread, read: readings.Readings) -> Claim:
    found = by_parts(below(abilene.rate("bbr-dup-ack"), 2.5))
    return _CLAIMS.claim(
        "abilene-bbr",
        found,
        mean=abilene.rate("bbr-dup-ack"),
        small_segments=read.rate("bbr-536-bytes", "disjoint", apart=True),
    )


def _att_others(att: Spread) -> Claim:
    found = by_parts(*(below(att.rate(stack), 5.0) for stack in OTHERS))
    return _CLAIMS.claim("att-others", found, rates=att.says(*OTHERS))


def _hop_by_hop(*spread: Spread) -> Claim:
    found = by_parts(*(above(one.rate("mprc", "ecmp"), FULL * one.bound) for one in spread))
    evidence = "; ".join(
        f"{one.place.name}: MPRC {one.rate('mprc', 'ecmp')} Mbit/s hop by hop, where equal splits can carry {payload(one.equal_split):.2f}"
        for one in spread
    )
    return _CLAIMS.claim("hop-by-hop", found, evidence=evidence)


def _first(spread: list[Spread]) -> Claim:
    ahead = [more(one.rate("mprc"), one.rate(stack)) for one in spread for stack in OTHERS]
    return _CLAIMS.claim(
        "mprc-first", by_parts(*ahead), rates="; ".join(f"{one.place.name}: {one.says(*STACKS)}" for one in spread)
    )
