"""Files of other tools: what their names mean, and the odd elements that no link can be. Each file here shows one oddity."""

import json
from pathlib import Path

import pytest

from anabranch.cli import DONE, status
from anabranch.network.topologies import Link, Node, Topology, TopologyError, load
from anabranch.network.topologies.words import NAMES, UNITS, word_of
from anabranch.scenario import Scenario, ScenarioError

GRAPHML = (
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">{}</graphml>'
)


def read(directory: Path, name: str, content: str) -> Topology:
    (directory / name).write_text(content, encoding="utf-8")
    return load(directory / name)


def with_attributes(format_: str, values: dict[str, str | float]) -> str:
    """A link from a to b with attributes of these names, in a format."""
    if format_ == "json":
        edge = {"source": "a", "target": "b", **values}
        return json.dumps({"directed": False, "nodes": [{"id": "a"}, {"id": "b"}], "edges": [edge]})
    if format_ == "csv":
        return f"source,target,{','.join(values)}\na,b,{','.join(map(str, values.values()))}\n"
    if format_ == "gml":
        shown = " ".join(
            f'{name} "{value}"' if isinstance(value, str) else f"{name} {value}" for name, value in values.items()
        )
        return (
            f'graph [ directed 0 node [ id 0 label "a" ] node [ id 1 label "b" ]\n edge [ source 0 target 1 {shown} ] ]'
        )
    keys = "".join(f'<key id="{name}" for="edge" attr.name="{name}"/>' for name in values)
    data = "".join(f'<data key="{name}">{value}</data>' for name, value in values.items())
    return GRAPHML.format(
        f'{keys}<graph edgedefault="undirected"><node id="a"/><node id="b"/><edge source="a" target="b">{data}</edge></graph>'
    )


FORMATS = ["json", "csv", "gml", "graphml"]


@pytest.mark.parametrize("format_", FORMATS)
def test_other_names_of_attributes_mean_the_same_in_every_format(format_: str, tmp_path: Path) -> None:
    spellings: tuple[dict[str, str | float], ...] = (
        {"bandwidth": "10 Mbit", "latency": "50 ms", "packet_loss": 0.02, "weight": 5, "distance_km": 3},
        {"bw_mbps": 10, "delay_ms": 50, "loss_percent": 2, "igp_metric": 5, "length": "3km"},
        {"LinkSpeedRaw": 10_000_000.0, "propDelay": "50ms", "lossRate": "2%", "cost": 5, "length_m": 3000},
        {"capacityInGbps": 0.01, "latency_us": 50_000, "loss": 0.02, "OSPF_weight": 5, "dist": "3 km"},
    )
    for names in spellings:
        topology = read(tmp_path, f"net.{format_}", with_attributes(format_, names))
        assert topology.links[0] == Link("a", "b", 10_000_000, 0.05, 3000.0, 0.02, 5.0), names
        assert topology.warnings == ()


def test_each_name_in_the_table_means_its_attribute_with_every_unit() -> None:
    for attribute, names in NAMES.items():
        for name in names:
            word = word_of(name)
            assert word is not None
            assert word.attribute == attribute
            for ending, unit in UNITS[attribute].items():
                assert word_of(f"{name}_{ending}") == word_of(f"{name}_in_{ending}") == (attribute, unit, False)


@pytest.mark.parametrize("format_", FORMATS)
def test_what_looks_like_an_attribute_and_is_not_read_is_told_with_the_default(format_: str, tmp_path: Path) -> None:
    values: dict[str, str | float] = {"LinkSpeed": 10, "rtt": "7ms", "distance": 40, "delay": "1ms"}
    topology = read(tmp_path, f"net.{format_}", with_attributes(format_, values))
    assert topology.links[0] == Link("a", "b", None, 0.001)
    (warning,) = topology.warnings
    for name in ("LinkSpeed", "distance"):
        assert f'{name} (of 1, such as "' in warning
    assert (
        "links without a capacity have the capacity that the scenario or command gives (in a scenario 100 Mbit/s)"
        in warning
    )
    assert "links without a length have" in warning
    assert "rtt" not in warning, "the delay is known"


def test_the_own_name_of_an_attribute_comes_before_others_which_are_told(tmp_path: Path) -> None:
    topology = read(tmp_path, "net.json", with_attributes("json", {"latency": "9ms", "delay": "1ms", "capacity": 1e9}))
    assert topology.links[0].delay_s == 0.001
    assert topology.warnings == (
        'these attributes of edges are not read: latency (of 1, such as "9ms"), as other attributes say the same',
    )


