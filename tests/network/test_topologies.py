"""Topologies: formats of files, errors, the model and drawings; a written topology is read back the same."""

import csv
import io
import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import networkx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from anabranch.foundation.units import DURATIONS
from anabranch.network.topologies import Link, Node, Topology, TopologyError, load, names, suggest
from anabranch.network.topologies.attributes import ATTRIBUTES, _with_unit
from anabranch.network.topologies.builtin import BUILTINS
from anabranch.network.topologies.draft import Draft
from anabranch.network.topologies.export import to_graphml, to_json
from anabranch.network.topologies.loading import LARGEST_TOPOLOGY
from anabranch.network.topologies.model import EARTH_RADIUS_M, great_circle_m
from anabranch.network.topologies.plot import crosses, svg

HOSTILE = Path(__file__).parents[1] / "hostile"

# One network in every format: Köln to Bonn, 25 km, 5 ms, 10 Mbit/s, cost 7; and Bonn to Mainz without attributes.
SAMPLES = {
    "net.graphml": """<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="label" attr.type="string"/><key id="d1" for="node" attr.name="Latitude"/>
<key id="d2" for="node" attr.name="Longitude"/><key id="d3" for="edge" attr.name="delay"/>
<key id="d4" for="edge" attr.name="length"/><key id="d5" for="edge" attr.name="LinkSpeedRaw"/>
<key id="d6" for="edge" attr.name="cost"/>
<graph edgedefault="undirected">
<node id="0"><data key="d0">Köln</data><data key="d1">50.94</data><data key="d2">6.96</data></node>
<node id="1"><data key="d0">Bonn</data></node><node id="2"><data key="d0">Mainz</data></node>
<edge id="e0" source="0" target="1"><data key="d3">5ms</data><data key="d4">25 km</data><data key="d5">1e7</data>
<data key="d6">7</data></edge><edge source="1" target="2"/></graph></graphml>""",
    "net.gml": """graph [ directed 0
 node [ id 0 label "Köln" Latitude 50.94 Longitude 6.96 ] node [ id 1 label "Bonn" ] node [ id 2 label "Mainz" ]
 edge [ source 0 target 1 delay "5ms" length 25000 capacity "10 Mbps" cost 7 ] edge [ source 1 target 2 ] ]""",
    "net.xml": """<?xml version="1.0" encoding="ISO-8859-1"?>
<network xmlns="http://sndlib.zib.de/network" version="1.0"><networkStructure>
<nodes coordinatesType="geographical"><node id="K&#246;ln"><coordinates><x>6.96</x><y>50.94</y></coordinates></node>
<node id="Bonn"/><node id="Mainz"/></nodes><links>
<link id="L1"><source>K&#246;ln</source><target>Bonn</target><delay>5ms</delay><length>25km</length>
<routingCost>7</routingCost><setupCost>9</setupCost><additionalModules>
<addModule><capacity>2.5</capacity><cost>1</cost></addModule><addModule><capacity>10.0</capacity><cost>3</cost></addModule>
</additionalModules></link>
<link id="L2"><source>Bonn</source><target>Mainz</target></link></links></networkStructure><demands/></network>""",
    "net.json": """{"directed": false, "multigraph": false, "graph": {}, "nodes": [
{"id": 0, "name": "Köln", "latitude": 50.94, "longitude": 6.96}, {"id": 1, "name": "Bonn"}, {"id": 2, "name": "Mainz"}],
"edges": [{"source": 0, "target": 1, "delay": 0.005, "dist": 25.0, "capacity": 1e7, "cost": 7},
{"source": 1, "target": 2}]}""",
    "net.csv": """source,target,capacity,delay,length,cost
Köln,Bonn,10Mbps,5 ms,25km,7
Bonn,Mainz,,,,
""",
}
REPETITA = """NODES 3
label x y
Köln 6.96 50.94
Bonn 7.1 50.73
Mainz 8.27 50

EDGES 2
label src dest weight bw delay
e0 0 1 7 10000 5000
e1 1 2 1 155520 1604
"""


def read(directory: Path, name: str, content: str | bytes, directed: bool | None = None) -> Topology:
    path = directory / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return load(path, directed)


