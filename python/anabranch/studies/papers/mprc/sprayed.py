"""Figures 2.4, 5.5 and 5.6: the goodput when packets are sprayed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from anabranch.studies.papers import measures
from anabranch.studies.papers.measures import Mean
from anabranch.studies.papers.mprc import readings, tables
from anabranch.studies.papers.mprc.measure import FULL, LINK_MBPS, OTHERS, STACKS, STEADY, payload, percent, verdict
from anabranch.studies.papers.mprc.places import ABILENE, ATT, GRID
from anabranch.studies.papers.mprc.spread import Spread
from anabranch.studies.papers.study import Claim, Findings, Number

if TYPE_CHECKING:
    from anabranch.results.result import Result

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
        [one.picture() for one in spread],
        [tables.bounds(spread), tables.selectors(abilene, att), tables.steadiness(spread), *read.tables()],
    )


def _grid_others(grid: Spread) -> Claim:
    newreno, cubic = grid.fluctuation("newreno"), grid.fluctuation("cubic")
    found = verdict(
        grid.rate("newreno").value > LINK_MBPS,
        grid.rate("cubic").value > LINK_MBPS,
        grid.more_fluctuating("newreno", "cubic"),
        not any(grid.fills(stack) for stack in OTHERS),
    )
    return Claim(
        "grid-others",
        "Figure 2.4",
        "On the grid NewReno and Cubic stay above 10 Mbit/s on average, NewReno fluctuates more, and none uses all 20.",
        found,
        f"{grid.says(*STACKS)} of {grid.bound:.2f}; one-second means vary by {newreno} % (NewReno) and {cubic} % (Cubic).",
        ""
        if found == "holds"
        else "ns-3 has 10.9 with TcpNewReno, 10.1 with TcpLinuxReno and 12.2 with TcpCubic (docs/validation/comparisons.md, setting "
        "14): around 10 Mbit/s, "
        "as here. In turn instead of at random, hardly any packet is reordered, and all stacks fill both paths "
        f"({grid.says(*OTHERS, routing='ecmp-in-turn')}).",
    )


def _grid_bbr(grid: Spread) -> Claim:
    peak = _peak(grid)
    found = verdict(abs(peak.value / 15 - 1) < 0.1, grid.rate("bbr-dup-ack").value < 2.5)
    return Claim(
        "grid-bbr",
        "Figure 2.4",
        "On the grid BBR tries up to 15 Mbit/s, then falls until it can hardly send.",
        found,
        f"Its greatest second is {peak} Mbit/s; on average it has {grid.rate('bbr-dup-ack')}.",
        "" if found == "holds" else _BBR,
    )


def _peak(grid: Spread) -> Mean:
    """BBR's goodput in its best second, Mbit/s, as a mean over seeds."""
    peaks = grid.of_stack(grid.bins, "bbr-dup-ack").group_by("run").agg(pl.col("mbps").max())
    return Mean(*measures.over_seeds(peaks["mbps"].to_list()))


_BBR = (
    "The fall is a property of ns-3's TcpBbr. It also falls without any reordering, because its estimate does not recover after its "
    "second probe of the RTT (docs/validation/comparisons.md, settings 13 and 14, where ns-3 gives 0.46 on the grid)."
)


def _grid_mprc(grid: Spread) -> Claim:
    return Claim(
        "grid-mprc",
        "Figure 2.4",
        "(From the thesis' argument; its figure is without MPRC.) On the grid only MPRC uses all 20 Mbit/s.",
        verdict(grid.fills("mprc"), *(not grid.fills(stack) for stack in OTHERS)),
        f"{grid.rate('mprc')} Mbit/s, {percent(grid.rate('mprc').value / grid.bound, 1)} of the payload that two links carry.",
    )


def _abilene_mprc(abilene: Spread) -> Claim:
    mean, arriving = abilene.rate("mprc"), abilene.arriving("mprc")
    steady = sum(share >= STEADY for share in arriving) / len(arriving)
    found = verdict(abilene.fills("mprc"), steady >= STEADY_SECONDS)
    return Claim(
        "abilene-mprc",
        "Figure 5.5",
        "MPRC has a stable 20 Mbit/s over Abilene's two paths, with minimal fluctuation.",
        found,
        f"{mean} Mbit/s, {percent(mean.value / abilene.bound, 1)} of the payload that two links carry; at least {percent(STEADY)} of the links' rate "
        f"arrives in {percent(steady, 1)} of the seconds, and {percent(min(arriving))} in the least one.",
        ""
        if found == "holds"
        else f"{percent(FULL)} on average and {percent(STEADY)} in {percent(STEADY_SECONDS)} of the seconds are asked for.",
    )


