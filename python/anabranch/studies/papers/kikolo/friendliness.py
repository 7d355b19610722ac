"""Figures 7 and 8: five Kikolo flows against five of each other variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from anabranch.results.result import Result
from anabranch.studies.papers import charts, measures, statements
from anabranch.studies.papers.kikolo.cells import (
    NAMES,
    OTHERS,
    RIVALS,
    TRADITIONAL,
    Cell,
    Cells,
    at,
    cells,
    frame,
    power,
    rates,
)
from anabranch.studies.papers.study import Claim, Number, Table
from anabranch.studies.papers.verdicts import above, below, between, by_parts, difference, every, judged, share

_CLAIMS = statements.beside(__file__)

PLACE = {"figure-7": "Figure 7", "figure-8": "Figure 8"}
RATE = {"figure-7": "1 Gbit/s", "figure-8": "100 Mbit/s"}
LEFT, EXCELLENT, SUFFERS = 200 / 3, 90.0, 100 / 3
"""Thresholds in percent. With friendly and with excellent behaviour, the others keep at least this share of their throughput beside
five of their own kind. On a full link, two thirds are left if Kikolo takes twice what another has: the factor of two of RFC 5348, section 1.
Kikolo suffers considerably if its share of the throughput is less than the third value."""
EVEN = "even"
ALIKE = 5.0
"""Two shares that differ by at most this are alike, in percentage points."""


def shares(result: Result) -> Cells:
    """Kikolo's share of the throughput, in percent."""
    flows = measures.flows(result, {"stack": "against"})
    summed = flows.group_by(["run", "loss", "against", "traffic"], maintain_order=True).agg(pl.col("goodput_bps").sum())
    sides = summed.pivot("traffic", index=["run", "loss", "against"], values="goodput_bps")
    sides = sides.with_columns(
        variant=pl.col("against").replace(NAMES), share=100 * pl.col("kikolo") / (pl.col("kikolo") + pl.col("other"))
    )
    return cells(sides, "share")


def left(result: Result, own_kind: Result) -> Cells:
    """Throughput of the others beside five Kikolo flows, in percent of their throughput beside five of their own kind."""
    beside = _throughput(result).filter(pl.col("traffic") == "other")
    own = (
        _throughput(own_kind)
        .group_by(["variant", "loss", "seed"], maintain_order=True)
        .agg(pl.col("goodput_bps").mean())
    )
    joined = beside.join(own, on=["variant", "loss", "seed"], suffix="_own", maintain_order="left")
    return cells(joined.with_columns(left=100 * pl.col("goodput_bps") / pl.col("goodput_bps_own")), "left")


def _throughput(result: Result) -> pl.DataFrame:
    flows = measures.flows(result, {"stack": "against"}).with_columns(variant=pl.col("against").replace(NAMES))
    return flows.group_by(["variant", "loss", "seed", "traffic"], maintain_order=True).agg(pl.col("goodput_bps").sum())


def chart(found: Cells) -> Any:
    """The figure, like the paper's."""
    even = [Cell(50.0, None)] * len(rates(found))
    level = {(EVEN, loss): cell for loss, cell in zip(rates(found), even, strict=True)}
    return charts.small_multiples(
        frame({**found, **level}),
        x="loss",
        panel="variant",
        beside=EVEN,
        x_title="Packet error rate",
        y_title="Kikolo's share, %",
        order=OTHERS,
    )


def table(found: Cells, figure: str) -> Table:
    """A table of the throughput that Kikolo leaves to the others (:func:`left`)."""
    losses = rates(found)
    return Table(
        f"{figure}-left",
        f"{PLACE[figure]}: throughput left to the others",
        f"Throughput of the five others, in percent of their throughput beside five of their own kind ({RATE[figure]}).",
        ["Against", *map(power, losses)],
        [[name, *(found[name, loss].text() for loss in losses)] for name in OTHERS],
    )