@pytest.mark.parametrize("file", SAMPLES)
def test_every_format_gives_the_same_network(file: str, tmp_path: Path) -> None:
    topology = read(tmp_path, file, SAMPLES[file])
    assert topology.name == "net"
    assert [node.name for node in topology.nodes] == ["Köln", "Bonn", "Mainz"]
    if not file.endswith(".csv"):
        assert topology.nodes[0] == Node("Köln", 50.94, 6.96)
    known = {"capacity_bps": 10_000_000, "delay_s": 0.005, "length_m": 25_000.0, "cost": 7.0}
    assert set(topology.links) == {
        Link("Köln", "Bonn", **known),
        Link("Bonn", "Köln", **known),
        Link("Bonn", "Mainz"),
        Link("Mainz", "Bonn"),
    }
    assert topology.warnings == ()


def test_content_decides_where_the_suffix_does_not(tmp_path: Path) -> None:
    for file, content in SAMPLES.items():
        assert len(read(tmp_path, "net.txt", content).links) == 4, file
        assert len(read(tmp_path, "net", "\ufeff" + content).links) == 4 if file != "net.xml" else True


def test_repetita_is_directed_and_in_kilobits_and_microseconds(tmp_path: Path) -> None:
    topology = read(tmp_path, "net.graph", REPETITA)
    assert topology.nodes[0] == Node("Köln", 50.94, 6.96)
    assert [(link.source, link.target, link.capacity_bps, link.delay_s, link.cost) for link in topology.links] == [
        ("Köln", "Bonn", 10_000_000, 0.005, 7.0),
        ("Bonn", "Mainz", 155_520_000, 0.001604, 1.0),
    ]
    placeless = REPETITA.replace("6.96 50.94", "0.0 0.0").replace("7.1 50.73", "0.0 0.0").replace("8.27 50", "0.0 0.0")
    assert {node.latitude for node in read(tmp_path, "net.graph", placeless).nodes} == {None}


def test_directed_is_said_by_the_file_or_by_the_caller(tmp_path: Path) -> None:
    assert len(read(tmp_path, "a.csv", "source,target\na,b\nb,a\nb,c", True).links) == 3
    assert len(read(tmp_path, "a.csv", "source,target\na,b\nb,c").links) == 4
    assert len(read(tmp_path, "a.graphml", SAMPLES["net.graphml"].replace("undirected", "directed")).links) == 2
    with pytest.raises(TopologyError, match="the file declares its edges as undirected"):
        read(tmp_path, "a.graphml", SAMPLES["net.graphml"], True)


PARALLEL = {
    "net.csv": "source,target,capacity,delay\na,b,10Mbps,5ms\na,b,2.5Mbps,5ms\nb,c,1Mbps,5ms\n",
    "net.graphml": """<graphml><key id="c" for="edge" attr.name="capacity"/><key id="d" for="edge" attr.name="delay">
<default>5ms</default></key><graph edgedefault="undirected"><node id="a"/><node id="b"/><node id="c"/>
<edge source="a" target="b"><data key="c">10Mbps</data></edge><edge source="b" target="a"><data key="c">2.5Mbps</data></edge>
<edge source="b" target="c"><data key="c">1Mbps</data></edge></graph></graphml>""",
    "net.gml": """graph [ node [ id 0 label "a" ] node [ id 1 label "b" ] node [ id 2 label "c" ]
edge [ source 0 target 1 capacity 10000000 delay 0.005 ] edge [ source 1 target 0 capacity 2500000 delay 0.005 ]
edge [ source 1 target 2 capacity 1000000 delay 0.005 ] ]""",
    "net.json": """{"directed": false, "multigraph": false, "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "edges": [
{"source": "a", "target": "b", "capacity": "10Mbps", "delay": "5ms"},
{"source": "b", "target": "a", "capacity": "2.5Mbps", "delay": "5ms"},
{"source": "b", "target": "c", "capacity": "1Mbps", "delay": "5ms"}]}""",
    "net.sndlib": """<network><networkStructure><nodes><node id="a"/><node id="b"/><node id="c"/></nodes><links>
<link id="1"><source>a</source><target>b</target><capacity>10Mbps</capacity><delay>5ms</delay></link>
<link id="2"><source>a</source><target>b</target><capacity>2.5Mbps</capacity><delay>5ms</delay></link>
<link id="3"><source>b</source><target>c</target><capacity>1Mbps</capacity><delay>5ms</delay></link>
</links></networkStructure></network>""",
    "net.graph": """NODES 3
label x y
a 0 0
b 0 0
c 0 0
EDGES 6
label src dest weight bw delay
1 0 1 1 10000 5000
2 0 1 1 2500 5000
3 1 0 1 10000 5000
4 1 0 1 2500 5000
5 1 2 1 1000 5000
6 2 1 1 1000 5000
""",
}


