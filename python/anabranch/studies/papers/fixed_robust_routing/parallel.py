"""Section 4: five connections over four or ten parallel paths of different delay (figures 3 to 7)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from anabranch.studies.papers.fixed_robust_routing import written
from anabranch.studies.papers.measures import flows, over_seeds, summary
from anabranch.studies.papers.study import Experiment, Lab

if TYPE_CHECKING:
    from anabranch.results.result import Result

FOUR = ("SLLL", "SSLL", "SSSL", "SSSM")
TEN = ("SLLLLLLLLL", "SSSSSLLLLL", "SSSSSSSSSL")
COUNTED = ("SLLL", "SSLL", "SSSL")
"""Mixes for which the paper gives numbers."""
D = 1.3
"""Difference in delay at which the paper gives these numbers, ms."""
FULL_D = (
    0.0,
    0.2,
    0.4,
    0.6,
    0.8,
    1.0,
    1.2,
    1.3,
    1.4,
    1.6,
    1.8,
    2.0,
    2.2,
    2.4,
    2.5,
    2.6,
    2.8,
    3.0,
    3.2,
    3.4,
    3.6,
    3.8,
    4.0,
)
QUICK_D = (0.0, 0.4, 0.8, 1.2, 1.3, 1.6, 2.0, 2.4, 2.5)
SHORT_MS = 2.0
SEGMENTS_PER_SECOND = 2500.0
RUN_S = 10.0
"""Length of a run that the paper's counts of fast recoveries imply, s."""
PLATEAU = 0.85
"""Least share of the throughput at d = 0 that counts as almost all, before the knee."""
MUCH = 0.25
"""Least total loss of throughput, as a share, for which the position of the steepest fall counts."""
STEP = 2.0
"""Least ratio of the fall of throughput across a step to the fall between two steps."""


@dataclass(frozen=True)
class Reading:
    """A reading of the paper's network."""

    name: str
    title: str
    access: str
    stack: str


READINGS = (
    Reading("written", "as written: access 50 Mbit/s", "50Mbps", "newreno"),
    Reading("spaced", "spaced: access 20 Mbit/s", "20Mbps", "newreno"),
)
STACKS = {
    "newreno": "NewReno (RFC 6582)",
    "window-of-20": "and a receive window of 20 segments",
    "limited-transmit": "and limited transmit (RFC 3042)",
    "sack": "and SACK with limited transmit",
}
ACCESSES = ("50Mbps", "25Mbps", "22Mbps", "20Mbps")


def experiments(lab: Lab) -> list[Experiment]:
    """The experiments: all mixes in both readings, and the mixes with published numbers in others as well."""
    listed = []
    for reading in READINGS:
        for mix in (*FOUR, *TEN):
            fixed = {
                "topology.generate.delays": delays(mix, QUICK_D if lab.quick else FULL_D),
                "topology.generate.access": reading.access,
                "traffic[0].stack": reading.stack,
            }
            quick = fixed | {"run.seeds": "2", "run.duration": "5s"}
            scenario = lab.scenario("parallel-paths.toml", full=fixed, quick=quick)
            listed.append(Experiment(f"parallel-{mix}-{reading.name}", scenario))
    text = (lab.folder / "scenarios" / "parallel-paths.toml").read_text(encoding="utf-8")
    sources = {"": text, "-constant": text.replace('poisson = "20Mbps"', 'constant = "20Mbps"')}
    for mix in COUNTED:
        for source, edited in sources.items():
            name = f"parallel-readings-{mix}{source}"
            settings = {
                "topology.generate.delays": delays(mix, (D,)),
                "topology.generate.access": written.listed(ACCESSES),
                "traffic[0].stack": "newreno" if source else written.listed(list(STACKS)),
            } | ({"run.seeds": "2", "run.duration": "5s"} if lab.quick else {})
            listed.append(Experiment(name, written.scenario(lab, name, edited, settings)))
    return listed


def delays(mix: str, differences: tuple[float, ...]) -> str:
    """The delays of the paths as a setting. A delay that depends on the difference is a list, with a value for each difference."""
    share = {"S": 0.0, "M": 0.5, "L": 1.0}
    parts = []
    for kind in mix:
        each = [f'"{round(SHORT_MS + share[kind] * d, 6):g}ms"' for d in differences]
        parts.append(each[0] if kind == "S" or len(each) == 1 else f"[{', '.join(each)}]")
    return f"[{', '.join(parts)}]"


