"""Exports without the programs that they are for: quantised weights, addresses, segments, refusals, files on disk."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path as FilePath

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.cli import status
from anabranch.compile.run import compile_run
from anabranch.engineering.routes import Path, Route, Routes
from anabranch.engineering.routes.export import FORMATS, ExportError, described, export, make, make_plan, read_json
from anabranch.engineering.routes.export.forwarding import next_hops, paths
from anabranch.engineering.routes.export.segments import ShortestPaths, compress
from anabranch.engineering.routes.export.shares import of_sums, up_to
from anabranch.engines.refusal import refusals
from anabranch.network import topologies
from anabranch.network.topologies import Link, Node, Topology
from anabranch.network.topologies.export import to_json
from anabranch.runs import execute
from anabranch.scenario import Scenario
from tests.export_routes import explicit, hop_by_hop, planned, topology


def splits(most: int) -> st.SearchStrategy[list[float]]:
    parts = st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=most)
    return parts.map(lambda values: [value / sum(values) for value in values])


@settings(deadline=None)
@given(splits(12), st.sampled_from([4, 255, 256]))
def test_weights_keep_their_bounds_and_miss_by_what_they_say(shares: list[float], largest: int) -> None:
    weights, error = up_to(shares, largest)
    assert all(1 <= weight <= largest for weight in weights)
    total = sum(weights)
    worst = max(abs(weight / total - share) for weight, share in zip(weights, shares, strict=True))
    assert worst == pytest.approx(error, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(splits(3))
def test_no_other_weights_are_closer_by_brute_force(shares: list[float]) -> None:
    _, error = up_to(shares, 12)
    candidates = itertools.product(range(1, 13), repeat=len(shares))
    best = min(
        max(abs(weight / sum(weights) - share) for weight, share in zip(weights, shares, strict=True))
        for weights in candidates
    )
    assert error <= best + 2e-9


@settings(deadline=None)
@given(splits(40))
def test_weights_of_a_given_sum_add_up_to_it(shares: list[float]) -> None:
    sums = (16, 32, 64)
    weights, error = of_sums(shares, sums)
    assert sum(weights) in sums
    assert min(weights) >= 1
    if min(shares) * 64 >= 1:
        assert error <= 1 / 64, "Hamilton's method misses by less than one unit"


def test_the_smallest_of_exact_weights_are_taken() -> None:
    assert up_to([0.5, 0.5], 256) == ((1, 1), 0.0)
    assert up_to([0.7, 0.2, 0.1], 256)[0] == (7, 2, 1)
    assert up_to([0.999, 0.001], 256)[0] == (256, 1)
    with pytest.raises(ExportError, match="at most 64"):
        of_sums([1 / 65] * 65, (64,))


def test_addresses_are_those_of_the_description() -> None:
    plan = make_plan(topologies.load("tcpbp10"))
    node = plan.nodes["3"]
    assert (node.identifier, str(node.prefix), str(node.router)) == ("n3", "10.0.3.0/24", "10.0.3.1")
    first = plan.interface("1", "3")  # the first link of the topology
    assert (first.name, str(first.address), first.port) == ("n1-n3", "10.128.0.0", 2)
    assert str(plan.interface("3", "1").address) == "10.128.0.1"
    assert (node.label, str(node.end_sid), str(node.decapsulation_sid)) == (
        16003, "fd61:6e61:6272:3::1", "fd61:6e61:6272:3::d4",
    )  # fmt: skip


def test_addresses_names_and_ports_are_unique_and_valid_on_a_thousand_nodes() -> None:
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(25, 40)).to_directed()
    large = Topology(
        "grid", tuple(Node(str(node)) for node in grid), tuple(Link(str(one), str(other)) for one, other in grid.edges)
    )
    document = make_plan(large).document()
    prefixes = [ip_network(node["prefix"]) for node in document["nodes"]]
    assert len(set(prefixes)) == 1000
    assert not any(one.overlaps(other) for one, other in itertools.pairwise(sorted(prefixes)))
    addresses = [interface["address"].split("/")[0] for interface in document["interfaces"]]
    assert len(set(addresses)) == len(addresses) == len(large.links)
    half = ip_network("10.128.0.0/9")
    assert all(ip_network(address).subnet_of(half) for address in addresses)
    assert not any(prefix.overlaps(half) for prefix in prefixes)
    names = [interface["name"] for interface in document["interfaces"]]
    assert len(set(names)) == len(names)
    assert max(map(len, names)) <= 15
    for node in document["nodes"]:
        ports = [one["port"] for one in document["interfaces"] if one["node"] == node["name"]]
        assert ports == list(range(2, 2 + len(ports)))


def test_node_prefixes_shrink_before_the_prefix_is_too_small() -> None:
    ten = topologies.load("tcpbp10")
    assert str(make_plan(ten, "192.168.0.0/24").nodes["3"].prefix) == "192.168.0.24/29"
    with pytest.raises(ExportError, match="10 nodes of tcpbp10, which need 4 addresses each"):
        make_plan(ten, "192.168.0.0/26")
    star = Topology(
        "star", tuple(Node(str(node)) for node in range(7)), tuple(Link("0", str(node)) for node in range(1, 7))
    )
    assert make_plan(star, "192.168.0.0/26")
    full = Topology("mesh", star.nodes, tuple(Link(str(a), str(b)) for a, b in itertools.permutations(range(7), 2)))
    with pytest.raises(ExportError, match="21 links of mesh, which need 2 addresses each"):
        make_plan(full, "192.168.0.0/26")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prefix": "10.0.0.1/8"}, "prefix 10.0.0.1/8"),
        ({"prefix": "fd00::/48"}, "must be an IPv4 prefix"),
        ({"prefix6": "fd00::/40"}, "must be a /48"),
        ({"metric": "delay"}, "format ip-route has no option 'metric'; possible: prefix, prefix6"),
    ],
)
def test_options_that_cannot_be_used_are_named(options: dict[str, str], message: str) -> None:
    with pytest.raises(ExportError, match=message):
        make(explicit(topologies.load("tcpbp10"), False), "ip-route", **options)


def small(*paths: tuple[str, float], forwarding: str = "explicit") -> Routes:
    """On a ladder A-B-D, A-C-D with B-C between; each path is a word."""
    ends = ["AB", "AC", "BC", "BD", "CD"]
    links = tuple(Link(a, b) for pair in ends for a, b in (pair, pair[::-1]))
    on = Topology("ladder", tuple(Node(name) for name in "ABCD"), links)
    by_pair: dict[tuple[str, str], list[Path]] = {}
    for nodes, weight in paths:
        by_pair.setdefault((nodes[0], nodes[-1]), []).append(Path(tuple(nodes), weight))
    routes = tuple(Route(*pair, tuple(several)) for pair, several in by_pair.items())
    return Routes(on, "delay", "explicit" if forwarding == "explicit" else "hop-by-hop", routes)


def test_explicit_routes_that_destinations_alone_realise_are_next_hops() -> None:
    routes = small(("ABD", 0.25), ("ACD", 0.75), ("BD", 1.0), ("CD", 1.0))
    assert next_hops(routes) == {"A": {"D": {"B": 0.25, "C": 0.75}}, "B": {"D": {"D": 1.0}}, "C": {"D": {"D": 1.0}}}


@pytest.mark.parametrize(
    ("routes", "message"),
    [
        (
            small(("ABD", 1.0), ("BCD", 1.0)),
            "route 'B' -> 'D': at 'B' it goes on to 'C', but route 'A' -> 'D' goes on to 'D'",
        ),
        # each path alone is fine, but a packet that comes to C from A and one that comes from B look alike there
        (
            small(("ACD", 0.5), ("ABCD", 0.25), ("ACBD", 0.25)),
            "'A' -> 'D': at 'C' it goes on to 'D', but it also goes on to",
        ),
    ],
)
@pytest.mark.parametrize("format", ["ip-route", "frr"])
def test_what_destinations_alone_do_not_realise_is_refused_with_the_formats_that_can(
    routes: Routes, message: str, format: str
) -> None:
    with pytest.raises(ExportError, match=message) as refusal:
        make(routes, format)
    for able in ("openflow13", "openflow15", "srv6", "segment-routing"):
        assert able in str(refusal.value)
        assert make(routes, able).texts


def test_loops_of_hop_by_hop_routes_are_warned_of_or_refused() -> None:
    looping = small(("ABD", 1.0), ("BAD", 1.0), ("CD", 1.0), forwarding="hop-by-hop")
    looping = replace(looping, topology=small(("ABD", 1.0)).topology)
    links = (*looping.topology.links, Link("A", "D"))
    looping = replace(looping, topology=replace(looping.topology, links=links))
    looping = replace(
        looping, routes=(Route("A", "D", (Path(("A", "B", "D")),)), Route("B", "D", (Path(("B", "A", "D")),)))
    )
    assert make(looping, "ip-route").warnings == [
        "packets to 'D' loop over ['A', 'B', 'A']; explicit routes do not loop"
    ]
    with pytest.raises(ExportError, match="route 'A' -> 'D': loops over"):
        make(looping, "segment-routing")


def test_routers_without_a_route_on_the_way_are_named() -> None:
    routes = small(("ABD", 1.0), forwarding="hop-by-hop")
    assert make(routes, "openflow13").warnings == ["packets to 'D' come to routers without a route to it: ['B']"]
    with pytest.raises(ExportError, match="comes to 'B', for which there is no route to 'D'"):
        make(routes, "srv6")


def test_paths_of_hop_by_hop_routes_are_those_that_packets_take() -> None:
    routes = hop_by_hop(topology())
    taken = paths(routes)
    for pair, several in planned(routes).items():
        assert dict(taken[pair]) == pytest.approx(several)


@pytest.mark.parametrize(
    ("route", "message"),
    [
        (Route("A", "X", ()), "there is no node 'X' in ladder"),
        (Route("A", "A", ()), "joins a node to itself"),
        (Route("A", "D", (Path(("A", "D")),)), "there is no link 'A' -> 'D'"),
        (Route("A", "D", (Path(("A", "B")),)), "must lead from 'A' to 'D'"),
        (Route("A", "D", (Path(("A", "B", "A", "C", "D")),)), "visits a node twice"),
        (Route("A", "D", (Path(("A", "B", "D"), 0.5),)), "add up to 0.5"),
        (Route("A", "D", (Path(("A", "B", "D"), float("nan")),)), "its weight is nan"),
    ],
)
def test_routes_that_are_none_are_refused(route: Route, message: str) -> None:
    routes = small(("AB", 1.0))
    for format in FORMATS:
        with pytest.raises(ExportError, match=message):
            make(replace(routes, routes=(*routes.routes, route)), format)


@pytest.mark.parametrize("metric", ["hop-count", "delay", "ospf"])
def test_segments_lead_over_exactly_the_path_and_no_fewer_do(metric: str) -> None:
    """Against all shortest paths that networkx finds, and brute force over all ways to cut the path."""
    on = topologies.load("tcpbp10")
    shortest = ShortestPaths(on, metric)  # type: ignore[arg-type]
    network: nx.DiGraph[str] = nx.DiGraph()
    for link in on.links:
        cost = {"hop-count": 1, "delay": max(1, round((link.delay_s or 0) * 1e6)), "ospf": 1}[metric]
        network.add_edge(link.source, link.target, cost=cost)

    def only(nodes: tuple[str, ...]) -> bool:
        return list(nx.all_shortest_paths(network, nodes[0], nodes[-1], weight="cost")) == [list(nodes)]

    for route in explicit(on, True).routes:
        for path in route.paths:
            segments = compress(path.nodes, shortest)
            assert segments[0].source == route.source
            assert segments[-1].target == route.target
            covered: list[str] = [route.source]
            for segment in segments:
                start, end = path.nodes.index(segment.source), path.nodes.index(segment.target)
                piece = path.nodes[start : end + 1]
                assert only(piece) if segment.kind == "node" else len(piece) == 2
                covered += piece[1:]
            assert tuple(covered) == path.nodes
            inner = range(1, len(path.nodes) - 1)
            fewest = min(
                len(cuts) + 1
                for count in range(len(path.nodes) - 1)
                for cuts in itertools.combinations(inner, count)
                if all(
                    end == start + 1 or only(path.nodes[start : end + 1])
                    for start, end in itertools.pairwise((0, *cuts, len(path.nodes) - 1))
                )
            )
            assert len(segments) == fewest


def test_costs_that_routers_do_not_take_are_refused() -> None:
    with pytest.raises(ExportError, match='has no cost, which igp = "cost" needs'):
        make(explicit(topologies.load("tcpbp10"), False), "segment-routing", igp="cost")
    with pytest.raises(ExportError, match="igp 'loss': must be one of hop-count, delay, ospf, cost"):
        make(explicit(topologies.load("tcpbp10"), False), "srv6", igp="loss")


def test_an_sr_policy_of_frr_has_one_path_and_both_directions() -> None:
    with pytest.raises(ExportError, match="has 3 paths; an SR policy of FRR has one"):
        make(explicit(topologies.load("tcpbp10"), True), "frr-segment-routing")
    with pytest.raises(ExportError, match="goes one way; OSPF and IS-IS need both"):
        make(explicit(topology(), False), "frr-segment-routing")


@pytest.mark.parametrize("routes", [explicit(topology(), True), hop_by_hop(topology())], ids=["explicit", "hop-by-hop"])
def test_json_comes_back_as_it_was(routes: Routes, tmp_path: FilePath) -> None:
    export(routes, "json", tmp_path / "out")
    back = read_json(tmp_path / "out" / "routes.json", routes.topology)
    assert replace(back, routes=frozenset(back.routes)) == replace(routes, routes=frozenset(routes.routes))  # type: ignore[arg-type]
    export(back, "json", tmp_path / "again")
    assert (tmp_path / "again" / "routes.json").read_bytes() == (tmp_path / "out" / "routes.json").read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metric": 5}, "metric = 5: must be the name of a metric"),
        ({"forwarding": "magic"}, 'forwarding = \'magic\': must be "explicit" or "hop-by-hop"'),
        ({"routes": {}}, "routes = {}: must be a list of routes"),
        ({"routes": [3]}, r"routes\[0\] = 3: must be an object"),
        ({"routes": [{"src": "A"}]}, r"routes\[0\].dst: is missing"),
        ({"routes": [{"src": "A", "dst": "B"}]}, r"routes\[0\].path: is missing"),
        (
            {"routes": [{"src": "A", "dst": "B", "path": ["A", 7]}]},
            r"routes\[0\].path\[1\] = 7: must be the name of a node",
        ),
        ({"routes": [{"src": "A", "dst": "D", "path": ["A", "D"]}]}, "there is no link 'A' -> 'D'"),
        (
            {"routes": [{"src": "A", "dst": "B", "paths": [{"path": ["A", "B"], "fraction": "1"}]}]},
            r"routes\[0\].paths\[0\].fraction = '1'",
        ),
    ],
)
def test_json_that_is_wrong_is_refused_with_file_and_place(
    change: dict[str, object], message: str, tmp_path: FilePath
) -> None:
    routes = small(("AB", 1.0))
    file = tmp_path / "routes.json"
    file.write_text(json.dumps(routes.document() | change), encoding="utf-8")
    with pytest.raises(ExportError, match=message) as refusal:
        read_json(file, routes.topology)
    assert str(file) in str(refusal.value)


def test_a_file_that_is_no_json_is_refused(tmp_path: FilePath) -> None:
    (tmp_path / "x").write_bytes(b"\xff{")
    for name, message in (("x", "is not UTF-8 text"), ("none", "cannot be read")):
        with pytest.raises(ExportError, match=message):
            read_json(tmp_path / name, small(("AB", 1.0)).topology)


@pytest.mark.parametrize("routes", [explicit(topology(), True), hop_by_hop(topology())], ids=["explicit", "hop-by-hop"])
def test_a_scenario_takes_the_routes(routes: Routes, tmp_path: FilePath) -> None:
    """Through the scenario's own loader and compiler, to the paths and weights that the engine gets."""
    text = make(routes, "scenario").texts["routing.toml"]
    assert routes.metric in tomllib.loads(text)["routing"]
    (tmp_path / "t.json").write_text(to_json(routes.topology), encoding="utf-8")
    first = json.dumps(routes.topology.nodes[0].name, ensure_ascii=False)
    second = json.dumps(routes.topology.nodes[1].name, ensure_ascii=False)
    scenario = tmp_path / "s.toml"
    scenario.write_text(
        f'[topology]\nfrom = "t.json"\ncapacity = "1Gbps"\n\n{text}\n'
        f'[[traffic]]\nfrom = {first}\nto = {second}\nbulk = true\nstack = "newreno"\nrouting = "{routes.metric}"\n\n[run]\nduration = "1s"\n',
        encoding="utf-8",
    )
    loaded = Scenario.load(scenario)
    assert refusals(loaded).problems == []
    spec = compile_run(loaded.cases[0], 1)
    forwarding = spec["routings"][0]["hops"]
    found: dict[tuple[str, str], dict[tuple[str, ...], float]] = {}
    for path, weight in zip(forwarding["paths"], forwarding["weights"], strict=True):
        nodes = tuple(spec["nodes"][node] for node in path)
        found.setdefault((nodes[0], nodes[-1]), {})[nodes] = weight
    meant = planned(routes)
    for pair, several in meant.items():
        assert found[pair] == pytest.approx(several), pair