@pytest.mark.parametrize("file", PARALLEL)
def test_parallel_edges_become_a_link_with_their_capacities(file: str, tmp_path: Path) -> None:
    topology = read(tmp_path, file, PARALLEL[file])
    capacities = {(link.source, link.target): link.capacity_bps for link in topology.links}
    assert capacities == {("a", "b"): 12_500_000, ("b", "a"): 12_500_000, ("b", "c"): 10**6, ("c", "b"): 10**6}
    assert {link.delay_s for link in topology.links} == {0.005}
    (warning,) = topology.warnings
    count = "2 parallel links" if file == "net.graph" else "1 parallel link"
    assert warning.startswith(f"{count} added to the capacity of the first link between their nodes: ")


@pytest.mark.parametrize(("own", "is_directed"), [("true", True), ("1", True), ("false", False), ("0", False)])
def test_an_edge_of_graphml_may_say_its_direction_as_a_boolean_of_xml(
    own: str, is_directed: bool, tmp_path: Path
) -> None:
    """XML Schema's boolean has the texts true, 1, false and 0."""
    text = (
        '<graphml><graph edgedefault="{}"><node id="a"/><node id="b"/><node id="c"/><edge source="a" target="b"/>'
        f'<edge source="b" target="c" directed="{own}"/></graph></graphml>'
    )
    for default in (True, False):
        topology = read(tmp_path, "net.graphml", text.format("directed" if default else "undirected"))
        assert len(topology.links) == (1 if default else 2) + (1 if is_directed else 2)


def test_numbers_of_gml_may_have_exponents_without_a_point(tmp_path: Path) -> None:
    """igraph writes an edge's delay of 10 us so; what looks alike in texts and comments stays."""
    edge = 'source 0 target 1 capacity 1E+9 delay 1e-05 loss -0e0 comment "delay 1e3" # "delay 1e4'
    nodes = 'node [ id 0 label "R 1e5" ] node [ id 1 label "b" ]'
    topology = read(tmp_path, "net.gml", f"graph [ {nodes}\n edge [ {edge}\n ] ]")
    assert topology.links[0] == Link("R 1e5", "b", 10**9, 1e-5, None, 0.0)


def test_parallel_edges_without_capacities_are_one_link_with_a_warning(tmp_path: Path) -> None:
    topology = read(tmp_path, "net.csv", "source,target\na,b\na,b\na,b\n")
    assert topology.links == (Link("a", "b"), Link("b", "a"))
    (warning,) = topology.warnings
    assert warning.startswith("2 parallel links left out, as no capacity is known: ")
    assert "line 3 (a -> b), line 4 (a -> b)" in warning


@pytest.mark.parametrize("attribute", ["delay", "length", "loss", "cost"])
@pytest.mark.parametrize("values", [("0.1", "0.2"), ("0.1", "")])
def test_of_parallel_edges_that_differ_the_one_that_routes_prefer_stays(
    attribute: str, values: tuple[str, str], tmp_path: Path
) -> None:
    for order in (values, values[::-1]):
        rows = "\n".join(f"a,b,{number}Mbps,{value}" for number, value in enumerate([*order, "0.1"], 1))
        topology = read(tmp_path, "net.csv", f"source,target,capacity,{attribute}\n{rows}")
        link = topology.links[0]
        assert getattr(link, ATTRIBUTES[attribute]) == 0.1
        assert link.capacity_bps == (4_000_000 if order[0] == "0.1" else 5_000_000)
        assert any(
            "1 parallel link left out, as one between the same nodes has less cost" in one for one in topology.warnings
        )


def test_an_edge_back_is_parallel_only_where_edges_are_known_to_have_no_direction(tmp_path: Path) -> None:
    both = "source,target,capacity\na,b,1Mbps\nb,a,1Mbps\nb,c,1Mbps\n"
    with pytest.raises(TopologyError, match=r"line 3 \(b -> a\): goes back where line 2 \(a -> b\) goes"):
        read(tmp_path, "net.csv", both)
    for directed, capacity in ((True, 1_000_000), (False, 2_000_000)):
        assert read(tmp_path, "net.csv", both, directed).links[0].capacity_bps == capacity


