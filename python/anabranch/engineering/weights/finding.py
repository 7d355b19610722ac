"""Find weights, and put them beside hop count, inverse capacity and the optimal flow."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anabranch.engineering.robust.ecmp import EqualCostPaths, LinkArrays
from anabranch.engineering.robust.errors import RobustError
from anabranch.engineering.robust.failures import Failure
from anabranch.engineering.robust.lp import OutOfTime
from anabranch.engineering.robust.network import Network
from anabranch.engineering.weights.flow import bound_of, optimal_flow
from anabranch.engineering.weights.judged import LARGEST_WEIGHT, Judged, inverse_capacity, judge
from anabranch.engineering.weights.search import GAP, Report, WeightSearch
from anabranch.foundation.array_types import Floats, Integers

_CASES = 64
"""Of how many matrices and failures the search holds the flows, about."""
_MOST_NUMBERS = 2**28
"""The most numbers that a search holds: 2 GiB."""
_SHARE_OF_FLOWS = 0.3
"""The most of the time that optimal flows take."""


@dataclass(frozen=True, eq=False)
class Found:
    """The weights found, and what they are compared with."""

    network: Network
    judged: tuple[Judged, ...]
    """Hop count, inverse capacity, and last the weights found."""
    optimum_before: float
    """The greatest load of the optimal flows of the matrices without failures."""
    optimum: float
    """The greatest load of the optimal flows: each matrix, without failures and after each, routed for itself alone."""
    lower_bound: float
    """No routing has a smaller greatest load, by prices of links (weak duality)."""
    flows: int
    """Of how many matrices and failures the optimal flow was computed in time."""
    wanted_flows: int
    tries: int
    interrupted: bool

    @property
    def best(self) -> Judged:
        """The weights found."""
        return self.judged[-1]

    def of(self, name: str) -> Judged:
        """The weights of this name: ``hop-count``, ``inverse-capacity`` or ``found``."""
        return next(one for one in self.judged if one.name == name)


def silent(load: float, tries: int) -> None:
    """Report nothing."""


def find(
    network: Network,
    matrices: Sequence[Floats],
    failures: Sequence[Failure] = (),
    *,
    largest: int = LARGEST_WEIGHT,
    limit_s: float = 10.0,
    gap: float = GAP,
    seed: int = 1,
    report: Report = silent,
) -> Found:
    """Weights that make the greatest link utilisation small, over all matrices, without failures and after each.

    Args:
        network: the links; each direction has its own weight.
        matrices: bit/s, each of shape (nodes, nodes).
        failures: routers take the shortest paths that are left; traffic without one is lost and loads nothing.
        largest: the greatest weight.
        limit_s: seconds that the search takes at most.
        gap: the search ends sooner if the greatest load is within this share of the lower bound.
        seed: of the search. The answer depends on the time as well.
        report: is told how far the search is.

    Raises:
        RobustError: there is no traffic, a pair with traffic has no path, or the search would need too much memory.
    """
    began = time.monotonic()
    links = LinkArrays(network)
    rates = np.stack([np.where(np.eye(network.nodes, dtype=bool), 0.0, matrix) for matrix in matrices])
    _check(links, rates, len(failures) + 1)
    down: list[Integers] = [np.zeros(0, dtype=np.int64), *(np.array(failure.links) for failure in failures)]
    starts = {"hop-count": np.ones(network.links), "inverse-capacity": inverse_capacity(network, largest)}
    judged = [judge(links, name, weights, rates, failures) for name, weights in starts.items()]
    states = _heaviest(judged[0], len(rates))
    ones = np.ones(network.links)
    before, optimum, flows = 0.0, 0.0, 0
    bound = whole = max(bound_of(links, one, ones, ones > 0) for one in rates)
    best, tries, interrupted = min(judged, key=lambda one: one.load).weights, 0, False
    try:
        for state, matrix in states:
            up = np.ones(network.links, dtype=bool)
            up[down[state]] = False
            try:
                found = optimal_flow(links, rates[matrix], up, began + _SHARE_OF_FLOWS * limit_s - time.monotonic())
            except OutOfTime:
                break
            optimum, bound, flows = max(optimum, found.load), max(bound, found.lower_bound), flows + 1
            before, whole = (optimum, bound) if state == 0 else (before, whole)
        search = WeightSearch(links, rates, down, (bound, whole), largest, seed)
        end = search.run(list(starts.values()), began + limit_s - time.monotonic(), gap, report)
        best, tries, interrupted = end.weights, end.tries, end.interrupted
    except KeyboardInterrupt:
        interrupted = True
    judged.append(judge(links, "found", best, rates, failures))
    return Found(network, tuple(judged), before, optimum, bound, flows, len(states), tries, interrupted)


def _heaviest(judged: Judged, matrices: int) -> list[tuple[int, int]]:
    """All states and matrices, those without failures first, then the failures of the greatest load first."""
    order = sorted(range(len(judged.after)), key=lambda place: -judged.after[place].load)
    return [(state, matrix) for state in (0, *(place + 1 for place in order)) for matrix in range(matrices)]


def _check(links: LinkArrays, rates: Floats, states: int) -> None:
    network = links.network
    if not rates.any():
        raise RobustError("there is no traffic: every pair sends 0 bit/s")
    unreached = ~np.isfinite(EqualCostPaths.of(links, np.ones(network.links), np.arange(network.nodes)).distance)
    cut = np.argwhere(unreached & rates.any(axis=0))
    if len(cut):
        source, target = (network.names[int(end)] for end in cut[0])
        raise RobustError(f"{network.topology.name}: {source} -> {target} has traffic, but no path")
    numbers = min(states * len(rates), _CASES) * network.links * network.nodes
    if numbers > _MOST_NUMBERS:
        raise RobustError(
            f"{states - 1} failures, {len(rates)} matrices, {network.links} links and {network.nodes} nodes: the search "
            f"would hold {numbers:.2g} numbers, more than {_MOST_NUMBERS:.2g}; give fewer failures or matrices"
        )