def test_the_packet_engine_sends_over_the_exported_paths_in_their_shares(tmp_path: FilePath) -> None:
    """300 flows of UDP, which gets no answers: the flows on each link are in proportion to the shares of its paths."""
    on = topologies.load("tcpbp10")
    on = replace(on, links=tuple(link._replace(loss=None) for link in on.links))
    (tmp_path / "t.json").write_text(to_json(on), encoding="utf-8")
    routes = explicit(on, True)
    pair, several = next((pair, several) for pair, several in planned(routes).items() if len(several) == 3)
    scenario = tmp_path / "s.toml"
    scenario.write_text(
        f'[topology]\nfrom = "t.json"\n\n{make(routes, "scenario", name="found here").texts["routing.toml"]}\n'
        f'[[traffic]]\nfrom = "{pair[0]}"\nto = "{pair[1]}"\nconstant = "100kbps"\ntransport = "udp"\nflows = 300\n'
        'routing = "found here"\n\n[run]\nduration = "2s"\n',
        encoding="utf-8",
    )
    links = execute(Scenario.load(scenario), show_progress=False).links
    carried = {(row["src"], row["dst"]): row["packets"] for row in links.to_dicts() if row["packets"]}
    sent = sum(packets for (source, _), packets in carried.items() if source == pair[0])
    expected: dict[tuple[str, str], float] = {}
    for path, share in several.items():
        for link in itertools.pairwise(path):
            expected[link] = expected.get(link, 0.0) + share
    assert carried.keys() == expected.keys()
    for link, share in expected.items():
        assert abs(carried[link] / sent - share) < 5 * (share * (1 - share) / 300) ** 0.5 + 0.01