def test_edges_that_all_have_one_back_are_directions(tmp_path: Path) -> None:
    topology = read(tmp_path, "net.csv", "source,target,capacity\na,b,1Mbps\nb,a,2Mbps\n")
    assert [link.capacity_bps for link in topology.links] == [1_000_000, 2_000_000]
    assert topology.warnings[0].startswith("every edge has one back")


def test_nodes_that_share_a_name_carry_their_ids(tmp_path: Path) -> None:
    topology = read(tmp_path, "net.graphml", SAMPLES["net.graphml"].replace("Mainz", "Bonn"))
    assert [node.name for node in topology.nodes] == ["Köln", "Bonn (1)", "Bonn (2)"]
    assert "Bonn" in topology.warnings[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10Mbps", 10_000_000),
        ("2.5 Gbit/s", 2_500_000_000),
        ("64kb/s", 64_000),
        ("155520000", 155_520_000),
        ("1e9", 10**9),
    ],
)
def test_capacities(text: str, expected: int, tmp_path: Path) -> None:
    assert read(tmp_path, "a.csv", f"source,target,capacity\na,b,{text}").links[0].capacity_bps == expected


@pytest.mark.parametrize(("text", "expected"), [("5ms", 0.005), ("1.5 us", 1.5e-6), ("10 µs", 1e-5), ("0.25", 0.25)])
def test_delays(text: str, expected: float, tmp_path: Path) -> None:
    assert read(tmp_path, "a.csv", f"source,target,delay\na,b,{text}").links[0].delay_s == expected


# The words that the message about each file must contain: the place, the value, and what would be right.
REFUSED = {
    "back-or-parallel.csv": ["line 3 (b -> a)", "goes back where line 2 (a -> b) goes", "directed"],
    "billion-laughs.graphml": ["document type", "remove the DOCTYPE"],
    "blank.json": ["is empty"],
    "boolean-cost.json": ["edges[0]", "cost", "True", "must be"],
    "claims-millions.graph": ["NODES", "100000000", "only 5 rows follow"],
    "claims-too-many.graph": ["NODES", "99999999999999999999", "only 5 rows follow"],
    "duplicate-node.gml": ["node id 0 is duplicated"],
    "duplicate-node.graphml": ["node", "'a'", "its own id"],
    "duplicate-node.json": ["node", "'a'", "its own id"],
    "empty.graphml": ["is empty"],
    "external-entity.xml": ["document type", "remove the DOCTYPE"],
    "half-a-position.json": ["nodes[0], pos", "[1]", "two numbers"],
    "hyperedge.graphml": ["<hyperedge>", "write an <edge> for each link"],
    "infinite.csv": ["line 2 (a -> b), capacity", "'inf'", "10Mbps"],
    "junk.bin": ["no known format", "GraphML"],
    "junk.csv": ["byte 0", "UTF-8"],
    "latin-1.csv": ["byte 15", "UTF-8"],
    "latitude.graphml": ["node a, latitude", "91", "-90 to 90"],
    "list-as-id.json": ["a node's id", "['a']", "a text or a whole number"],
    "loss-above-one.csv": ["line 2", "loss", "'1.5'", "0 to less than 1"],
    "missing-end.csv": ["line 2, target", "must not be empty"],
    "missing-end.graphml": ["<edge> 1", "no target"],
    "missing-end.json": ["edges[0]", "no target"],
    "misspelt-column.csv": ["header", "'dealy'", "did you mean delay?"],
    "nan.csv": ["delay", "'nan'", "5ms"],
    "nan.json": ["'NaN'", "finite"],
    "negative-capacity.xml": ["<link> l, <capacity>", "'-3'", "at least 0"],
    "negative-delay.csv": ["line 2", "delay", "'-5ms'", "more than 0"],
    "negative-delay.gml": ["edge 1", "delay", "-1.0", "more than 0"],
    "no-header.csv": ["header", "'a,b'", "source and target"],
    "no-links.xml": ["<links>"],
    "no-rows.csv": ["nodes", "there are none"],
    "nodes-not-a-list.json": ["nodes", "square brackets"],
    "page.graphml": ["<html>", "<graphml>"],
    "self-loop.csv": ["links", "there are none"],
    "short-edge.graph": ["line 8", "delay"],
    "short-row.csv": ["line 2", "2 fields", "the header has 3"],
    "truncated.gml": ["cannot be read"],
    "truncated.graphml": ["line 1", "not well-formed"],
    "truncated.json": ["line 1, column 12", "not JSON"],
    "unknown-encoding.graphml": ["encoding", "UTF-8"],
    "unknown-end.gml": ["undefined target 1"],
    "unknown-end.graph": ["line 8, target", "'7'", "no such node"],
    "unknown-end.graphml": ["<edge> 1, target", "'c'", "no such node"],
    "unknown-end.json": ["edges[0], target", "'c'", "no such node"],
    "wrong-unit.csv": ["delay", "'5 parsecs'", "ms"],
    "zero-bandwidth.graph": ["line 8 (a -> b), bw = '0'", "at least 1 bit/s"],
}


