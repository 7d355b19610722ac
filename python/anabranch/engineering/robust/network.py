"""A topology as arrays, for the linear programs and the searches."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anabranch.engineering.robust.errors import RobustError
from anabranch.engineering.routes.quantities import SIGNAL_SPEED_M_S
from anabranch.foundation.array_types import Floats, Integers
from anabranch.network.topologies import Topology


@dataclass(frozen=True)
class Network:
    """Nodes and links by index, in the order of the topology; pairs are all ordered pairs of different nodes.

    Pair ``(i, j)`` stands at ``i * (n - 1) + j``, less one if ``j`` is above ``i``.
    """

    topology: Topology
    sources: Integers
    """The source of each link, ``u32``."""
    targets: Integers
    capacity: Floats
    """Bit/s."""

    @staticmethod
    def of(topology: Topology, capacity_bps: float | None = None) -> "Network":
        """The topology's network; ``capacity_bps`` is that of the links whose capacity the topology does not say.

        Raises:
            RobustError: a link has no capacity, or one that is not positive.
        """
        place = {node.name: index for index, node in enumerate(topology.nodes)}
        capacities = []
        for link in topology.links:
            capacity = link.capacity_bps if link.capacity_bps is not None else capacity_bps
            name = f"{topology.name}: link {link.source} -> {link.target}"
            if capacity is None:
                raise RobustError(f"{name} has no capacity; give one for all such links, as in --capacity 10Gbps")
            if not 0 < capacity < float("inf"):
                raise RobustError(f"{name} has capacity {capacity:g} bit/s; it must be more than 0")
            capacities.append(float(capacity))
        return Network(
            topology,
            np.array([place[link.source] for link in topology.links], dtype=np.uint32),
            np.array([place[link.target] for link in topology.links], dtype=np.uint32),
            np.array(capacities),
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the nodes."""
        return tuple(node.name for node in self.topology.nodes)

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return len(self.topology.nodes)

    @property
    def links(self) -> int:
        """How many links there are."""
        return len(self.sources)

    @property
    def pairs(self) -> int:
        """How many ordered pairs there are."""
        return self.nodes * (self.nodes - 1)

    @cached_property
    def pair_sources(self) -> Integers:
        """The source of each pair."""
        return np.repeat(np.arange(self.nodes, dtype=np.uint32), self.nodes - 1)

    @cached_property
    def pair_targets(self) -> Integers:
        """The destination of each pair."""
        all_nodes = np.arange(self.nodes, dtype=np.uint32)
        return np.concatenate([np.delete(all_nodes, node) for node in range(self.nodes)])

    def pair(self, source: int, target: int) -> int:
        """The index of a pair."""
        return source * (self.nodes - 1) + target - (target > source)

    def pair_name(self, pair: int) -> str:
        """The name of a pair for messages."""
        return f"{self.names[self.pair_sources[pair]]} -> {self.names[self.pair_targets[pair]]}"

    def link_name(self, link: int) -> tuple[str, str]:
        """The ends of a link."""
        return self.names[self.sources[link]], self.names[self.targets[link]]

    @cached_property
    def link_index(self) -> dict[tuple[int, int], int]:
        """Links by their ends."""
        ends = zip(self.sources.tolist(), self.targets.tolist(), strict=True)
        return {pair: link for link, pair in enumerate(ends)}

    @cached_property
    def delays(self) -> Floats:
        """The delay of each link, seconds.

        Raises:
            RobustError: the topology gives neither delay nor length of a link.
        """
        delays = []
        for link in self.topology.links:
            if link.delay_s is not None:
                delays.append(link.delay_s)
            elif link.length_m is not None:
                delays.append(link.length_m / SIGNAL_SPEED_M_S)
            else:
                raise RobustError(
                    f"{self.topology.name}: link {link.source} -> {link.target} has neither delay nor length; "
                    "give it one: the delays of paths count here"
                )
        return np.array(delays)