def test_an_export_is_replaced_by_one_and_by_nothing_else(tmp_path: FilePath) -> None:
    routes = explicit(topologies.load("tcpbp10"), False)
    files = export(routes, "ip-route", tmp_path / "out")
    assert sorted(files) == sorted((tmp_path / "out").iterdir())
    export(routes, "json", tmp_path / "out")
    assert sorted(entry.name for entry in (tmp_path / "out").iterdir()) == ["export.json", "plan.json", "routes.json"]
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(ExportError, match=r"holds 'notes.txt', which is of no earlier export"):
        export(routes, "ip-route", tmp_path / "out")
    (tmp_path / "file").write_text("")
    with pytest.raises(ExportError, match="is no directory"):
        export(routes, "ip-route", tmp_path / "file")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "out"]


def test_a_refused_export_leaves_the_earlier_one(tmp_path: FilePath) -> None:
    on = topologies.load("tcpbp10")
    export(explicit(on, False), "ip-route", tmp_path / "out")
    before = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    with pytest.raises(ExportError):
        export(explicit(on, True), "ip-route", tmp_path / "out")
    assert {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()} == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_an_interrupt_leaves_no_debris(tmp_path: FilePath) -> None:
    """Interrupted while files are being written: neither the directory nor anything temporary stands there."""
    program = (
        "import signal, sys, time\nfrom pathlib import Path\n"
        "from anabranch.engineering.routes.export.write import _replace\n"
        "class Slow(dict):\n"
        "    def items(self):\n"
        "        for number in range(10_000):\n"
        "            time.sleep(0.01)\n"
        "            yield f'{number}', 'x'\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it\n"
        "print('begun', flush=True)\n_replace(Path(sys.argv[1]), Slow())\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "out")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert child.stdout
    assert child.stdout.readline() == b"begun\n"
    while not any(tmp_path.rglob("5")):
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGINT)
    assert child.wait(timeout=60) != 0
    assert list(tmp_path.iterdir()) == []