def test_every_hostile_file_has_its_expectation() -> None:
    assert {path.name for path in HOSTILE.iterdir()} == set(REFUSED)


@pytest.mark.parametrize("file", REFUSED)
def test_hostile_files_are_refused_with_place_value_and_remedy(file: str) -> None:
    with pytest.raises(TopologyError) as refused:
        load(HOSTILE / file)
    message = str(refused.value)
    assert message.startswith(str(HOSTILE / file))
    for part in REFUSED[file]:
        assert part in message


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("deep.json", '{"nodes":' + "[" * 100_000 + "]" * 100_000 + "}"),
        ("deep.graphml", "<graphml>" + "<graph>" * 20_000 + "</graph>" * 20_000 + "</graphml>"),
        ("deep.gml", "graph [ " + "a [ " * 20_000 + "] " * 20_000 + "]"),
        ("digits.json", '{"nodes": [{"id": ' + "9" * 5000 + '}], "edges": []}'),
        ("digits.csv", "source,target,capacity\na,b," + "9" * 5000),
        ("field.csv", "source,target\na," + "b" * 200_000),
    ],
)
def test_deep_and_long_files_are_refused(file: str, content: str, tmp_path: Path) -> None:
    with pytest.raises(TopologyError) as refused:
        read(tmp_path, file, content)
    assert len(str(refused.value)) < 500 + len(str(tmp_path))


def test_a_file_of_a_hundred_megabytes_is_read(tmp_path: Path) -> None:
    document = '{"nodes": [{"id": "a"}, {"id": "b"}], "edges": [{"source": "a", "target": "b"}]}'
    assert len(read(tmp_path, "large.json", document + " " * 100_000_000).links) == 2


@pytest.mark.parametrize("text", ["0.1", "5.", ".5", "+12.345", "-7e-3", "123456789.123456789", "1e22", "9.95e-300"])
@pytest.mark.parametrize("unit", DURATIONS)
def test_a_number_with_a_unit_is_rounded_once(text: str, unit: str) -> None:
    assert _with_unit("delay", f"{text} {unit}") == float(Fraction(text) * DURATIONS[unit])


@pytest.mark.parametrize(
    "text", [".", "e3ms", "1e9999ms", "9" * 5000 + "ms", "1 bps", "--1ms", "1.2.3ms", "1e300h" * 2]
)
def test_what_is_no_number_with_a_unit_is_none(text: str) -> None:
    assert _with_unit("delay", text) is None


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(LARGEST_TOPOLOGY + 1)  # a hole: it claims its size and holds nothing
    with pytest.raises(TopologyError, match="too large"):
        load(path)


@pytest.mark.parametrize("source", ["/dev/zero", ".", "no-such-file.csv", "a\0b", "topozoo/../topozoo/Abilene", ""])
def test_what_is_no_file_is_refused(source: str) -> None:
    with pytest.raises(TopologyError):
        load(source)


@pytest.mark.parametrize("file", [*SAMPLES, "net.graph"])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_mutated_file_gives_a_topology_or_a_topology_error(file: str, data: st.DataObject, tmp_path: Path) -> None:
    content = bytearray((SAMPLES | {"net.graph": REPETITA})[file].encode())
    pieces = st.one_of(
        st.binary(max_size=4),
        st.sampled_from(
            [b"nan", b"inf", b"-1", b"0", b"1e999", b"null", b"[", b"{", b'"', b"<", b"&", b"]]>", b"\n", b"\0",
             b"\xff\xfe", b"<graph>", b"<!DOCTYPE x>", b"node [", b"source", b" ", b"9" * 30, "٣".encode(), b"\x1c"]
        ),
    )  # fmt: skip
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.integers(0, len(content)))
        width = data.draw(st.integers(0, 12))
        content[start : start + width] = data.draw(pieces)
    try:
        topology = read(tmp_path, file, bytes(content), data.draw(st.sampled_from([None, None, True, False])))
    except TopologyError as error:
        assert str(error).startswith(str(tmp_path / file))  # noqa: PT017
    else:
        assert isinstance(topology, Topology)


