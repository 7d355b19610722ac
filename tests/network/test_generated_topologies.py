"""Generators and built-ins: the counts, distances and probabilities of the papers that describe them, and their errors."""

import math
import warnings
from itertools import pairwise

import networkx
import pytest

from anabranch.network.topologies import GENERATORS, Topology, TopologyError, load
from anabranch.network.topologies.builtin import BUILTINS, tcpbp10
from anabranch.network.topologies.generate import (
    dragonfly,
    dumbbell,
    fat_tree,
    grid,
    leaf_spine,
    line,
    parallel,
    random,
)


def graph_of(topology: Topology) -> networkx.DiGraph:
    graph = networkx.DiGraph()
    for link in topology.links:
        graph.add_edge(link.source, link.target, link=link)
    return graph


@pytest.mark.parametrize("name", BUILTINS)
def test_builtins_go_both_ways_and_are_strongly_connected(name: str) -> None:
    graph = graph_of(load(name))
    assert networkx.is_strongly_connected(graph)
    assert all(graph.has_edge(target, source) for source, target in graph.edges)


def test_dumbbell() -> None:
    graph = graph_of(dumbbell(pairs=3, bottleneck_bps=10**6))
    assert networkx.shortest_path(graph, "s2", "d3") == ["s2", "left", "right", "d3"]
    assert graph["left"]["right"]["link"].capacity_bps == 10**6
    assert (len(graph), graph.size()) == (8, 14)


def test_parallel_paths_are_disjoint_and_spread_evenly() -> None:
    graph = graph_of(parallel(paths=3, delay_s=0.010, difference_s=0.004, access_delay_s=0.001))
    paths = list(networkx.edge_disjoint_paths(graph, "left", "right"))
    delays = [sum(graph[a][b]["link"].delay_s for a, b in pairwise(path)) for path in paths]
    assert sorted(delays) == pytest.approx([0.010, 0.012, 0.014])
    assert sum(name.startswith("p") for name in graph) == 3
    assert sum(name.startswith("p") for name in graph_of(parallel(delays_s=[0.002, 0.002, 0.002, 0.0046]))) == 4


def test_a_parallel_path_loses_its_share_once_in_either_direction() -> None:
    graph = graph_of(parallel(paths=2, loss=0.001))
    for start, end in (("left", "right"), ("right", "left"), ("s1", "d1")):
        for path in networkx.all_simple_paths(graph, start, end):
            losses = [graph[a][b]["link"].loss for a, b in pairwise(path)]
            assert [loss for loss in losses if loss is not None] == [0.001], path


@pytest.mark.parametrize(("rows", "columns"), [(1, 2), (3, 3), (2, 5)])
def test_grid_is_a_grid(rows: int, columns: int) -> None:
    graph = graph_of(grid(rows, columns)).to_undirected()
    assert networkx.is_isomorphic(graph, networkx.grid_2d_graph(rows, columns))
    assert networkx.has_path(graph, "r1c1", f"r{rows}c{columns}")


def test_line_is_a_path() -> None:
    assert networkx.is_isomorphic(graph_of(line(5)).to_undirected(), networkx.path_graph(5))


