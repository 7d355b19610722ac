"""Two-segment routing: the least load of all shares, by the program with every intermediate node, and judged as routers forward."""

import json
from itertools import product
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from anabranch.cli import status
from anabranch.engineering import robust, weights
from anabranch.engineering.robust.ecmp import LinkArrays
from anabranch.engineering.robust.failures import single_links
from anabranch.engineering.robust.judged_files import routing_of
from anabranch.engineering.robust.judging import judge, ospf
from anabranch.engineering.robust.lp import LinearProgram
from anabranch.engineering.routes.export import ExportError, export, read_back
from anabranch.engineering.weights.intermediate_nodes import unit_flows
from anabranch.foundation.array_types import Floats
from anabranch.network import topologies
from anabranch.network.topologies import Link, Node, Topology

NSFNET = robust.Network.of(topologies.load("nsfnet"), 500e6)


def demands(seed: int, count: int = 1) -> Floats:
    random = np.random.default_rng(seed)
    rates: Floats = random.exponential(20e6, (count, 14, 14)) * (random.random((count, 14, 14)) < 0.4)
    return rates


def passes_twice(graph: "nx.DiGraph[int]", source: int, node: int, target: int) -> bool:
    """By all shortest paths of networkx."""
    both = product(
        nx.all_shortest_paths(graph, source, node, weight="cost"),
        nx.all_shortest_paths(graph, node, target, weight="cost"),
    )
    return any(set(one) & set(other) != {node} for one, other in both)


def least_with_every_node(costs: Floats, rates: Floats) -> float:
    """The whole program at once: a share of each pair for each node that makes no loop, and no column generation."""
    flows = unit_flows(LinkArrays(NSFNET), costs)
    sources, targets = np.nonzero(rates.any(axis=0) & ~np.eye(14, dtype=bool))
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_weighted_edges_from(
        zip(NSFNET.sources.tolist(), NSFNET.targets.tolist(), costs.tolist(), strict=True), "cost"
    )
    program = LinearProgram()
    for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
        for node in range(14):
            program.add_columns(1, upper=0.0 if passes_twice(graph, source, node, target) else np.inf)
    load = program.add_columns(1, 1.0)
    columns = np.arange(len(sources) * 14).reshape(-1, 14)
    program.add_rows(np.ones(len(sources)), np.ones(len(sources)))
    program.add_entries(np.repeat(np.arange(len(sources)), 14), columns.ravel(), 1.0)
    for matrix in rates:
        for link in range(NSFNET.links):
            crossing = flows[link][sources] + flows[link][:, targets].T
            row = program.add_rows(np.array([-np.inf]), np.zeros(1))
            amount = crossing * matrix[sources, targets][:, None] / NSFNET.capacity[link]
            program.add_entries(np.full(amount.size, row), columns.ravel(), amount.ravel())
            program.add_entries(np.array([row]), np.array([load]), -1.0)
    return float(program.solve("simplex").objective)


@pytest.mark.parametrize(("seed", "matrices"), [(1, 1), (2, 1), (3, 3)])
def test_the_load_is_that_of_the_program_with_every_intermediate_node(seed: int, matrices: int) -> None:
    rates = demands(seed, matrices)
    costs = np.random.default_rng(seed).integers(1, 5, NSFNET.links).astype(float)
    found = weights.two_segments(NSFNET, costs, rates, gap=1e-7)
    least = least_with_every_node(costs, rates)
    assert found.load == pytest.approx(least, rel=1e-5)
    assert found.lower_bound == pytest.approx(least, rel=1e-5)
    assert found.lower_bound <= found.load


