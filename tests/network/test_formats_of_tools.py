"""Formats of other tools: each file is a small network, and its nodes and links are written by hand."""

from pathlib import Path

import pytest

from anabranch.network.topologies import Link, Node, Topology, TopologyError, load
from anabranch.scenario import Scenario, ScenarioError

DOT = """/* a comment */ strict digraph "My net" { // another
  node [loss=1, shape=box]; edge [delay="1ms"]
# a line of the preprocessor
  graph [rankdir=LR] rankdir = LR
  a [label="Ulm", pos="72,36!"]
  subgraph cluster_0 { edge [delay="2ms"]; b:port:ne -> f [capacity="10" + "Mbps"]; }
  a -> b -> {c "d e"} [weight=3]
  c -> a [dir=both, capacity=1e+3 ] }
"""
GEXF = """<?xml version="1.0" encoding="UTF-8"?>
<gexf xmlns="http://www.gexf.net/1.2draft" xmlns:viz="http://www.gexf.net/1.2draft/viz" version="1.2">
<graph defaultedgetype="undirected"><attributes class="edge"><attribute id="0" title="latency_ms" type="float"/></attributes>
<nodes><node id="0" label="Ulm"><viz:position x="1.5" y="2.0" z="0.0"/></node><node id="1" label="Ems"/></nodes>
<edges><edge id="7" source="0" target="1" weight="4"><attvalues><attvalue for="0" value="2.5"/></attvalues></edge></edges>
</graph></gexf>
"""
PAJEK = """% a comment
*Network Two lines
*Vertices 3
1 "Ulm an der Donau" 0.1 0.25 0.5
2 Ems
3 "Aue"
*Arcs
1 2 4 l "10 Gbit/s"
*Edges
2 3
"""
ROCKETFUEL = "Ulm,+Germany1 New+York,+NY2 3.5\nNew+York,+NY2 Ulm,+Germany1 4\n"
CCH = """7 @Ulm,+Germany + bb\t(2) &1 -> <8> <9> {-4} =a.example r0
8 @?  \t(1) -> <7> \t=b.example! rn
9 @Ems  \t(2) -> <7> <55>  =c.example r1
-4 \t=d.example r1
"""
BRITE = """Topology: ( 2 Nodes, 1 Edges )
Model (1 - RTWaxman):  2 1000 100 1  2  0.15 0.2 1 1 10.0 1024.0

Nodes: ( 2 )
0\t912\t491\t1\t1\t-1\tRT_NODE
1\t311\t851\t1\t1\t-1\tRT_NODE

Edges: ( 1 )
0\t0\t1\t587.7\t1.96\t10.0\t-1\t-1\tE_RT\tU
"""
INET = "2 1\n0\t5625\t2473\n1\t4505\t4098\n0\t1\t17\n"
CAIDA = "# a comment\n" * 200 + "10|20|-1\n20|30|0\n"
HPCC = "3 1 2\n2\n0 2 100Gbps 1000ns 0.000000\n1 2 40Gbps 0.002ms 0.01\n"
MATRIX = "0 1 0\n2.5 0 1\n0 1 0\n"
HTSIM = """# pods of four
Nodes 8
Tiers 3
Podsize 4

Tier 0
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000

Tier 1
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 4
Downlink_Latency_ns 500
Bundle 1

Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 2000
Bundle 2
"""
READ = {
    ("net.dot", DOT): (
        ["Ulm", "b", "f", "c", "d e"],
        [
            Link("b", "f", 10_000_000, 0.002),
            Link("b", "c", None, 0.001, cost=3.0),
            Link("Ulm", "b", None, 0.001, cost=3.0),
            Link("b", "d e", None, 0.001, cost=3.0),
            Link("c", "Ulm", 1000, 0.001),
            Link("Ulm", "c", 1000, 0.001),
        ],
    ),
    ("net.gexf", GEXF): (["Ulm", "Ems"], [Link("Ulm", "Ems", None, 0.0025, cost=4), Link("Ems", "Ulm", None, 0.0025, cost=4)]),
    ("net.net", PAJEK): (
        ["Ulm an der Donau", "Ems", "Aue"],
        [Link("Ulm an der Donau", "Ems", cost=4), Link("Ems", "Aue"), Link("Aue", "Ems")],
    ),
    ("weights.intra", ROCKETFUEL): (
        ["Ulm, Germany1", "New York, NY2"],
        [Link("Ulm, Germany1", "New York, NY2", cost=3.5), Link("New York, NY2", "Ulm, Germany1", cost=4)],
    ),
    ("latencies.intra", ROCKETFUEL): (
        ["Ulm, Germany1", "New York, NY2"],
        [Link("Ulm, Germany1", "New York, NY2", None, 0.0035), Link("New York, NY2", "Ulm, Germany1", None, 0.004)],
    ),
    ("map.cch", CCH): (
        ["Ulm, Germany 7", "8", "Ems 9"],
        [Link("Ulm, Germany 7", "8"), Link("8", "Ulm, Germany 7"), Link("Ulm, Germany 7", "Ems 9"), Link("Ems 9", "Ulm, Germany 7")],
    ),
    ("net.brite", BRITE): (
        ["0", "1"], [Link("0", "1", 10_000_000, 0.00196, 587_700.0), Link("1", "0", 10_000_000, 0.00196, 587_700.0)]
    ),
    ("net.inet", INET): (["0", "1"], [Link("0", "1", cost=17), Link("1", "0", cost=17)]),
    ("as-rel.txt", CAIDA): (
        ["10", "20", "30"], [Link("10", "20"), Link("20", "10"), Link("20", "30"), Link("30", "20")]
    ),
    ("topology.txt", HPCC): (
        ["0", "1", "2"],
        [
            Link("0", "2", 10**11, 1e-6, loss=0.0), Link("2", "0", 10**11, 1e-6, loss=0.0),
            Link("1", "2", 4 * 10**10, 2e-6, loss=0.01), Link("2", "1", 4 * 10**10, 2e-6, loss=0.01),
        ],
    ),
    ("matrix.txt", MATRIX): (
        ["1", "2", "3"], [Link("1", "2"), Link("2", "1", cost=2.5), Link("2", "3"), Link("3", "2")]
    ),
}  # fmt: skip


