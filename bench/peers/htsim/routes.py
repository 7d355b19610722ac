"""The paths that a compiled run's routings give to its flows."""

import json
import random
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from anabranch import _core
from bench.peers.child import PeerError

Path = tuple[int, ...]
"""Links in order."""
Paths = dict[tuple[int, int], list[Path]]
SPRAYED_PATHS = 4
"""Equal-cost paths that a flow's packets take in turn. htsim keeps each of a flow's paths as an object, so not all of them are there."""


class Routes:
    """The paths of a routing, whose hash of a flow is replaced by a draw."""

    def __init__(self, spec: dict[str, Any], routing: int) -> None:
        """Takes the routing at this index of a compiled run."""
        self.hops = spec["routings"][routing]["hops"]
        self.metric = json.dumps(self.hops["metric"])
        self.per_packet = spec["routings"][routing]["per"]["unit"] == "packet"
        self.links = spec["links"]
        self.nodes = len(spec["nodes"])
        groups = [group for group in spec["traffic"] if group["routing"] == routing]
        self.ends = sorted({node for group in groups for pair in group["pairs"] for node in pair})
        self.draw = random.Random(1)
        self._next_hops: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def paths(self, src: int, dst: int) -> Sequence[Path]:
        """The paths that a flow's packets take in turn; one path if packets of a flow stay together."""
        match self.hops["kind"]:
            case "shortest":
                return self._shortest[src, dst]
            case "disjoint" if self.per_packet:
                return self._disjoint[src, dst]
            case "equal-cost":
                return [self._drawn(src, dst) for _ in range(SPRAYED_PATHS if self.per_packet else 1)]
        raise PeerError(f"no description for htsim of routes by {self.hops['kind']!r} and this selection")

    @cached_property
    def _shortest(self) -> Paths:
        return _by_pair(self._network().routes(self.metric, self.ends, self.ends))

    @cached_property
    def _disjoint(self) -> Paths:
        by_nodes = self.hops["by"] == "nodes"
        return _by_pair(self._network().disjoint(self.metric, self.ends, self.ends, self.hops["paths"], by_nodes))

    def _drawn(self, src: int, dst: int) -> Path:
        """A path of fewest links: at each node any next hop."""
        if self.hops["metric"] != "hop-count":
            raise PeerError(f"no description for htsim of equal-cost routes by {self.metric}")
        path = []
        while src != dst:
            nearer = self._next_hops.get((src, dst)) or self._find_next_hops(src, dst)
            link, src = nearer[0] if len(nearer) == 1 else self.draw.choice(nearer)
            path.append(link)
        return tuple(path)

    def _find_next_hops(self, node: int, dst: int) -> list[tuple[int, int]]:
        """The links that lead nearer to the destination, and the nodes at their ends."""
        distance = self._distances[dst]
        found = [(link, end) for link, end in self._leaving[node] if distance[end] < distance[node]]
        self._next_hops[node, dst] = found
        return found

    @cached_property
    def _distances(self) -> dict[int, list[float]]:
        """The cost of the best path from each node, by destination."""
        costs = self._network(reverse=True).trees(self.metric, self.ends)["cost"]
        return {dst: row.tolist() for dst, row in zip(self.ends, costs, strict=True)}

    @cached_property
    def _leaving(self) -> list[list[tuple[int, int]]]:
        """The links from each node, and the nodes to which they lead."""
        leaving: list[list[tuple[int, int]]] = [[] for _ in range(self.nodes)]
        for number, link in enumerate(self.links):
            leaving[link["src"]].append((number, link["dst"]))
        return leaving

    def _network(self, *, reverse: bool = False) -> _core.Network:
        src, dst = (np.array([link[end] for link in self.links], np.uint32) for end in ("src", "dst"))
        rate, delay = (np.array([link[name] for link in self.links], np.uint64) for name in ("rate", "delay"))
        cost = np.array([link["cost"] for link in self.links], np.float64)
        return _core.Network(
            self.nodes, *((dst, src) if reverse else (src, dst)), rate, delay, np.zeros_like(cost), cost
        )


def _by_pair(columns: dict[str, Any]) -> Paths:
    """The paths of each pair, of the columns that :class:`_core.Network` gives."""
    links = iter(columns["links"].tolist())
    hops = iter(columns["hops"].tolist())
    return {
        (src, dst): [tuple(next(links) for _ in range(next(hops))) for _ in range(count)]
        for src, dst, count in zip(*(columns[name].tolist() for name in ("src", "dst", "paths")), strict=True)
    }