@pytest.mark.parametrize("seed", range(4))
def test_it_lies_between_ospf_and_the_optimal_flow_and_is_judged_with_its_load(seed: int) -> None:
    """By the judge of any routing, which knows nothing of the program; each pair's shares add up to 1."""
    rates = demands(seed)
    costs = np.ones(NSFNET.links)
    found = weights.two_segments(NSFNET, costs, rates)
    model = robust.matrices(NSFNET, list(rates))
    whole, *after = judge(NSFNET, model, found.routing(), single_links(NSFNET))
    assert whole.load == pytest.approx(found.load, rel=1e-9)
    plain = judge(NSFNET, model, ospf(NSFNET, costs))[0]
    optimum = weights.optimal_flow(LinkArrays(NSFNET), rates[0])
    assert optimum.lower_bound * (1 - 1e-6) <= found.load <= plain.load * (1 + 1e-9)
    assert all(one.load > 0 and not one.lost_pairs for one in after)
    for record in found.records():
        assert sum(way["fraction"] for way in record["via"]) == pytest.approx(1)


def test_a_worked_example() -> None:
    """a sends d 3 Mbit/s over b on two short links of 2 Mbit/s, or over c, which is longer: OSPF has 1.5, half over c has 0.75."""
    ends = ["ab", "bd", "ac", "cd"]
    links = tuple(
        Link(one[0], one[1], 2_000_000, cost=1 if "b" in one else 5) for pair in ends for one in (pair, pair[::-1])
    )
    network = robust.Network.of(Topology("two ways", tuple(map(Node, "abcd")), links))
    costs = np.array([float(link.cost or 0) for link in links])
    rates = np.zeros((1, 4, 4))
    rates[0, 0, 3] = 3e6
    assert judge(network, robust.matrices(network, list(rates)), ospf(network, costs))[0].load == pytest.approx(1.5)
    found = weights.two_segments(network, costs, rates)
    assert found.load == pytest.approx(0.75)
    (record,) = found.records()
    assert [way["fraction"] for way in record["via"]] == pytest.approx([0.5, 0.5])
    assert "c" in {way["node"] for way in record["via"]}
    # c is cut off: its share goes over the others
    failure = next(one for one in single_links(network) if one.name == "a - c")
    assert judge(network, robust.matrices(network, list(rates)), found.routing(), [failure])[1].load == pytest.approx(
        1.5
    )


def test_the_command_writes_segments_that_are_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shared = ["nsfnet", "--capacity", "500Mbps", "--matrix", "gravity=2Gbps"]
    assert status(["weights", *shared, "--limit", "0.3s", "--labels", "2", "--json"]) == 0
    text = capsys.readouterr().out
    Path("found.json").write_text(text, encoding="utf-8")
    document = json.loads(text)
    assert document["two_segments"]["load"] <= document["routings"][-1]["load"] * (1 + 1e-9)
    assert status(["robust", *shared, "--judge", "found.json", "--json"]) == 0
    judged = json.loads(capsys.readouterr().out)["worst_case_load"]
    assert judged == pytest.approx(document["two_segments"]["load"], rel=1e-9)
    assert status(["weights", *shared, "--limit", "0.3s", "--labels", "2", "--fail", "links"]) == 0
    assert "weights found, two segments" in capsys.readouterr().out


SEARCH = ["weights", "nsfnet", "--capacity", "500Mbps", "--matrix", "gravity=2Gbps", "--limit", "0.3s", "--labels", "2"]


def test_segment_lists_have_at_most_two_labels_and_the_same_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Read back from the labels alone, over equal-cost paths from label to label."""
    monkeypatch.chdir(tmp_path)
    assert status([*SEARCH, "--export", "segment-routing", "--into", "out", "--json"]) == 0
    printed = capsys.readouterr()
    load = json.loads(printed.out)["two_segments"]["load"]
    assert f"read back from out: {load:.6f} (planned {load:.6f})" in printed.err
    lists = json.loads(Path("out/segment-lists.json").read_text(encoding="utf-8"))["pairs"]
    stacks = [(one["dst"], path["mpls"]) for one in lists for path in one["paths"]]
    assert {len(labels) for _, labels in stacks} == {1, 2}
    assert all(labels[-1] == 16000 + int(target) for target, labels in stacks), "node 3 has label 16003"
    assert len(lists) == 14 * 13


def test_srv6_has_the_same_load_but_for_the_rounding_of_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Read back from the kernel's routes alone: tunnels with their weights, and equal-cost routes to the locators."""
    monkeypatch.chdir(tmp_path)
    assert status([*SEARCH, "--export", "srv6", "--into", "out", "--json"]) == 0
    printed = capsys.readouterr()
    load = json.loads(printed.out)["two_segments"]["load"]
    read = float(printed.err.partition("read back from out: ")[2].split()[0])
    assert read == pytest.approx(load, rel=0.01)
    texts = "".join(file.read_text(encoding="utf-8") for file in Path("out").glob("*.routes.batch"))
    tunnels = [line for line in texts.splitlines() if "encap seg6 mode" in line]
    counts = {part.split(" ")[0].count(",") + 1 for line in tunnels for part in line.split("segs ")[1:]}
    assert 2 in counts
    assert counts <= {1, 2, 3}, "a link of the source, the intermediate node, and the end of the tunnel"
    assert "net.ipv6.seg6_flowlabel = 1" in Path("out/n1.sysctl.conf").read_text(encoding="utf-8")