def probability(mix: str, d_ms: float, *, poisson: bool) -> float:
    """Probability that three packets overtake a packet.

    ``poisson``: segments leave at random times. Otherwise it is the paper's count: the next three are on short paths.
    """
    short = mix.count("S") / len(mix)
    if not poisson:
        return (1 - short) * short**3
    lead = SEGMENTS_PER_SECOND * d_ms / 1e3 * short
    return (1 - short) * (1 - math.exp(-lead) * (1 + lead + lead**2 / 2))


@dataclass(frozen=True)
class Found:
    """The results of section 4."""

    totals: pl.DataFrame
    """``reading``, ``mix``, ``d``, ``seed``, ``total`` in Mbit/s, ``recoveries`` in 10 s."""
    others: pl.DataFrame
    """``source``, ``access``, ``stack``, ``mix``, ``seed``, ``total``, ``recoveries``: at d = 1.3 ms."""

    def mean(self, reading: str, mix: str, d: float, value: str = "total") -> tuple[float, float | None]:
        """Mean of a value over seeds, with its half width."""
        rows = self.totals.filter(reading=reading, mix=mix).filter((pl.col("d") - d).abs() < 1e-6)
        return over_seeds(rows[value].to_list())

    def values(self, reading: str, mix: str, d: float, value: str = "total") -> list[float]:
        """A value of each seed."""
        rows = self.totals.filter(reading=reading, mix=mix).filter((pl.col("d") - d).abs() < 1e-6).sort("seed")
        return [float(one) for one in rows[value]]

    def curve(self, reading: str, mix: str) -> list[tuple[float, float]]:
        """The differences d, each with the mean throughput at d."""
        rows = summary(self.totals.filter(reading=reading, mix=mix).sort("d", "seed"), ["d"], "total")
        return list(rows.select("d", "mean").iter_rows())

    def knee(self, reading: str, mix: str) -> float:
        """The difference at which the steepest fall of throughput begins, ms."""
        curve = self.curve(reading, mix)
        steps = pairwise(curve)
        return max(((one[1] - other[1]) / (other[0] - one[0]), one[0]) for one, other in steps)[1]

    def falls(self, reading: str, mix: str) -> bool:
        """Whether enough throughput is lost in total to say where it falls (``MUCH``)."""
        means = [mean for _, mean in self.curve(reading, mix)]
        return min(means) < (1 - MUCH) * means[0]

    def kept(self, reading: str, mix: str, d: float) -> float:
        """Throughput at d as a share of the throughput at d = 0."""
        return self.mean(reading, mix, d)[0] / self.curve(reading, mix)[0][1]


def found(results: Mapping[str, Result]) -> Found:
    """Read the results of section 4."""
    totals, others = [], []
    for reading in READINGS:
        for mix in (*FOUR, *TEN):
            table = _totals(results[f"parallel-{mix}-{reading.name}"])
            millis = pl.col("delays").str.strip_suffix("ms").cast(pl.Float64) - SHORT_MS
            millis = (millis * (2 if "M" in mix else 1)).round(6)
            totals.append(
                table.select(
                    pl.lit(reading.name).alias("reading"), pl.lit(mix).alias("mix"), millis.alias("d"), *_VALUES
                )
            )
    for mix in COUNTED:
        for source, suffix in (("Poisson", ""), ("constant", "-constant")):
            table = _totals(results[f"parallel-readings-{mix}{suffix}"])
            columns = (pl.lit(source).alias("source"), pl.lit(mix).alias("mix"))
            others.append(table.select(*columns, "access", "stack", *_VALUES))
    return Found(pl.concat(totals), pl.concat(others))


_VALUES = ("seed", "total", "recoveries")


def _totals(result: Result) -> pl.DataFrame:
    names = {
        key: f"{key}_of_run" if key == "stack" else key.rpartition(".")[2].partition("[")[0] for key in result.keys
    }
    by = [*(name for name in names.values() if name != "stack_of_run"), "stack", "seed"]
    span = result.manifest["runs"][0]["simulated_s"]
    return (
        flows(result, names)
        .group_by(by, maintain_order=True)
        .agg(total=pl.col("goodput_bps").sum() / 1e6, recoveries=pl.col("recoveries").sum() * (RUN_S / span))
    )
