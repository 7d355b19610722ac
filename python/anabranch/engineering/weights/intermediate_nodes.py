"""Two-segment routing: traffic goes to its destination directly, or first to one intermediate node, so packets have at most two labels.

Each segment follows equal-cost multipath by given weights. No packet passes a node twice. The shares of intermediate nodes that make the greatest utilisation least are a
linear program (Bhatia, Hao, Kodialam and Lakshman, "Optimized Network Traffic Engineering using Segment Routing", INFOCOM 2015). It is solved
by column generation: the prices of links tell which intermediate node would be cheaper. They also prove a lower bound.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from anabranch.engineering.robust.ecmp import EqualCostPaths, LinkArrays
from anabranch.engineering.robust.errors import RobustError
from anabranch.engineering.robust.failures import Failure
from anabranch.engineering.robust.judging import Routing
from anabranch.engineering.robust.lp import LinearProgram, OutOfTime
from anabranch.engineering.robust.network import Network
from anabranch.engineering.robust.splits import Crossings
from anabranch.foundation.array_types import Booleans, Floats, Integers

GAP = 1e-4
_MOST_NUMBERS = 2**27
"""The most shares of links that are held: 1 GiB."""
_SMALLEST_SHARE = 1e-6


@dataclass(frozen=True, eq=False)
class TwoSegments:
    """Shares of the traffic of pairs over intermediate nodes; what is not listed goes directly."""

    network: Network
    weights: Floats
    sources: Integers
    targets: Integers
    via: Integers
    """The intermediate node of each entry; the destination where it is direct."""
    shares: Floats
    """Of each entry; those of a pair add up to 1."""
    loads: Floats
    """The greatest utilisation of a link under each matrix."""
    lower_bound: float
    """No shares over intermediate nodes have a smaller greatest utilisation with these weights, if no packet passes a node twice."""

    @property
    def load(self) -> float:
        """The greatest utilisation of a link."""
        return float(self.loads.max())

    @property
    def routed(self) -> int:
        """How many pairs have an intermediate node for some of their traffic."""
        detour = self.via != self.targets
        return len(np.unique(self.sources[detour] * self.network.nodes + self.targets[detour]))

    def records(self) -> list[dict[str, Any]]:
        """For each pair with traffic the intermediate nodes (``None`` for none) with the fractions of its traffic, for JSON."""
        names, found = self.network.names, dict[tuple[int, int], list[dict[str, Any]]]()
        entries = zip(*(one.tolist() for one in (self.sources, self.targets, self.via, self.shares)), strict=True)
        for source, target, via, share in sorted(entries):
            node = None if via == target else names[via]
            found.setdefault((source, target), []).append({"node": node, "fraction": share})
        return [{"src": names[source], "dst": names[target], "via": ways} for (source, target), ways in found.items()]

    @property
    def by_pair(self) -> dict[tuple[str, str], list[tuple[str | None, float]]]:
        """The intermediate nodes (``None`` for none) and fractions by source and destination, as an export takes them."""
        return {
            (one["src"], one["dst"]): [(way["node"], way["fraction"]) for way in one["via"]] for one in self.records()
        }

    def routing(self) -> Routing:
        """Where packets go, to be judged, also after failures.

        Routers find new shortest paths for each segment. Intermediate nodes that no longer lead to the destination leave their share to the
        others, and to the direct way if there are none.
        """
        return routing(self.network, self.weights, (self.sources, self.targets, self.via, self.shares))


def routing(network: Network, weights: Floats, entries: tuple[Integers, Integers, Integers, Floats]) -> Routing:
    """The routing of entries with source, destination, intermediate node (or the destination again) and share; other pairs go directly."""
    links = LinkArrays(network)
    sources, targets, via, shares = entries
    pair = sources * (network.nodes - 1) + targets - (targets > sources)

    def of(failure: Failure | None) -> tuple[Crossings, Integers]:
        up = weights.astype(np.float64)
        if failure is not None:
            up[list(failure.links)] = np.inf
        flows = unit_flows(links, up)
        distance = EqualCostPaths.of(links, up, np.arange(network.nodes)).distance
        crossing = flows[:, network.pair_sources, network.pair_targets]
        whole = np.isfinite(distance[sources, via]) & np.isfinite(distance[via, targets])
        left = np.bincount(pair[whole], weights=shares[whole], minlength=network.pairs)
        crossing[:, left > 0] = 0.0
        used = np.flatnonzero(whole)
        part = (shares[used] / left[pair[used]]) * (
            flows[:, sources[used], via[used]] + flows[:, via[used], targets[used]]
        )
        np.add.at(crossing.T, pair[used], part.T)
        link, which = np.nonzero(crossing)
        start = np.searchsorted(link, np.arange(network.links + 1))
        without = np.flatnonzero(~np.isfinite(distance[network.pair_sources, network.pair_targets]))
        return Crossings(start, which, crossing[link, which]), without

    return of


def unit_flows(links: LinkArrays, weights: Floats) -> Floats:
    """The share of the traffic between two nodes that crosses each link, shape (links, nodes, nodes).

    Raises:
        RobustError: they would need too much memory.
    """
    network = links.network
    if network.links * network.nodes**2 > _MOST_NUMBERS:
        raise RobustError(
            f"{network.topology.name}: two segments need a share for each of {network.links} links and {network.nodes**2} pairs, "
            f"more than {_MOST_NUMBERS:.2g} numbers"
        )
    every = np.arange(network.nodes)
    shortest = EqualCostPaths.of(links, weights, every)
    flows = np.zeros((network.links, network.nodes, network.nodes))
    for target in range(network.nodes):
        one = EqualCostPaths(links, weights, every[[target]], shortest.distance[:, [target]])
        flows[:, :, target] = one.flows(np.eye(network.nodes)[:, :, None])[..., 0].T
        flows[:, target, target] = 0.0
    return flows


def loopless(distance: Floats, sources: Integers, targets: Integers) -> Booleans:
    """For each pair and intermediate node whether no packet passes a node twice, shape (pairs, nodes); ``distance`` from node to node."""
    allowed = np.zeros((len(sources), len(distance)), dtype=bool)
    for via in range(len(distance)):
        # nodes on some shortest path to, and from, the intermediate node, itself apart
        before = np.isfinite(distance[:, [via]]) & (distance + distance[:, via] == distance[:, [via]])
        after = np.isfinite(distance[[via]].T) & (distance[via][None] + distance.T == distance[via][:, None])
        before[:, via] = after[:, via] = False
        reached = np.isfinite(distance[sources, via]) & np.isfinite(distance[via, targets])
        allowed[:, via] = reached & ~(before[sources] & after[targets]).any(axis=1)
    return allowed


def two_segments(
    network: Network, weights: Floats, rates: Floats, limit_s: float = np.inf, gap: float = GAP
) -> TwoSegments:
    """The shares of intermediate nodes whose greatest utilisation over all matrices is least; ``rates`` has shape (matrices, nodes, nodes), bit/s.

    Within ``limit_s`` seconds, or until load and bound differ by at most the share ``gap``; after that time, the best so far.

    Raises:
        RobustError: there is no traffic, a pair with traffic has no path, or the network is too large.
    """
    ends_s = time.monotonic() + limit_s
    links = LinkArrays(network)
    rates = np.where(np.eye(network.nodes, dtype=bool), 0.0, rates)
    sources, targets = np.nonzero(rates.any(axis=0))
    if not len(sources):
        raise RobustError("there is no traffic: every pair sends 0 bit/s")
    flows = unit_flows(links, weights)
    distance = EqualCostPaths.of(links, weights, np.arange(network.nodes)).distance
    amounts = rates[:, sources, targets]
    if not np.isfinite(distance[sources, targets]).all():
        cut = int(np.argmax(~np.isfinite(distance[sources, targets])))
        raise RobustError(
            f"{network.topology.name}: {network.names[sources[cut]]} -> {network.names[targets[cut]]} has traffic, but no path"
        )
    allowed = loopless(distance, sources, targets)
    pair, via = np.arange(len(sources)), targets.copy()
    best, bound = (pair, via, np.ones(len(pair))), 0.0
    least = _loads(network, flows, amounts, sources, targets, *best).max()
    while True:
        try:
            shares, prices = _solved(
                network, flows, amounts, (sources, targets), (pair, via), ends_s - time.monotonic()
            )
        except OutOfTime:
            break
        load = _loads(network, flows, amounts, sources, targets, pair, via, shares).max()
        if load < least:
            best, least = (pair, via, shares), load
        toll = np.tensordot(prices, flows, axes=(1, 0))
        costs = np.einsum("kp,kpm->pm", amounts, toll[:, sources] + toll[:, :, targets].transpose(0, 2, 1))
        costs = np.where(allowed, costs, np.inf)
        cheapest = costs.argmin(axis=1)
        bound = max(bound, float(costs.min(axis=1).sum() / (prices.sum(axis=0) @ network.capacity)))
        known = np.full(len(sources), np.inf)
        np.minimum.at(known, pair, costs[pair, via])
        better = np.flatnonzero(costs.min(axis=1) < known * (1 - 1e-9))
        if least - bound <= gap * least or not len(better):
            break
        pair, via = np.concatenate((pair, better)), np.concatenate((via, cheapest[better]))
    pair, via, shares = best
    used = shares > _SMALLEST_SHARE
    pair, via, shares = pair[used], via[used], shares[used]
    shares = shares / np.bincount(pair, weights=shares)[pair]
    loads = _loads(network, flows, amounts, sources, targets, pair, via, shares).max(axis=1)
    return TwoSegments(
        network, weights, sources[pair], targets[pair], via, shares, loads, min(bound, float(loads.max()))
    )


def _loads(
    network: Network,
    flows: Floats,
    amounts: Floats,
    sources: Integers,
    targets: Integers,
    pair: Integers,
    via: Integers,
    shares: Floats,
) -> Floats:
    """The utilisation of each link under each matrix, shape (matrices, links)."""
    crossing = flows[:, sources[pair], via] + flows[:, via, targets[pair]]
    loads: Floats = (amounts[:, pair] * shares) @ crossing.T / network.capacity
    return loads


def _solved(
    network: Network,
    flows: Floats,
    amounts: Floats,
    ends: tuple[Integers, Integers],
    columns: tuple[Integers, Integers],
    limit_s: float,
) -> tuple[Floats, Floats]:
    """The shares of some intermediate nodes, and a price for each matrix and link."""
    pair, via = columns
    sources, targets = ends[0][pair], ends[1][pair]
    largest, total = float(network.capacity.max()), float(amounts.sum(axis=1).max())
    program = LinearProgram()
    share = program.add_columns(len(pair))
    load = program.add_columns(1, 1.0)
    whole = program.add_rows(np.ones(len(ends[0])), np.ones(len(ends[0])))
    program.add_entries(whole + pair, share + np.arange(len(pair)), 1.0)
    crossing = flows[:, sources, via] + flows[:, via, targets]
    link, column = np.nonzero(crossing)
    full = program.add_rows(np.full(len(amounts) * network.links, -np.inf), np.zeros(len(amounts) * network.links))
    for number, amount in enumerate(amounts / total):
        first = full + number * network.links
        some = amount[pair[column]] > 0
        program.add_entries(
            first + link[some], share + column[some], (crossing[link, column] * amount[pair[column]])[some]
        )
        program.add_entries(first + np.arange(network.links), np.full(network.links, load), -network.capacity / largest)
    optimum = program.solve("simplex", limit_s=limit_s)
    prices = np.maximum(0.0, -optimum.row_duals[full:]).reshape(len(amounts), network.links)
    return np.maximum(0.0, optimum.columns[share : share + len(pair)]), prices