@pytest.mark.parametrize("k", [2, 4, 6])
def test_fat_tree_has_the_paper_s_counts(k: int) -> None:
    graph = graph_of(fat_tree(k))
    hosts = [name for name in graph if "h" in name]
    assert len(hosts) == k**3 // 4
    assert len(graph) - len(hosts) == 5 * k * k // 4
    assert {graph.out_degree(name) for name in graph if "h" not in name} == {k}  # every switch uses all its ports
    if k > 2:
        paths = networkx.all_shortest_paths(graph, "p1e1h1", f"p{k}e1h1")
        assert len(list(paths)) == (k // 2) ** 2  # one over each core switch


@pytest.mark.parametrize("homes", [1, 2, 4])
def test_a_leaf_spine_has_its_ports_and_its_oversubscription(homes: int) -> None:
    topology = leaf_spine(leaves=8, spines=3, hosts=6, rate_bps=10**10, oversubscription=2.5, homes=homes)
    graph = graph_of(topology)
    hosts = [name for name in graph if "h" in name]
    leaves = [name for name in graph if name.startswith("l") and "h" not in name]
    assert len(hosts) == 8 * 6 / homes
    assert (len(leaves), len(graph)) == (8, len(hosts) + 8 + 3)
    assert {graph.out_degree(host) for host in hosts} == {homes}
    assert topology.multihomed == (tuple(hosts) if homes > 1 else ())
    for leaf in leaves:
        rates = {end: graph[leaf][end]["link"].capacity_bps for end in graph[leaf]}
        down = sum(rate for end, rate in rates.items() if "h" in end)
        up = sum(rate for end, rate in rates.items() if end.startswith("s"))
        assert (len(rates), down, up) == (6 + 3, 6 * 10**10, pytest.approx(down / 2.5))
    # between hosts without a common leaf: their leaves, and a spine
    assert len(list(networkx.all_shortest_paths(graph, "l1h1", "l5h1"))) == 3 * homes**2
    assert networkx.node_connectivity(graph, "l1h1", "l5h1") == min(homes, 3)  # what must fail to part two hosts


def test_uplinks_have_the_rate_that_is_given_or_that_of_the_hosts() -> None:
    assert graph_of(leaf_spine(uplink_bps=123456))["l1"]["s1"]["link"].capacity_bps == 123456
    assert graph_of(leaf_spine(hosts=8, spines=2, rate_bps=10**9))["l1"]["s1"]["link"].capacity_bps == 4 * 10**9


@pytest.mark.parametrize(("h", "a", "p"), [(1, None, None), (2, None, None), (3, None, None), (2, 3, 1), (3, 2, 4)])
def test_a_dragonfly_has_the_paper_s_counts_and_diameter(h: int, a: int | None, p: int | None) -> None:
    """Kim et al. 2008: N = ap(ah + 1) hosts, routers of radix k = p + a + h - 1, one local, global and local link at most."""
    graph = graph_of(dragonfly(h, a, p))
    a, p = a or 2 * h, p or h
    groups = a * h + 1
    routers = [name for name in graph if "h" not in name]
    assert (len(routers), len(graph) - len(routers)) == (a * groups, a * p * groups)
    assert {graph.out_degree(router) for router in routers} == {p + a + h - 1}
    between = graph.subgraph(routers).to_undirected()
    assert networkx.diameter(between) <= 3
    joined = [{name.split("r")[0] for name in ends} for ends in between.edges]
    outside = [frozenset(ends) for ends in joined if len(ends) == 2]
    assert len(outside) == len(set(outside)) == groups * (groups - 1) // 2  # one link for each pair of groups


@pytest.mark.parametrize("groups", range(2, 10))
def test_a_smaller_dragonfly_spreads_its_global_links_evenly(groups: int) -> None:
    graph = graph_of(dragonfly(h=2, a=4, p=1, g=groups, rate_bps=10**9))
    routers = [name for name in graph if "h" not in name]
    assert networkx.diameter(graph.subgraph(routers).to_undirected()) <= 3
    rates = dict.fromkeys(((i, j) for i in range(1, groups + 1) for j in range(1, groups + 1) if i != j), 0)
    for one, other, data in graph.subgraph(routers).edges(data=True):
        ends = int(one[1 : one.index("r")]), int(other[1 : other.index("r")])
        if ends[0] != ends[1]:
            rates[ends] += data["link"].capacity_bps // 10**9
    assert max(rates.values()) - min(rates.values()) <= 1
    assert min(rates.values()) == 8 // (groups - 1)
    assert all(
        sum(rates[group, other] for other in range(1, groups + 1) if other != group) <= 8
        for group in range(1, groups + 1)
    )


def test_a_random_network_has_waxman_s_probabilities() -> None:
    """Over many seeds, as many links as the sum of beta exp(-d / (alpha L)) over all pairs; none is needed to connect."""
    links, expected, near, expected_near = 0, 0.0, 0, 0.0
    for seed in range(1, 31):
        topology = random(60, alpha=0.3, beta=0.5, seed=seed, extent_m=1e6)
        places = {node.name: (node.x, node.y) for node in topology.nodes}
        distances = {
            (one, other): math.dist(places[one], places[other]) for one in places for other in places if one < other
        }
        longest = max(distances.values())
        joined = {(link.source, link.target) for link in topology.links}
        for pair, distance in distances.items():
            probability = 0.5 * math.exp(-distance / (0.3 * longest))
            is_near = distance < 0.2 * longest
            links, expected = links + (pair in joined), expected + probability
            near, expected_near = near + (is_near and pair in joined), expected_near + is_near * probability
        assert all(
            link.length_m == pytest.approx(distances[min(ends), max(ends)])
            for link in topology.links
            for ends in [link[:2]]
        )
    # a binomial's standard deviation is below the root of its mean
    assert abs(links - expected) < 4 * math.sqrt(expected)
    assert abs(near - expected_near) < 4 * math.sqrt(expected_near)


def test_a_random_network_depends_on_its_seed_alone_and_is_connected() -> None:
    sparse = [random(40, alpha=0.01, beta=0.01, seed=seed) for seed in (1, 2, 1)]
    assert sparse[0] == sparse[2] != sparse[1]
    tree = graph_of(sparse[0]).to_undirected()
    assert networkx.is_connected(tree)
    # without links of Waxman's, the shortest ones that join the parts are the minimum spanning tree
    places = {node.name: (node.x, node.y) for node in sparse[0].nodes}
    full = networkx.complete_graph(list(places))
    for one, other in full.edges:
        full[one][other]["weight"] = math.dist(places[one], places[other])
    assert set(map(frozenset, tree.edges)) == set(map(frozenset, networkx.minimum_spanning_tree(full).edges))


def test_a_random_network_of_a_tiny_alpha_has_the_links_that_join_its_parts() -> None:
    with warnings.catch_warnings(action="error"):
        assert len(random(40, alpha=1e-300).links) == len(random(40, alpha=5e-324).links) == 2 * 39


def test_a_generated_network_is_drawn_without_nodes_over_each_other() -> None:
    for topology in (leaf_spine(homes=2), random(50), dragonfly(), dragonfly(3)):
        places = [(node.x, node.y) for node in topology.nodes]
        assert all(x is not None and y is not None for x, y in places)
        assert len({(round(x, 6), round(y, 6)) for x, y in places}) == len(places)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("dumbbell", {"pairs": 0}),
        ("parallel", {"paths": -1}),
        ("parallel", {"delays_s": []}),
        ("parallel", {"delay_s": math.nan}),
        ("parallel", {"loss": 1.0}),
        ("grid", {"rows": 10**9}),
        ("grid", {"rows": 1, "columns": 1}),
        ("line", {"nodes": 1}),
        ("line", {"delay_s": -1.0}),
        ("fat-tree", {"k": 3}),
        ("leaf-spine", {"hosts": 0}),
        ("leaf-spine", {"leaves": 3, "homes": 2}),
        ("leaf-spine", {"uplink_bps": 10**9, "oversubscription": 2.0}),
        ("leaf-spine", {"leaves": 1000, "hosts": 10**6}),
        ("leaf-spine", {"oversubscription": 1e-300}),
        ("leaf-spine", {"oversubscription": 1e300}),
        ("leaf-spine", {"oversubscription": 0.0}),
        ("leaf-spine", {"oversubscription": math.nan}),
        ("random", {"nodes": 1}),
        ("random", {"nodes": 10**5}),
        ("random", {"alpha": 0.0}),
        ("random", {"beta": 1.1}),
        ("random", {"extent_m": math.nan}),
        ("dragonfly", {"h": 2, "g": 10}),
        ("dragonfly", {"g": 1}),
        ("dragonfly", {"h": 1000}),
    ],
)
def test_generators_refuse(name: str, arguments: dict[str, object]) -> None:
    with pytest.raises(TopologyError, match=name):
        GENERATORS[name](**arguments)


