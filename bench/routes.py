"""Measure path search beside scipy, rustworkx, igraph and networkx, one thread each, in one process and in turn.

Prints a table and writes it into docs/models/routing.md. The peers come with `pip install -r requirements/bench.txt`.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from statistics import median
from typing import Any

os.environ["RAYON_NUM_THREADS"] = "1"  # rustworkx: before it is imported

import igraph
import networkx
import numpy as np
import rustworkx
from rich.console import Console
from rich.table import Table
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from anabranch import _core, version
from anabranch.engineering.routes import completed
from anabranch.foundation.progress import Steps
from anabranch.network import topologies
from bench.bench import ROOT, machine
from bench.page import write_part

PAGE = ROOT / "docs" / "models" / "routing.md"
NODES, DEGREE = 1000, 6
MANY_NODES = 100_000
K = 8
BACKBONE = "sndlib/germany50"


@dataclass(frozen=True)
class Links:
    """A random network: as many directed links as nodes times degree, delays in milliseconds."""

    nodes: int
    source: np.ndarray
    target: np.ndarray
    delay_ms: np.ndarray
    loss: np.ndarray

    @staticmethod
    def random(nodes: int, decades: tuple[float, float] | None = None) -> "Links":
        """Every node joined to random others. Delays and, in each direction, losses are uniform as in TCPBP (section 5.1), up to the
        greatest of its ten nodes. With ``decades``, losses are uniform in the logarithm between these powers of ten.
        """
        draws = np.random.default_rng(1)
        one, other = draws.integers(0, nodes, (2, nodes * DEGREE // 2))
        one, other = one[one != other], other[one != other]
        ends = np.unique(np.sort(np.stack([one, other]), axis=0), axis=1)
        cables = ends.shape[1]
        delay = draws.integers(10_000, 9_600_000, cables) / 1e6
        loss = draws.uniform(2e-4, 0.02, 2 * cables) if decades is None else 10 ** draws.uniform(*decades, 2 * cables)
        return Links(
            nodes,
            np.concatenate([ends[0], ends[1]]),
            np.concatenate([ends[1], ends[0]]),
            np.concatenate([delay, delay]),
            loss,
        )

    @staticmethod
    def nearest(nodes: int) -> "Links":
        """Nodes in a square, the nearest of them joined; delay by distance, and in each direction a random loss of 1e-5 to 3e-2."""
        draws = np.random.default_rng(1)
        places = draws.uniform(0, 1, (nodes, 2))
        one, other = np.triu_indices(nodes, 1)
        distance = np.hypot(*(places[one] - places[other]).T)
        shortest = np.argsort(distance)[: nodes * DEGREE // 2]
        one, other, delay = one[shortest], other[shortest], 0.01 + 20 * distance[shortest]
        return Links(
            nodes,
            np.concatenate([one, other]),
            np.concatenate([other, one]),
            np.concatenate([delay, delay]),
            10 ** draws.uniform(-5, -1.5, 2 * len(one)),
        )

    @staticmethod
    def of(topology: topologies.Topology) -> "Links":
        """The links of a topology that says their delays."""
        index = {node.name: place for place, node in enumerate(topology.nodes)}
        columns = zip(
            *((index[link.source], index[link.target], link.delay_s * 1e3) for link in topology.links), strict=True
        )
        source, target, delay = (np.array(column) for column in columns)
        return Links(len(index), source, target, delay, np.full(len(source), 1e-3))

    def network(self) -> _core.Network:
        """The network for Anabranch."""
        count = len(self.source)
        return _core.Network(
            self.nodes,
            self.source.astype(np.uint32),
            self.target.astype(np.uint32),
            np.full(count, 10**9, np.uint64),
            np.round(self.delay_ms * 1e9).astype(np.uint64),
            self.loss,
            np.ones(count),
        )

    def matrix(self) -> Any:
        """The network for scipy."""
        return csr_matrix((self.delay_ms, (self.source, self.target)), shape=(self.nodes, self.nodes))

    def igraph(self) -> igraph.Graph:
        """The network for igraph."""
        return igraph.Graph(self.nodes, list(zip(self.source, self.target, strict=True)), directed=True)

    def rustworkx(self) -> rustworkx.PyDiGraph:
        """The network for rustworkx."""
        graph = rustworkx.PyDiGraph()
        graph.add_nodes_from(range(self.nodes))
        edges = zip(self.source.tolist(), self.target.tolist(), self.delay_ms.tolist(), strict=True)
        graph.add_edges_from(list(edges))
        return graph

    def networkx(self) -> networkx.DiGraph:
        """The network for networkx."""
        graph = networkx.DiGraph()
        graph.add_nodes_from(range(self.nodes))
        edges = zip(self.source.tolist(), self.target.tolist(), self.delay_ms.tolist(), strict=True)
        graph.add_weighted_edges_from(edges)
        return graph


@dataclass
class Case:
    """A piece of work, done again and again."""

    work: str
    by: str
    run: Callable[[], Any]
    share: float = 1.0
    """How much of the work a run does; its time is scaled up."""
    rounds: int | None = None
    seconds: list[float] = field(default_factory=list)

    def measure(self) -> None:
        """One run: CPU seconds of the process, for all of the work."""
        began = time.process_time()
        self.run()
        self.seconds.append((time.process_time() - began) / self.share)


def _all_pairs() -> list[Case]:
    links = Links.random(NODES)
    ours, matrix, graph, rust = links.network(), links.matrix(), links.igraph(), links.rustworkx()
    slow = links.networkx()
    everyone = list(range(NODES))
    work = f"all pairs, {NODES:,} nodes, {len(links.source):,} links"

    def by_networkx() -> None:
        for source in range(20):
            networkx.single_source_dijkstra(slow, source)

    return [
        Case(work, "scipy: delay, with predecessors", lambda: dijkstra(matrix, return_predecessors=True)),
        Case(work, "anabranch: delay, costs and last links", lambda: ours.trees('"delay"', everyone)),
        Case(work, "anabranch: tcpbp, costs and last links", lambda: ours.trees('"tcpbp"', everyone)),
        Case(work, "anabranch: tcpbp, every path written out", lambda: ours.routes('"tcpbp"', everyone, everyone)),
        Case(
            work,
            "anabranch: tcpbp-exact, every path written out",
            lambda: ours.routes('"tcpbp-exact"', everyone, everyone),
        ),
        Case(work, "igraph: delay, lengths only", lambda: graph.distances(weights=links.delay_ms.tolist())),
        Case(
            work,
            "rustworkx: delay, every path written out",
            lambda: rustworkx.all_pairs_dijkstra_shortest_paths(rust, float),
            rounds=2,
        ),
        Case(work, "networkx: delay, 20 of the sources, scaled up", by_networkx, 20 / NODES, rounds=2),
    ]


def _other_networks() -> list[list[Case]]:
    networks = {
        "losses over decades, 1e-5 to 3e-2": Links.random(NODES, (-5, -1.5)),
        "nearest nodes joined, losses over decades": Links.nearest(NODES),
    }
    return [_exactly(f"all pairs, {NODES:,} nodes, {name}", links) for name, links in networks.items()]


def _exactly(work: str, links: Links) -> list[Case]:
    ours, matrix, everyone = links.network(), links.matrix(), list(range(links.nodes))
    return [
        Case(work, "scipy: delay, with predecessors", lambda: dijkstra(matrix, return_predecessors=True)),
        Case(work, "anabranch: tcpbp, costs and last links", lambda: ours.trees('"tcpbp"', everyone)),
        Case(
            work,
            "anabranch: tcpbp-exact, every path written out",
            lambda: ours.routes('"tcpbp-exact"', everyone, everyone),
        ),
    ]


def _one_source() -> list[Case]:
    links = Links.random(MANY_NODES)
    ours, matrix = links.network(), links.matrix()
    everyone = list(range(MANY_NODES))
    work = f"one source, {MANY_NODES:,} nodes, {len(links.source):,} links"
    return [
        Case(work, "scipy: delay, with predecessors", lambda: dijkstra(matrix, indices=0, return_predecessors=True)),
        Case(work, "anabranch: delay, costs and last links", lambda: ours.trees('"delay"', [0])),
        Case(work, "anabranch: tcpbp, costs and last links", lambda: ours.trees('"tcpbp"', [0])),
        Case(
            work, "anabranch: tcpbp-exact, every path written out", lambda: ours.routes('"tcpbp-exact"', [0], everyone)
        ),
    ]


def _k_shortest() -> list[Case]:
    links = Links.of(completed(topologies.load(BACKBONE)))
    ours, graph, slow = links.network(), links.igraph(), links.networkx()
    delays = links.delay_ms.tolist()
    pairs = [(one, other) for one in range(links.nodes) for other in range(links.nodes) if one != other]
    everyone = list(range(links.nodes))
    some = pairs[::25]
    work = f"{K} shortest paths of {len(pairs):,} pairs, {BACKBONE}"

    def by_igraph() -> None:
        for one, other in some:
            graph.get_k_shortest_paths(one, other, k=K, weights=delays)

    def by_networkx() -> None:
        for one, other in some:
            list(islice(networkx.shortest_simple_paths(slow, one, other, weight="weight"), K))

    share = len(some) / len(pairs)
    return [
        Case(work, "networkx: every 25th pair, scaled up", by_networkx, share, rounds=2),
        Case(work, "anabranch", lambda: ours.k_shortest('"delay"', everyone, everyone, K)),
        Case(work, "igraph: every 25th pair, scaled up", by_igraph, share, rounds=2),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m bench.routes", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="runs of each, in turn (the slowest: at most 2)")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="the CPU that all runs share")
    options = parser.parse_args(arguments)
    os.sched_setaffinity(0, {options.cpu})
    lines = []
    works = (_all_pairs(), *_other_networks(), _one_source(), _k_shortest())
    with Steps(len(works) * options.rounds, "rounds") as progress:
        for cases in works:
            for turn in range(options.rounds):
                for case in cases:
                    if turn < (case.rounds or options.rounds):
                        case.measure()
                progress.advance()
            first = median(cases[0].seconds)
            lines += [
                (case.work, case.by, f"{median(case.seconds):.3g}", f"{median(case.seconds) / first:.3g}")
                for case in cases
            ]
    columns = ("work", "by", "CPU, s", "times the first row's")
    table = Table(*columns)
    for line in lines:
        table.add_row(*line)
    Console().print(table)
    rows = [f"| {' | '.join(cells)} |" for cells in (columns, ["---"] * len(columns), *lines)]
    today = datetime.now(UTC).date().isoformat()
    source = (
        f"Anabranch {version()}, {today}, `python -m bench.routes --rounds {options.rounds}`, medians in turn on one CPU, one "
        f"thread; scipy, rustworkx, igraph and networkx of that day; {machine()}."
    )
    write_part(PAGE, "routes", "\n".join([*rows, "", source]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
