"""A topic that the thesis leaves for later: other answers to reordering, such as RACK-TLP and TCP-PR, and other congestion controls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.studies.papers import charts, measures, statements
from anabranch.studies.papers.measures import Mean
from anabranch.studies.papers.mprc.measure import goodput, more, per_flow, short
from anabranch.studies.papers.study import Claim, Figure, Findings, Number, Table, drawn
from anabranch.studies.papers.verdicts import by_parts

if TYPE_CHECKING:
    from anabranch.results.result import Result

_CLAIMS = statements.beside(__file__)

DETECTORS = {
    "mprc": "NewReno + FastRTO (MPRC)",
    "newreno-rack-tlp": "NewReno + RACK-TLP",
    "newreno-tcp-pr": "NewReno + TCP-PR",
    "newreno-tcp-ba": "NewReno + TCP-BA",
    "newreno-rr-tcp": "NewReno + RR-TCP",
    "newreno-tcp-ncr": "NewReno + TCP-NCR",
    "newreno-path-count": "NewReno + DupThresh by paths",
    "newreno": "NewReno + duplicate ACKs",
    "cubic-fast-rto": "Cubic + FastRTO",
    "cubic-rack-tlp": "Cubic + RACK-TLP",
    "cubic-tcp-pr": "Cubic + TCP-PR",
    "cubic": "Cubic + duplicate ACKs",
    "bbr-fast-rto": "BBR + FastRTO",
    "bbr-rack-tlp": "BBR + RACK-TLP",
    "bbr-dup-ack": "BBR + duplicate ACKs",
    "bbr3": "BBR3 + RACK-TLP",
    "linux-reno": "Linux's Reno",
    "linux-cubic": "Linux's Cubic",
}
"""Stacks by detector. RACK-TLP, TCP-BA and RR-TCP undo spurious reductions by DSACK, as hosts and their papers do."""
CONTROLS = {
    "westwood": "Westwood+",
    "vegas": "Vegas",
    "htcp": "H-TCP",
    "illinois": "Illinois",
    "compound": "Compound",
    "kikolo": "Kikolo",
}
"""Other congestion controls, with duplicate ACKs, the detection of their papers."""
MEASURED = (
    "mprc",
    "newreno-rack-tlp",
    "newreno-tcp-pr",
    "cubic-fast-rto",
    "cubic-rack-tlp",
    "cubic-tcp-pr",
    "linux-cubic",
    "bbr3",
)
"""Stacks with a row among the numbers; the table has all stacks."""
AHEAD = 1.05
WHERE = "Chapter 6, left for later"


def findings(results: Mapping[str, Result]) -> Findings:
    """The verdicts, and every stack's goodput without and with errors."""
    rates: Mapping[tuple[str, float], Mean] = goodput(results["comparisons"], ["stack", "loss"])
    seconds = completions(per_flow(results["short-transfers"]))
    names = DETECTORS | CONTROLS
    numbers = [
        Number(f"comparison-{short(stack)}", *rates[stack, 0.0], where=WHERE, unit="Mbit/s", what=f"{name}, on Abilene's two paths at random")
        for stack, name in names.items()
        if stack in MEASURED
    ]  # fmt: skip
    return Findings(
        [_claim(rates, seconds), _product(rates)],
        numbers,
        drawn(FIGURES, results["comparisons"]),
        [_table(results["comparisons"], seconds)],
    )


def completions(flows: pl.DataFrame) -> dict[str, str]:
    """The mean completion time of each stack over the seeds as text, in seconds; where a transfer does not finish, how many do."""
    found = {}
    for (stack,), rows in flows.group_by("stack", maintain_order=True):
        times = rows["fct_s"].drop_nulls().to_list()
        known = len(times) == rows.height
        found[str(stack)] = (
            str(Mean(*measures.over_seeds(times))) if known else f"({len(times)} of {rows.height} finish)"
        )
    return found


def _claim(rates: Mapping[tuple[str, float], Mean], seconds: Mapping[str, str]) -> Claim:
    mprc = rates["mprc", 0.0]
    behind = {stack: more(mprc, rates[stack, 0.0], AHEAD) for stack in (DETECTORS | CONTROLS) if stack != "mprc"}
    level = [f"{(DETECTORS | CONTROLS)[stack]} {rates[stack, 0.0]}" for stack, far in behind.items() if far is not True]
    far = [name for stack, name in (DETECTORS | CONTROLS).items() if behind.get(stack)]
    found = by_parts(*behind.values())
    return _CLAIMS.claim(
        "comparisons",
        found,
        mprc=mprc,
        far=", ".join(far),
        level=", ".join(level),
        seconds_mprc=seconds["mprc"],
        seconds_rack_tlp=seconds["newreno-rack-tlp"],
        seconds_tcp_pr=seconds["newreno-tcp-pr"],
    )


def _product(rates: Mapping[tuple[str, float], Mean]) -> Claim:
    pairs = {
        "NewReno": ("mprc", "newreno"),
        "Cubic": ("cubic-fast-rto", "cubic"),
        "BBR": ("bbr-fast-rto", "bbr-dup-ack"),
    }
    ahead = [more(rates[with_it, 0.0], rates[plain, 0.0], AHEAD) for with_it, plain in pairs.values()]
    return _CLAIMS.claim(
        "fast-rto-alone",
        by_parts(*ahead),
        pairs="; ".join(
            f"{name} {rates[plain, 0.0]} → {rates[with_it, 0.0]}" for name, (with_it, plain) in pairs.items()
        ),
    )


def _chart(result: Result) -> Any:
    names = DETECTORS | CONTROLS
    without = per_flow(result).filter(pl.col("loss") == 0).with_columns(pl.col("stack").replace_strict(names))
    means = measures.summary(without, ["stack"], "mbps")
    return charts.horizontal_bars(means, y="stack", x_title="goodput, Mbit/s", order=list(names.values()))


FIGURES = (
    Figure(
        "comparisons",
        "Left for later: comparisons",
        "Goodput on Abilene over two disjoint paths at random, without errors.",
        _chart,
    ),
)


def _table(result: Result, seconds: Mapping[str, str]) -> Table:
    flows = per_flow(result).with_columns(spurious=pl.col("spurious_retransmits") / pl.col("segments_sent") * 100)
    rates = measures.means(flows, ["stack", "loss"], "mbps")
    spurious = measures.means(flows, ["stack", "loss"], "spurious")
    return Table(
        "comparisons",
        "Left for later: comparisons",
        "Abilene over two disjoint paths at random: goodput in Mbit/s, spurious retransmissions in percent of the segments sent, and "
        "seconds for a transfer of 1 MB. Both paths together carry 1 MB in 0.41 s and a round trip.",
        ["stack", "goodput", "spurious", "goodput, error rate 1e-3", "spurious", "1 MB, s"],
        [
            [
                name,
                str(rates[stack, 0.0]),
                str(spurious[stack, 0.0]),
                str(rates[stack, 1e-3]),
                str(spurious[stack, 1e-3]),
                seconds[stack],
            ]
            for stack, name in (DETECTORS | CONTROLS).items()
        ],
    )
