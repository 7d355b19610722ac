"""Networks of the study, and the paths in them: the testbed in both readings and with noise, symmetric and asymmetric random networks."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise
from math import prod, sqrt
from typing import Any

import numpy as np

from anabranch.engineering.predict import round_trip
from anabranch.engineering.routes import Search
from anabranch.network import topologies
from anabranch.network.topologies import Link, Topology

Path = tuple[str, ...]
Pair = tuple[str, str]
Chosen = Mapping[str, Mapping[Pair, Path]]
"""The path of every ordered pair, by metric."""

READINGS = {"0.0040": "tcpbp10", "0.0044": "tcpbp10-d23-0.0044"}
"""Topologies by the delay between nodes 2 and 3, s. Figure 3 prints two values."""
HOPS = "hop-count, delay"
"""Hop-count, with ties broken by delay. From 1 to 10 it takes 1-5-10, as in the paper's Table 4."""
PLAIN_HOPS = "hop-count"
"""Hop-count, with ties broken by the lower node number."""
TCPBP, EXACT, DELAY = "tcpbp", "tcpbp-exact", "delay"
METRICS = (TCPBP, EXACT, DELAY, HOPS)
NOISE = 0.05
"""Figures 3 and 4: each value was emulated with an uncertainty of +-5 %."""
_MOST_TIES = 32


@cache
def ten_nodes(reading: str = "0.0040") -> Topology:
    """The paper's ten nodes."""
    return topologies.load(READINGS[reading])


def pairs(topology: Topology) -> list[Pair]:
    """The pairs of nodes, each in one direction: the paper's (n^2 - n) / 2 routes."""
    return list(combinations((node.name for node in topology.nodes), 2))


def cables(topology: Topology) -> list[Pair]:
    """The pairs of neighbours, each in one direction."""
    ends = {(link.source, link.target) for link in topology.links}
    return [pair for pair in pairs(topology) if pair in ends]


def noisy(topology: Topology, seed: int) -> Topology:
    """The network with delay and loss of every cable drawn uniformly within the noise, the same in both directions."""
    draws = np.random.default_rng(seed)
    factors = {pair: draws.uniform(1 - NOISE, 1 + NOISE, 2) for pair in cables(topology)}

    def changed(link: Link) -> Link:
        delay, loss = _either_way(factors, link)
        return link._replace(delay_s=(link.delay_s or 0) * delay, loss=(link.loss or 0) * loss)

    return replace(topology, links=tuple(changed(link) for link in topology.links))


def drawn(topology: Topology, seed: int, *, symmetric: bool, delays: bool = True) -> Topology:
    """The network with losses (and delays) uniform over the testbed's range: drawn for each direction, or the same in both.

    The first direction of a cable has the same values in both kinds of network.
    """
    own = ten_nodes().links
    ranges = [
        (min(getattr(link, name) for link in own), max(getattr(link, name) for link in own))
        for name in ("delay_s", "loss")
    ]
    draws = np.random.default_rng(seed)
    there = {pair: [draws.uniform(*bounds) for bounds in ranges] for pair in cables(topology)}
    back = {(target, source): [draws.uniform(*bounds) for bounds in ranges] for source, target in there}
    values = there if symmetric else there | back

    def changed(link: Link) -> Link:
        delay, loss = _either_way(values, link)
        return link._replace(delay_s=delay if delays else link.delay_s, loss=loss)

    return replace(topology, links=tuple(changed(link) for link in topology.links))


def _either_way(values: Mapping[Pair, Any], link: Link) -> Any:
    own = values.get((link.source, link.target))
    return values[link.target, link.source] if own is None else own


def chosen(topology: Topology, metrics: Iterable[str] = METRICS) -> Chosen:
    """The paths that these metrics choose."""
    search = Search(topology)
    return {
        metric: {(route.source, route.target): route.paths[0].nodes for route in search.routes(metric).routes}
        for metric in metrics
    }


def fewest_hops(topology: Topology) -> dict[Pair, list[Path]]:
    """All paths with the fewest links, for each pair."""
    found = {}
    for route in Search(topology).shortest(PLAIN_HOPS, _MOST_TIES).routes:
        least = min(len(path.nodes) for path in route.paths)
        found[route.source, route.target] = [path.nodes for path in route.paths if len(path.nodes) == least]
    return {pair: found[pair] for pair in pairs(topology)}


def law(topology: Topology) -> Callable[..., float]:
    """The paper's equation 2, 1 / (RTT sqrt(p)) in 1/s, as a function of a path and its way back (the reversed path by default)."""
    links = {(link.source, link.target): link for link in topology.links}

    def one_way(path: Path) -> tuple[float, float]:
        hops = [links[hop] for hop in pairwise(path)]
        return sum(link.delay_s or 0 for link in hops), 1 - prod(1 - (link.loss or 0) for link in hops)

    def rate(there: Path, back: Path | None = None) -> float:
        rtt, loss = round_trip(*one_way(there), *one_way(back or there[::-1]))
        return float(1 / (rtt * sqrt(loss)))

    return rate


def name(path: Path) -> str:
    """The path as text, such as 1-5-10."""
    return "-".join(path)
