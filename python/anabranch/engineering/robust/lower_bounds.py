"""Lower bounds on the worst-case load of any routing, from weighted traffic matrices alone.

Let each link ``l`` have a weight ``v_l`` with ``sum c_l v_l = 1`` and a traffic matrix ``T_l`` of the model. The worst-case
load of a routing is at least the weighted mean ``sum_l v_l (traffic of T_l over l)``. This mean is least if each pair takes the path
of least ``sum_l v_l T_l(pair)`` over its links. So any weights and matrices prove a bound, however they were found: weak duality
of equations 9 to 14.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from anabranch import _core
from anabranch.engineering.robust.blocks import Weighted
from anabranch.engineering.robust.candidates import Candidates
from anabranch.engineering.robust.network import Network
from anabranch.engineering.robust.traffic import Bounds, TrafficModel
from anabranch.foundation.array_types import Floats, Integers

_TABLE = 2**22
"""The most numbers in a table of prices: with a row of all links for every pair, 300 nodes would need gigabytes."""


class LinkPrices(Protocol):
    """A price of each link for each pair, in tables of a few pairs."""

    def scaled(self, pairs: slice) -> Floats:
        """The prices of these pairs; shape (pairs, links)."""

    def parts(self) -> Iterator[slice]:
        """All pairs, in parts whose table has a bounded size."""


@dataclass(frozen=True, eq=False)
class Prices:
    """The price of each link for each pair, made for a few pairs at a time."""

    network: Network
    paid: float
    """The sum of weights times capacities, by which the prices are divided to make a bound."""
    start: Integers
    """Where each pair's entries begin; shape (pairs + 1,)."""
    link: Integers
    amount: Floats
    """The amount of each entry; bit/s."""
    least: Floats
    """The least traffic of each pair, bit/s; it costs the weight on every link."""
    weight: Floats
    """The weight of each link."""
    of_matrix: Floats
    """The weight of each matrix of an explicit set on each link; shape (links, matrices)."""
    of_pair: Floats
    """The traffic of each pair in each of these matrices; shape (matrices, pairs)."""

    def table(self, pairs: slice) -> Floats:
        """The prices before scaling; shape (pairs, links)."""
        if len(self.of_pair):
            product: Floats = (self.of_matrix @ self.of_pair[:, pairs]).T
            return product
        start = self.start[pairs.start : pairs.stop + 1]
        entries = slice(start[0], start[-1])
        found = np.zeros((len(start) - 1, self.network.links))
        found[np.repeat(np.arange(len(start) - 1), np.diff(start)), self.link[entries]] = self.amount[entries]
        if self.least.any():
            found += self.least[pairs, None] * self.weight[None, :]
        return found

    def scaled(self, pairs: slice) -> Floats:
        """The prices by which the cheapest paths of all pairs add up to a lower bound; shape (pairs, links)."""
        found = self.table(pairs)
        return found / self.paid if self.paid > 0 else found

    def parts(self) -> Iterator[slice]:
        """All pairs, in parts whose table has a bounded size."""
        return _parts(self.network.pairs, self.network.links)


@dataclass(frozen=True, eq=False)
class Costs:
    """The cost of each link for each pair, and the prices of weighted matrices beside it."""

    cost: Floats
    """Shape (pairs, links)."""
    prices: Prices | None = None
    scale: float = 1.0
    """What the prices are divided by."""

    def scaled(self, pairs: slice) -> Floats:
        """The sum of cost and price; shape (pairs, links)."""
        found = self.cost[pairs]
        return found if self.prices is None else found + self.prices.table(pairs) / self.scale

    def parts(self) -> Iterator[slice]:
        """All pairs, in parts whose table has a bounded size."""
        return _parts(*self.cost.shape)


