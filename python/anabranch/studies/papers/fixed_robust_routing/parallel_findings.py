"""Findings of section 4: claims, numbers, pictures, tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import polars as pl

from anabranch.pages.report.chart import with_interval
from anabranch.studies.papers import charts, statements
from anabranch.studies.papers.fixed_robust_routing.parallel import (
    ACCESSES,
    COUNTED,
    FOUR,
    PLATEAU,
    READINGS,
    STACKS,
    STEP,
    TEN,
    D,
    Found,
    probability,
)
from anabranch.studies.papers.measures import over_seeds, summary
from anabranch.studies.papers.published import Published
from anabranch.studies.papers.study import Claim, Figure, Number, Table, Verdict
from anabranch.studies.papers.verdicts import above, by_parts, difference, every, graded

_CLAIMS = statements.beside(__file__)

_INSIDE_A_STEP, _BEYOND = 1.6, 2.0
"""Differences at the end of the first and of the second step of 0.4 ms after the knee, ms."""


def claims(found: Found, published: Mapping[str, Published]) -> list[Claim]:
    """The verdicts of section 4."""
    return [_knee(found, published), _steps(found), _order(found), _recoveries(found), _ten(found)]


def _knee(found: Found, published: Mapping[str, Published]) -> Claim:
    wanted = {mix: published[f"knee-{mix}"].value or 0.0 for mix in FOUR}
    right, shown = {}, {}
    for reading in READINGS:
        name = reading.name
        falls = {mix: found.knee(name, mix) for mix in FOUR}
        kept = {mix: found.kept(name, mix, wanted[mix]) for mix in FOUR}
        there = all(falls[mix] == wanted[mix] for mix in FOUR if found.falls(name, mix))
        right[name] = there and all(share >= PLATEAU for share in kept.values())
        shown[name] = ", ".join(f"{mix} {falls[mix]:g} ms ({kept[mix]:.0%})" for mix in FOUR)
    verdict: Verdict = "holds" if right["written"] else "holds partly" if right["spaced"] else "does not hold"
    return _CLAIMS.claim("figure-4-knee", verdict, written=shown["written"], spaced=shown["spaced"])


def _steps(found: Found) -> Claim:
    falls = {}
    for reading in READINGS:
        for mix in ("SSLL", "SSSL"):
            first, second, third = (found.mean(reading.name, mix, d)[0] for d in (D, _INSIDE_A_STEP, _BEYOND))
            falls[reading.name, mix] = (first - second, second - third)
    stepped = {
        name: all(falls[name, mix][1] >= STEP * falls[name, mix][0] for mix in ("SSLL", "SSSL"))
        for name in ("written", "spaced")
    }
    verdict: Verdict = "holds" if stepped["written"] else "holds partly" if stepped["spaced"] else "does not hold"
    shown = {
        name: "; ".join(f"{mix} {falls[name, mix][0]:.1f}, then {falls[name, mix][1]:.1f}" for mix in ("SSLL", "SSSL"))
        for name in ("written", "spaced")
    }
    return _CLAIMS.claim(
        "figure-4-steps",
        verdict,
        start=D,
        inside=_INSIDE_A_STEP,
        beyond=_BEYOND,
        written=shown["written"],
        spaced=shown["spaced"],
    )


def _order(found: Found) -> Claim:
    return _CLAIMS.claim("figure-4-order", _ordered(found, COUNTED), shown=_shown(found, COUNTED))


def _ten(found: Found) -> Claim:
    verdict = _ordered(found, TEN)
    return _CLAIMS.claim("figure-7-order", verdict, shown=_shown(found, TEN))


def _recoveries(found: Found) -> Claim:
    counts = {reading.name: [found.mean(reading.name, mix, D, "recoveries") for mix in COUNTED] for reading in READINGS}
    rising = [
        every(
            *(
                above(
                    difference(
                        found.values(reading.name, more, D, "recoveries"),
                        found.values(reading.name, few, D, "recoveries"),
                    ),
                    0.0,
                )
                for few, more in pairwise(COUNTED)
            )
        )
        for reading in READINGS
    ]
    verdict = by_parts(*rising)
    shown = {name: ", ".join(with_interval(*value) for value in values) for name, values in counts.items()}
    return _CLAIMS.claim("recoveries", verdict, written=shown["written"], spaced=shown["spaced"])


def _shown(found: Found, mixes: Sequence[str]) -> str:
    parts = []
    for reading in READINGS:
        listed = ", ".join(f"{mix} {with_interval(*found.mean(reading.name, mix, D))}" for mix in mixes)
        turned = _turned(found, reading.name, mixes)
        order = (
            f"another order at d = {', '.join(f'{d:g}' for d in turned)} ms"
            if turned
            else "in this order at every d from there on"
        )
        parts.append(f"{reading.name} {listed}, {order}")
    return f"Mbit/s at d = {D:g} ms: {'; '.join(parts)}."


def _turned(found: Found, reading: str, mixes: Sequence[str]) -> list[float]:
    """The differences from 1.3 ms on at which some mix has more throughput than the mix before it."""
    curves = [dict(found.curve(reading, mix)) for mix in mixes]
    return [d for d in curves[0] if d >= D and not _falling([curve[d] for curve in curves])]


def _ordered(found: Found, mixes: Sequence[str]) -> Verdict:
    """The verdict on the order of mixes by throughput: it holds if every reading has it from 1.3 ms on, partly if at 1.3 ms only."""
    differences = [d for d, _ in found.curve(READINGS[0].name, mixes[0]) if d >= D]
    order = {
        d: every(
            *(
                above(difference(found.values(reading.name, one, d), found.values(reading.name, other, d)), 0.0)
                for reading in READINGS
                for one, other in pairwise(mixes)
            )
        )
        for d in differences
    }
    return graded(every(order[D], False not in order.values()), order[D])


def _falling(values: Sequence[float]) -> bool:
    return all(one > other for one, other in pairwise(values))


def numbers(found: Found) -> list[Number]:
    """Section 4's numbers as written, with those of spaced segments beside them."""
    listed = []
    for mix in FOUR:
        spaced = found.knee("spaced", mix)
        listed.append(Number(f"knee-{mix}", found.knee("written", mix), remark=f"spaced: {spaced:g} ms"))
    for mix in COUNTED:
        for what, value in (("total", "total"), ("recoveries", "recoveries")):
            spaced_value = with_interval(*found.mean("spaced", mix, D, value))
            listed.append(
                Number(f"{what}-{mix}", *found.mean("written", mix, D, value), remark=f"spaced: {spaced_value}")
            )
        listed.append(
            Number(
                f"probability-{mix}",
                probability(mix, D, poisson=True),
                remark=f"for segments at random times; by the paper's count {probability(mix, D, poisson=False):.3f}",
            )
        )
    for mix in (*COUNTED, *TEN):
        where, what = (
            "Figure 7" if mix in TEN else "Figure 4",
            f"total throughput at d = 1.3 ms, {mix}, segments spaced",
        )
        listed.append(
            Number(f"total-{mix}-spaced", *found.mean("spaced", mix, D), what=what, unit="Mbit/s", where=where)
        )
    for mix in TEN:
        what = f"total throughput at d = 1.3 ms, {mix}"
        listed.append(
            Number(f"total-{mix}", *found.mean("written", mix, D), what=what, unit="Mbit/s", where="Figure 7")
        )
    return listed


