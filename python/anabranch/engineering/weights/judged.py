"""The loads of given weights: without failures and after each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from anabranch.engineering.robust.ecmp import EqualCostPaths, LinkArrays
from anabranch.engineering.robust.failures import AfterFailure, Failure
from anabranch.engineering.robust.network import Network
from anabranch.foundation.array_types import Floats
from anabranch.network.topologies import Topology

LARGEST_WEIGHT = 65535
"""OSPF's largest interface cost (RFC 2328, appendix C.3)."""


@dataclass(frozen=True, eq=False)
class Judged:
    """One setting of weights under some matrices."""

    name: str
    weights: Floats
    """Shape (links,)."""
    loads: Floats
    """The greatest utilisation of a link under each matrix, without failures; shape (matrices,)."""
    link: int
    """The link of the greatest load without failures."""
    after: tuple[AfterFailure, ...]
    """The greatest load over all matrices after each failure. Lost pairs are those of some matrix."""

    @property
    def load_before(self) -> float:
        """The greatest load without failures."""
        return float(self.loads.max())

    @property
    def load(self) -> float:
        """The greatest load, without failures and after each."""
        return max([self.load_before, *(one.load for one in self.after)])

    @property
    def worst_failure(self) -> AfterFailure | None:
        """The failure of the greatest load, if there are failures."""
        return max(self.after, key=lambda one: one.load, default=None)


def judge(links: LinkArrays, name: str, weights: Floats, rates: Floats, failures: Sequence[Failure] = ()) -> Judged:
    """The loads that weights make; ``rates`` in bit/s, shape (matrices, nodes, nodes).

    After a failure, routers take the shortest paths that are left. Traffic without a path is lost and loads nothing.
    """
    network = links.network
    load = _loads(links, weights, rates)[0]
    after = []
    for failure in failures:
        down = weights.copy()
        down[list(failure.links)] = np.inf
        failed, shortest = _loads(links, down, rates)
        cut = ~np.isfinite(shortest.distance) & (rates > 0).any(axis=0)
        cut[list(failure.nodes)] = False
        cut[:, list(failure.nodes)] = False
        lost = tuple(network.pair(int(source), int(target)) for source, target in np.argwhere(cut))
        after.append(AfterFailure(failure, float(failed.max()), lost))
    return Judged(name, weights, load.max(axis=1), int(load.max(axis=0).argmax()), tuple(after))


def _loads(links: LinkArrays, weights: Floats, rates: Floats) -> tuple[Floats, EqualCostPaths]:
    shortest = EqualCostPaths.of(links, weights, np.arange(links.nodes))
    total = np.stack([shortest.flows(one[None])[0].sum(axis=-1) for one in rates])
    return total / links.network.capacity, shortest


def inverse_capacity(network: Network, largest: int = LARGEST_WEIGHT) -> Floats:
    """OSPF's usual weights: the largest capacity over that of the link, rounded down, from 1 to ``largest``."""
    weights: Floats = np.clip(np.floor(network.capacity.max() / network.capacity), 1, largest)
    return weights


def with_costs(network: Network, weights: Floats) -> Topology:
    """The topology with the capacities of the network, and the weights as costs of its links."""
    return replace(
        network.topology,
        links=tuple(
            link._replace(capacity_bps=round(capacity), cost=int(weight))
            for link, capacity, weight in zip(
                network.topology.links, network.capacity.tolist(), weights.tolist(), strict=True
            )
        ),
    )