def _parts(pairs: int, links: int) -> Iterator[slice]:
    step = max(1, _TABLE // links)
    for first in range(0, pairs, step):
        yield slice(first, min(first + step, pairs))


def prices(network: Network, model: TrafficModel, weighted: Weighted) -> Prices:
    """The prices of weighted matrices.

    The weights of the links are the least that keep the matrices within the model. If the model has a least traffic of pairs,
    a link may have a greater weight, with this least traffic alone.
    """
    weight = np.zeros(network.links)
    none = np.zeros(0)
    if not isinstance(model, Bounds):
        np.add.at(weight, weighted.link, weighted.amount)
        of_pair = model.matrices[:, network.pair_sources, network.pair_targets]
        of_matrix = np.zeros((network.links, len(model.matrices)))
        np.add.at(of_matrix, (weighted.link, weighted.pair), weighted.amount)
        start = np.zeros(network.pairs + 1, dtype=int)
        paid = float(network.capacity @ weight)
        return Prices(network, paid, start, none.astype(int), none, none, weight, of_matrix, of_pair)
    above = model.above
    ends = network.pair_sources, network.pair_targets
    upper = np.minimum(above.upper[ends], np.minimum(above.rows[ends[0]], above.columns[ends[1]]))
    possible = (weighted.amount > 0) & (upper[weighted.pair] > 0)
    key, place = np.unique(weighted.pair[possible] * network.links + weighted.link[possible], return_inverse=True)
    amount = np.bincount(place, weights=weighted.amount[possible], minlength=len(key)).astype(float)
    pair, link = key // network.links, key % network.links
    np.maximum.at(weight, link, amount / upper[pair])
    for end, bound in zip(ends, (above.rows, above.columns), strict=True):
        line = link * network.nodes + end[pair]
        total = np.bincount(line, weights=amount, minlength=network.links * network.nodes)
        total = total.reshape(network.links, network.nodes)
        needed = np.divide(total, bound, out=np.zeros(total.shape), where=total > 0)
        weight = np.maximum(weight, needed.max(axis=1))
    least = model.lower[ends]
    if least.any():
        weight = np.maximum(weight, weighted.weight)
    start = np.searchsorted(pair, np.arange(network.pairs + 1))
    empty = np.zeros((network.links, 0)), np.zeros((0, network.pairs))
    return Prices(network, float(network.capacity @ weight), start, link, amount, least, weight, *empty)


def of_paths(candidates: Candidates, parts: Iterable[slice], table: Callable[[slice], Floats]) -> Floats:
    """The price of each path, from tables of the links' prices for these parts of all pairs."""
    found = np.zeros(candidates.paths)
    start = candidates.start.astype(np.int64)
    for pairs in parts:
        first, end = candidates.first[pairs.start], candidates.first[pairs.stop]
        if first < end:
            row = np.repeat(candidates.pair[first:end].astype(np.int64) - pairs.start, candidates.hops[first:end])
            each = table(pairs)[row, candidates.path_links[start[first] : start[end]]]
            found[first:end] = np.add.reduceat(each, start[first:end] - start[first])
    return found


def over_candidates(candidates: Candidates, priced: LinkPrices) -> tuple[float, Floats]:
    """The lower bound if only the candidates may be taken, and the price of each path."""
    of_path = of_paths(candidates, priced.parts(), priced.scaled)
    return float(np.minimum.reduceat(of_path, candidates.first[:-1]).sum()), of_path


def over_all_paths(network: Network, priced: LinkPrices) -> tuple[float, Floats, tuple[Integers, Integers, Integers]]:
    """The lower bound if any path may be taken, the least price of each pair, and a path of that price."""
    least, pair, hops, links = [], [], [], []
    for pairs in priced.parts():
        price, (place, start, path_links) = _core.cheapest_paths(
            network.nodes,
            network.sources,
            network.targets,
            network.pair_sources[pairs],
            network.pair_targets[pairs],
            np.ascontiguousarray(priced.scaled(pairs)).reshape(-1),
        )
        least.append(price)
        pair.append(place + np.uint32(pairs.start))
        hops.append(np.diff(start))
        links.append(path_links)
    begins = np.concatenate(([0], np.cumsum(np.concatenate(hops)))).astype(np.uint32)
    whole = np.concatenate(least)
    return float(whole.sum()), whole, (np.concatenate(pair), begins, np.concatenate(links))
