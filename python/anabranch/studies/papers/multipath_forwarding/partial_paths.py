"""Figures 10 and 11: two paths that share a link, and a third path that needs explicit paths or another cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.studies.papers import charts, statements
from anabranch.studies.papers.multipath_forwarding import schemes
from anabranch.studies.papers.multipath_forwarding.goodput import (
    REACH,
    Estimate,
    Ratios,
    gain,
    in_reach,
    relative,
    total,
)
from anabranch.studies.papers.multipath_forwarding.schemes import merged
from anabranch.studies.papers.study import Claim, Experiment, Figure, Findings, Number, drawn
from anabranch.studies.papers.verdicts import Truth, every, graded

if TYPE_CHECKING:
    from anabranch.results.result import Result
    from anabranch.studies.papers.study import Lab

_CLAIMS = statements.beside(__file__)

SCENARIO = "partial-paths.toml"
TWO_LSPS, THREE_LSPS = "two LSPs", "three LSPs"
EQUAL, HALVED, DOUBLED = 1.0, 0.5, 2.0
"""The costs of R0-R2 that are simulated; the paper says that it halves the cost."""

_QUICK = {"run.duration": '"6s"', "run.warm_up": '"2s"', "run.seeds": "3"}
_CORE = (
    ("R0", "R2"),
    ("R2", "R3"),
    ("R3", "R1"),
    ("R2", "R4"),
    ("R4", "R1"),
    ("R0", "R5"),
    ("R5", "R6"),
    ("R6", "R7"),
    ("R7", "R1"),
)
_LOSS = ", ".join(f'{{ link = ["{one}", "{other}"], loss = 0.001 }}' for one, other in _CORE)
_LOSSY = {"impairments": f"[{_LOSS}]"}
_COST = "topology.override.0.cost"
_SAID = {
    "figure-10-modified-delayed-ack": schemes.MODIFIED.label,
    "figure-10-integrated": schemes.INTEGRATED.label,
    "figure-10-threshold": schemes.THRESHOLD.label,
}
_SAID_LSPS = {"figure-10-two-lsps": TWO_LSPS, "figure-10-three-lsps": THREE_LSPS}
_LSPS = {TWO_LSPS: "flow-2", THREE_LSPS: "flow-3"}
_LABELS = [*(scheme.label for scheme in schemes.PACKET_LEVEL), *_LSPS]


def experiments(lab: Lab) -> list[Experiment]:
    """The experiments: every scheme at three costs of R0-R2 without loss, and at one cost with loss; label-switched paths with and without loss."""
    made = []
    for name, loss in (("", {}), ("-lossy", _LOSSY)):
        costs = {_COST: f"[{EQUAL}, {HALVED}, {DOUBLED}]" if not loss else f"{DOUBLED}"}
        runs = {scheme.name: merged(scheme.settings(), costs, loss) for scheme in schemes.PACKET_LEVEL}
        runs |= {
            label.replace(" ", "-"): merged(schemes.STANDARD.settings(routing), loss)
            for label, routing in _LSPS.items()
        }
        runs["single"] = merged(schemes.STANDARD.settings("single"), loss)
        made += [
            Experiment(f"partial{name}-{key}", lab.scenario(SCENARIO, full=settings, quick=merged(settings, _QUICK)))
            for key, settings in runs.items()
        ]
    return made


def findings(lab: Lab, results: Mapping[str, Result]) -> Findings:
    """The findings on the two figures."""
    ratios = Ratios(pl.concat([_ratios(results, "", 0.0), _ratios(results, "-lossy", 0.001)]))
    figure_10 = {key: ratios.at(scheme=label, cost=EQUAL, loss=0.0) for key, label in _SAID.items()}
    lsps = {key: ratios.at(scheme=label, loss=0.0) for key, label in _SAID_LSPS.items()}
    claims = [*_figure_10_claims(lab, ratios, figure_10, lsps), *_figure_11_claims(ratios)]
    numbers = [Number(key, gain(one).mean, gain(one).half_width) for key, one in figure_10.items()]
    numbers += [Number(key, one.mean, one.half_width) for key, one in lsps.items()]
    for scheme in schemes.PACKET_LEVEL:
        for figure, loss in (("a", 0.0), ("b", 0.001)):
            one = ratios.at(scheme=scheme.label, cost=DOUBLED, loss=loss)
            what = f"relative goodput, {scheme.label}, three equal-cost paths{', link loss 0.001' if loss else ''}"
            numbers.append(
                Number(
                    f"figure-11-{figure}-{scheme.name}",
                    one.mean,
                    one.half_width,
                    what=what,
                    where=f"Figure 11 ({figure})",
                )
            )
    return Findings(claims, numbers, drawn(FIGURES, lab, ratios))


def _ratios(results: Mapping[str, Result], name: str, loss: float) -> pl.DataFrame:
    single = total(results[f"partial{name}-single"])
    tables = []
    for label in _LABELS:
        goodput = total(results[f"partial{name}-{label.replace(' ', '-')}"], {_COST_KEY: "cost"})
        if "cost" not in goodput.columns:
            goodput = goodput.with_columns(cost=pl.lit(None if label in _LSPS else DOUBLED, dtype=pl.Float64))
        columns = ["seed", pl.col("cost").cast(pl.Float64), "goodput"]
        tables.append(relative(goodput.select(columns), single).with_columns(scheme=pl.lit(label), loss=pl.lit(loss)))
    return pl.concat(tables)


_COST_KEY = "topology.override[0].cost"


def _figure_10_claims(
    lab: Lab, ratios: Ratios, packet: Mapping[str, Estimate], lsps: Mapping[str, Estimate]
) -> list[Claim]:
    packet_close = in_reach(lab, packet, percent=True)
    flow_close = in_reach(lab, lsps)
    standard = ratios.at(scheme=schemes.STANDARD.label, cost=EQUAL, loss=0.0)
    return [
        _CLAIMS.claim(
            "two-equal-cost-paths",
            packet_close,
            gains=", ".join(f"{_SAID[key]} {gain(one)} %" for key, one in packet.items()),
            reach=REACH,
            standard=gain(standard),
        ),
        _CLAIMS.claim(
            "label-switched-paths",
            flow_close,
            two=lsps["figure-10-two-lsps"],
            three=lsps["figure-10-three-lsps"],
            reach=REACH,
        ),
    ]


def _figure_11_claims(ratios: Ratios) -> list[Claim]:
    def at(scheme: str, loss: float, cost: float | None = DOUBLED) -> Estimate:
        where: dict[str, Any] = {"scheme": scheme, "loss": loss}
        return ratios.at(**where) if cost is None else ratios.at(**where, cost=cost)

    def ahead(one: str, other: str, loss: float) -> Truth:
        keys = [{"scheme": name, "loss": loss} | ({} if name in _LSPS else {"cost": DOUBLED}) for name in (one, other)]
        return ratios.more(keys[0], keys[1])

    standard, proposed = schemes.STANDARD.label, [one.label for one in schemes.PROPOSED]
    two, three = at(TWO_LSPS, 0.0, None), at(THREE_LSPS, 0.0, None)
    better = [every(ahead(one, standard, 0.0), ahead(one, TWO_LSPS, 0.0)) for one in proposed]
    greatest = [ahead(THREE_LSPS, one.label, loss) for loss in (0.0, 0.001) for one in schemes.PACKET_LEVEL]
    lead = ratios.difference(schemes.THRESHOLD.label, schemes.MODIFIED.label, cost=DOUBLED, loss=0.001)
    lossy = [ahead(one.label, schemes.MODIFIED.label, 0.001) for one in (schemes.THRESHOLD, schemes.INTEGRATED)]
    halved = [abs(at(one, 0.0, HALVED).mean / at(one, 0.0, EQUAL).mean - 1) < 1e-9 for one in (standard, *proposed)]

    def row(loss: float, names: Sequence[str]) -> str:
        return ", ".join(f"{name} {at(name, loss)}" for name in names)

    return [
        _CLAIMS.claim(
            "half-the-cost-makes-three-paths",
            graded(not all(halved), False),
            standard=at(standard, 0.0, HALVED),
            threshold=at(schemes.THRESHOLD.label, 0.0, HALVED),
        ),
        _CLAIMS.claim("proposals-beat-two-lsps", better, schemes=row(0.0, [*proposed, standard]), two=two),
        _CLAIMS.claim("three-lsps-are-best", greatest, three=three, lossy=at(THREE_LSPS, 0.001, None)),
        _CLAIMS.claim(
            "thresholds-better-with-loss",
            lossy,
            schemes=row(0.001, proposed),
            standard=at(standard, 0.001),
            ahead=lead,
        ),
    ]


def _chart(lab: Lab, ratios: Ratios, cost: float, loss: float) -> Any:
    keep = (pl.col("loss") == loss) & ((pl.col("cost") == cost) | pl.col("cost").is_null())
    theirs = [(label, 1 + (lab.published[key].value or 0) / 100) for key, label in _SAID.items()]
    theirs += [(label, lab.published[key].value or 0) for key, label in _SAID_LSPS.items()]
    published = pl.DataFrame([("", *one) for one in theirs], schema=["x", "scheme", "mean"], orient="row")
    return charts.bars(
        Ratios(ratios.table.filter(keep)).summary("scheme").with_columns(x=pl.lit("")),
        x="x",
        colour="scheme",
        x_title="",
        y_title="relative goodput",
        order=_LABELS,
        published=published if cost == EQUAL else None,
    )


def _two_equal(lab: Lab, ratios: Ratios) -> Any:
    return _chart(lab, ratios, EQUAL, 0.0)


def _three_equal(lab: Lab, ratios: Ratios) -> Any:
    titled = {"without loss": 0.0, "link loss 0.001": 0.001}
    panels = [(title, _chart(lab, ratios, DOUBLED, loss)) for title, loss in titled.items()]
    return charts.side_by_side(panels)


FIGURES = (
    Figure(
        "figure-10",
        "Figure 10 (b)",
        "Two equal-cost paths that share a link, and two or three label-switched paths; crosses are the paper's.",
        _two_equal,
    ),
    Figure(
        "figure-11",
        "Figure 11",
        "The same schemes, with a cost of R0-R2 that makes three equal-cost paths; (b) with link loss.",
        _three_equal,
    ),
)