def _att_mprc(att: Spread) -> Claim:
    mean = att.rate("mprc")
    return Claim(
        "att-mprc",
        "Figure 5.6",
        "MPRC has 30 Mbit/s in total on AT&T's network.",
        verdict(att.fills("mprc")),
        f"{mean} Mbit/s over three disjoint paths, {percent(mean.value / att.bound, 1)} of the payload that three links carry; "
        f"{percent(min(att.arriving('mprc')))} of the links' rate arrives in the least second.",
    )


def _abilene_newreno(abilene: Spread, read: readings.Readings) -> Claim:
    mean = abilene.rate("newreno")
    found = verdict(STEADY * payload(1) <= mean.value <= 1.1 * LINK_MBPS)
    return Claim(
        "abilene-newreno",
        "Figure 5.5",
        "NewReno has 10 Mbit/s on average, as much as one path.",
        found,
        f"{mean} Mbit/s over disjoint paths, {abilene.rate('newreno', 'ecmp')} hop by hop.",
        ""
        if found == "holds"
        else "Paths that differ by 5 ms cause spurious losses in every window. With 1 ms on every link, paths have equal delay, and NewReno has "
        f"{read.rate('newreno', 'ecmp')} hop by hop (ns-3: 9.7 and 10.7 with its two NewRenos; docs/validation/comparisons.md, "
        "setting 12). The thesis' figure needs equal delays, as if its great-circle delays had not taken effect. But hop by hop, "
        "where equal delays give 10, MPRC cannot have its 20.",
    )


def _abilene_cubic(abilene: Spread) -> Claim:
    newreno, cubic = abilene.fluctuation("newreno"), abilene.fluctuation("cubic")
    found = verdict(abilene.rate("cubic").value < LINK_MBPS, abilene.more_fluctuating("newreno", "cubic"))
    return Claim(
        "abilene-cubic",
        "Figure 5.5",
        "Cubic stays below 10 Mbit/s and varies less than NewReno.",
        found,
        f"{abilene.rate('cubic')} Mbit/s; one-second means vary by {cubic} %, NewReno's by {newreno} %.",
        ""
        if found == "holds"
        else "Both are in the same state: a window of a few segments, which every spurious loss halves.",
    )


def _abilene_bbr(abilene: Spread, read: readings.Readings) -> Claim:
    found = verdict(abilene.rate("bbr-dup-ack").value < 2.5)
    return Claim(
        "abilene-bbr",
        "Figure 5.5",
        "BBR drops quickly below 2.5 Mbit/s, the worst of all.",
        found,
        f"{abilene.rate('bbr-dup-ack')} Mbit/s, more than NewReno and Cubic; with segments of 536 bytes "
        f"{read.rate('bbr-536-bytes', 'disjoint', apart=True)}.",
        "" if found == "holds" else _BBR,
    )


def _att_others(att: Spread) -> Claim:
    found = verdict(*(att.rate(stack).value < 5 for stack in OTHERS))
    return Claim(
        "att-others",
        "Figure 5.6",
        "NewReno, Cubic and BBR fall below 5 Mbit/s, less than one path has.",
        found,
        f"{att.says(*OTHERS)} over three disjoint paths.",
        "" if found == "holds" else f"Only BBR does not fall. {_BBR}",
    )


def _hop_by_hop(*spread: Spread) -> Claim:
    found = verdict(*(one.rate("mprc", "ecmp").value >= FULL * one.bound for one in spread))
    evidence = "; ".join(
        f"{one.place.name}: MPRC {one.rate('mprc', 'ecmp')} Mbit/s hop by hop, where equal splits can carry {payload(one.equal_split):.2f}"
        for one in spread
    )
    return Claim(
        "hop-by-hop",
        "Figures 5.5 and 5.6",
        "The forwarding that gives 20 and 30 Mbit/s is ECMP.",
        found,
        f"{evidence}.",
        ""
        if found == "holds"
        else "Hop by hop, half of the packets of Abilene's northern path turn south at Kansas City, so Houston - Atlanta gets three "
        "quarters of all packets. On AT&T's network all three paths of equal cost end in the link Dallas - San Francisco. Only "
        "paths that share no link give the thesis' throughput. Its remark that Abilene has two paths suggests such paths.",
    )


def _first(spread: list[Spread]) -> Claim:
    ahead = [
        one.rate("mprc").value - (one.rate("mprc").half_width or 0)
        > one.rate(stack).value + (one.rate(stack).half_width or 0)
        for one in spread
        for stack in OTHERS
    ]
    return Claim(
        "mprc-first",
        "Figures 2.4, 5.5 and 5.6",
        "Under multipath routing MPRC is ahead of NewReno, Cubic and BBR on every topology.",
        verdict(*ahead),
        "; ".join(f"{one.place.name}: {one.says(*STACKS)}" for one in spread) + ".",
    )