def test_nsfnet_is_the_paper_s() -> None:
    topology = load("nsfnet")
    assert [node.name for node in topology.nodes] == [str(number) for number in range(1, 15)]
    graph = graph_of(topology)
    assert graph.size() == 42
    assert graph["4"]["11"]["link"].delay_s == pytest.approx(9.1e-3)  # 1950 km * 1.4 / 3e5 km/s


def test_nsfnet_v2_differs_from_nsfnet_by_three_eastern_links() -> None:
    """Both have the specification's lengths; a swap of 13 and 14 at 9, 11 and 12 is the whole difference."""
    first, second = (
        {frozenset((link.source, link.target)): link.length_m for link in load(name).links}
        for name in ("nsfnet", "nsfnet-v2")
    )
    assert len(first) == len(second) == 21
    only_first, only_second = (
        {(*sorted(ends), length) for ends, length in links}
        for links in (first.items() - second.items(), second.items() - first.items())
    )
    assert only_first == {("13", "9", 300e3), ("11", "13", 750e3), ("12", "14", 300e3)}
    assert only_second == {("14", "9", 300e3), ("11", "14", 750e3), ("12", "13", 300e3)}


def test_tcpbp10_gives_the_paper_s_routes() -> None:
    graph = graph_of(load("tcpbp10"))
    assert (len(graph), graph.size()) == (10, 42)

    def law(*path: str) -> float:
        """1 / (RTT sqrt(P of the round trip)), the law of section 3."""
        links = [graph[a][b]["link"] for a, b in pairwise(path)]
        kept = math.prod(1 - link.loss for link in links)
        return 1 / (2 * sum(link.delay_s for link in links) * math.sqrt(1 - kept**2))

    assert law("1", "3", "4", "10") == pytest.approx(320.86, abs=0.005)
    assert law("1", "5", "10") == pytest.approx(266.74, abs=0.005)
    assert law("1", "5", "4", "10") == pytest.approx(318.00, abs=0.005)
    assert graph_of(load("tcpbp10-d23-0.0044")) is not None
    assert {link.delay_s for link in tcpbp10(0.0044).links if {link.source, link.target} == {"2", "3"}} == {0.0044}
