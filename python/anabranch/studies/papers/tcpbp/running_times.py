"""Table 6: time to find all routes, from ten nodes to ten thousand."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt
from statistics import median
from typing import Any

import numpy as np

from anabranch import _core
from anabranch.network.topologies import Link, Node, Topology
from anabranch.studies.papers.study import Lab

SIZES = (10, 25, 50, 100, 1_000, 10_000)
CABLES_PER_NODE = 2.1
"""As in the ten-node testbed, which has 21 links."""
DELAYS_S, LOSSES = (1e-5, 9.6e-3), (2e-4, 0.0196)
"""The testbed's ranges; values are uniformly distributed pseudo-random numbers (section 5.1)."""
ARRAY_STANDARD, ARRAY_MODIFIED = "array, delay", "array, TCPBP"
HEAP_STANDARD, HEAP_MODIFIED, HEAP_EXACT = "heap, delay", "heap, TCPBP", "heap, exact optimum"
WAYS = (ARRAY_STANDARD, ARRAY_MODIFIED, HEAP_STANDARD, HEAP_MODIFIED, HEAP_EXACT)
_METRICS = {HEAP_STANDARD: "delay", HEAP_MODIFIED: "tcpbp", HEAP_EXACT: "tcpbp-exact"}
_ROUNDS = 3
_MOST_SOURCES = {10: 10, 25: 25, 50: 50, 100: 100, 1_000: 20, 10_000: 1}
"""Number of sources that are timed with the array, by number of nodes. The time is scaled up to all sources."""
_MOST_SOURCES_OF_HEAP = 200


@dataclass
class Counts:
    """Work of a search: nodes taken from the set (steps), edges examined, and labels improved."""

    steps: int = 0
    examined: int = 0
    improved: int = 0


def random_network(nodes: int, seed: int) -> Topology:
    """A random tree with further random cables, up to the testbed's number for each node; values as in the testbed."""
    draws = np.random.default_rng(seed)
    wanted = round(CABLES_PER_NODE * nodes)
    ends = {(int(draws.integers(0, node)), node) for node in range(1, nodes)}
    while len(ends) < wanted:
        one, other = sorted(int(node) for node in draws.integers(0, nodes, 2))
        if one != other:
            ends.add((one, other))
    links = []
    for one, other in sorted(ends):
        values: dict[str, Any] = {"delay_s": draws.uniform(*DELAYS_S), "loss": draws.uniform(*LOSSES)}
        links += [Link(str(one), str(other), **values), Link(str(other), str(one), **values)]
    return Topology(f"random-{nodes}", tuple(Node(str(node)) for node in range(nodes)), tuple(links))


class Arrays:
    """A network for the paper's naive search: the set of nodes in an array, scanned for every step, O(V^2) for a source."""

    def __init__(self, topology: Topology) -> None:
        """Store the neighbours of every node, with delay and share of packets that pass."""
        self.nodes = len(topology.nodes)
        self._outgoing: list[list[tuple[int, float, float]]] = [[] for _ in range(self.nodes)]
        for link in topology.links:
            values = link.delay_s or 0.0, 1 - (link.loss or 0.0)
            self._outgoing[int(link.source)].append((int(link.target), *values))

    def standard(self, source: int, counts: Counts) -> list[float]:
        """Dijkstra by delay: the costs from a source."""
        cost = [inf] * self.nodes
        cost[source] = 0.0
        unvisited = list(cost)
        while (least := min(unvisited)) < inf:
            node = unvisited.index(least)
            unvisited[node] = inf
            counts.steps += 1
            for target, delay, _ in self._outgoing[node]:
                counts.examined += 1
                found = least + delay
                if found < cost[target]:
                    counts.improved += 1
                    cost[target] = unvisited[target] = found
        return cost

    def modified(self, source: int, counts: Counts) -> list[float]:
        """Algorithm 1: the costs from a source. A node's label has delay and loss of its path, and the cost is that of the whole path."""
        cost = [inf] * self.nodes
        cost[source] = 0.0
        unvisited = list(cost)
        delays, passing = [0.0] * self.nodes, [1.0] * self.nodes
        while (least := min(unvisited)) < inf:
            node = unvisited.index(least)
            unvisited[node] = inf
            counts.steps += 1
            for target, delay, passes in self._outgoing[node]:
                counts.examined += 1
                whole_delay, whole_passing = delays[node] + delay, passing[node] * passes
                found = whole_delay * sqrt(1 - whole_passing)
                if found < cost[target]:  # never true for a visited node, because the metric is monotone
                    counts.improved += 1
                    cost[target] = unvisited[target] = found
                    delays[target], passing[target] = whole_delay, whole_passing
        return cost


def counts(nodes: int) -> tuple[Counts, Counts]:
    """The work of both array searches from all nodes of one network."""
    arrays, standard, modified = Arrays(random_network(nodes, 1)), Counts(), Counts()
    for source in range(nodes):
        arrays.standard(source, standard)
        arrays.modified(source, modified)
    return standard, modified


def timings(lab: Lab) -> dict[str, dict[str, float]]:
    """CPU seconds for all routes of a network, as the median of rounds, by way and number of nodes."""
    sizes = SIZES[:4] if lab.quick else SIZES
    found: dict[str, dict[str, float]] = lab.kept("running-times", [sizes, CABLES_PER_NODE], lambda: _timings(sizes))
    return found


def _timings(sizes: tuple[int, ...]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {way: {} for way in WAYS}
    for nodes in sizes:
        topology = random_network(nodes, 1)
        arrays, network = Arrays(topology), _network(topology)
        works = {
            ARRAY_STANDARD: _by_array(arrays, arrays.standard, nodes),
            ARRAY_MODIFIED: _by_array(arrays, arrays.modified, nodes),
        } | {way: _by_heap(network, way, nodes) for way in _METRICS}
        seconds: dict[str, list[float]] = {way: [] for way in works}
        for _ in range(_ROUNDS):
            for way, (work, share) in works.items():  # in turn, so that a slow moment of the machine affects all
                began = time.process_time()
                work()
                seconds[way].append((time.process_time() - began) / share)
        for way, taken in seconds.items():
            found[way][str(nodes)] = median(taken)
    return found


def _by_array(
    arrays: Arrays, search: Callable[[int, Counts], list[float]], nodes: int
) -> tuple[Callable[[], None], float]:
    sources, counts = range(min(nodes, _MOST_SOURCES[nodes])), Counts()

    def work() -> None:
        for source in sources:
            search(source, counts)

    return work, len(sources) / arrays.nodes


def _by_heap(network: _core.Network, way: str, nodes: int) -> tuple[Callable[[], Any], float]:
    sources, metric = list(range(min(nodes, _MOST_SOURCES_OF_HEAP))), json.dumps(_METRICS[way])
    if way == HEAP_EXACT:
        return lambda: network.routes(metric, sources, list(range(nodes))), len(sources) / nodes
    return lambda: network.trees(metric, sources), len(sources) / nodes


def _network(topology: Topology) -> _core.Network:
    links = topology.links
    return _core.Network(
        len(topology.nodes),
        np.array([int(link.source) for link in links], np.uint32),
        np.array([int(link.target) for link in links], np.uint32),
        np.zeros(len(links), np.uint64),
        np.array([round((link.delay_s or 0) * 1e12) for link in links], np.uint64),
        np.array([link.loss or 0.0 for link in links]),
        np.zeros(len(links)),
    )
