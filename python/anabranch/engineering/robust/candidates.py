"""Candidate paths: over which paths the traffic of each pair may be split."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from anabranch import _core
from anabranch.engineering.robust.errors import RobustError, shortened
from anabranch.engineering.robust.network import Network
from anabranch.foundation.array_types import Booleans, Floats, Integers

By = Literal["hop-count", "delay"]
"""The length of a path, by which paths are compared."""
Ties = Literal["links", "delay", "hop-count", "first-found"]
"""The order of equally short paths: first the one of earlier links, of less delay or hops, or that networkx finds first."""

Number = TypeVar("Number", np.float64, np.int64)
_PICOSECONDS = 1e12
_MOST_TIED = 10_000
MOST_PATHS = 10**6
"""The most candidate paths of each pair."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidate paths of all pairs, pair after pair, the best of a pair first."""

    network: Network
    pair: Integers
    """The pair of each path, ascending."""
    start: Integers
    """Where each path's links begin in ``path_links``; one more entry than paths."""
    path_links: Integers

    @property
    def paths(self) -> int:
        """How many paths there are."""
        return len(self.pair)

    @cached_property
    def first(self) -> Integers:
        """The first path of each pair, and the number of paths."""
        return np.searchsorted(self.pair, np.arange(self.network.pairs + 1))

    @cached_property
    def hops(self) -> Integers:
        """The hops of each path."""
        start = self.start.astype(np.int64)
        return start[1:] - start[:-1]

    def links_of(self, path: int) -> Integers:
        """The links of a path."""
        found: Integers = self.path_links[self.start[path] : self.start[path + 1]]
        return found

    def nodes_of(self, path: int) -> tuple[str, ...]:
        """The names of the nodes of a path."""
        links, names = self.links_of(path), self.network.names
        return (names[self.network.sources[links[0]]], *(names[node] for node in self.network.targets[links]))

    def sums(self, values: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """For each path the sum of its links' values."""
        if not self.paths:
            return np.zeros(0, dtype=values.dtype)
        sums: npt.NDArray[Number] = np.add.reduceat(values[self.path_links], self.start[:-1])
        return sums

    @cached_property
    def delays(self) -> Floats:
        """The delay of each path, seconds."""
        return self.sums(self.network.delays)

    def keep(self, mask: Booleans) -> "Candidates":
        """The paths of the mask only."""
        return Candidates(
            self.network,
            self.pair[mask],
            np.concatenate(([0], np.cumsum(self.hops[mask]))).astype(np.uint32),
            self.path_links[np.repeat(mask, self.hops)],
        )

    def joined(self, others: "Candidates") -> "Candidates":
        """These, then the others, pair after pair; a path must not be in both."""
        pairs = np.concatenate((self.pair, others.pair))
        hops = np.concatenate((self.hops, others.hops))
        links = np.concatenate((self.path_links, others.path_links))
        begins = np.concatenate(([0], np.cumsum(hops)[:-1]))
        order = np.argsort(pairs, kind="stable")
        start = np.concatenate(([0], np.cumsum(hops[order])))
        picked = np.repeat(begins[order] - start[:-1], hops[order]) + np.arange(len(links))
        return Candidates(self.network, pairs[order], start.astype(np.uint32), links[picked])

    def checked(self) -> "Candidates":
        """These, if every pair has one.

        Raises:
            RobustError: a pair has none.
        """
        without = np.flatnonzero(np.diff(self.first) == 0)
        if len(without):
            more = f" (nor have {len(without) - 1} other pairs)" if len(without) > 1 else ""
            raise RobustError(
                f"{self.network.topology.name}: {self.network.pair_name(int(without[0]))} has no path{more}; "
                "a robust routing needs one for every pair"
            )
        return self


def shortest(network: Network, count: int, by: By = "hop-count", ties: Ties = "links") -> Candidates:
    """The ``count`` shortest loopless paths of every pair (Yen 1971), or all of a pair that has fewer.

    Raises:
        RobustError: ``count`` is not from 1 to 1,000,000, a pair has no path, or a link has no delay by which to compare.
    """
    _check_count(count)
    if ties == "first-found":
        return _first_found(network, count, by)
    return _search(network, _weights(network, by, ties), "shortest", count)


def shortest_with_ties(network: Network, count: int, by: By = "hop-count") -> Candidates:
    """As :func:`shortest`, and all other paths that are as short as the last of them.

    Raises:
        RobustError: as :func:`shortest`, or a pair has more than 10,000 such paths.
    """
    found = _search(network, _weights(network, by, "links"), "with-ties", count)
    if (np.diff(found.first) > _MOST_TIED).any():
        pair = int(np.argmax(np.diff(found.first)))
        raise RobustError(f"{network.pair_name(pair)} has more than {_MOST_TIED} equally short paths; use --by delay")
    return found


def disjoint(network: Network, count: int, by: By = "hop-count") -> Candidates:
    """Link-disjoint paths of least total weight for every pair (Suurballe 1974), at most ``count``.

    Raises:
        RobustError: as :func:`shortest`.
    """
    _check_count(count)
    return _search(network, _weights(network, by, "links"), "disjoint", count)


def avoiding(network: Network, pair: int, without: Booleans, by: By = "hop-count") -> Integers | None:
    """The links of a pair's shortest path without some links; of equally short ones, one of least delay. ``None`` if there is no path."""
    kept = np.flatnonzero(~without)
    ends = (network.pair_sources[pair : pair + 1], network.pair_targets[pair : pair + 1])
    graph = network.sources[kept], network.targets[kept], _weights(network, by, "delay")[kept]
    _, _, links = _core.candidate_paths(network.nodes, *graph, *ends, "shortest", 1, _MOST_TIED)
    return kept[links].astype(np.uint32) if len(links) else None


def given(network: Network, paths: Iterable[Sequence[str]]) -> Candidates:
    """The user's paths, as node names.

    Raises:
        RobustError: a path is none, or a pair has none.
    """
    return listed(network, paths).checked()


def listed(network: Network, paths: Iterable[Sequence[str]]) -> Candidates:
    """As :func:`given`; pairs may have no path.

    Raises:
        RobustError: a path is none.
    """
    place = {name: index for index, name in enumerate(network.names)}
    listed: dict[int, list[list[int]]] = {}
    for path in paths:
        shown = shortened(" ".join(path))
        unknown = next((name for name in path if name not in place), None)
        if unknown is not None:
            raise RobustError(f"path {shown}: {network.topology.name} has no node {shortened(unknown)}")
        if len(path) < 2 or len(set(path)) != len(path):
            raise RobustError(f"path {shown}: must join two nodes and visit none twice")
        nodes = [place[name] for name in path]
        links = [network.link_index.get(hop) for hop in pairwise(nodes)]
        if None in links:
            gap = links.index(None)
            raise RobustError(f"path {shown}: there is no link from {path[gap]} to {path[gap + 1]}")
        whole = [link for link in links if link is not None]
        of_pair = listed.setdefault(network.pair(nodes[0], nodes[-1]), [])
        if whole not in of_pair:
            of_pair.append(whole)
    rows = [(pair, links) for pair in sorted(listed) for links in listed[pair]]
    return Candidates(
        network,
        np.array([pair for pair, _ in rows], dtype=np.uint32),
        np.cumsum([0] + [len(links) for _, links in rows]).astype(np.uint32),
        np.array([link for _, links in rows for link in links], dtype=np.uint32),
    )


def _check_count(count: int) -> None:
    if not 1 <= count <= MOST_PATHS:
        raise RobustError(f"{count} candidate paths of each pair: must be from 1 to {MOST_PATHS:,}")


def _first_found(network: Network, count: int, by: By) -> Candidates:
    import networkx

    graph = networkx.DiGraph()
    graph.add_nodes_from(network.names)
    lengths = network.delays if by == "delay" else np.ones(network.links)
    for link in range(network.links):
        graph.add_edge(*network.link_name(link), length=float(lengths[link]))
    weight = "length" if by == "delay" else None
    ends = zip(network.pair_sources, network.pair_targets, strict=True)
    pairs = [(network.names[source], network.names[target]) for source, target in ends]
    return given(
        network,
        (
            path
            for pair in pairs
            if networkx.has_path(graph, *pair)
            for path in islice(networkx.shortest_simple_paths(graph, *pair, weight), count)
        ),
    )


def _weights(network: Network, by: By, ties: Ties) -> Integers:
    ones = np.ones(network.links, dtype=np.uint64)
    if by == "hop-count" and ties != "delay":
        return ones
    delays = np.maximum(1, np.rint(network.delays * _PICOSECONDS)).astype(np.uint64)
    if by == "delay":
        return delays  # equal ones go by hops, then links, as the core orders paths
    # Hops before delays, in one whole number: no path is as long as a hop weighs.
    return ones * np.uint64(2**62) + delays


def _search(network: Network, weights: Integers, select: str, count: int) -> Candidates:
    pair, start, links = _core.candidate_paths(
        network.nodes,
        network.sources,
        network.targets,
        weights,
        network.pair_sources,
        network.pair_targets,
        select,
        count,
        _MOST_TIED,
    )
    return Candidates(network, pair, start, links).checked()
