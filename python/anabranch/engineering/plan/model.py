"""A plan: splits within a load, with their predicted throughput."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anabranch.engineering.plan.tcp_throughput import Connection
from anabranch.engineering.robust.problem import Problem
from anabranch.engineering.robust.separation import Loads, worst_loads
from anabranch.engineering.robust.splits import Splits
from anabranch.engineering.robust.traffic import Bounds
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
    most_bps: float
    """No routing over the same candidates has more predicted throughput in all, whatever its load."""
    interrupted: bool = False
    """Whether Ctrl-C cut the search short."""
    out_of_time: bool = False
    """Whether the end of the time cut the search short."""

    @property
    def sending(self) -> Booleans:
        """The pairs that send traffic; no other counts."""
        return self.problem.sending

    @property
    def pairs(self) -> int:
        """How many pairs send traffic."""
        return int(self.sending.sum())

    @property
    def gap(self) -> float:
        """How much throughput a better plan might have besides, as a share of :attr:`most_bps`."""
        return max(0.0, 1 - self.total_bps / self.most_bps) if self.most_bps > 0 else 0.0

    @property
    def demands(self) -> list[Floats]:
        """The traffic matrices, bit/s, each of shape (nodes, nodes): all of an explicit set, that of pipes alone; none of other models."""
        model = self.problem.model
        if not isinstance(model, Bounds):
            return list(model.matrices)
        pipes = np.isinf(model.rows).all() and np.isinf(model.columns).all() and not model.lower.any()
        return [model.largest] if pipes else []

    @property
    def offered_bps(self) -> float | None:
        """The traffic of the greatest matrix; None if the model lists none."""
        return max((float(matrix.sum()) for matrix in self.demands), default=None)

    @property
    def carried_bps(self) -> float | None:
        """The predicted throughput of the greatest matrix, if every pair sends its traffic over connections such as :attr:`connection`."""
        if not self.demands:
            return None
        network = self.problem.network
        greatest = max(self.demands, key=np.sum)[network.pair_sources, network.pair_targets]
        return float(greatest @ (self.throughput_bps / self.connection.rate_bps))

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
        """How many pairs that send traffic keep to a single path."""
        return int((self.single & self.sending).sum())

    @property
    def total_bps(self) -> float:
        """The predicted throughput of all connections together."""
        return float(self.throughput_bps[self.sending].sum())

    @property
    def mean_bps(self) -> float:
        """The predicted throughput of a connection."""
        return float(self.throughput_bps[self.sending].mean())

    @property
    def worst_bps(self) -> float:
        """The predicted throughput of the worst connection."""
        return float(self.throughput_bps[self.sending].min())

    @property
    def worst_pair(self) -> int:
        """The pair with the least throughput; of pairs within 1 bit/s, the first."""
        return int(np.argmax(self.sending & (self.throughput_bps <= self.worst_bps + 1.0)))
