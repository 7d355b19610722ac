"""A path as the fewest segments (RFC 8402): nodes that an interior gateway protocol leads to, and single links.

A node segment leads over the shortest path from one node to another by the protocol's metric. It replaces a
piece of a path if that piece is the only shortest path. Elsewhere a link of the path is an adjacency segment. A part of an
only shortest path is also one. So taking the longest piece each time gives the fewest segments.
"""

import heapq
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from anabranch import _core
from anabranch.engineering.routes.export.errors import ExportError
from anabranch.network.topologies import Link, Topology

Metric = Literal["hop-count", "delay", "ospf", "cost"]
METRICS: tuple[Metric, ...] = ("hop-count", "delay", "ospf", "cost")
_LARGEST_COST = 65_535  # RFC 2328, section A.4.2


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment from one node of a path to another."""

    kind: Literal["node", "adjacency"]
    source: str
    target: str


class ShortestPaths:
    """Shortest paths by whole-number costs, as routers of an interior gateway protocol find them."""

    def __init__(self, topology: Topology, metric: Metric = "hop-count") -> None:
        """Costs are 1 (hop-count), whole microseconds (delay), 100 Mbit/s over the rate (ospf), or given (cost).

        Raises:
            ExportError: no such metric, or a link has no value that is a cost from 1 to 65535.
        """
        if metric not in METRICS:
            raise ExportError(f"igp {metric!r}: must be one of {', '.join(METRICS)}")
        self.metric = metric
        self.costs: dict[str, dict[str, int]] = {node.name: {} for node in topology.nodes}
        self._into: dict[str, dict[str, int]] = {node.name: {} for node in topology.nodes}
        for link in topology.links:
            cost = _cost(link, metric)
            self.costs[link.source][link.target] = cost
            self._into[link.target][link.source] = cost
        self._trees: dict[str, tuple[dict[str, int], dict[str, tuple[str, ...]]]] = {}

    def following(self, source: str, target: str) -> tuple[str, ...]:
        """The nodes that come next on the shortest paths from one node to another; none if there is no path."""
        return self._tree(target)[1].get(source, ())

    def only(self, nodes: tuple[str, ...]) -> bool:
        """Whether this is the only shortest path between its ends."""
        return all(self.following(one, nodes[-1]) == (other,) for one, other in pairwise(nodes))

    def _tree(self, target: str) -> tuple[dict[str, int], dict[str, tuple[str, ...]]]:
        if target not in self._trees:
            distances = self._distances(target)
            following = {
                node: tuple(
                    other
                    for other, cost in self.costs[node].items()
                    if other in distances and cost + distances[other] == distance
                )
                for node, distance in distances.items()
                if node != target
            }
            self._trees[target] = distances, following
        return self._trees[target]

    def _distances(self, target: str) -> dict[str, int]:
        distances: dict[str, int] = {}
        waiting = [(0, target)]
        while waiting:
            distance, node = heapq.heappop(waiting)
            if node in distances:
                continue
            distances[node] = distance
            for other, cost in self._into[node].items():
                if other not in distances:
                    heapq.heappush(waiting, (distance + cost, other))
        return distances


def _cost(link: Link, metric: Metric) -> int:
    place = f"link {link.source!r} -> {link.target!r}"
    if metric == "hop-count":
        return 1
    value = {
        "delay": None if link.delay_s is None else max(1, round(link.delay_s * 1e6)),
        "ospf": None if link.capacity_bps is None else _core.ospf_cost(link.capacity_bps),
        "cost": link.cost,
    }[metric]
    if value is None:
        needed = {"delay": "delay", "ospf": "capacity", "cost": "cost"}[metric]
        raise ExportError(f'{place}: has no {needed}, which igp = "{metric}" needs; "hop-count" needs nothing')
    if value != int(value) or not 1 <= value <= _LARGEST_COST:
        raise ExportError(
            f'{place}: its cost is {value:g}; routers take whole numbers from 1 to {_LARGEST_COST} ("delay" in microseconds)'
        )
    return int(value)


def compress(nodes: tuple[str, ...], shortest: ShortestPaths) -> tuple[Segment, ...]:
    """The fewest segments that lead over exactly this path."""
    segments = []
    start = 0
    while start < len(nodes) - 1:
        end = start + 1
        while end < len(nodes) - 1 and shortest.only(nodes[start : end + 2]):
            end += 1
        alone = end == start + 1 and not shortest.only(nodes[start : end + 1])
        segments.append(Segment("adjacency" if alone else "node", nodes[start], nodes[end]))
        start = end
    return tuple(segments)
