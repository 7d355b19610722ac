"""Section IV.D, last paragraph: short flows, such as web pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.foundation import units
from anabranch.studies.papers import charts, statements
from anabranch.studies.papers.multipath_forwarding import backbone, schemes
from anabranch.studies.papers.multipath_forwarding.goodput import Ratios, gain
from anabranch.studies.papers.multipath_forwarding.schemes import merged
from anabranch.studies.papers.study import Claim, Experiment, Figure, Findings, Number, drawn
from anabranch.studies.papers.verdicts import above, difference

if TYPE_CHECKING:
    from anabranch.results.result import Result
    from anabranch.studies.papers.study import Lab

_CLAIMS = statements.beside(__file__)

SCENARIO = "vbns-web.toml"
_ACKS = {schemes.STANDARD.ack: "single", schemes.MODIFIED.ack: "single-modified-delayed-ACK"}
_TWO_AT_ONCE = "initial-window-of-two"
_PATIENCE_S = 3.0
"""Flows that start less than this before the end do not count, because many of them are unfinished."""
_QUICK = {"run.duration": '"7s"', "run.seeds": "3"}
STANDARD_RECEIVER, SAME_RECEIVER = "one path, immediate ACKs", "one path, the same receiver"
_SCHEMES = (schemes.STANDARD, *schemes.PROPOSED, schemes.FLOW_LEVEL)


def experiments(lab: Lab) -> list[Experiment]:
    """The experiments: every scheme, and a single path with the standard and with the modified receiver."""
    runs = {scheme.name: scheme.settings() for scheme in _SCHEMES}
    for ack, name in _ACKS.items():
        runs[name] = merged(schemes.STANDARD.settings("single"), {"stacks.tcp.ack": ack})
    runs[_TWO_AT_ONCE] = merged(schemes.MODIFIED.settings(), {"stacks.tcp.initial_window": '"2 packets"'})
    return [
        Experiment(f"web-{key}", lab.scenario(SCENARIO, full=settings, quick=merged(settings, _QUICK)))
        for key, settings in runs.items()
    ]


def findings(lab: Lab, results: Mapping[str, Result]) -> Findings:
    """The findings on the paragraph."""
    singles = {ack: results[f"web-{name}"] for ack, name in _ACKS.items()}
    tables = []
    for scheme in _SCHEMES:
        for against, ack in ((STANDARD_RECEIVER, schemes.STANDARD.ack), (SAME_RECEIVER, scheme.ack)):
            compared = speeds(_counted(results[f"web-{scheme.name}"]), _counted(singles[ack]))
            tables.append(compared.with_columns(scheme=pl.lit(scheme.label), against=pl.lit(against)))
    ratios = Ratios(pl.concat(tables))
    numbers = []
    for scheme in _SCHEMES:
        one = gain(ratios.at(scheme=scheme.label, against=STANDARD_RECEIVER))
        what = f"gain of short flows over a single path (1 / mean completion time), {scheme.label}"
        numbers.append(
            Number(f"web-{scheme.name}", one.mean, one.half_width, what=what, unit="%", where="Section IV.D")
        )
    two_at_once = Ratios(speeds(_counted(results[f"web-{_TWO_AT_ONCE}"]), _counted(singles[schemes.STANDARD.ack])))
    return Findings([_claim(ratios, two_at_once, backbone.ratios(results))], numbers, drawn(FIGURES, ratios))


def _counted(result: Result) -> pl.DataFrame:
    duration, warm_up = (
        float(units.duration(result.manifest["scenario"]["run"][key])) / units.PICOSECONDS_PER_SECOND
        for key in ("duration", "warm_up")
    )
    early = pl.col("start_s").is_between(warm_up, duration - _PATIENCE_S)
    return result.flows.filter(pl.col("traffic") == "web", early)


def speeds(flows: pl.DataFrame, single: pl.DataFrame) -> pl.DataFrame:
    """The reciprocal of the mean completion time over that with a single path, by seed (``ratio``).

    Both runs of a seed have the same flows. Means are of those that finish in both, a share ``finished`` of all.
    """
    both = flows.join(single, on=["seed", "flow"], suffix="_single", maintain_order="left")
    finish = pl.col("fct_s").is_not_null() & pl.col("fct_s_single").is_not_null()
    return both.group_by("seed", maintain_order=True).agg(
        ratio=pl.col("fct_s_single").filter(finish).mean() / pl.col("fct_s").filter(finish).mean(),
        finished=finish.mean(),
    )


def _claim(ratios: Ratios, two_at_once: Ratios, bulk: Ratios) -> Claim:
    short = {scheme: ratios.at(scheme=scheme.label, against=STANDARD_RECEIVER) for scheme in _SCHEMES}
    same = {scheme: ratios.at(scheme=scheme.label, against=SAME_RECEIVER) for scheme in _SCHEMES}
    long = {scheme: bulk.at(scheme=scheme.label, peak=backbone.PEAKS[-1]) for scheme in _SCHEMES}
    claimed = (*schemes.PROPOSED, schemes.FLOW_LEVEL)
    gains = [above(short[scheme], 1.0) for scheme in claimed]
    less = [
        above(
            difference(
                bulk.values(scheme=scheme.label, peak=backbone.PEAKS[-1]),
                ratios.values(scheme=scheme.label, against=STANDARD_RECEIVER),
            ),
            0.0,
        )
        for scheme in claimed
    ]
    delayed = (schemes.MODIFIED, schemes.INTEGRATED)
    rows = ", ".join(f"{scheme.label} {gain(short[scheme])} % (FTP {gain(long[scheme])} %)" for scheme in claimed)
    return _CLAIMS.claim(
        "short-flows-gain-less",
        [*gains, *less],
        rows=rows,
        same_receiver=" and ".join(f"the {scheme.label} gains {gain(same[scheme])} %" for scheme in delayed),
        two_at_once=gain(two_at_once.at()),
        reason_applies=False in gains,
    )


def _chart(ratios: Ratios) -> Any:
    table = ratios.summary("against", "scheme").with_columns((pl.col("mean") - 1) * 100, pl.col("half_width") * 100)
    return charts.bars(
        table,
        x="against",
        colour="scheme",
        x_title="compared with",
        y_title="gain in 1 / mean completion time, %",
        order=[scheme.label for scheme in _SCHEMES],
        x_order=[STANDARD_RECEIVER, SAME_RECEIVER],
    )


FIGURES = (
    Figure("short-flows", "Section IV.D", "Gain of short flows over the vBNS under congesting other traffic.", _chart),
)
