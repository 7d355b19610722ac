"""Several paths of a pair, from the core, against networkx."""

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise, takewhile
from types import SimpleNamespace
from typing import Any

import networkx
import numpy as np
import pytest

from anabranch import _core
from anabranch.engineering.routes import Search, completed
from anabranch.network import topologies

NAME = "sndlib/abilene"


@pytest.fixture(scope="module")
def graph() -> networkx.DiGraph:
    topology = completed(topologies.load(NAME))
    index = {node.name: place for place, node in enumerate(topology.nodes)}
    graph = networkx.DiGraph()
    for link in topology.links:
        assert link.delay_s is not None
        # Delays of their own, so that no two paths tie.
        delay = round(link.delay_s * 1e12) + 1000 * graph.number_of_edges()
        graph.add_edge(index[link.source], index[link.target], id=graph.number_of_edges(), delay=delay)
    return graph


@pytest.fixture(scope="module")
def network(graph: networkx.DiGraph) -> _core.Network:
    links = sorted((data["id"], src, dst, data["delay"]) for src, dst, data in graph.edges(data=True))
    _, src, dst, delay = (np.array(column) for column in zip(*links, strict=True))
    count = len(links)
    return _core.Network(
        graph.number_of_nodes(),
        src.astype(np.uint32),
        dst.astype(np.uint32),
        np.arange(1, count + 1, dtype=np.uint64) * 10**6,
        delay.astype(np.uint64),
        np.linspace(1e-5, 1e-2, count),
        np.ones(count),
    )


def paths_of(found: Mapping[str, Any]) -> Iterator[tuple[tuple[int, int], list[list[int]]]]:
    hops, links = iter(found["hops"]), iter(found["links"])
    for src, dst, paths in zip(found["src"], found["dst"], found["paths"], strict=True):
        yield (int(src), int(dst)), [[int(next(links)) for _ in range(next(hops))] for _ in range(paths)]


def pairs(graph: networkx.DiGraph) -> tuple[list[int], list[int]]:
    return list(graph), list(graph)


def as_links(graph: networkx.DiGraph, nodes: list[int]) -> list[int]:
    return [graph.edges[hop]["id"] for hop in pairwise(nodes)]


def as_nodes(graph: networkx.DiGraph, links: list[int]) -> list[int]:
    ends = {data["id"]: (src, dst) for src, dst, data in graph.edges(data=True)}
    return [ends[links[0]][0], *(ends[link][1] for link in links)]


def test_k_shortest_paths_are_those_of_networkx(graph: networkx.DiGraph, network: _core.Network) -> None:
    found = network.k_shortest(json.dumps("delay"), *pairs(graph), 5)
    for (src, dst), paths in paths_of(found):
        expected = networkx.shortest_simple_paths(graph, src, dst, weight="delay")
        assert paths == [as_links(graph, nodes) for nodes, _ in zip(expected, range(5), strict=False)]


def shared(paths: list[list[int]]) -> list[int]:
    """The nodes that all paths begin with."""
    return [nodes[0] for nodes in takewhile(lambda nodes: len(set(nodes)) == 1, zip(*paths, strict=False))]


@pytest.mark.parametrize(
    ("by_nodes", "count"), [(False, networkx.edge_connectivity), (True, networkx.node_connectivity)]
)
def test_there_are_as_many_disjoint_paths_as_networkx_counts(
    graph: networkx.DiGraph, network: _core.Network, by_nodes: bool, count: Any
) -> None:
    """Between the first node with a choice and the last: what all paths begin or end with, they share."""
    for (src, dst), paths in paths_of(network.disjoint(json.dumps("delay"), *pairs(graph), 9, by_nodes)):
        every = list(networkx.all_simple_paths(graph, src, dst))
        first = shared(every)
        last = shared([nodes[::-1] for nodes in every])[::-1]
        if len(every) == 1:
            assert paths == [as_links(graph, every[0])]
            continue
        parting, meeting = first[-1], last[0]
        direct = by_nodes and graph.has_edge(
            parting, meeting
        )  # networkx counts nodes to remove: none of them cuts a link
        rest = networkx.restricted_view(graph, [], [(parting, meeting)] if direct else [])
        assert len(paths) == direct + count(rest, parting, meeting)
        found = [as_nodes(graph, links) for links in paths]
        assert all(nodes[: len(first)] == first and nodes[-len(last) :] == last for nodes in found)
        inner = [node for nodes in found for node in nodes[len(first) : -len(last)]]
        assert not by_nodes or len(set(inner)) == len(inner)


def test_paths_within_a_threshold_and_no_others(graph: networkx.DiGraph, network: _core.Network) -> None:
    found = network.within(json.dumps("tcpbp-exact"), *pairs(graph), 0.5, 100)
    index = 0
    for (src, dst), paths in paths_of(found):
        costs = found["cost"][index : index + len(paths)]
        index += len(paths)
        assert list(costs) == sorted(costs)
        assert costs[-1] <= 1.5 * costs[0]
        assert {tuple(links) for links in paths} <= {
            tuple(as_links(graph, nodes)) for nodes in networkx.all_simple_paths(graph, src, dst)
        }


def test_pareto_paths_are_by_delay_and_none_beats_another(graph: networkx.DiGraph, network: _core.Network) -> None:
    found = network.pareto(*pairs(graph))
    rows = np.column_stack([found["delay_s"], found["loss"], -found["cost"]])
    ends = np.cumsum(found["paths"])
    for paths in np.split(rows, ends[:-1]):
        assert (np.diff(paths[:, 0]) >= 0).all()
        for place, path in enumerate(paths):
            assert not (np.delete(paths, place, axis=0) <= path).all(axis=1).any()
    with pytest.raises(ValueError, match="more than 1 partial paths beat no other"):
        network.pareto([0], [1], 1)


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda network: network.k_shortest('"delay"', [0], [99], 3), "there is no node 99"),
        (lambda network: network.k_shortest('"delay"', [0], [1], 0), "asks for 0 paths"),
        (lambda network: network.k_shortest('"tcpbp"', [0], [1], 2), "for several use `tcpbp-exact`"),
        (lambda network: network.within('"widest"', [0], [1], 0.1, 2), "the metric widest does not add up"),
        (lambda network: network.within('"delay"', [0], [1], -0.1, 2), "the threshold -0.1 is"),
        (lambda network: network.disjoint('"widest"', [0], [1], 2, True), "does not add up"),
        (lambda network: network.within('"tcpbp"', [0], [1], 0.1, 2), "for several use `tcpbp-exact`"),
        (
            lambda network: network.throughput_sets('"delay"', [0], [1], 2, False),
            "need a metric of predicted throughput",
        ),
        (lambda network: network.throughput_sets('"tcpbp"', [0], [1], 0, False), "asks for 0 paths"),
    ],
)
def test_questions_without_an_answer_are_refused(network: _core.Network, call: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        call(network)


def test_a_pair_with_too_many_pareto_paths_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    search = Search(completed(topologies.load("tcpbp10"), capacity_bps=10**9))
    found = search._network.pareto

    def with_few_labels(sources: list[int], targets: list[int]) -> Any:
        return found(sources, targets, 1)

    monkeypatch.setattr(search, "_network", SimpleNamespace(pareto=with_few_labels))
    with pytest.raises(ValueError, match=r"^from 1 to 10: more than 1 partial paths beat no other") as refused:
        search.pareto(["1"], ["10"])
    assert "node" not in str(refused.value)