def test_unreachable_pairs_are_named_in_the_manifest() -> None:
    on = topology()
    manifest = json.loads(make(explicit(on, True), "openflow13").texts["export.json"])
    assert manifest["unreachable"] == [[node.name, "one way"] for node in on.nodes if node.name != "one way"]
    assert 0 < manifest["largest_error"] <= 1 / 256
    with pytest.raises(ExportError, match="there is no route to export"):
        make(Routes(on, "delay", "explicit", (Route(on.nodes[0].name, "one way", ()),)), "json")


@pytest.mark.parametrize(
    ("ports", "message"),
    [
        ({70_000: None}, "must be a port from 1 to 65535"),
        ({"50-x": None}, "must be a port"),
        ({(20, 10): None}, "must be a port"),
        ({"5000-5099": None, 5050: None}, "overlaps with 5000-5099"),
    ],
)
def test_tcp_ports_that_are_none_are_refused(ports: dict[str | int, None], message: str) -> None:
    routes = small(("AB", 1.0))
    with pytest.raises(ExportError, match=message):
        make(routes, "openflow13", tcp_source_ports=dict.fromkeys(ports, routes))


@settings(deadline=None)
@given(st.integers(1, 65_535), st.integers(1, 65_535))
def test_masks_take_the_ports_of_a_range_and_no_others(one: int, other: int) -> None:
    first, last = min(one, other), max(one, other)
    text = make(small(("AB", 1.0)), "openflow13", tcp_source_ports={(first, last): small(("AB", 1.0))}).texts[
        "n1.flows"
    ]
    taken = []
    for line in text.splitlines():
        if "tp_src=" in line:
            value, _, mask = line.split("tp_src=")[1].split(",")[0].partition("/")
            size = 0x10000 - int(mask, 16) if mask else 1
            taken.append((int(value, 0), int(value, 0) + size - 1))
    taken.sort()
    assert taken[0][0] == first
    assert taken[-1][1] == last
    assert all(previous[1] + 1 == following[0] for previous, following in itertools.pairwise(taken))


