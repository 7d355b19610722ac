"""A plan: splits within a load, with their predicted throughput."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anabranch.engineering.plan.tcp_throughput import Connection
from anabranch.engineering.robust.problem import Problem
from anabranch.engineering.robust.separation import Loads, worst_loads
from anabranch.engineering.robust.splits import Splits
from anabranch.foundation.array_types import Booleans, Floats


@dataclass(frozen=True, eq=False)
class Plan:
    """A plan: the split of each pair's traffic, and its predicted throughput."""

    problem: Problem
    connection: Connection
    tolerant: Booleans
    """For each pair, whether its hosts tolerate reordering."""
    allowed_load: float
    splits: Splits
    throughput_bps: Floats
    """Predicted throughput of each pair's connection."""
    lower_bound: float
    """No routing over the same candidates has a smaller worst-case load."""
    interrupted: bool = False

    @cached_property
    def loads(self) -> Loads:
        """The worst-case load of every link, recomputed from the splits alone."""
        return worst_loads(self.problem.network, self.problem.model, self.splits.crossings)

    @property
    def worst_case_load(self) -> float:
        """The greatest load of a link under any matrix of the model."""
        return float(self.loads.load.max())

    @property
    def worst_link(self) -> tuple[str, str]:
        """The ends of the link with the worst-case load."""
        return self.problem.network.link_name(int(self.loads.links[self.loads.worst]))

    @cached_property
    def single(self) -> Booleans:
        """For each pair, whether it keeps to a single path."""
        used = (self.splits.shares > 0).astype(int)
        one: Booleans = np.add.reduceat(used, self.splits.candidates.first[:-1]) == 1
        return one

    @property
    def single_pairs(self) -> int:
        """How many pairs keep to a single path."""
        return int(self.single.sum())

    @property
    def total_bps(self) -> float:
        """The predicted throughput of all connections together."""
        return float(self.throughput_bps.sum())

    @property
    def mean_bps(self) -> float:
        """The predicted throughput of a connection."""
        return float(self.throughput_bps.mean())

    @property
    def worst_bps(self) -> float:
        """The predicted throughput of the worst connection."""
        return float(self.throughput_bps.min())

    @property
    def worst_pair(self) -> int:
        """The pair with the least throughput; of pairs within 1 bit/s, the first."""
        return int(np.argmax(self.throughput_bps <= self.worst_bps + 1.0))