PLACES = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"latitude": st.floats(-90, 90), "longitude": st.floats(-180, 180)}),
    st.fixed_dictionaries({"x": st.floats(-1e6, 1e6), "y": st.floats(-1e6, 1e6)}),
)
NAMES = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8).filter(
    lambda name: name.isprintable() and name == name.strip()
)


def attribute(low: float, high: float) -> st.SearchStrategy[float | None]:
    return st.none() | st.floats(low, high, exclude_min=low == 0, exclude_max=high == 1)


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    labels = draw(st.lists(NAMES, min_size=2, max_size=7, unique=True))
    ends = [(draw(st.sampled_from(labels[:index])), labels[index]) for index in range(1, len(labels))]  # a tree
    ends += draw(st.lists(st.tuples(st.sampled_from(labels), st.sampled_from(labels)), max_size=6))
    links = [
        Link(
            source,
            target,
            draw(st.none() | st.integers(1, 10**15)),
            draw(attribute(0, 70_000)),
            draw(attribute(0, 1e12)),
            draw(st.none() | st.floats(0, 1, exclude_max=True)),
            draw(attribute(0, 1e15)),
        )
        for source, target in draw(st.permutations(list(dict.fromkeys(ends))))
        if source != target
    ]
    return Topology(draw(NAMES), tuple(Node(label, **draw(PLACES)) for label in labels), tuple(links))


def to_csv(topology: Topology) -> str:
    """The links, each in one direction."""
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(["source", "target", *ATTRIBUTES])
    for link in topology.links:
        table.writerow([link.source, link.target, *(getattr(link, field) for field in ATTRIBUTES.values())])
    return text.getvalue()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(topology=topologies())
@example(topology=Topology("<&>", (Node('"'), Node("a,b")), (Link('"', "a,b", 1, 5e-324, 0.1, 0.0, 1e15),)))
def test_what_is_written_is_read_back_the_same(topology: Topology, tmp_path: Path) -> None:
    assert read(tmp_path, "t.graphml", to_graphml(topology)) == topology
    assert read(tmp_path, "t.json", to_json(topology)) == topology
    from_csv = read(tmp_path, "t.csv", to_csv(topology), directed=True)
    assert from_csv.links == topology.links
    assert {node.name for node in from_csv.nodes} == {node.name for node in topology.nodes}


def test_networkx_reads_what_is_written() -> None:
    topology = load("topozoo/Abilene")
    graph = networkx.parse_graphml(to_graphml(topology))
    assert graph.is_directed()
    assert (len(graph), graph.size()) == (11, 28)
    assert graph["Seattle"]["Denver"]["length"] == 1_641_580.0
    graph = networkx.node_link_graph(json.loads(to_json(topology)), edges="edges")
    assert graph["Seattle"]["Denver"]["length"] == 1_641_580.0


def test_great_circle() -> None:
    quarter = math.pi / 2 * EARTH_RADIUS_M
    assert great_circle_m(0, 0, 0, 90) == pytest.approx(quarter)
    assert great_circle_m(90, 0, 0, 17) == pytest.approx(quarter)
    assert great_circle_m(0, 10, 0, -170) == pytest.approx(2 * quarter)  # antipodes
    # Paris to New York by the spherical law of cosines, a formula of its own
    one, other = (math.radians(48.8566), math.radians(2.3522)), (math.radians(40.7128), math.radians(-74.0060))
    angle = math.acos(
        math.sin(one[0]) * math.sin(other[0]) + math.cos(one[0]) * math.cos(other[0]) * math.cos(one[1] - other[1])
    )
    assert great_circle_m(48.8566, 2.3522, 40.7128, -74.0060) == pytest.approx(angle * EARTH_RADIUS_M)


def test_a_length_comes_from_coordinates_only_if_none_is_given() -> None:
    nodes = (Node("a", 0, 0), Node("b", 0, 90), Node("c"))
    links = (Link("a", "b"), Link("b", "a", length_m=5.0), Link("b", "c"))
    assert [link.length_m for link in Topology("t", nodes, links).links] == [
        pytest.approx(10_007_557.2, abs=0.1),
        5.0,
        None,
    ]


