"""Routes for the tests of exports, built by hand, on the ten-node topology with names that no shell would like."""

import itertools
from collections import defaultdict

import networkx as nx

from anabranch.engineering.routes import Path, Route, Routes
from anabranch.network import topologies
from anabranch.network.topologies import Link, Node, Topology

HOSTILE = (
    "São Paulo", 'quo"ted', "'; reboot #", "$(touch x)", "back\\slash\\", "# comment", "!", "<b>😀</b>", "a, b=c", "nexthop via",
)  # fmt: skip
SHARES = (0.5, 0.3, 0.2)


def topology() -> Topology:
    """The paper's ten nodes, renamed, and an eleventh from which a link leads, but none to it."""
    plain = topologies.load("tcpbp10")
    names = dict(zip((node.name for node in plain.nodes), HOSTILE, strict=True))
    links = [link._replace(source=names[link.source], target=names[link.target]) for link in plain.links]
    links.append(Link("one way", HOSTILE[0], 1_000_000_000, 0.001))
    nodes = (*(node._replace(name=names[node.name]) for node in plain.nodes), Node("one way"))
    return Topology("hostile `names`", nodes, tuple(links))


def graph(on: Topology) -> "nx.DiGraph[str]":
    made: nx.DiGraph[str] = nx.DiGraph()
    for link in on.links:
        made.add_edge(link.source, link.target, delay=link.delay_s)
    return made


def explicit(on: Topology, several: bool) -> Routes:
    """Paths of least delay; with ``several`` up to three for every third pair, which share links and nodes."""
    network = graph(on)
    routes = []
    for number, (source, target) in enumerate(itertools.permutations([node.name for node in on.nodes], 2)):
        if not nx.has_path(network, source, target):
            routes.append(Route(source, target, ()))
            continue
        count = 3 if several and number % 3 == 0 else 1
        found = list(itertools.islice(nx.shortest_simple_paths(network, source, target, weight="delay"), count))
        total = sum(SHARES[: len(found)])
        paths = (Path(tuple(nodes), share / total) for nodes, share in zip(found, SHARES, strict=False))
        routes.append(Route(source, target, tuple(paths)))
    return Routes(on, "delay", "explicit", tuple(routes))


def hop_by_hop(on: Topology) -> Routes:
    """All paths of fewest hops; of k next hops the first takes 1, the second 2, ... parts of what comes to a router."""
    network = graph(on)
    routes = []
    for target in (node.name for node in on.nodes):
        hops = dict(nx.single_source_shortest_path_length(network.reverse(), target))
        reach: dict[str, dict[tuple[str, ...], float]] = defaultdict(dict)
        reach[target] = {(target,): 1.0}
        for node in sorted(hops, key=lambda name: hops[name])[1:]:
            closer = [other for other in network[node] if hops.get(other, len(hops)) == hops[node] - 1]
            parts = len(closer) * (len(closer) + 1) / 2
            for part, other in enumerate(closer, 1):
                for nodes, share in reach[other].items():
                    reach[node][node, *nodes] = share * part / parts
        for source in (node.name for node in on.nodes):
            if source != target:
                paths = tuple(Path(nodes, share) for nodes, share in reach[source].items())
                routes.append(Route(source, target, paths))
    return Routes(on, "hop-count", "hop-by-hop", tuple(routes))


def planned(routes: Routes) -> dict[tuple[str, str], dict[tuple[str, ...], float]]:
    """The paths of each reachable pair with their shares."""
    return {
        (route.source, route.target): {path.nodes: path.weight for path in route.paths}
        for route in routes.routes
        if route.paths
    }
