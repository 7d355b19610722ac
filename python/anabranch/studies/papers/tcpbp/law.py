"""Tests of the law 1 / (RTT sqrt(p)) for CUBIC: on one link from p = 1e-5 to 0.05, and on the testbed's paths."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import log, prod
from statistics import fmean

import numpy as np
import polars as pl

from anabranch.engineering.predict import cubic, mathis, padhye
from anabranch.results.result import Result
from anabranch.studies.papers.measures import flows, over_seeds, summary
from anabranch.studies.papers.study import Experiment, Lab
from anabranch.studies.papers.tcpbp import networks
from anabranch.studies.papers.tcpbp.throughput import Rates, Testbed

SEGMENT_BITS = 1460 * 8
NEAR_CAPACITY_BPS = 0.8e9
"""The link's capacity limits a flow with more than this on a link of 1 Gbit/s."""
LEAST_TIMEOUT_S = 0.2
"""Linux's least retransmission timeout, above the round-trip time."""
LOSS_KEY = "impairments[0].loss"
CUBIC, NEWRENO = "linux", "newreno"
"""The stacks of the scenario."""
MANY = (3e-3, 0.05)
"""Range of losses as on the testbed."""


def experiments(lab: Lab) -> list[Experiment]:
    """The experiment: one flow over one link."""
    quick = {
        "run.duration": "20s",
        "run.warm_up": "4s",
        "run.seeds": "2",
        LOSS_KEY: "[1e-4, 1e-3, 3e-3, 1e-2, 2e-2, 5e-2]",
    }
    return [Experiment("law", lab.scenario("law.toml", quick=quick))]


def sweep(result: Result) -> pl.DataFrame:
    """Mean goodput in Mbit/s of each ``stack``, ``delay`` and ``loss``, beside ``mathis``, ``padhye`` and ``cubic``."""
    table = flows(result).with_columns(mbps=pl.col("goodput_bps") / 1e6, loss=pl.col("loss").cast(pl.Float64))
    means = summary(table, ["stack", "delay", "loss"], "mbps")
    rtt = np.array([2e-3 * float(delay.removesuffix("ms")) for delay in means["delay"]])
    loss = means["loss"].to_numpy()
    models = {
        "mathis": mathis(rtt, loss),
        "padhye": padhye(rtt, loss, timeout_s=rtt + LEAST_TIMEOUT_S),
        "cubic": cubic(rtt, loss),
    }
    return means.with_columns(**{label: pl.Series(np.asarray(values) / 1e6) for label, values in models.items()})


def exponent(table: pl.DataFrame, stack: str, delay: str, bounds: tuple[float, float]) -> float | None:
    """Slope of log goodput over log p between two losses, from points that capacity does not limit; ``None`` for fewer than two points."""
    own = table.filter(
        (pl.col("stack") == stack)
        & (pl.col("delay") == delay)
        & pl.col("loss").is_between(*bounds)
        & (pl.col("mean") * 1e6 < NEAR_CAPACITY_BPS)
    )
    if own.height < 2:
        return None
    return float(np.polyfit(np.log(own["loss"].to_numpy()), np.log(own["mean"].to_numpy()), 1)[0])


@dataclass(frozen=True)
class Agreement:
    """Agreement of goodput with the law on all paths of the testbed that the flows do not fill."""

    quotients: Mapping[str, float]
    """Mean of goodput over Mathis's formula with C = sqrt(3/2), by the paths' loss on one way."""
    rtt_exponent: tuple[float, float | None]
    loss_exponent: tuple[float, float | None]
    rank_agreement: float
    """Share of the pairs of rival paths on which the law's better path gets more. Rivals are paths of metrics between the same nodes."""


LOSSES = {"less than 1 %": (0.0, 0.01), "1 to 2 %": (0.01, 0.02), "more than 2 %": (0.02, 1.0)}


def on_testbed(bed: Testbed, rates: Rates, flow_count: int) -> Agreement:
    """Compare goodput with the law: fits log goodput to log RTT and log p, with intervals over seeds."""
    law = networks.law(bed.topology)
    links = {(link.source, link.target): link for link in bed.topology.links}
    free = [path for path in bed.paths if rates.mean_bps(path, flow_count) * flow_count < NEAR_CAPACITY_BPS]
    passes = {path: prod(1 - (links[hop].loss or 0) for hop in pairwise(path)) for path in free}
    rtts = {path: 2 * sum(links[hop].delay_s or 0 for hop in pairwise(path)) for path in free}
    sides = np.array([[log(rtts[path]), log(1 - passes[path] ** 2), 1.0] for path in free])
    fits = [
        np.linalg.lstsq(sides, np.log([rates.bps(path, flow_count, seed) for path in free]), rcond=None)[0]
        for seed in rates.seeds
    ]
    over_mathis = {path: rates.mean_bps(path, flow_count) / (law(path) * SEGMENT_BITS * 1.5**0.5) for path in free}
    ranks = []
    for pair in bed.pairs:
        rivals = sorted({bed.chosen[metric][pair] for metric in bed.chosen} & set(free))
        for one, other in combinations(rivals, 2):
            more = rates.mean_bps(one, flow_count) > rates.mean_bps(other, flow_count)
            ranks.append(more == (law(one) > law(other)))
    return Agreement(
        {
            label: fmean(over_mathis[path] for path in free if low <= 1 - passes[path] < high)
            for label, (low, high) in LOSSES.items()
        },
        over_seeds([float(fit[0]) for fit in fits]),
        over_seeds([float(fit[1]) for fit in fits]),
        sum(ranks) / len(ranks),
    )