@pytest.mark.parametrize(
    ("nodes", "links", "message"),
    [
        ((), (), "t: nodes: there are none"),
        ((Node("a"), Node("b")), (), "t: links: there are none"),
        ((Node("a"), Node("a")), (), "t: node = 'a': appears 2 times"),
        ((Node(" a"), Node("b")), (), "a node's name = ' a': must be printable"),
        ((Node("a", 1.0), Node("b")), (), "node a, latitude = 1.0: needs a longitude"),
        ((Node("a"), Node("b")), (Link("a", "c"),), "link a -> c: there is no node 'c'"),
        ((Node("a"), Node("b")), (Link("a", "a"),), "link a -> a: joins a node to itself"),
        ((Node("a"), Node("b")), (Link("a", "b"), Link("a", "b")), "link a -> b: appears twice"),
        ((Node("a"), Node("b")), (Link("a", "b", capacity_bps=0),), "capacity_bps = 0: must be at least 1 bit/s"),
        ((Node("a"), Node("b")), (Link("a", "b", delay_s=math.nan),), "delay_s = nan: must be more than 0"),
        ((Node("a"), Node("b")), (Link("a", "b", length_m=-1.0),), "length_m = -1.0: must be at least 0"),
        ((Node("a"), Node("b")), (Link("a", "b", loss=1.0),), "loss = 1.0: must be a ratio"),
        ((Node("a"), Node("b")), (Link("a", "b", cost=math.inf),), "cost = inf: must be more than 0"),
    ],
)
def test_the_model_refuses(nodes: tuple[Node, ...], links: tuple[Link, ...], message: str) -> None:
    with pytest.raises(TopologyError) as refused:
        Topology("t", nodes, links)
    assert message in str(refused.value)


def test_abilene() -> None:
    topology = load("topozoo/Abilene")
    assert topology.name == "topozoo/Abilene"
    assert (len(topology.nodes), len(topology.links)) == (11, 28)
    seattle = topology.nodes[3]
    assert (seattle.name, seattle.latitude, seattle.longitude) == ("Seattle", 47.61, -122.33)
    lengths = {(link.source, link.target): link.length_m for link in topology.links}
    assert lengths["Seattle", "Denver"] == lengths["Denver", "Seattle"] == 1_641_580.0
    places = {node.name: node for node in topology.nodes}
    for (source, target), length in lengths.items():  # TopoHub takes 6372.8 km for the Earth's radius, and rounds
        one, other = places[source], places[target]
        ours = great_circle_m(one.latitude, one.longitude, other.latitude, other.longitude)
        assert length == pytest.approx(ours * 6372.8 / 6371.0088, abs=1000)


@pytest.mark.parametrize("name", ["nsfnet", "topozoo/Abilene"])
def test_only_files_may_be_said_to_be_directed(name: str) -> None:
    with pytest.raises(TopologyError, match="directed = False: only for a CSV or SNDlib file; leave it out"):
        load(name, directed=False)


@pytest.mark.parametrize(
    "content", ["Dear all,\nsource and target are nodes.\n", "%PDF-1.7\n1 0 obj\n", "<html/>", "1\n2\n"]
)
def test_other_formats_are_not_taken_for_known_ones(tmp_path: Path, content: str) -> None:
    with pytest.raises(TopologyError, match="is of no known format; known are GraphML"):
        read(tmp_path, "net.txt", content)


@pytest.mark.parametrize("group", ["topozoo", "sndlib", "gabriel/25", "backbone/africa"])
def test_topohub_topologies_load(group: str) -> None:
    chosen = [name for name in names() if name.startswith(group)]
    assert chosen
    for name in chosen:
        topology = load(name)
        assert all(link.length_m is not None for link in topology.links)
        if group.startswith("gabriel"):
            assert topology.nodes[0].latitude is None
            assert topology.nodes[0].x is not None


def test_names_and_suggestions() -> None:
    assert names()[: len(BUILTINS)] == list(BUILTINS)
    assert len(names()) - len(BUILTINS) >= 707
    assert set(suggest("abilene")) >= {"topozoo/Abilene", "sndlib/abilene"}
    assert suggest("topozoo/Abiline")[0] == "topozoo/Abilene"
    assert suggest("dumbell") == ["dumbbell"]
    assert suggest("xyzzy-plugh") == []
    with pytest.raises(TopologyError, match="did you mean dumbbell"):
        load("dumbell")


