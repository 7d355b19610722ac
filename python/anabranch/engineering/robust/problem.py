"""A question of robust routing, and the best answer so far with its certificate."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anabranch.engineering.robust import lower_bounds
from anabranch.engineering.robust.blocks import Weighted
from anabranch.engineering.robust.candidates import Candidates, shortest
from anabranch.engineering.robust.errors import RobustError
from anabranch.engineering.robust.network import Network
from anabranch.engineering.robust.separation import Loads, worst_loads
from anabranch.engineering.robust.splits import Splits
from anabranch.engineering.robust.traffic import Bounds, TrafficModel
from anabranch.foundation.array_types import Booleans, Floats, Integers

Report = Callable[[float, float, str], None]
"""Takes the lower and the upper bound on the worst-case load, and what is being done."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Over which paths to split the traffic of each pair, so that the worst case of the model loads no link more than need be."""

    network: Network
    model: TrafficModel
    candidates: Candidates
    """The paths to choose from, or, with ``all_paths``, some to begin with."""
    all_paths: bool = False

    @staticmethod
    def over_all_paths(network: Network, model: TrafficModel) -> "Problem":
        """Any path may be taken."""
        return Problem(network, model, shortest(network, 2), all_paths=True)

    @cached_property
    def scale(self) -> float:
        """Bit/s that make the numbers of the programs be about one."""
        return float(self.model.largest.max())

    @cached_property
    def sending(self) -> Booleans:
        """For each pair, whether it sends traffic in any matrix of the model."""
        some: Booleans = self.model.largest[self.network.pair_sources, self.network.pair_targets] > 0
        return some

    @cached_property
    def load_scale(self) -> float:
        """Load that makes the load of the programs be about one: solvers count what is below 1e-7 as nothing.

        It is a power of a thousand, so that loads of the usual size count as they are.
        """
        return 1000.0 ** round(math.log10(self.nodes_proof.bound) / 3)

    @cached_property
    def nodes_proof(self) -> "Proof":
        """The greatest bound of a node's own links: the most that it may send (receive) over the capacity that leaves (enters) it."""
        return _nodes_proof(self)

    def check(self) -> None:
        """Refuse a model without traffic.

        Raises:
            RobustError: every pair may send 0 bit/s at most.
        """
        if not self.scale > 0:
            raise RobustError("the traffic model has no traffic: every pair may send 0 bit/s at most")


_EQUAL = 1e-9
"""Loads whose relative difference is smaller are equal: rounding leaves as much."""


@dataclass(frozen=True, eq=False)
class Proof:
    """Why no routing over the paths to choose from has a smaller worst-case load."""

    bound: float
    weighted: Weighted


class Best:
    """The best routing and the best lower bound so far; both recomputed from the splits and the dual values alone."""

    def __init__(self, problem: Problem, report: Report, limit_s: float = np.inf) -> None:
        """Begins with all traffic on first paths, and with the bounds of the nodes' own links."""
        self._ends = time.monotonic() + limit_s
        self.problem = problem
        self._report = report
        self.proof = problem.nodes_proof
        self.splits = Splits.first_paths(problem.candidates)
        self.loads = worst_loads(problem.network, problem.model, self.splits.crossings)

    @property
    def upper(self) -> float:
        """The worst-case load of the best routing."""
        return float(self.loads.load.max())

    @property
    def gap(self) -> float:
        """The gap of the bounds, relative to the upper one."""
        return relative_gap(self.proof.bound, self.upper)

    @property
    def left_s(self) -> float:
        """How much time is left."""
        return self._ends - time.monotonic()

    def offer(self, splits: Splits) -> Loads:
        """A routing that may be better."""
        loads = worst_loads(self.problem.network, self.problem.model, splits.crossings)
        if loads.load.max() < self.upper * (1 - _EQUAL):  # of equally good ones, the first
            self.splits, self.loads = splits, loads
        return loads

    def bound(self, weighted: Weighted) -> None:
        """Traffic that may prove a better bound."""
        proved = prove(self.problem, weighted)
        if proved.bound > self.proof.bound:
            self.proof = proved

    def say(self, what: str) -> None:
        """Show how far it is."""
        self._report(self.proof.bound, self.upper, what)


def relative_gap(lower: float, upper: float) -> float:
    """``(upper - lower) / upper``, not below 0."""
    return max(0.0, (upper - lower) / upper) if upper > 0 else 0.0


def prove(problem: Problem, weighted: Weighted) -> Proof:
    """The lower bound that weighted traffic proves."""
    priced = lower_bounds.prices(problem.network, problem.model, weighted)
    if problem.all_paths:
        return Proof(lower_bounds.over_all_paths(problem.network, priced)[0], weighted)
    return Proof(lower_bounds.over_candidates(problem.candidates, priced)[0], weighted)


def _nodes_proof(problem: Problem) -> Proof:
    network, model = problem.network, problem.model
    none = np.zeros(0, dtype=int)
    best, proof = 0.0, Proof(0.0, Weighted(none, none, np.zeros(0), np.zeros(network.links)))
    for ends, pair_ends in ((network.sources, network.pair_sources), (network.targets, network.pair_targets)):
        capacity = np.bincount(ends, weights=network.capacity, minlength=network.nodes)
        for node in range(network.nodes):
            pairs = np.flatnonzero(pair_ends == node)
            if isinstance(model, Bounds):
                amount, which = _fullest(model, network, pairs)
                whole = amount.sum() + model.lower[network.pair_sources[pairs], network.pair_targets[pairs]].sum()
            else:
                sums = model.matrices[:, network.pair_sources[pairs], network.pair_targets[pairs]].sum(axis=1)
                amount, which = np.array([sums.max()]), np.array([np.argmax(sums)])
                whole = amount.sum()
            if whole > best * capacity[node]:
                best = float(whole / capacity[node])
                links = np.flatnonzero(ends == node)
                each = amount if isinstance(model, Bounds) else np.ones(1)
                weighted = Weighted(
                    np.repeat(links, len(which)),
                    np.tile(which, len(links)),
                    np.tile(each, len(links)),
                    (np.isin(np.arange(network.links), links)).astype(float),
                )
                proof = Proof(best, weighted)
    return prove(problem, proof.weighted)


def _fullest(model: Bounds, network: Network, pairs: Integers) -> tuple[Floats, Integers]:
    """The pairs of a row or column, and amounts above the lower bounds that fill it as far as it can be."""
    above = model.above
    sources, targets = network.pair_sources[pairs], network.pair_targets[pairs]
    most = np.minimum(above.upper[sources, targets], np.minimum(above.rows[sources], above.columns[targets]))
    whole = above.rows[sources[0]] if (sources == sources[0]).all() else above.columns[targets[0]]
    before = np.concatenate(([0.0], np.cumsum(most)[:-1]))
    return np.clip(whole - before, 0.0, most), pairs