def claims(shares: dict[str, Cells], kept: dict[str, Cells]) -> list[Claim]:
    """The claims of both figures, from Kikolo's shares and from the throughput that the others keep (:func:`left`)."""
    seven, eight = shares["figure-7"], shares["figure-8"]
    high_7, low_7 = rates(seven, above=1e-4), rates(seven, below=1e-4)
    suffers = {name: max(seven[name, loss].mean for loss in low_7) for name in ("BIC", "Scalable")}
    under = [below(seven[name, loss].estimate, SUFFERS) for name in suffers for loss in low_7]
    low_8 = rates(eight, below=1e-4)
    most = [name for name in RIVALS if all(above(eight[name, loss].estimate, 50.0) for loss in low_8)]
    more = [every(*(above(eight[name, loss].estimate, 50.0) for loss in low_8)) for name in RIVALS]
    compound = kept["figure-7"]
    kept_above = [compound["Compound", loss].estimate for loss in rates(seven, above=1.1e-5)]
    like_newreno = every(
        *(
            between(difference(seven["Compound", loss].values, seven["NewReno", loss].values), -ALIKE, ALIKE)
            for loss in low_7
        )
    )
    return [
        _friendly(
            "figure-7-traditional",
            kept["figure-7"],
            TRADITIONAL,
            rates(seven),
            LEFT,
        ),
        _friendly(
            "figure-7-lossy",
            kept["figure-7"],
            RIVALS,
            high_7,
            EXCELLENT,
        ),
        _CLAIMS.claim(
            "figure-7-suffers",
            by_parts(*under),
            shares=", ".join(f"{value:.1f} % against {name}" for name, value in suffers.items()),
        ),
        _CLAIMS.claim(
            "figure-7-compound",
            by_parts(every(*(above(one, LEFT) for one in kept_above)), like_newreno),
            above=min(mean for mean, _ in kept_above),
            compound=", ".join(f"{seven['Compound', loss].text()} %" for loss in low_7),
            newreno=", ".join(f"{seven['NewReno', loss].text()} %" for loss in low_7),
            reason_applies=like_newreno is False,
        ),
        _friendly(
            "figure-8-lossy",
            kept["figure-8"],
            RIVALS,
            rates(eight, above=1e-4),
            LEFT,
        ),
        _CLAIMS.claim(
            "figure-8-more",
            by_parts(*more),
            most=", ".join(most) or "none",
            ranges=", ".join(f"{name} {_range(eight, name, low_8)}" for name in RIVALS),
        ),
    ]


def _range(found: Cells, name: str, losses: Sequence[float]) -> str:
    values = [found[name, loss].mean for loss in losses]
    return f"{min(values):.0f} to {max(values):.0f} %"


def _friendly(key: str, found: Cells, names: Sequence[str], losses: Sequence[float], least: float) -> Claim:
    cases_of = [(name, loss) for name in names for loss in losses]
    kept = {case: above(found[case].estimate, least) for case in cases_of}
    hurt = [case for case, truth in kept.items() if truth is False]
    lowest = min(cases_of, key=lambda case: found[case].mean)
    cases = "; ".join(
        f"{name} at {at([loss for other, loss in hurt if other == name])}"
        for name in dict.fromkeys(name for name, _ in hurt)
    )
    return _CLAIMS.claim(
        key,
        judged(list(kept.values())),
        share=share(kept.values()),
        threshold=least,
        least=found[lowest].mean,
        name=lowest[0],
        loss=power(lowest[1]),
        less=f" Less: {cases}." if hurt else "",
    )


def reading_table(found: Mapping[str, Cells]) -> Table:
    """Figure 7 by readings of the paper; the first is ours."""
    losses = rates(found["gamma = 0.995"])
    rows = [
        [name, reading, *(shares[name, loss].text() for loss in losses)]
        for name in OTHERS
        for reading, shares in found.items()
        if (name, losses[0]) in shares
    ]
    return Table(
        "figure-7-readings",
        "Figure 7 by other readings",
        "Kikolo's share of the throughput in percent. The wide ramp-up would put Kikolo first in figures 5 and 6. But with it Kikolo takes "
        "throughput from BIC and Scalable; in the paper's figure 7 it suffers against them. No single gamma gives both. With ssthresh at the "
        "window before a loss, Kikolo takes still more. If only the first loss and timeouts set ssthresh, Kikolo has about as much as BIC and "
        "Scalable below 1e-4.",
        ["Against", "Reading", *map(power, losses)],
        rows,
    )


def numbers(found: Cells, figure: str) -> list[Number]:
    """Kikolo's share against each other variant at the ends of the packet error rates and at 1e-3."""
    losses = [loss for loss in rates(found) if loss in (1e-6, 1e-3, 1e-1)]
    return [
        Number(
            f"{figure}-{name.lower()}-{power(loss)}",
            found[name, loss].mean,
            found[name, loss].half_width,
            what=f"Kikolo's share against {name}, packet error rate {power(loss)}, {RATE[figure]}",
            unit="%",
            where=PLACE[figure],
        )
        for name in OTHERS
        for loss in losses
    ]
