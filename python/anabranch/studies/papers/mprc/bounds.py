"""The most that a network carries between two nodes, as a multiple of the rate of its links, which is the same for all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import networkx as nx

if TYPE_CHECKING:
    from anabranch.results.result import Result

Ends = tuple[str, str]


def links(result: Result) -> list[Ends]:
    """The directed links of the network that a result was obtained on."""
    return [(link["src"], link["dst"]) for link in result.manifest["topology"]["links"]]


def max_flow(links: Iterable[Ends], source: str, target: str) -> float:
    """The most that any forwarding carries (Ford and Fulkerson)."""
    return float(nx.maximum_flow_value(_graph(links), source, target, capacity="rate"))


def without(links: Iterable[Ends], *failed: Ends) -> list[Ends]:
    """The links without the failed ones, which fail in both directions."""
    down = {frozenset(ends) for ends in failed}
    return [ends for ends in links if frozenset(ends) not in down]


def fewest_links(links: Iterable[Ends], source: str, target: str) -> list[Ends]:
    """The links of all paths with the fewest links. Hop-by-hop forwarding over equal costs uses these links."""
    graph = _graph(links)
    far = nx.single_source_shortest_path_length(graph, source)
    near = nx.single_source_shortest_path_length(graph.reverse(), target)
    return [
        (here, there)
        for here, there in graph.edges
        if here in far and there in near and far[here] + 1 + near[there] == near[source]
    ]


def equal_split(links: Iterable[Ends], source: str, target: str) -> float:
    """The most that forwarding over the fewest links carries if every node splits equally; then the busiest link is full."""
    graph = _graph(fewest_links(links, source, target))
    at_node = {source: 1.0}
    busiest = 0.0
    for node in nx.topological_sort(graph):
        for successor in graph.successors(node):
            share = at_node[node] / graph.out_degree(node)
            at_node[successor] = at_node.get(successor, 0.0) + share
            busiest = max(busiest, share)
    return 1.0 / busiest


def _graph(links: Iterable[Ends]) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_edges_from(links, rate=1.0)
    return graph