def _four(found: Found, published: Mapping[str, Published]) -> Any:
    given = [{"d": D, "mix": mix, "mean": published[f"total-{mix}"].value} for mix in COUNTED]
    return _curves(found, FOUR, pl.DataFrame(given))


def _curves(found: Found, mixes: Sequence[str], given: pl.DataFrame | None = None) -> Any:
    parts = []
    for reading in READINGS:
        rows = found.totals.filter(pl.col("mix").is_in(mixes), reading=reading.name).sort("mix", "d", "seed")
        chart = charts.lines(
            summary(rows, ["mix", "d"], "total"),
            x="d",
            colour="mix",
            x_title="difference in delay d (ms)",
            y_title="total throughput (Mbit/s)",
            colour_title="paths",
            order=mixes,
            published=given,
        )
        parts.append((reading.title, chart))
    return charts.side_by_side(parts)


def _ten_paths(found: Found, _: Mapping[str, Published]) -> Any:
    return _curves(found, TEN)


FIGURES = (
    Figure(
        "figure-4",
        "Figure 4",
        "Total throughput over four paths against the difference in delay; crosses are the published values. As written, it "
        "falls early and smoothly. If the access link spaces segments, the knees and the steps of the paper appear.",
        _four,
    ),
    Figure("figure-7", "Figure 7", "Total throughput over ten paths, as in figure 4.", _ten_paths),
)
"""In both readings."""


def tables(found: Found, published: Mapping[str, Published]) -> list[Table]:
    """A table of the numbers at d = 1.3 ms in other readings."""
    rows = []
    for source in ("Poisson", "constant"):
        for access in ACCESSES:
            for stack, title in STACKS.items():
                cells = [
                    _cell(found.others.filter(source=source, access=access, stack=stack, mix=mix)) for mix in COUNTED
                ]
                if all(cells):
                    rows.append([source, access, title, *cells])
    theirs = [f"{published[f'total-{mix}'].text()} ({published[f'recoveries-{mix}'].text()})" for mix in COUNTED]
    return [
        Table(
            "section-4-readings",
            "Section 4, other readings",
            "Total throughput in Mbit/s at d = 1.3 ms, and fast recoveries of all five connections in 10 s. Published: "
            f"{', '.join(theirs)}.",
            ["source", "access link", "sender", *COUNTED],
            rows,
        )
    ]


def _cell(rows: pl.DataFrame) -> str:
    if rows.is_empty():
        return ""
    total, count = over_seeds(rows["total"].to_list()), over_seeds(rows["recoveries"].to_list())
    return f"{with_interval(*total)} ({count[0]:.0f})"
