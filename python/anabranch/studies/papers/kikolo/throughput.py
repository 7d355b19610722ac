"""Figures 5 and 6: the link's payload that fifteen flows of one variant reach, by packet error rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import polars as pl

from anabranch.results.result import Result
from anabranch.studies.papers import charts, measures, statements
from anabranch.studies.papers.kikolo.cells import KIKOLO, NAMES, RIVALS, Cells, at, carried, cells, frame, power, rates
from anabranch.studies.papers.study import Claim, Number, Verdict
from anabranch.studies.papers.verdicts import Truth, above, by_parts, graded, judged, share

_CLAIMS = statements.beside(__file__)

CAPACITY = {"figure-5": 1e9, "figure-6": 1e8}
PLACE = {"figure-5": "Figure 5", "figure-6": "Figure 6"}
RATE = {"figure-5": "1 Gbit/s", "figure-6": "100 Mbit/s"}
FIRST_ABOVE = {"figure-5": 1e-4, "figure-6": 1e-3}
FULL = 95.0
"""Least percentage of the payload that a link can carry which counts as almost 100 %."""
HIGH_SPEED = ("BIC", "Compound", "HighSpeed", "Scalable")
"""What the paper calls high-speed variants."""
FULL_LINK = ("BIC", KIKOLO)
"""The variants that fill the link of figure 6 below 1e-4; the paper does not order these two."""
HIGHER, LOWER = ("Scalable", KIKOLO, "BIC", "Compound"), ("HighSpeed", "NewReno", "Vegas", "Westwood+")
ORDER = (*FULL_LINK, "Scalable", "Vegas", "Westwood+", "NewReno", "HighSpeed", "Compound")
"""The variants in the order of section IV.A.2, for figure 6 below 1e-4."""


def shares(result: Result, figure: str) -> Cells:
    """Payload in percent of what the link can carry."""
    flows = measures.flows(result).with_columns(variant=pl.col("stack").replace(NAMES))
    return cells(carried(flows, CAPACITY[figure], ["variant", "loss"]), "share")


def chart(found: Cells) -> Any:
    """The figure, like the paper's, in percent of the link."""
    return charts.small_multiples(
        frame(found),
        x="loss",
        panel="variant",
        beside=KIKOLO,
        x_title="Packet error rate",
        y_title="Payload, % of the link",
        order=list(NAMES.values()),
    )


def alone(found: Cells) -> str:
    """The packet error rates at which Kikolo is alone in the lead."""
    return at([loss for loss in rates(found) if leaders(found, loss) == [KIKOLO]]) or "no packet error rate"


def leaders(found: Cells, loss: float, names: Sequence[str] = tuple(NAMES.values())) -> list[str]:
    """The variants among ``names`` that no other of them leads."""
    return [name for name in names if not any(found[one, loss].leads(found[name, loss]) for one in names)]


def compared(found: Cells, kikolo: Cells, name: str, losses: Sequence[float], others: Sequence[str]) -> list[list[str]]:
    """The other variants that lead Kikolo, for each packet error rate. Kikolo's cells are those of ``name`` in ``kikolo``."""
    return [[one for one in others if found[one, loss].leads(kikolo[name, loss])] for loss in losses]


def first(found: Cells, figure: str, reason: str) -> Claim:
    """The claim that Kikolo leads all others above a packet error rate."""
    losses = rates(found, above=FIRST_ABOVE[figure])
    ahead = [[one for one in RIVALS if found[KIKOLO, loss].leads(found[one, loss])] for loss in losses]
    behind = compared(found, found, KIKOLO, losses, RIVALS)
    lost, won, total = sum(map(len, behind)), sum(map(len, ahead)), len(losses) * len(RIVALS)
    verdict: Verdict = "holds" if won == total else "holds partly" if won > lost else "does not hold"

    def where(cases: Sequence[Sequence[str]], text: str) -> str:
        by_other = {one: [loss for loss, names in zip(losses, cases, strict=True) if one in names] for one in RIVALS}
        return "; ".join(f"{one} {text} at {at(found_at)}" for one, found_at in by_other.items() if found_at)

    beaten = where(behind, "leads it")
    neither = [[one for one in RIVALS if one not in (*a, *b)] for a, b in zip(ahead, behind, strict=True)]
    level = where(neither, "is level with it")
    values = ", ".join(
        f"at {power(loss)} {KIKOLO} {found[KIKOLO, loss].text()} %, the best other {best} {found[best, loss].text()} %"
        for loss in losses
        for best in [max(RIVALS, key=lambda one: found[one, loss].mean)]
    )
    return _CLAIMS.claim(
        f"{figure}-first",
        verdict,
        won=won,
        total=total,
        lost=lost,
        beaten=f": {beaten}" if beaten else "",
        level=f"; {level}" if level else "",
        values=values,
        why=reason if lost else "Where no other leads Kikolo, one fills the link as well.",
    )


