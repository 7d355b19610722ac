"""Figure 9: the throughput of two flows with a short round trip over that of two with a long one."""

from __future__ import annotations

from typing import Any

import polars as pl

from anabranch.results.result import Result
from anabranch.studies.papers import charts, measures, statements
from anabranch.studies.papers.kikolo.cells import (
    KIKOLO,
    NAMES,
    RIVALS,
    TRADITIONAL,
    Cell,
    Cells,
    cells,
    frame,
    power,
    rates,
)
from anabranch.studies.papers.study import Claim, Number, Table
from anabranch.studies.papers.verdicts import Truth, above, by_parts, every, graded, negated, quotient, some

_CLAIMS = statements.beside(__file__)

_OF_THE_PAPER = (KIKOLO, *RIVALS)
COMPARABLE = 2.0
"""Two ratios are comparable if the greater is at most this many times the smaller."""


def ratios(result: Result) -> Cells:
    """Throughput of the flows with the short round trip over that of the flows with the long one."""
    return cells(_sides(result), "ratio")


def _sides(result: Result) -> pl.DataFrame:
    flows = measures.flows(result).with_columns(variant=pl.col("stack").replace(NAMES))
    by = ["run", "variant", "loss"]
    summed = flows.group_by([*by, "traffic"], maintain_order=True).agg(pl.col("goodput_bps").sum())
    sides = summed.pivot("traffic", index=by, values="goodput_bps")
    return sides.with_columns(ratio=pl.col("short") / pl.col("long"))


def chart(found: Cells) -> Any:
    """The figure, as the logarithm of the ratios, which range over two decades."""
    half = pl.col("half_width").fill_null(0.0)
    table = frame(found).with_columns(
        pl.col("mean").log(10), half_width=((pl.col("mean") + half) / pl.col("mean")).log(10)
    )
    return charts.small_multiples(
        table,
        x="loss",
        panel="variant",
        beside=KIKOLO,
        x_title="Packet error rate",
        y_title="log10 of the ratio",
        order=list(NAMES.values()),
    )


def claims(found: Cells) -> list[Claim]:
    """The claims of section IV.A.3."""
    low, high = rates(found, below=1e-4), rates(found, above=1e-4)
    peers = (*TRADITIONAL, "Compound")
    comparable = {name: every(*(_comparable(found[KIKOLO, loss], found[name, loss]) for loss in low)) for name in peers}
    alike = [name for name, truth in comparable.items() if truth]
    fairer = [
        name for name in peers if any(found[name, loss].mean > COMPARABLE * found[KIKOLO, loss].mean for loss in low)
    ]
    nowhere = {
        name: every(*(negated(_more(found[KIKOLO, loss], found[name, loss])) for loss in low))
        for name in ("BIC", "HighSpeed")
    }
    follow = [name for name, truth in nowhere.items() if truth]
    ahead = {
        (peer, name): every(*(_more(found[name, loss], found[peer, loss]) for loss in low))
        for name in nowhere
        for peer in (KIKOLO, *peers)
    }
    unfair = {
        name: [peer for (peer, other), truth in ahead.items() if other == name and truth is not True]
        for name in nowhere
    }
    worst = [max(_OF_THE_PAPER, key=lambda name: found[name, loss].mean) for loss in low]
    spread = {
        loss: (
            max((found[name, loss].mean, name) for name in _OF_THE_PAPER),
            min((found[name, loss].mean, name) for name in _OF_THE_PAPER),
        )
        for loss in high
    }
    alike_at = {
        loss: _comparable(found[most[1], loss], found[least[1], loss]) for loss, (most, least) in spread.items()
    }
    same = [loss for loss, truth in alike_at.items() if truth]
    without = {loss: [found[name, loss].mean for name in _OF_THE_PAPER if name != "Westwood+"] for loss in high}
    same_without = [loss for loss, values in without.items() if max(values) <= COMPARABLE * min(values)]
    return [
        _CLAIMS.claim(
            "figure-9-comparable",
            by_parts(*comparable.values()),
            comparable=COMPARABLE,
            alike=", ".join(alike) or "none",
            undecided=", ".join(name for name, truth in comparable.items() if truth is None) or "none",
            ratios=_values(found, low, (KIKOLO, *peers)),
            fairer=", ".join(fairer) or "none",
        ),
        _CLAIMS.claim(
            "figure-9-follow",
            graded(every(*ahead.values()), every(*nowhere.values())),
            follow=", ".join(follow) or "neither",
            unfair="; ".join(f"{', '.join(names)} than {name}" for name, names in unfair.items() if names),
            ratios=_values(found, low, (KIKOLO, "BIC", "HighSpeed", *peers)),
        ),
        _CLAIMS.claim(
            "figure-9-scalable",
            by_parts(*(_worst(found, loss) for loss in low)),
            ratios=_values(found, low, ("Scalable", "Compound", "HighSpeed")),
            reason_applies="Scalable" in worst,
        ),
        _CLAIMS.claim(
            "figure-9-lossy",
            graded(every(*alike_at.values()), some(*alike_at.values(), bool(same_without))),
            spread="; ".join(
                f"{power(loss)} {most[0]:.1f} ({most[1]}), {least[0]:.1f} ({least[1]})"
                for loss, (most, least) in spread.items()
            ),
            comparable=COMPARABLE,
            same=_at(same),
            same_without=_at(same_without),
        ),
    ]


