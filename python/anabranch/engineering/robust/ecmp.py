"""Loads of OSPF with equal-cost multipath, and how they change with the weight of one link.

A router sends what it has for a destination in equal parts over all its links on shortest paths (RFC 2328, section 16.1; Fortz and
Thorup, INFOCOM 2000, section II.A). A link of infinite weight is down.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anabranch.engineering.robust.network import Network
from anabranch.foundation.array_types import Booleans, Floats, Integers


class LinkArrays:
    """The links of a network, in the order of their sources and of their targets."""

    def __init__(self, network: Network) -> None:
        """Sorts them."""
        self.network = network
        self.nodes = network.nodes
        self.sources = network.sources.astype(np.int64)
        self.targets = network.targets.astype(np.int64)
        self._by_source, self._source_first, self._with_out = _groups(self.sources)
        self._by_target, self._target_first, self._with_in = _groups(self.targets)

    def least_at_source(self, values: Floats) -> Floats:
        """For each node, the least value of the links that leave it, infinite without one; values (links, columns)."""
        least = np.full((self.nodes, values.shape[-1]), np.inf)
        least[self._with_out] = np.minimum.reduceat(values[self._by_source], self._source_first, axis=0)
        return least

    def sum_at_source(self, values: Floats) -> Floats:
        """For each node, the sum of values of the links that leave it; values (links, columns)."""
        total = np.zeros((self.nodes, values.shape[-1]))
        total[self._with_out] = np.add.reduceat(values[self._by_source], self._source_first, axis=0)
        return total

    def sum_at_target(self, values: Floats) -> Floats:
        """For each node, the sum of values of the links that enter it; values (..., links, columns)."""
        total = np.zeros((*values.shape[:-2], self.nodes, values.shape[-1]))
        total[..., self._with_in, :] = np.add.reduceat(values[..., self._by_target, :], self._target_first, axis=-2)
        return total


def _groups(ends: Integers) -> tuple[Integers, Integers, Integers]:
    order = np.argsort(ends, kind="stable")
    nodes, first = np.unique(ends[order], return_index=True)
    return order, first, nodes


@dataclass(frozen=True, eq=False)
class EqualCostPaths:
    """Distances and shares for some destinations under some weights."""

    links: LinkArrays
    weights: Floats
    """Whole numbers of at least 1, or infinite; shape (links,)."""
    to: Integers
    """The destinations; shape (columns,)."""
    distance: Floats
    """From each node to each of the destinations; shape (nodes, columns)."""

    @staticmethod
    def of(links: LinkArrays, weights: Floats, to: Integers, above: Floats | None = None) -> "EqualCostPaths":
        """Bellman and Ford's iteration, from distances that are nowhere too short (``above``) or from infinite ones."""
        columns = np.arange(len(to))
        distance = np.full((links.nodes, len(to)), np.inf) if above is None else above
        distance[to, columns] = 0.0
        while True:
            shorter = links.least_at_source(weights[:, None] + distance[links.targets])
            shorter[to, columns] = 0.0
            if above is None:
                np.minimum(shorter, distance, out=shorter)
            if np.array_equal(shorter, distance):
                return EqualCostPaths(links, weights, to, distance)
            distance = shorter

    @cached_property
    def on(self) -> Booleans:
        """Whether each link is on a shortest path to each destination; shape (links, columns)."""
        links = self.links
        through = self.weights[:, None] + self.distance[links.targets]
        equal = (through == self.distance[links.sources]) & np.isfinite(through)
        on: Booleans = equal & (links.sources[:, None] != self.to)
        return on

    @cached_property
    def shares(self) -> Floats:
        """The share of its source's traffic to each destination that each link carries; shape (links, columns)."""
        ways = self.links.sum_at_source(self.on.astype(float))
        return self.on / np.maximum(1.0, ways)[self.links.sources]

    def flows(self, rates: Floats) -> Floats:
        """Bit/s of each link to each destination; ``rates`` (matrices, nodes, columns) gives (matrices, links, columns).

        What a source has for a destination that it does not reach is left out.
        """
        sources, shares = self.links.sources, self.shares
        whole = arriving = rates
        while True:
            arriving = self.links.sum_at_target(arriving[:, sources] * shares)
            if not arriving.any():
                return whole[:, sources] * shares
            whole = whole + arriving


@dataclass(frozen=True, eq=False)
class Rerouted:
    """The routes that a new weight of one link changes."""

    link: int
    weight: float
    shortest: EqualCostPaths | None
    """Those to the destinations that it concerns; nothing if it concerns none."""
    flows: Floats
    total: Floats
    """Bit/s of each link after it; shape (matrices, links)."""


class RoutedTraffic:
    """Traffic matrices on the shortest paths of one state of the network: all links up, or some down."""

    def __init__(self, links: LinkArrays, weights: Floats, rates: Floats, down: Integers) -> None:
        """``rates`` in bit/s, shape (matrices, nodes, nodes); ``down`` the links that have failed."""
        self.links = links
        self.rates = rates
        self.weights = weights.astype(np.float64)
        self.weights[down] = np.inf
        whole = EqualCostPaths.of(links, self.weights, np.arange(links.nodes))
        self.distance, self.on = whole.distance, whole.on
        self.flows = whole.flows(rates)
        """Bit/s of each link to each destination; shape (matrices, links, nodes)."""
        self.total: Floats = self.flows.sum(axis=-1)
        """Bit/s of each link; shape (matrices, links)."""

    def change(self, link: int, weight: float) -> Rerouted:
        """What another weight of a link does; links that are down stay down."""
        to, distance = self._distances(link, weight)
        if not len(to):
            return Rerouted(link, weight, None, self.flows[..., to], self.total)
        weights = self.weights.copy()
        weights[link] = weight
        shortest = EqualCostPaths(self.links, weights, to, distance)
        flows = shortest.flows(self.rates[..., to])
        total = self.total - self.flows[..., to].sum(axis=-1) + flows.sum(axis=-1)
        return Rerouted(link, weight, shortest, flows, total)

    def _distances(self, link: int, weight: float) -> tuple[Integers, Floats]:
        """The destinations to which routes change, and the distances to them."""
        source, target, before = self.links.sources[link], self.links.targets[link], self.weights[link]
        if not np.isfinite(before):
            return np.zeros(0, dtype=np.int64), np.zeros((self.links.nodes, 0))
        distance = self.distance
        to_source = distance[:, source, None]
        if weight < before:
            to = np.flatnonzero((weight + distance[target] <= distance[source]) & np.isfinite(distance[target]))
            # No shortest path to the source uses the link, so distances to the source stay.
            return to, np.minimum(distance[:, to], to_source + weight + distance[target, to])
        to = np.flatnonzero(self.on[link])
        kept = distance[:, to]
        through = to_source + before + distance[target, to] == kept
        weights = self.weights.copy()
        weights[link] = weight
        return to, EqualCostPaths.of(
            self.links, weights, to, np.where(through, kept + (weight - before), kept)
        ).distance

    def take(self, change: Rerouted) -> None:
        """Make a change."""
        if np.isfinite(self.weights[change.link]):
            self.weights[change.link] = change.weight
        if change.shortest is None:
            return
        to = change.shortest.to
        self.distance[:, to], self.on[:, to] = change.shortest.distance, change.shortest.on
        self.flows[..., to] = change.flows
        self.total = change.total