def test_numbers_that_probably_count_another_unit_are_told(tmp_path: Path) -> None:
    topology = read(tmp_path, "net.json", with_attributes("json", {"bandwidth": 100, "delay": 5}))
    assert topology.links[0] == Link("a", "b", 100, 5.0)
    slow, far = topology.warnings
    assert slow.startswith("bandwidth without a unit is in bit/s: the least is 100 bit/s; ")
    assert far.startswith("delay without a unit is in seconds: the longest is 5 s; ")
    with_units = with_attributes("json", {"bandwidth": "100 bit/s", "delay": "5s"})
    assert read(tmp_path, "net.json", with_units).warnings == ()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("delay_ms", "nan", "delay_ms = 'nan': must be more than 0"),
        ("bw_gbps", "1e300", "bw_gbps = '1e300': must be at least 1 bit/s"),
        ("latency", "5 parsecs", "latency = '5 parsecs': must be a number"),
        ("loss_percent", "100", "loss_percent = '100': must be a ratio"),
    ],
)
def test_a_wrong_value_is_refused_under_the_name_of_the_file(
    name: str, value: str, message: str, tmp_path: Path
) -> None:
    for format_ in FORMATS:
        with pytest.raises(TopologyError) as refused:
            read(tmp_path, f"net.{format_}", with_attributes(format_, {name: value}))
        assert message in str(refused.value)


def test_a_label_of_an_edge_that_is_a_rate_is_told(tmp_path: Path) -> None:
    (warning,) = read(tmp_path, "net.graphml", with_attributes("graphml", {"label": "10 Gbit/s"})).warnings
    assert 'label (of 1, such as "10 Gbit/s")' in warning
    assert read(tmp_path, "net.graphml", with_attributes("graphml", {"label": "Lit fibre"})).warnings == ()


@pytest.mark.parametrize("between", [";", "\t", "  "])
def test_columns_may_be_separated_by_other_signs(between: str, tmp_path: Path) -> None:
    table = "from_node,to_node,capacity\na,b,5000000\nb,c,7000000\n".replace(",", between)
    topology = read(tmp_path, "net.txt", table)
    assert [link.capacity_bps for link in topology.links] == [5_000_000] * 2 + [7_000_000] * 2


def test_a_column_of_no_meaning_is_told_and_a_misspelt_one_refused(tmp_path: Path) -> None:
    topology = read(tmp_path, "net.csv", "src,dst,prob_failure\na,b,0.1\n")
    assert topology.warnings[0].startswith("these columns are not read: prob_failure; known are source, target")
    for wrong, meant in (("dealy", "delay"), ("bandwith", "bandwidth")):
        with pytest.raises(TopologyError, match=f"'{wrong}': is not a column; did you mean {meant}?"):
            read(tmp_path, "net.csv", f"source,target,{wrong}\na,b,1\n")


DRAWN = {
    "directed": False,
    "nodes": [{"id": "a", "pos": [0, 0]}, {"id": "b", "label": "B", "pos": [40, 0]}],
    "edges": [{"source": "a", "target": "b"}],
}


def test_pos_is_a_place_on_a_drawing_unless_topohub_wrote_it(tmp_path: Path) -> None:
    topology = read(tmp_path, "net.json", json.dumps(DRAWN))
    assert topology.nodes == (Node("a", x=0, y=0), Node("B", x=40, y=0))
    assert topology.links[0].length_m is None
    assert "those of a drawing" in topology.warnings[0]
    with_delay = DRAWN | {"edges": [{"source": "a", "target": "b", "delay": "1ms"}]}
    assert read(tmp_path, "net.json", json.dumps(with_delay)).warnings == ()
    of_topohub = DRAWN | {"graph": {"name": "x", "stats": {"avg_link_len": 4448.0}}}
    topology = read(tmp_path, "net.json", json.dumps(of_topohub))
    assert topology.links[0].length_m == pytest.approx(4_447_800, rel=1e-4)
    assert topology.warnings == ()


YED = GRAPHML.format(
    '<key for="node" id="n" yfiles.type="nodegraphics"/><key for="edge" id="e" yfiles.type="edgegraphics"/>'
    '<graph edgedefault="directed">'
    + "".join(
        f'<node id="n{number}"><data key="n"><y:ShapeNode><y:Geometry x="{number}" y="5"/><y:NodeLabel>{name}</y:NodeLabel></y:ShapeNode></data></node>'
        for number, name in enumerate(["Ulm", "Ems", "Aue"])
    )
    + '<node id="box" yfiles.foldertype="group"><graph edgedefault="directed" id="box:"><node id="box::m"/></graph></node>'
    + "".join(
        f'<edge source="{source}" target="{target}"><data key="e"><y:PolyLineEdge>{arrows}</y:PolyLineEdge></data></edge>'
        for source, target, arrows in (
            ("n0", "n1", '<y:Arrows source="none" target="none"/>'),
            ("n1", "n2", '<y:Arrows source="none" target="standard"/>'),
            ("n2", "box::m", '<y:Arrows source="diamond" target="none"/>'),
            ("n0", "n2", '<y:Arrows source="standard" target="standard"/>'),
            ("box::m", "n0", ""),
        )
    )
    + "</graph>"
)