def read(directory: Path, name: str, content: str) -> Topology:
    (directory / name).write_text(content, encoding="utf-8")
    return load(directory / name)


@pytest.mark.parametrize(("file", "content"), READ, ids=[name for name, _ in READ])
def test_a_format_is_read(file: str, content: str, tmp_path: Path) -> None:
    names, links = READ[file, content]
    topology = read(tmp_path, file, content)
    assert [node.name for node in topology.nodes] == names
    assert set(topology.links) == set(links)
    assert len(topology.links) == len(links)
    if not file.endswith((".net", ".intra")):  # the content tells as well; Rocketfuel's needs the name for its unit
        assert set(read(tmp_path, "other", content).links) == set(links)


def test_places_and_names_of_the_graph_are_kept(tmp_path: Path) -> None:
    dot = read(tmp_path, "net.dot", DOT)
    assert dot.name == "My net"
    assert dot.nodes[0] == Node("Ulm", x=72, y=36)
    assert read(tmp_path, "net.gexf", GEXF).nodes[0] == Node("Ulm", x=1.5, y=2)
    pajek = read(tmp_path, "net.net", PAJEK)
    assert pajek.nodes[0] == Node("Ulm an der Donau", x=0.1, y=-0.25)
    assert 'label (of 1, such as "10 Gbit/s")' in pajek.warnings[0]


def test_links_that_leave_a_map_are_told(tmp_path: Path) -> None:
    assert read(tmp_path, "map.cch", CCH).warnings == ("2 links to routers outside the map are left out",)