def conclusion(shares: Mapping[str, Cells]) -> Claim:
    """The claim of the conclusion, over all packet error rates of both figures."""
    cases = [(found, name, loss) for found in shares.values() for loss in rates(found) for name in HIGH_SPEED]
    won = [found[KIKOLO, loss].leads(found[name, loss]) for found, name, loss in cases]
    lost = [found[name, loss].leads(found[KIKOLO, loss]) for found, name, loss in cases]
    most, more = 2 * sum(won) > len(won), sum(won) > sum(lost)
    return _CLAIMS.claim("conclusion", graded(most, more), won=sum(won), lost=sum(lost), total=len(won))


def full(found: Cells) -> Claim:
    """The claim about figure 6 that BIC and Kikolo fill the link below 1e-4."""
    losses = rates(found, below=1e-4)
    least = {name: min(found[name, loss].mean for loss in losses) for name in FULL_LINK}
    filled = [above(found[name, loss].estimate, FULL) for name in FULL_LINK for loss in losses]
    return _CLAIMS.claim(
        "figure-6-full",
        by_parts(*filled),
        shares=", ".join(f"{value:.1f} % ({name})" for name, value in least.items()),
        full=FULL,
    )


def _ahead(found: Cells, one: str, other: str, losses: Sequence[float]) -> Truth:
    """Whether one variant leads the other at all packet error rates: false if it is led at one, undecided if some are near-ties."""
    if any(found[other, loss].leads(found[one, loss]) for loss in losses):
        return False
    return True if all(found[one, loss].leads(found[other, loss]) for loss in losses) else None


def groups(found: Cells, on_compound: str) -> Claim:
    """The claim about figure 5 that four variants have more throughput than four others below 1e-4."""
    losses = rates(found, below=1e-4)
    pairs = [(high, low) for high in HIGHER for low in LOWER]
    truths = {pair: _ahead(found, *pair, losses) for pair in pairs}
    wrong = [pair for pair, truth in truths.items() if truth is False]
    not_above = "; ".join(
        f"{high} is below {', '.join(low for one, low in wrong if one == high)}"
        for high in HIGHER
        if any(one == high for one, _ in wrong)
    )
    loss = losses[0]
    return _CLAIMS.claim(
        "figure-5-groups",
        judged(list(truths.values())),
        share=share(truths.values()),
        exceptions=f"; {not_above}" if wrong else "",
        loss=power(loss),
        shares=", ".join(f"{name} {found[name, loss].text()} %" for name in (*HIGHER, *LOWER)),
        on_compound=on_compound,
    )


def order(found: Cells) -> Claim:
    """The claim about the order of the variants in figure 6 below 1e-4."""
    losses = rates(found, below=1e-4)
    mean = {name: sum(found[name, loss].mean for loss in losses) / len(losses) for name in ORDER}
    pairs = [pair for pair in combinations(ORDER, 2) if pair != FULL_LINK]
    truths = [_ahead(found, one, other, losses) for one, other in pairs]
    ranked = sorted(ORDER, key=lambda name: -mean[name])
    return _CLAIMS.claim(
        "figure-6-order",
        judged(truths),
        share=share(truths),
        order=", ".join(f"{name} {mean[name]:.1f} %" for name in ranked),
        apart=mean[ranked[0]] - mean[ranked[3]],
    )


def numbers(found: Cells, figure: str) -> list[Number]:
    """Kikolo's share at each packet error rate, and the best other's; in figure 6 BIC's, too, where the paper names it."""
    made = []
    for loss in rates(found):
        cell = found[KIKOLO, loss]
        best = max(RIVALS, key=lambda one: found[one, loss].mean)
        what = f"payload of the link, packet error rate {power(loss)}, {RATE[figure]}"
        made.append(
            Number(
                f"{figure}-kikolo-{power(loss)}",
                cell.mean,
                cell.half_width,
                what=f"{KIKOLO}: {what}",
                unit="%",
                where=PLACE[figure],
                remark=f"best other: {best}, {found[best, loss].text()} %",
            )
        )
    if figure == "figure-6":
        full = {loss: found["BIC", loss] for loss in rates(found, below=1e-4)}
        made += [Number(f"figure-6-bic-{power(loss)}", cell.mean, cell.half_width) for loss, cell in full.items()]
    return made