def test_one_intermediate_node_is_a_policy_of_frr(tmp_path: Path) -> None:
    """From 1 to 14 over node 5, on the shortest paths by hops to it and from it; FRR has no shares, so two ways are refused."""
    routes = weights.as_routes(NSFNET, np.ones(NSFNET.links))
    export(routes, "frr-segment-routing", tmp_path / "out", igp="cost", via={("1", "14"): [("5", 1.0)]})
    found = read_back(tmp_path / "out", NSFNET.topology).paths
    graph = nx.DiGraph(zip(NSFNET.sources.tolist(), NSFNET.targets.tolist(), strict=True))
    named = nx.relabel_nodes(graph, dict(enumerate(NSFNET.names)))
    both = product(nx.all_shortest_paths(named, "1", "5"), nx.all_shortest_paths(named, "5", "14"))
    assert {nodes for nodes, _ in found["1", "14"]} == {(*one, *other[1:]) for one, other in both}
    assert sum(share for _, share in found["1", "14"]) == pytest.approx(1)
    direct = {tuple(nodes) for nodes in nx.all_shortest_paths(named, "2", "14")}
    assert {nodes for nodes, _ in found["2", "14"]} == direct
    with pytest.raises(ExportError, match="'1' -> '14': has 2 paths; an SR policy of FRR has one"):
        export(
            routes, "frr-segment-routing", tmp_path / "out", igp="cost", via={("1", "14"): [("5", 0.5), (None, 0.5)]}
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--labels", "3"], "--labels 3: must be from 1 to 2"),
        (
            ["--labels", "2", "--export", "frr-ospf"],
            "--export frr-ospf: has no segments of weights; with --labels 2 only segment-routing, srv6, frr-segment-routing have",
        ),
    ],
)
def test_what_segments_cannot_be_is_said(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(["weights", "nsfnet", "--capacity", "500Mbps", "--matrix", "gravity=2Gbps", *arguments]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("segments", "message"),
    [
        ({"pairs": [{"src": "1", "dst": "2", "via": [{"node": "99", "fraction": 1}]}]}, "two_segments: must be as"),
        ({"pairs": []}, "two_segments: must have pairs"),
        ({"pairs": [{"src": "1", "dst": "2", "via": [{"node": None, "fraction": -1}]}]}, "fractions of at least 0"),
        (3, "two_segments: must be as"),
    ],
)
def test_segments_that_are_wrong_are_named(segments: object, message: str, tmp_path: Path) -> None:
    costs = [
        {"src": source, "dst": target, "weight": 1} for source, target in map(NSFNET.link_name, range(NSFNET.links))
    ]
    file = tmp_path / "found.json"
    file.write_text(json.dumps({"weights": costs, "two_segments": segments}), encoding="utf-8")
    with pytest.raises(robust.RobustError, match=message):
        routing_of(str(file), NSFNET)


def test_pairs_without_a_path_are_named() -> None:
    network = robust.Network.of(Topology("apart", tuple(map(Node, "ab")), (Link("a", "b", 1_000_000),)))
    with pytest.raises(robust.RobustError, match="apart: b -> a has traffic, but no path"):
        weights.two_segments(network, np.ones(1), np.full((1, 2, 2), 1.0))
