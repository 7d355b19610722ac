"""Judge a routing as it is: its worst-case load under a traffic model, without failures and after each.

OSPF finds new shortest paths after a failure. Given splits stay, and the paths that are left share a pair's traffic in proportion.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from anabranch import _core
from anabranch.engineering.robust.candidates import Candidates, listed
from anabranch.engineering.robust.ecmp import EqualCostPaths, LinkArrays
from anabranch.engineering.robust.errors import RobustError
from anabranch.engineering.robust.failures import AfterFailure, Failure, lost_pairs, renormalised
from anabranch.engineering.robust.network import Network
from anabranch.engineering.robust.separation import Loads, worst_loads
from anabranch.engineering.robust.splits import Crossings, Splits, crossings
from anabranch.engineering.robust.traffic import Matrices, TrafficModel
from anabranch.foundation.array_types import Floats, Integers

METRICS = ("hop-count", "ospf", "cost", "delay")
"""What OSPF may count: ``ospf`` is its default by capacity, ``cost`` that of the topology's links."""
_PICOSECONDS = 1e12

Routing = Callable[[Failure | None], tuple[Crossings, Integers]]
"""For a failure, or for none: the share of each pair that crosses each link, and the pairs without a path."""


@dataclass(frozen=True, eq=False)
class State:
    """The network without failures or after one."""

    failure: Failure | None
    loads: Loads
    matrix: int | None
    """Of an explicit set of matrices, the one of the greatest load."""
    lost_pairs: tuple[int, ...]
    """Pairs that may send, without a path though both ends work; their traffic is not carried."""

    @property
    def load(self) -> float:
        """The greatest load of a link under any matrix of the model."""
        return float(self.loads.load.max())

    @property
    def link(self) -> int:
        """The link of that load."""
        return int(self.loads.links[self.loads.worst])

    @property
    def after(self) -> AfterFailure:
        """The same as the result of other splits after a failure."""
        assert self.failure is not None
        return AfterFailure(self.failure, self.load, self.lost_pairs)


def judge(
    network: Network,
    model: TrafficModel,
    routing: Routing,
    failures: Sequence[Failure] = (),
    advance: Callable[[], None] = lambda: None,
) -> list[State]:
    """The network without failures, then after each; Ctrl-C leaves out the rest. ``advance`` is called after each failure.

    Raises:
        RobustError: a pair that may send has no path without failures.
    """
    none = Failure("", ())
    found: list[State] = []
    try:
        for failure in (None, *failures):
            crossing, without = routing(failure)
            lost = lost_pairs(model, failure or none, without, network)
            if failure is None and lost:
                more = f" (nor have {len(lost) - 1} other pairs)" if len(lost) > 1 else ""
                raise RobustError(f"{network.pair_name(lost[0])} may send, and has no path{more}")
            loads = worst_loads(network, model, crossing)
            found.append(State(failure, loads, _matrix(network, model, crossing, loads), lost))
            if failure is not None:
                advance()
    except KeyboardInterrupt:
        if not found:
            raise
    return found


def _matrix(network: Network, model: TrafficModel, crossing: Crossings, loads: Loads) -> int | None:
    if not isinstance(model, Matrices):
        return None
    pair, share = crossing.of(int(loads.links[loads.worst]))
    sums = model.matrices[:, network.pair_sources[pair], network.pair_targets[pair]] @ share
    return int(sums.argmax())


def ospf(network: Network, weights: Floats) -> Routing:
    """EqualCostPaths paths by whole weights of links, with equal-cost multipath; they are found anew after a failure."""
    links = LinkArrays(network)
    to = np.arange(network.nodes)

    def routing(failure: Failure | None) -> tuple[Crossings, Integers]:
        up = weights.astype(np.float64)
        if failure is not None:
            up[list(failure.links)] = np.inf
        shortest = EqualCostPaths.of(links, up, to)
        return _crossings(links, shortest), np.flatnonzero(
            ~np.isfinite(shortest.distance[network.pair_sources, network.pair_targets])
        )

    return routing


def _crossings(links: LinkArrays, shortest: EqualCostPaths) -> Crossings:
    network = links.network
    sources = np.eye(links.nodes)
    parts: list[tuple[Integers, Integers, Floats]] = []
    for target in range(links.nodes):
        one = EqualCostPaths(links, shortest.weights, shortest.to[[target]], shortest.distance[:, [target]])
        share = one.flows(sources[:, :, None])[..., 0]
        share[target] = 0.0
        source, link = np.nonzero(share)
        parts.append((link, source * (links.nodes - 1) + target - (target > source), share[source, link]))
    link, pair, amount = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((pair, link))
    start = np.searchsorted(link[order], np.arange(network.links + 1))
    return Crossings(start, pair[order], amount[order])


def weights_by(network: Network, metric: str) -> Floats:
    """The weights of a metric: ``hop-count``, ``ospf``, ``cost`` or ``delay`` (in picoseconds).

    Raises:
        RobustError: a link has no such value, or a cost that is no whole number.
    """
    if metric == "hop-count":
        return np.ones(network.links)
    if metric == "delay":
        return np.maximum(1.0, np.rint(network.delays * _PICOSECONDS))
    if metric == "ospf":
        return np.array([float(_core.ospf_cost(round(one)) or 1) for one in network.capacity.tolist()])
    weights = np.zeros(network.links)
    for place, link in enumerate(network.topology.links):
        name = f"{network.topology.name}: link {link.source} -> {link.target}"
        if link.cost is None:
            raise RobustError(f"{name} has no cost; anabranch weights --out writes a topology with costs")
        if link.cost != int(link.cost):
            raise RobustError(f"{name} has cost {link.cost:g}; OSPF takes whole numbers")
        weights[place] = link.cost
    return weights


def explicit(network: Network, paths: Iterable[tuple[Sequence[str], float]]) -> Routing:
    """Paths with the shares of their pairs' traffic, in any unit; shares of one path add up.

    Raises:
        RobustError: a path is none, or there is none.
    """
    shares: dict[tuple[str, ...], float] = {}
    for nodes, share in paths:
        if share > 0:
            shares[tuple(nodes)] = shares.get(tuple(nodes), 0.0) + share
    if not shares:
        raise RobustError("has no path with a share above 0")
    candidates: Candidates = listed(network, shares)
    each = np.array([shares[candidates.nodes_of(path)] for path in range(candidates.paths)])
    whole = np.bincount(candidates.pair, weights=each, minlength=network.pairs)
    splits = Splits(candidates, each / whole[candidates.pair])

    def routing(failure: Failure | None) -> tuple[Crossings, Integers]:
        if failure is None:
            return splits.crossings, np.flatnonzero(whole == 0)
        left, without = renormalised(splits, failure)
        return crossings(candidates, left), without

    return routing
