"""A plan: splits within a load, with their predicted throughput."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anabranch.engineering.plan.backups import NONE
from anabranch.engineering.plan.options import Predictor
from anabranch.engineering.plan.states import States
from anabranch.engineering.plan.tcp_throughput import Connection
from anabranch.engineering.robust.failures import AfterFailure
from anabranch.engineering.robust.problem import Problem
from anabranch.engineering.robust.separation import Loads, worst_loads
from anabranch.engineering.robust.splits import Splits
from anabranch.engineering.robust.traffic import Bounds
from anabranch.foundation.array_types import Booleans, Floats, Integers


@dataclass(frozen=True, eq=False)
class Aftermath:
    """The network after a failure."""

    failure: AfterFailure
    throughput_bps: Floats
    """Predicted throughput of each pair's connection; 0 if the failure cuts it."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A plan: the split of each pair's traffic, and its predicted throughput."""

    states: States
    """The network as it is, and after each failure."""
    predictor: Predictor
    allowed_load: float
    """No link may have more, in any of these states."""
    splits: Splits
    throughput_bps: Floats
    """Predicted throughput of each pair's connection, without failure."""
    lower_bound: float
    """No routing over the same candidates has a smaller worst-case load, with or without failures."""
    most_bps: float
    """No routing over the same candidates has more predicted throughput in all, whatever its load."""
    interrupted: bool = False
    """Whether Ctrl-C cut the search short."""
    out_of_time: bool = False
    """Whether the end of the time cut the search short."""

    @property
    def problem(self) -> Problem:
        """The network, its traffic and the candidates."""
        return self.states.problem

    @property
    def connection(self) -> Connection:
        """The TCP connection of each pair."""
        return self.predictor.connection

    @property
    def tolerant(self) -> Booleans:
        """For each pair, whether its hosts tolerate reordering."""
        return self.predictor.tolerant

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
        """The greatest load of a link under any matrix of the model, without failure."""
        return float(self.loads.load.max())

    @cached_property
    def after(self) -> list[Aftermath]:
        """The network after each failure."""
        found = []
        for place in range(len(self.states.failures)):
            failure, shares = self.states.after(self.splits, place)
            found.append(Aftermath(failure, self.predictor.of_shares(shares)))
        return found

    @property
    def greatest_load(self) -> float:
        """The worst-case load over the network as it is and after every failure."""
        return max([self.worst_case_load, *(one.failure.load for one in self.after)])

    @property
    def backups(self) -> Integers | None:
        """For each pair on a single path the candidate that takes over if it fails; ``NONE`` for all others. None without backups."""
        if self.states.backup is None:
            return None
        found = np.full(self.problem.network.pairs, NONE)
        used = np.flatnonzero((self.splits.shares == 1.0) & self.sending[self.splits.candidates.pair])
        found[self.splits.candidates.pair[used]] = self.states.backup[used]
        return found

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