@pytest.mark.parametrize("name", ["topozoo/Abilene", "gabriel/25/0", "nsfnet", "fat-tree", "line"])
def test_a_drawing_shows_every_node_inside_the_picture(name: str) -> None:
    topology = load(name)
    picture = ElementTree.fromstring(svg(topology))
    space = "{http://www.w3.org/2000/svg}"
    circles = list(picture.iter(f"{space}circle"))
    assert len(circles) == len(topology.nodes)
    assert len(list(picture.iter(f"{space}line"))) == len(topology.links) // 2
    width, height = (float(picture.get(side, "")) for side in ("width", "height"))
    assert all(
        0 < float(circle.get("cx", "")) < width and 0 < float(circle.get("cy", "")) < height for circle in circles
    )
    assert svg(topology) == svg(topology)


def test_a_drawing_has_north_above_and_east_to_the_right() -> None:
    picture = ElementTree.fromstring(svg(load("topozoo/Abilene")))
    space = "{http://www.w3.org/2000/svg}"
    places = {
        (circle.findtext(f"{space}title") or "").partition(",")[0]: (
            float(circle.get("cx", "")),
            float(circle.get("cy", "")),
        )
        for circle in picture.iter(f"{space}circle")
    }
    assert places["Seattle"][0] < places["New York"][0]
    assert places["Seattle"][1] < places["Los Angeles"][1]


def test_a_drawing_escapes_names() -> None:
    topology = Topology("<t>", (Node("<script>"), Node("&")), (Link("<script>", "&"),))
    assert "<script>" not in svg(topology)
    ElementTree.fromstring(svg(topology))


def test_a_topology_of_thousands_of_nodes_without_places_is_drawn() -> None:
    count = 1500
    ring = tuple(Link(str(index), str((index + 1) % count)) for index in range(count))
    assert svg(Topology("ring", tuple(Node(str(index)) for index in range(count)), ring)).count("<circle") == count


def test_importing_is_light() -> None:
    heavy = {"networkx", "topohub", "numpy", "polars", "xml.etree.ElementTree"}
    code = f"import sys, anabranch.network.topologies; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@given(st.lists(st.integers(-3, 12), min_size=4, max_size=4), st.integers(0, 4), st.integers(5, 9))
def test_crossing_agrees_with_points_along_the_segment(ends: list[int], low: int, high: int) -> None:
    x, y, end_x, end_y = ends
    box = (float(low), float(low), float(high), float(high))
    inside = any(
        low <= x + (end_x - x) * step / 500 <= high and low <= y + (end_y - y) * step / 500 <= high
        for step in range(501)
    )
    if inside:
        assert crosses(((x, y), (end_x, end_y)), box)
    elif crosses(((x, y), (end_x, end_y)), box):  # then it only grazes a corner between two points
        assert crosses(((x, y), (end_x, end_y)), (low - 0.1, low - 0.1, high + 0.1, high + 0.1))
        assert not crosses(((x, y), (end_x, end_y)), (low + 0.1, low + 0.1, high - 0.1, high - 0.1))


PLAIN = {
    "plain.csv": "source,target,delay,loss\na,b,1ms,1%\nb,c,2 ms,\nc,d,,0.5\n",
    "plain.graphml": """<graphml><key id="k" for="edge" attr.name="delay" attr.type="string"/><graph edgedefault="directed">
<node id="a"/><node id="b"/><node id="c"/><edge source="a" target="b"><data key="k">1ms</data></edge>
<edge source="b" target="c"/><edge source="c" target="a"/></graph></graphml>""",
    "plain.json": '{"nodes": [{"id": 1}, {"id": 2, "name": "b"}], "edges": [{"source": 1, "target": 2, "dist": 3.5, "capacity": 1e9}]}',
}


@pytest.mark.parametrize("file", PLAIN)
def test_columns_give_what_rows_give(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files in which nothing is wrong or parallel are read by columns, and by rows they mean the same."""
    (tmp_path / file).write_text(PLAIN[file], encoding="utf-8")
    rows = []
    link = Draft.link
    monkeypatch.setattr(Draft, "link", lambda self, *edge: (rows.append(edge), link(self, *edge)))
    by_columns = load(tmp_path / file)
    assert not rows
    monkeypatch.setattr(Draft, "numbered_links", lambda *_: False)
    assert load(tmp_path / file) == by_columns
    assert rows