def test_a_fat_tree_of_htsim_is_wired_as_there(tmp_path: Path) -> None:
    """Eight hosts at four switches, two of these and two above them in each pod, and four on top by two links each."""
    topology = read(tmp_path, "net.topo", HTSIM)
    ends = {(link.source, link.target): (link.capacity_bps, link.delay_s) for link in topology.links}
    assert len(topology.nodes) == 8 + 4 + 4 + 4
    assert len(ends) == 2 * (8 + 4 * 2 + 4 * 2)
    assert ends["7", "tor3"] == (200 * 10**9, 1e-6)
    assert ends["tor2", "agg3"] == (200 * 10**9, 5e-7)
    assert ends["agg3", "core3"] == ends["core1", "agg3"] == (200 * 10**9, 2e-6)
    assert ("agg3", "core0") not in ends
    assert topology.warnings == ()


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("a.dot", "graph { a -- b ", "comes before the } that ends the graph"),
        ("a.dot", "graph { a -- [] }", r"line 1 = '\[': must be a name"),
        ("a.dot", "graph {\n a -- <b> }", "line 2 = '<b> }': is not read"),
        ("a.dot", "graph " + "{" * 2000, "nested more than 50 deep"),
        ("a.dot", 'graph { a -- b [delay="5 parsecs"] }', "delay = '5 parsecs': must be a number"),
        ("a.gexf", "<gexf/>", "GEXF: cannot be read"),
        ("a.gexf", GEXF.replace('"4"', '"nan"'), "weight = nan: must be more than 0"),
        ("a.net", "*Vertices 1\n1 a\n*Matrix\n0\n", "line 3 = .*Matrix': is not read"),
        ("a.net", '*Vertices 1\n1 "a\n', "line 2 = .* cannot be read .No closing quotation"),
        ("a.net", "1 2\n", "must begin with .Vertices"),
        ("a.intra", "a b\n", "must be SOURCE TARGET NUMBER"),
        ("a.cch", "7 @x (1) -> <8>\n7 @x (1) -> <8>\n", "line 2 = '7': is listed twice"),
        ("a.brite", BRITE.replace("587.7\t1.96\t10.0\t-1\t-1\tE_RT\tU", "5"), "line 9 = "),
        ("a.brite", BRITE.replace("912", "x"), "line 5 = .* must be a node"),
        ("a.brite", BRITE.replace("1.96", "inf"), "delay = 'inf': must be more than 0"),
        ("a.txt", INET.replace("2 1", "2 9"), "which there are 3"),
        ("a.txt", HPCC.replace("3 1 2", "3 1 7"), "says 7 links, and 2 follow"),
        ("a.txt", HPCC.replace("0.002ms 0.01", "0.002ms"), "line 4 = .* must be SOURCE TARGET"),
        ("a.txt", CAIDA + "x\n", "line 203 = 'x': must be A|B|RELATION"),
        ("a.txt", "0 1\n1 0\n0 0\n", "line 1 = '0 1': has 2 numbers; a matrix of links has as many as lines, 3"),
        ("a.txt", "0 1\n-1 0\n", r"cost = '-1': must be more than 0"),
        ("a.txt", "0 1\nx 0\n", "line 2, number 1 = 'x': must be a number"),
        (
            "a.topo",
            HTSIM.replace("Radix_Down 2\nRadix_Up 2", "Radix_Down 3\nRadix_Up 2"),
            "Radix_Down = 3: must divide Podsize 4",
        ),
        ("a.topo", HTSIM.replace("Nodes 8", "Nodes 99999999"), "nodes = '99999999': must be a whole number from 1"),
        ("a.topo", HTSIM.replace("Tiers 3", "Tiers 2"), "Tiers = 2: must be 2 or 3; the file describes 3"),
        ("a.topo", HTSIM.replace("Downlink_speed_Gbps 100\n", ""), "downlink_speed_gbps of tier 2: is missing"),
    ],
)
def test_what_is_wrong_is_refused_by_place_and_value(file: str, content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match=message) as refused:
        read(tmp_path, file, content)
    assert str(refused.value).startswith(str(tmp_path / file))


CM = "Nodes 8\nConnections 2\nTriggers 0\n7->5 id 1 start 0 size 2000000\n# a comment\n0->3 start 2 size 1000\n"
FLOWS = "2\n7 5 3 100 2000000 0\n0 3 3 100 1000 0.000002\n9 9 9 9 9 9\n"


@pytest.mark.parametrize(("file", "content"), [("flows.cm", CM), ("flow.txt", FLOWS)])
def test_flows_of_simulators_are_traces(file: str, content: str, tmp_path: Path) -> None:
    (tmp_path / "net.topo").write_text(HTSIM)
    (tmp_path / file).write_text(content)
    text = (
        f'[topology]\nfrom = "{tmp_path}/net.topo"\n[[traffic]]\ntrace = "{tmp_path}/{file}"\n[run]\nduration = "1s"\n'
    )
    trace = Scenario.from_toml(text).cases[0].variant.traffic[0].trace
    assert trace is not None
    assert (trace.sources, trace.targets) == (("7", "0"), ("5", "3"))
    assert (trace.starts, trace.sizes) == ((0, 2_000_000), (2_000_000, 1000))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (CM.replace("size 2000000", "size 0"), 'line 4, size "0" must be bytes, at least 1; a flow without end'),
        (
            CM.replace("start 0", "trigger 1"),
            "line 4: there is no trigger 1; add the line trigger id 1 oneshot",
        ),
        (CM.replace("7->5", "7->7"), "line 4: 7 cannot send to itself"),
        (CM.replace("Triggers 0", "Triggers 1"), "line 3 says 1 triggers, and 0 follow"),
        (CM.replace("7->5", "99->5"), 'line 4: no such node "99"'),
        (FLOWS.replace("2\n7", "9\n7"), "line 1 says 9 flows, and 3 follow"),
        (FLOWS.replace("0.000002", "1e99"), 'line 3, start "1e99" must be seconds from 0'),
        (FLOWS.replace("1000 ", "-1 "), 'line 3, size "-1" must be bytes'),
    ],
)
def test_flows_that_cannot_be_read_are_refused_by_line(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "net.topo").write_text(HTSIM)
    (tmp_path / "flows").write_text(content)
    with pytest.raises(ScenarioError, match=message):
        Scenario.from_toml(
            f'[topology]\nfrom = "{tmp_path}/net.topo"\n[[traffic]]\ntrace = "{tmp_path}/flows"\n[run]\nduration = "1s"\n'
        )
