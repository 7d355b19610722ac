"""Figure 13: two paths across the vBNS, by the load of other traffic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.studies.papers import charts, statements
from anabranch.studies.papers.multipath_forwarding import schemes
from anabranch.studies.papers.multipath_forwarding.goodput import REACH, Ratios, gain, in_reach, relative, total
from anabranch.studies.papers.multipath_forwarding.schemes import merged
from anabranch.studies.papers.study import Claim, Experiment, Figure, Findings, Number, Table, drawn
from anabranch.studies.papers.verdicts import below, share

if TYPE_CHECKING:
    from anabranch.results.result import Result
    from anabranch.studies.papers.study import Lab

_CLAIMS = statements.beside(__file__)

SCENARIO = "vbns.toml"
PEAKS = (30, 60, 70)
AT_RANDOM = "random"
LIGHT, HEAVY, CONGESTED = "light (30 Mbit/s)", "heavy (60 Mbit/s)", "congested (70 Mbit/s)"
_BOTH_CHOICES = (schemes.STANDARD, *schemes.PROPOSED)
"""The schemes that are also simulated with paths at random."""
_NEAR = {"topology.override": '[{ link = ["Los Angeles", "Houston"], delay = "9ms" }]'}
_LOADS = dict(zip(PEAKS, (LIGHT, HEAVY, CONGESTED), strict=True))
_PEAK_KEY = "traffic[1].on-off.peak"
_QUICK = {"run.duration": '"6s"', "run.warm_up": '"3s"', "run.seeds": "3"}
_OF_THE_PAPER = (schemes.MODIFIED, schemes.THRESHOLD, schemes.INTEGRATED, schemes.FLOW_LEVEL)
"""The schemes whose gains the paper states."""


def experiments(lab: Lab) -> list[Experiment]:
    """The experiments: a single path, every scheme, and the packet-level schemes also with paths at random."""
    runs = {"single": schemes.STANDARD.settings("single")}
    runs |= {scheme.name: scheme.settings() for scheme in schemes.ALL}
    runs |= {f"{AT_RANDOM}-{scheme.name}": scheme.settings(AT_RANDOM) for scheme in _BOTH_CHOICES}
    for key, settings in _near_runs().items():
        runs[key] = merged(settings, _NEAR, {"traffic.1.on-off.peak": f'"{PEAKS[0]}Mbps"'})
    return [
        Experiment(f"vbns-{key}", lab.scenario(SCENARIO, full=settings, quick=merged(settings, _QUICK)))
        for key, settings in runs.items()
    ]


def _near_runs() -> dict[str, dict[str, str]]:
    return {"near-single": schemes.STANDARD.settings("single")} | {
        f"near-{scheme.name}": scheme.settings() for scheme in schemes.PROPOSED
    }


def near(results: Mapping[str, Result]) -> Ratios:
    """Goodput at light load relative to a single path where the southern path is 2 ms shorter."""
    single = total(results["vbns-near-single"])
    tables = (
        relative(total(results[f"vbns-near-{scheme.name}"]), single).with_columns(scheme=pl.lit(scheme.label))
        for scheme in schemes.PROPOSED
    )
    return Ratios(pl.concat(tables))


def ratios(results: Mapping[str, Result], choice: str = "") -> Ratios:
    """Goodput relative to a single path by scheme and peak rate; paths are chosen in turn, or :data:`AT_RANDOM`."""
    single = _goodput(results["vbns-single"])
    tables = []
    for scheme in _BOTH_CHOICES if choice else schemes.ALL:
        goodput = _goodput(results[f"vbns-{choice}{'-' if choice else ''}{scheme.name}"])
        tables.append(relative(goodput, single, on=["peak"]).with_columns(scheme=pl.lit(scheme.label)))
    return Ratios(pl.concat(tables))


def findings(lab: Lab, results: Mapping[str, Result]) -> Findings:
    """The findings on the figure."""
    in_turn, at_random = ratios(results), ratios(results, AT_RANDOM)
    numbers = [
        Number(_id(scheme, peak), gain(one).mean, gain(one).half_width)
        for scheme in _OF_THE_PAPER
        for peak in PEAKS
        for one in [in_turn.at(scheme=scheme.label, peak=peak)]
    ]
    for scheme in (schemes.STANDARD, schemes.DELAYED):
        for peak in PEAKS:
            one = gain(in_turn.at(scheme=scheme.label, peak=peak))
            what = f"gain over a single path, {scheme.label}, Pareto peak {peak} Mbit/s"
            numbers.append(Number(_id(scheme, peak), one.mean, one.half_width, what=what, unit="%", where="Figure 13"))
    claims = [*_gain_claims(lab, in_turn, near(results)), _standard_claim(in_turn)]
    return Findings(claims, numbers, drawn(FIGURES, lab, in_turn), [_table(in_turn, at_random, near(results))])


def _goodput(result: Result) -> pl.DataFrame:
    table = total(result, {_PEAK_KEY: "peak"})
    return table.with_columns(pl.col("peak").str.strip_suffix("Mbps").cast(pl.Int32))


def _id(scheme: schemes.Scheme, peak: int) -> str:
    return f"figure-13-{scheme.name}-{peak}"


def _gain_claims(lab: Lab, in_turn: Ratios, close_by: Ratios) -> list[Claim]:
    claims = []
    for scheme in _OF_THE_PAPER:
        found = {_id(scheme, peak): in_turn.at(scheme=scheme.label, peak=peak) for peak in PEAKS}
        close = in_reach(lab, found, percent=True)
        claims.append(
            _CLAIMS.claim(
                f"vbns-{scheme.name}",
                close,
                gains=", ".join(f"{gain(one)}" for one in found.values()),
                close=share(close),
                reach=REACH,
                nearer=gain(close_by.at(scheme=scheme.label)) if scheme in schemes.PROPOSED else "",
            )
        )
    return claims


def _standard_claim(in_turn: Ratios) -> Claim:
    found = {
        (scheme, peak): in_turn.at(scheme=scheme.label, peak=peak)
        for scheme in (schemes.STANDARD, schemes.DELAYED)
        for peak in PEAKS
    }
    worse = [
        in_turn.more({"scheme": other.label, "peak": peak}, {"scheme": scheme.label, "peak": peak})
        for scheme, peak in found
        for other in schemes.PROPOSED
    ]
    under = [below(found[scheme, PEAKS[0]], 1.0) for scheme in (schemes.STANDARD, schemes.DELAYED)]
    rows = [
        f"{scheme.label} {', '.join(f'{gain(found[scheme, peak])}' for peak in PEAKS)} %"
        for scheme in (schemes.STANDARD, schemes.DELAYED)
    ]
    return _CLAIMS.claim("vbns-plain-tcp", [*worse, *under], gains="; ".join(rows))


def _chart(lab: Lab, in_turn: Ratios) -> Any:
    table = in_turn.summary("peak", "scheme").with_columns(
        pl.col("peak").replace_strict(_LOADS, return_dtype=pl.String).alias("load"),
        pl.col("mean") - 1,
    )
    table = table.with_columns(pl.col("mean") * 100, pl.col("half_width") * 100)
    published = pl.DataFrame(
        [
            {"load": load, "scheme": scheme.label, "mean": lab.published[_id(scheme, peak)].value}
            for scheme in _OF_THE_PAPER
            for peak, load in _LOADS.items()
        ]
    )
    return charts.bars(
        table,
        x="load",
        colour="scheme",
        x_title="other traffic (peak of a Pareto source)",
        y_title="gain over a single path, %",
        order=schemes.LABELS,
        x_order=list(_LOADS.values()),
        published=published,
    )


FIGURES = (
    Figure("figure-13", "Figure 13", "Gains over a single path across the vBNS; crosses are the paper's.", _chart),
)


def _table(in_turn: Ratios, at_random: Ratios, close_by: Ratios) -> Table:
    rows = [
        [scheme.label, choice, *(str(gain(found.at(scheme=scheme.label, peak=peak))) for peak in PEAKS)]
        for scheme in _BOTH_CHOICES
        for choice, found in (("in turn", in_turn), ("at random", at_random))
    ]
    rows += [
        [scheme.label, "in turn, 2 ms apart", str(gain(close_by.at(scheme=scheme.label))), "", ""]
        for scheme in schemes.PROPOSED
    ]
    return Table(
        "vbns-choice",
        "Other readings, Figure 13",
        "Gains over a single path in %, with the paths chosen packet by packet in turn or at random, 4 ms apart or 2 ms.",
        ["Scheme", "Paths", *_LOADS.values()],
        rows,
    )