def _at(losses: list[float]) -> str:
    return ", ".join(map(power, losses)) or "none"


def _more(one: Cell, other: Cell, ratio: float = 1.0) -> Truth:
    """Whether one cell's mean is more than ``ratio`` times the other's, seed by seed."""
    return above(quotient(one.values, other.values), ratio)


def _comparable(one: Cell, other: Cell) -> Truth:
    return every(negated(_more(one, other, COMPARABLE)), negated(_more(other, one, COMPARABLE)))


def _worst(found: Cells, loss: float) -> Truth:
    """Whether Scalable is the most unfair of the paper's variants."""
    return every(*(_more(found["Scalable", loss], found[name, loss]) for name in _OF_THE_PAPER if name != "Scalable"))


def _values(found: Cells, losses: list[float], names: tuple[str, ...]) -> str:
    return "; ".join(
        f"{power(loss)}: " + ", ".join(f"{name} {found[name, loss].text()}" for name in names) for loss in losses
    )


def queues(by_queue: dict[str, Cells]) -> Table:
    """A table of the ratio by queue."""
    losses = sorted(set.intersection(*(set(rates(found)) for found in by_queue.values())))
    return Table(
        "figure-9-queues",
        "Figure 9 with other queues",
        "Throughput at the short round trip over that at the long one. Each queue is 10 % of a bandwidth-delay product: 20 packets "
        "for the dumbbell with its 1 ms access links, 33 for a round trip of 40 ms, 200 for one of 240 ms. Below 1e-4 the order is "
        "the paper's with the shortest queue only. At 1e-3 the queue does not matter.",
        ["Queue", "Packet error rate", *NAMES.values()],
        [
            [queue, power(loss), *(found[name, loss].text() for name in NAMES.values())]
            for queue, found in by_queue.items()
            for loss in losses
        ],
    )


def numbers(found: Cells) -> list[Number]:
    """The ratios that differ little from seed to seed."""
    wanted = [(name, loss) for loss in rates(found) for name in NAMES.values() if loss in (1e-3, 1e-2)]
    return [
        Number(
            f"figure-9-{name.lower()}-{power(loss)}",
            found[name, loss].mean,
            found[name, loss].half_width,
            what=f"{name}: throughput at 40 ms over that at 240 ms, packet error rate {power(loss)}",
            where="Figure 9",
        )
        for name, loss in wanted
    ]