def test_files_hold_ascii_whatever_the_names() -> None:
    """No name can end a comment or begin a command: files for other programs are printable ASCII, names stand in quotes."""
    on = topology()
    for format in ("ip-route", "frr"):
        texts = make(hop_by_hop(on), format).texts
        for name, text in texts.items():
            if not name.endswith(".json"):
                assert text.isascii(), name
                assert all("reboot" not in line or line[0] in "#!" for line in text.splitlines())


def test_command_line_and_python_write_the_same_files_as_on_the_page(
    tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (FilePath(__file__).parents[2] / "docs" / "guide" / "export.md").read_text(encoding="utf-8")
    commands = re.findall(r"^anabranch (routes .*)$", page, re.MULTILINE)
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    written = []
    for run in (lambda: [status(command.split()) for command in commands], lambda: exec(program, {})):
        directory = tmp_path / str(len(written))
        directory.mkdir()
        monkeypatch.chdir(directory)
        run()
        written.append({file.relative_to(directory): file.read_bytes() for file in directory.rglob("*.*")})
    assert written[0] == written[1]
    assert {file.parent.name for file in written[0]} == {"linux", "switches", "by-dscp"}


def test_frr_says_whose_packets_do_not_follow_the_weights() -> None:
    """Static routes have no weights, and pbrd's rules are for packets that come in; equal shares need neither."""
    made = make(hop_by_hop(topology()), "frr")
    (said,) = [warning for warning in made.warnings if "equal parts" in warning]
    assert re.fullmatch(
        r"packets of \d+ routers themselves divide in equal parts .* those of hosts follow the weights", said
    )
    assert not any("equal parts" in warning for warning in make(explicit(topology(), False), "frr").warnings)


def test_every_format_has_a_line_of_help() -> None:
    assert [line.split()[0] for line in described()] == list(FORMATS)


def test_an_export_of_an_unknown_format_names_those_there_are() -> None:
    with pytest.raises(ExportError, match="format 'cisco' is not there; possible: ip-route, srv6"):
        make(small(("AB", 1.0)), "cisco")


def test_links_that_frr_numbers_itself_are_refused_with_the_formats_that_take_them() -> None:
    """The link A-C takes longer than A-B-C, so that no node's label leads over it."""
    routes = small(("ACD", 1.0))
    links = (
        link._replace(delay_s=0.01 if {link.source, link.target} == {"A", "C"} else 0.001)
        for link in routes.topology.links
    )
    slow = replace(routes, topology=replace(routes.topology, links=tuple(links)))
    with pytest.raises(ExportError, match=r"route 'A' -> 'D': goes over 'A' -> 'C' where .* must be a segment.* srv6"):
        make(slow, "frr-segment-routing", igp="delay")
    assert make(slow, "frr-segment-routing", igp="hop-count").texts
    lists = json.loads(make(slow, "segment-routing", igp="delay").texts["segment-lists.json"])
    (path,) = lists["pairs"][0]["paths"]
    assert [segment["kind"] for segment in path["segments"]] == ["adjacency", "node"]
    assert path["mpls"] == [100_003, 16_004], "A's third port leads to C; D is the fourth node"
    assert path["srv6"] == ["fd61:6e61:6272:3::a:2", "fd61:6e61:6272:4::d4"]