def test_a_drawing_of_yed_keeps_names_places_and_directions(tmp_path: Path) -> None:
    topology = read(tmp_path, "net.graphml", YED)
    assert topology.nodes == (Node("Ulm", x=0, y=-5), Node("Ems", x=1, y=-5), Node("Aue", x=2, y=-5), Node("box::m"))
    assert [(link.source, link.target) for link in topology.links] == [
        ("Ulm", "Ems"), ("Ems", "Ulm"), ("Ems", "Aue"), ("box::m", "Aue"), ("Ulm", "Aue"), ("Aue", "Ulm"), ("box::m", "Ulm"),
    ]  # fmt: skip


PARTS = 'graph [ node [ id 0 label "A" ] node [ id 1 label "B" ] node [ id 2 label "C" ]\n edge [ source 1 target 2 ] ]'


def test_parts_without_a_link_between_them_are_told_and_the_largest_is_kept_on_request(tmp_path: Path) -> None:
    topology = read(tmp_path, "net.gml", PARTS)
    assert [node.name for node in topology.nodes] == ["A", "B", "C"]
    assert topology.warnings[0].startswith("links leave 2 parts unconnected: B, C (2); A (1); ")
    kept = load(tmp_path / "net.gml", part="largest")
    assert [node.name for node in kept.nodes] == ["B", "C"]
    assert kept.links == topology.links
    assert kept.warnings == ("1 node outside the largest part left out: A",)
    whole = load("nsfnet")
    assert load("nsfnet", part="largest") == whole


def test_the_largest_part_is_a_key_of_scenarios_and_an_option_of_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net.gml").write_text(PARTS, encoding="utf-8")
    text = '[topology]\nfrom = "net.gml"\n{}\n[[traffic]]\nfrom = "all"\nto = "all"\nsize = "1kB"\n[run]\nduration = "1s"\n'
    for part, ends in (("", 3), ('part = "largest"', 2)):
        (tmp_path / "s.toml").write_text(text.format(part), encoding="utf-8")
        assert len(Scenario.load(tmp_path / "s.toml").cases[0].topology.nodes) == ends
    with pytest.raises(ScenarioError, match="part belongs to from"):
        Scenario.from_toml(text.format('part = "largest"').replace('from = "net.gml"', 'generate = { kind = "line" }'))
    assert status(["topology", "show", str(tmp_path / "net.gml"), "--part", "largest"]) == DONE
    assert "2 nodes, 2 directed links" in capsys.readouterr().out
    hose = ["--capacity", "1Gbps", "--hose", "1Mbps", "--part", "largest"]
    assert status(["robust", str(tmp_path / "net.gml"), *hose]) == DONE


def test_an_inline_topology_of_two_parts_is_refused() -> None:
    links = '{ source = "a", target = "b" }, { source = "c", target = "d" }'
    with pytest.raises(ScenarioError, match="leave 2 parts unconnected: a, b"):
        Scenario.from_toml(
            f'[topology]\nlinks = [{links}]\n[[traffic]]\nfrom = "a"\nto = "b"\n[run]\nduration = "1s"\n'
        )


REPETITA = """NODES 2
label x y
Ulm 0 0
Ems 0 0
EDGES 5
label src dest weight bw delay
a 0 1 10 1000 {}
b 1 0 10 1000 700
c 0 1 30 5000 700
d 1 1 1 1000 700
e 0 1 10 250 {}
"""


def test_parallel_links_of_other_costs_loops_and_delay_0_are_read(tmp_path: Path) -> None:
    topology = read(tmp_path, "net.graph", REPETITA.format("0", "0"))
    assert topology.links == (
        Link("Ulm", "Ems", 1_250_000, 1e-6, None, None, 10.0),
        Link("Ems", "Ulm", 1_000_000, 0.0007, None, None, 10.0),
    )
    loops, nowhere, summed, others = topology.warnings
    assert loops == "1 edge (line 10 (Ems -> Ems)) left out, as they join a node to itself"
    assert nowhere.startswith("2 edges of delay 0 have a delay of 1 us")
    assert summed.startswith("1 parallel link added to the capacity")
    assert others.startswith("1 parallel link left out, as one between the same nodes has less cost")


def test_of_parallel_links_the_known_capacities_count(tmp_path: Path) -> None:
    rows = "source,target,capacity\na,b,\na,b,1Gbps\na,b,\na,b,2Gbps\n"
    topology = read(tmp_path, "net.csv", rows)
    assert topology.links[0].capacity_bps == 3_000_000_000
    summed, unknown = topology.warnings
    assert summed.startswith("1 parallel link added to the capacity of the first link between their nodes: line 5")
    assert unknown.startswith("2 parallel links left out, as no capacity is known")
