"""TCPBP's network and tests."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path as File

import polars as pl

from anabranch.engines.openflow.cabling import cables, document_of
from anabranch.engines.openflow.plan import LabPlan
from anabranch.engines.openflow.routes import Chosen, Pair, Path
from anabranch.network.topologies import Link, Topology
from anabranch.studies.papers.tcpbp import networks
from anabranch.studies.papers.tcpbp.networks import DELAY, HOPS, TCPBP
from anabranch.studies.testbed.live import TABLE
from anabranch.studies.testbed.tests import BUSY, Log, Test, each_path, joined

SHOWN: Pair = ("1", "10")
"""Table 4's pair."""
PRINTED: dict[str, Path] = {TCPBP: ("1", "3", "4", "10"), HOPS: ("1", "5", "10"), DELAY: ("1", "5", "4", "10")}
"""Table 4's paths, as the paper prints them."""
FLOWS = (10, 25, 50)
SECONDS, WARM_UP_S = 10, 5
CAPACITY_BPS = 1e9
QUEUE = "1000packets"
"""NetEm's default; the paper does not give one."""
FEWER_LOSSES = 8.0
"""Divisor of the losses that would explain the paper's rates (Table 4)."""
FOLDERS = {1.0: "printed", FEWER_LOSSES: "fewer-losses"}
"""The folders of measurements, by the divisor of losses."""


@dataclass(frozen=True)
class Paper:
    """The paper's network, drawn by the seed, and ``slower``: rates are divided by it, and delays multiplied."""

    seed: int
    slower: float
    fewer_losses: float = 1.0
    """Loss ratios are divided by it."""

    @property
    def topology(self) -> Topology:
        """The ten nodes, with values within 5 % of those printed."""
        own = networks.noisy(networks.ten_nodes(), self.seed)

        def slowed(link: Link) -> Link:
            return link._replace(
                delay_s=(link.delay_s or 0) * self.slower,
                loss=(link.loss or 0) / self.fewer_losses,
                capacity_bps=round(CAPACITY_BPS / self.slower),
            )

        return replace(own, links=tuple(map(slowed, own.links)))

    def plan(self) -> LabPlan:
        """The live network, with Table 4's paths besides those of the metrics."""
        there = {f"the paper's, {metric}": {SHOWN: path, SHOWN[::-1]: path[::-1]} for metric, path in PRINTED.items()}
        cabling = cables(document_of(self.topology, QUEUE), self.seed)
        return LabPlan(cabling, networks.METRICS, keeps_routes=True, fixed=there)


def planned(chosen: Chosen, fewer_losses: float) -> Iterator[Test]:
    """The tests, by number of flows: Table 4's pair, and each pair for which TCPBP's path differs from hop-count's or delay's.

    With fewer losses it is Table 4 alone.
    """
    printed = fewer_losses == 1
    own = {metric: chosen[metric] for metric in networks.METRICS}
    differing = [
        pair
        for pair in networks.pairs(networks.ten_nodes())
        if pair != SHOWN and any(chosen[other][pair] != chosen[TCPBP][pair] for other in (HOPS, DELAY))
    ]
    for flows in FLOWS if printed else FLOWS[:1]:
        yield from each_path(chosen, [SHOWN], flows, 1)
        yield from each_path(own, differing if printed else [], flows, 1)


def worth_doing(some: Iterable[Test], log: Log) -> Iterator[Test]:
    """The tests that the log does not have, without paths that were too fast with fewer flows. The page has a row for each path, whatever ACKs take."""
    done = set(log.table.select("path", "flows").rows())
    for test in some:
        key = joined(test.path), test.flows
        same = (pl.col("path") == key[0]) & (pl.col("flows") < test.flows) & (pl.col("busy") > BUSY)
        if key not in done and log.table.filter(same).is_empty():
            done.add(key)
            yield test


def table(out: File, slower: float) -> pl.DataFrame:
    """All tests so far. ``goodput_bps`` is in the paper's time, not in that of the slower testbed."""
    parts = [
        Log(out / folder / TABLE).table.select(
            "source",
            "target",
            pl.col("path", "back").str.replace_all(" > ", "-", literal=True),
            "metrics",
            "flows",
            pl.lit(fewer).alias("fewer_losses"),
            (pl.col("goodput_bps") * slower).round(1),
            "jain",
            "retransmits",
            "busy",
        )
        for fewer, folder in FOLDERS.items()
    ]
    return pl.concat(parts)
