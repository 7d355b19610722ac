"""Scenarios load, make their matrix, are written back unchanged, and say all that is wrong with them at once."""

import contextlib
import json
import re
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.compile.run import compile_run
from anabranch.engines.refusal import refusals
from anabranch.foundation.suggest import suggest
from anabranch.foundation.toml_text import format_path, line_numbers
from anabranch.scenario import Scenario, ScenarioError, walk
from anabranch.scenario.algorithms import REGISTRIES
from anabranch.scenario.groups import Names
from anabranch.scenario.pairs import pairs_of
from anabranch.scenario.settings import put, with_values
from tests.scenarios import DESIGN, LINE

EXAMPLES = sorted((Path(__file__).parents[2] / "scenarios").glob("*.toml"))


def problems(text: str) -> dict[str, str]:
    """The message of each problem by its field."""
    with pytest.raises(ScenarioError) as refusal:
        Scenario.from_toml(text)
    return {record["field"]: record["message"] for record in refusal.value.as_records()}


def changed(*replacements: tuple[str, str], text: str = LINE) -> str:
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_loads_and_is_written_back_byte_for_byte(path: Path) -> None:
    scenario = Scenario.load(path)
    assert scenario.to_toml().encode() == path.read_bytes()
    assert scenario.title


def test_the_design_s_sketch_is_a_scenario() -> None:
    scenario = Scenario.from_toml(DESIGN)
    assert scenario.keys == ["stack", "routing"]
    assert [case.values for case in scenario.cases] == [
        {"stack": stack, "routing": routing} for stack in ("newreno", "mprc") for routing in ("ospf", "spray")
    ]
    assert scenario.seeds == [1, 2, 3, 4, 5]


def test_line_ends_survive() -> None:
    text = LINE.replace("\n", "\r\n")
    assert Scenario.from_toml(text).to_toml() == text


def test_a_built_scenario_reads_back_as_itself() -> None:
    built = Scenario(tomllib.loads(LINE))
    assert Scenario.from_toml(built.to_toml()).document == built.document
    assert built.hash() == Scenario.from_toml("# a comment\n" + LINE).hash()


def test_all_problems_come_at_once_with_line_value_and_what_would_be_right() -> None:
    text = changed(
        ('title = "A line"', 'titel = "A line"'),
        ('"10Mbps"', '"10mbps"'),
        ("bulk = true", 'bulk = true\nsize = "1MB"\nflow = 3'),
        ('"2s"', "2"),
    )
    with pytest.raises(ScenarioError) as refusal:
        Scenario.from_toml(text, source="x.toml")
    lines = str(refusal.value).splitlines()
    assert lines[0] == 'x.toml:1: titel: unknown key; did you mean "title"?'
    assert lines[1].startswith('x.toml:4: topology.links[0].capacity = "10mbps": ')
    assert 'did you mean "10 Mbps"?' in lines[1]
    assert lines[2].startswith("x.toml:9: traffic[0] = ")
    assert "leave out all but one of bulk, size" in lines[2]
    assert lines[3] == 'x.toml:14: traffic[0].flow: unknown key; did you mean "flows"?'
    assert lines[4].startswith("x.toml:18: run.duration = 2: must be a duration with its unit")
    assert len(lines) == 5


@pytest.mark.parametrize("value", ['"delivered"', '["delivered", "acks"]'])
@pytest.mark.parametrize("key", ["window_growth", "window_use", "rate_reduction", "pacing_unit"])
def test_a_key_that_follows_replaced_is_refused_and_the_new_key_named(key: str, value: str) -> None:
    """A scenario of an earlier version; a list there makes no matrix."""
    text = LINE + f'[stacks.old]\npreset = "linux-cubic"\n{key} = {value}\n'
    with pytest.raises(ScenarioError) as refusal:
        Scenario.from_toml(text, source="x.toml")
    (line,) = str(refusal.value).splitlines()
    number = text[: text.index(key)].count("\n") + 1
    assert line.startswith(f"x.toml:{number}: stacks.old.{key} = {value}: was replaced by follows; ")
    assert 'write follows = "linux"' in line


def test_names_are_checked_in_the_parts_that_are_whole() -> None:
    broken = '[[traffic]]\nfrom = "A"\nto = "C"\nbluk = true\nstack = "y"\n'
    whole = '[[traffic]]\nfrom = "A"\nto = "D"\nbulk = true\nstack = "y"\n[stacks.y]\nmss = 3\n'
    whole += '[[events]]\nat = "1s"\nfail = ["B", "E"]\n'
    found = problems(changed(("[[traffic]]", broken + whole + "[[traffic]]"), ('"2s"', "2")))
    assert set(found) == {
        "traffic[0].bluk",
        "traffic[1].to",
        "stacks.y.mss",
        "events[0].fail[1]",
        "run.duration",
    }


TOPOLOGY_AND_MORE = """
[topology]
from = "topozoo/Abilene"
capacity = "10Mbps"

[[topology.override]]
link = ["Denver", "Kansas"]
capacity = "5Mbps"

[[traffic]]
from = "Seatle"
to = "Atlanta"
bulk = true
stack = "newrno"
start = "40s"

[run]
duration = "30s"
"""
NODES = {"topology.override[0].link[1]", "traffic[0].from"}
OTHERS = {"traffic[0].stack", "traffic[0].start"}


@pytest.mark.parametrize(
    ("old", "new", "broken", "nodes_known"),
    [
        ('"10Mbps"', '"10Mbs"', {"topology.capacity"}, True),
        ("[[topology", 'delay = { speed = "2e8 m" }\n[[topology', {"topology.delay.speed"}, True),
        ("[[topology", "queue = 3\n[[topology", {"topology.queue"}, True),
        ('"5Mbps"', '"5Mbps"\n[[topology.override]]\nlink = "all"\ncost = 0', {"topology.override[1].cost"}, True),
        ("[[traffic]]", "[[traffic]]\nstart = 3\n[[traffic]]", {"traffic[0].start"}, True),
        ("/Abilene", "/Abilne", {"topology.from"}, False),
        ('"topozoo/Abilene"', "5", {"topology.from"}, False),
        ("from = ", "form = ", {"topology.form", "topology"}, False),
    ],
)  # fmt: skip
def test_a_broken_topology_hides_only_what_it_would_have_told(
    old: str, new: str, broken: set[str], nodes_known: bool
) -> None:
    text = TOPOLOGY_AND_MORE.replace(old, new, 1)
    shifted = {name.replace("[0]", "[1]") if "traffic" in name else name for name in NODES | OTHERS}
    expected = shifted if new.count("[[traffic]]") == 2 else NODES | OTHERS if nodes_known else OTHERS
    assert set(problems(text)) == expected | broken


def test_a_broken_section_of_definitions_hides_only_the_names_in_it() -> None:
    text = TOPOLOGY_AND_MORE.replace("[topology]", "stacks = 5\n[topology]", 1)
    assert set(problems(text)) == NODES | OTHERS - {"traffic[0].stack"} | {"stacks"}


def test_a_broken_inline_link_still_has_its_ends() -> None:
    text = changed(('"10Mbps"', '"10Mbs"'), ('"1000km"', '"1000 miles"'), ('to = "C"', 'to = "D"'))
    assert set(problems(text)) == {"topology.links[0].capacity", "topology.links[1].length", "traffic[0].to"}


def test_what_a_table_says_as_a_whole_comes_with_the_problems_of_its_keys() -> None:
    text = changed(("[[traffic]]", 'from = "topozoo/Abilene"\nqueue = 3\n[[traffic]]'))
    assert {"topology", "topology.queue"} <= set(problems(text))


@pytest.mark.parametrize(
    ("replacement", "field", "message"),
    [
        (("bulk = true", "bulk = true\nflows = 2.5"), "traffic[0].flows", "must be a whole number"),
        (("cost = 7.0", 'cost = "seven"'), "topology.links[1].cost", "must be a number"),
        (("bulk = true", "bulk = 3"), "traffic[0].bulk", "must be true"),
        (("cost = 7.0", "directed = 1"), "topology.links[1].directed", "must be true or false"),
        (("bulk = true", 'bulk = true\nname = ""'), "traffic[0].name", "must be a text that is not empty"),
        (('title = "A line"', "title = 3"), "title", "must be a text"),
        (("[topology]", "capture = 3\n[topology]"), "capture", "must be a list"),
        (('duration = "2s"', "seed = true"), "run.seed", "must be a whole number"),
        (('to = "C"', "to = 3"), "traffic[0].to", "must be a node"),
        (("[run]", "[run.x]\ny=1\n[run]\nseed = -1"), "run.seed", "must be at least 0"),
    ],
)
def test_the_kind_of_value_that_is_wanted_is_said_in_plain_words(
    replacement: tuple[str, str], field: str, message: str
) -> None:
    assert problems(changed(replacement))[field].startswith(message)


def test_a_share_may_be_given_in_per_cent() -> None:
    lossy = changed(
        ("[topology]", '[topology]\nqueue = { discipline = "red", probability = "20 %", weight = "0.2%" }'),
        ("cost = 7.0", 'loss = "0.1%"'),
        ("[[traffic]]", '[[impairments]]\nlink = ["A", "B"]\nloss = ["1%", 0.5, "12.5%"]\n[[traffic]]'),
        ("[run]", '[routing.x]\nmetric = "delay"\npaths = { within = "150%" }\n[run]'),
    )
    scenario = Scenario.from_toml(lossy)
    assert [case.variant.impairments[0].loss for case in scenario.cases] == [0.01, 0.5, 0.125]
    assert [case.values["loss"] for case in scenario.cases] == [0.01, 0.5, 0.125]
    case = scenario.cases[0]
    assert {link.loss for link in case.topology.links} == {None, 0.001}
    assert case.variant.topology.queue.model_dump()["probability"] == 0.2
    assert case.variant.routing["x"].model_dump()["paths"]["within"] == 1.5
    found = problems(lossy.replace('"12.5%"', '"101%"').replace('"1%"', '"one %"').replace('"0.1%"', '"-1%"'))
    assert "at most 1" in found["impairments[0].loss[2]"]
    assert found["impairments[0].loss[0]"] == 'must be a share: a number and a unit, such as "1%"'
    assert "not negative" in found["topology.links[1].loss"]


@pytest.mark.parametrize(
    ("replacement", "field", "hint"),
    [
        (('stack = "newreno"', 'stack = "newrno"'), "traffic[0].stack", 'did you mean "newreno"?'),
        (('to = "C"', 'to = "D"'), "traffic[0].to", "possible: A, B, C"),
        (('to = "C"', 'to = "A"'), "traffic[0]", "cannot send to itself"),
        (("[run]", 'routing = "spray"\n[run]'), "traffic[0].routing", "possible: ospf"),
        (('[run]\nduration = "2s"', '[run]\nduration = "2s"\nwarm_up = "2s"'), "run", "must be shorter"),
        (
            ("bulk = true", 'short = { arrivals = "9/s" }\nstagger = "1s"'),
            "traffic[0]",
            "stagger does not apply to short",
        ),
        (("[run]", "[run]\nseed = 1\nseeds = 2"), "run", "either seed or seeds"),
        (("[run]", "[run]\nseed = [1, 2]"), "run.seed", "seeds = [...]"),
        (("[run]", "[run]\nseeds = 0"), "run.seeds", "at least 1"),
        (("[run]", "[run]\nseeds = true"), "run.seeds", "a number of seeds"),
        (("[run]", '[[events]]\nat="3s"\nreroute=true\n[run]'), "events[0].at", "after the end"),
        (("[run]", '[[events]]\nat="1s"\nfail=["A", "C"]\n[run]'), "events[0].fail", "A has links to B"),
        (("[run]", '[[events]]\nat="1s"\n[run]'), "events[0]", "exactly one of"),
        (("[run]", '[[impairments]]\nlink="all"\nloss=1.5\n[run]'), "impairments[0].loss", "at most 1"),
        (("[run]", '[[impairments]]\nlink="B"\nloss=0.1\n[run]'), "impairments[0].link", 'or "all"'),
        (("[run]", "[[impairments]]\none_way=true\nloss=0.1\n[run]"), "impairments[0]", "one_way is for one link"),
        (("[topology]", "[topology]\noverride=[{one_way=true, cost=2}]"), "topology.override[0]", "one_way is for"),
        (("[topology]", '[topology]\noverride=[{link=["A", "B"]}]'), "topology.override[0]", "needs capacity, delay"),
        (("[[traffic]]", "[traffic]"), "traffic", "must be a list; begin each of its tables with [[traffic]]"),
        (("[run]", '[[events]]\nat="1s"\nfail="A-B"\n[run]'), "events[0].fail", "must be the two ends of a link"),
        (("[run]", '[[events]]\nat="1s"\nfail=["A"]\n[run]'), "events[0].fail", "must be the two ends of a link"),
        (("[run]", '[stacks]\nx={congestion="newrno"}\n[run]'), "stacks.x.congestion", 'did you mean "newreno"?'),
        (
            ("[run]", '[stacks]\nx={congestion={name="newreno", beta=2.0}}\n[run]'),
            "stacks.x.congestion.beta",
            "at most 0.99",
        ),
        (
            ("[run]", '[stacks]\nx={congestion={name="newreno", beat=0.5}}\n[run]'),
            "stacks.x.congestion.beat",
            'did you mean "beta"?',
        ),
        (("[run]", '[routing]\nx={select="hash", per={flowlet="1ms"}}\n[run]'), "routing.x", "hash alike"),
        (("[run]", '[routing]\nx={select="weighted"}\n[run]'), "routing.x", "weights go together"),
        (
            ("[run]", '[routing]\nx={metric="tcpbp", paths={shortest=2}}\n[run]'),
            "routing.x",
            'for several paths use metric = "tcpbp-exact"',
        ),
        (
            ("[run]", '[routing]\nx={metric="widest", paths={within=0.1}}\n[run]'),
            "routing.x",
            'tcpbp-exact or goodput:STACK, not "widest"',
        ),
        (("[run]", "[routing]\nx={paths={within=-0.1}}\n[run]"), "routing.x.paths.within", "0"),
        (("[run]", '[routing]\nx={paths={disjoint=2, by="hops"}}\n[run]'), "routing.x.paths.by", "nodes"),
        (("[run]", '[routing]\nx={paths=[["A","C"]]}\n[run]'), "routing.x.paths[0]", "no link from A to C"),
        (("[run]", '[routing]\nx={acks="y"}\n[run]'), "routing.x.acks", "no such routing"),
        (("[topology]", '[topology]\nfrom = "topozoo/Abilene"'), "topology", "exactly one of"),
        (("[topology]", '[topology]\nqueue = "fifo"'), "topology.queue", "possible: ared, cake, codel"),
        (
            ("[run]", '[[events]]\nat="1s"\nreroute=true\none_way=true\n[run]'),
            "events[0]",
            "one_way is for fail and repair",
        ),
    ],
)
def test_what_is_wrong_says_where_and_what_would_be_right(replacement: tuple[str, str], field: str, hint: str) -> None:
    found = problems(changed(replacement))
    assert field in found
    assert hint in found[field]


def test_a_topology_that_is_not_there_is_named() -> None:
    found = problems(
        '[topology]\nfrom = "topozoo/Abilne"\n[[traffic]]\nfrom = "a"\nto = "b"\nbulk = true\nstack = "newreno"'
    )
    assert "topozoo/Abilene" in found["topology.from"]


def test_problems_of_the_file_itself(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="cannot be read"):
        Scenario.load(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'title = "\xe9"')
    with pytest.raises(ScenarioError, match="not UTF-8"):
        Scenario.load(tmp_path / "latin.toml")
    with pytest.raises(ScenarioError, match="not TOML"):
        Scenario.from_toml("title = ")
    with pytest.raises(ScenarioError, match="cannot be read"):
        Scenario.load(tmp_path)


def test_a_topology_file_is_found_beside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "net.csv").write_text("source,target,capacity,delay\nA,C,1Mbps,1ms\n")
    text = '[topology]\nfrom = "net.csv"\n' + LINE[LINE.index("[[traffic]]") :]
    (tmp_path / "x.toml").write_text(text)
    assert len(Scenario.load(tmp_path / "x.toml").cases[0].topology.links) == 2


def with_sizes(directory: Path, content: bytes, name: str = "sizes.csv") -> Scenario:
    (directory / "sizes.csv").write_bytes(content)
    short = f'short = {{ arrivals = "5/s", sizes = "{name}" }}'
    (directory / "short.toml").write_text(changed(("bulk = true", short)))
    return Scenario.load(directory / "short.toml")


@pytest.mark.parametrize(
    "content", [b"bytes,cdf\n0,0\n10e3,0.5 # half\n\n20000,1\n", b"\xef\xbb\xbf0 , 0\r\n10000,.5\r\n20000,1.0\r\n"]
)
def test_flow_sizes_from_a_file_beside_the_scenario(tmp_path: Path, content: bytes) -> None:
    scenario = with_sizes(tmp_path, content)
    assert scenario.document["traffic"][0]["short"]["sizes"] == "sizes.csv"
    short = scenario.cases[0].variant.traffic[0].short
    assert short is not None
    assert short.points() == [[0, 0], [10000, 0.5], [20000, 1]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"0,0\n10000,0.5\n5000,1\n", "sizes.csv:3: sizes must ascend"),
        (b"0,0\nten,0.5\n20,1\n", 'sizes.csv:2: "ten,0.5" must be bytes and cumulative probability'),
        (b"0,0\n10\n20,1\n", 'sizes.csv:2: "10" must be'),
        (b"0,0\nnan,0.5\n20,1\n", "sizes.csv:2: sizes must ascend"),
        (b"0,0.1\n10,1\n", "sizes.csv:1: no flow has 0 bytes; [0, 0.1] must have at least 1 byte"),
        (b"0,0\n\n10,0.9\n", "sizes.csv:3: sizes must end with probability 1, not 0.9"),
        (b"bytes,cdf\n", "needs at least one line"),
        (b"\xff\xfe0,0", "is not UTF-8 text (byte 0)"),
        (b"#" * 2**20 + b"#", "is too large"),
    ],
)
def test_a_file_of_flow_sizes_that_is_wrong_is_named_with_its_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    with pytest.raises(ScenarioError) as refusal:
        with_sizes(tmp_path, content)
    (problem,) = refusal.value.problems
    assert problem.path == ("traffic", 0, "short", "sizes")
    assert message in problem.message


@pytest.mark.parametrize(
    ("name", "message"),
    [("none.csv", "none.csv: cannot be read (No such file"), ("web-serch", 'did you mean "web-search"?')],
)
def test_flow_sizes_that_are_not_there(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(message)):
        with_sizes(tmp_path, b"", name)


def pairs_in(generate: str, ends: str, draw: str = "") -> list[tuple[str, str]]:
    """The pairs of a traffic group by the names of their nodes."""
    text = f"topology.generate = {generate}\ntraffic = [{{ {ends}, bulk = true, stack = 'cubic' }}]"
    case = Scenario.from_toml(text).cases[0]
    names = Names.of(case.topology)
    found = pairs_of(case.variant.traffic[0], names, draw)
    return [(names.nodes[source], names.nodes[target]) for source, target in found]


def test_hosts_are_the_ends_of_every_generated_network() -> None:
    """Their names say what the nodes are: ``h`` in a fat tree, ``s`` and ``d`` elsewhere."""
    for generate, pattern, count in (
        ('{ kind = "fat-tree", k = 4 }', "p[1-4]e[12]h[12]", 16),
        ('{ kind = "fat-tree", k = 2 }', "p[12]e1h1", 2),
        ('{ kind = "dumbbell", pairs = 3 }', "[sd][1-3]", 6),
        ('{ kind = "dumbbell" }', "[sd]1", 2),
        ('{ kind = "parallel", paths = 1, pairs = 2 }', "[sd][12]", 4),
        ('{ kind = "leaf-spine", hosts = 2 }', "l[1-4]h[12]", 8),
        ('{ kind = "leaf-spine", hosts = 2, homes = 2 }', "l[13]h[12]", 4),
        ('{ kind = "dragonfly", h = 1 }', "g[123]r[12]h1", 6),
    ):
        found = pairs_in(generate, 'from = "hosts", to = "hosts"')
        assert len(set(found)) == len(found) == count * (count - 1)
        assert all(re.fullmatch(pattern, name) for pair in found for name in pair)


def test_patterns_are_all_nodes_of_such_names() -> None:
    tree = '{ kind = "fat-tree" }'
    found = pairs_in(tree, 'from = "p1*h*", to = ["p2e1h1", "p2e*h1", "c1"]')
    senders = ["p1e1h1", "p1e1h2", "p1e2h1", "p1e2h2"]
    assert found == [(sender, receiver) for sender in senders for receiver in ("p2e1h1", "p2e2h1", "c1")]
    assert pairs_in(tree, 'from = "p1e1h1", to = "*e1h1"') == [("p1e1h1", f"p{pod}e1h1") for pod in (2, 3, 4)]
    side_by_side = pairs_in('{ kind = "dumbbell", pairs = 3 }', 'from = "s*", to = "d*", pattern = "pairs"')
    assert side_by_side == [("s1", "d1"), ("s2", "d2"), ("s3", "d3")]


def test_a_node_with_the_name_of_a_group_or_pattern_is_that_node() -> None:
    text = LINE.replace('"B"', '"hosts"').replace('"C"', '"A*"').replace('to = "A*"', 'to = "hosts"')
    case = Scenario.from_toml(text).cases[0]
    names = Names([node.name for node in case.topology.nodes], [("A", "hosts"), ("hosts", "A*")])
    assert pairs_of(case.variant.traffic[0], names, "") == [(0, names.node_index["hosts"])]


@pytest.mark.parametrize(
    ("ends", "field", "message"),
    [
        ('from = "p9*", to = "hosts"', "traffic[0].from", "no node has such a name"),
        ('from = "hosts", to = ["c1", "x*"]', "traffic[0].to[1]", "no node has such a name"),
        ('from = "hots", to = "c1"', "traffic[0].from", "no such node"),
    ],
)
def test_a_group_without_a_node_is_refused(ends: str, field: str, message: str) -> None:
    text = f"topology.generate = 'fat-tree'\ntraffic = [{{ {ends}, bulk = true, stack = 'cubic' }}]"
    assert problems(text)[field].startswith(message)
    assert problems(text.replace("fat-tree", "fat-tee")).keys() == {"topology.generate"}


def test_traffic_that_takes_too_long_or_too_many_segments_is_refused_at_its_key() -> None:
    """All of it at once. At the least peak rate that the message names, the engine takes it."""
    groups = "".join(
        f'[[traffic]]\nfrom = "A"\nto = "C"\nstack = "newreno"\n{application}\n'
        for application in ("on-off = { peak = PEAK }", "short = { arrivals = '1/s', sizes = [[0, 0], [SIZE, 1]] }")
    )
    text = changed(("[run]", groups + "[run]"))
    found = problems(text.replace("PEAK", '"23 bps"').replace("SIZE", "1e300"))
    assert found == {
        "traffic[1].on-off.peak": 'a packet would take over 1000 times on "500ms"; give at least "24 bps"',
        "traffic[2].short.sizes": "must be at most 4294967294 segments of 1460 bytes",
    }
    assert refusals(Scenario.from_toml(text.replace("PEAK", '"24 bps"').replace("SIZE", "1e9"))).problems == []


def test_a_node_that_was_refused_is_no_node_of_later_links() -> None:
    found = problems(changed(("links = [", 'nodes = [{ name = "A" }]\nlinks = [')))
    wrong = {key: message for key, message in found.items() if key.startswith("topology.links")}
    places = ("links[0].target", "links[1].source", "links[1].target")
    assert wrong == dict.fromkeys((f"topology.{place}" for place in places), "no such node; possible: A")


def test_the_paths_of_another_network_are_one_problem(tmp_path: Path) -> None:
    paths = [{"path": [source, target]} for source, target in (("A", "B"), ("A", "X"), ("Y", "Z"))]
    for shown, more in ((2, ""), (3, "; the file has 2 more problems and may be for another topology")):
        (tmp_path / "plan.json").write_text(json.dumps({"splits": paths[:shown]}))
        with pytest.raises(ScenarioError) as refusal:
            Scenario.from_toml(LINE + '[routing.x]\nfrom = "plan.json"\n', directory=tmp_path)
        (problem,) = [one for one in refusal.value.problems if one.path == ("routing", "x", "from")]
        assert problem.message == f'plan.json: paths[1][1] = "X": no such node; possible: A, B, C{more}'


def test_a_network_without_hosts_says_what_they_are() -> None:
    found = problems(
        changed(
            ('to = "C"', 'to = "hosts"'),
            ("]\n\n[[", '{ source = "A", target = "C", capacity = "1Mbps", delay = "1ms" }]\n\n[['),
        )
    )
    assert "with one neighbour, and leaf-spine hosts with several leaves; here is none" in found["traffic[0].to"]


def test_parallel_inline_links_become_one_with_their_capacities() -> None:
    second = '    { source = "B", target = "A", capacity = "2Mbps", delay = "5ms" },\n]'
    case = Scenario.from_toml(changed(("]\n\n[[traffic", f"{second}\n\n[[traffic"))).cases[0]
    assert {link.capacity_bps for link in case.topology.links if link.cost is None} == {12_000_000}
    assert case.topology.warnings == (
        "1 parallel link added to the capacity of the first link between their nodes: links[2] (B -> A)",
    )
    found = problems(changed(("]\n\n[[traffic", f"{second}\n\n[[traffic")).replace("5ms", "6ms", 1))
    assert found["topology.links[2]"].startswith("has delay 0.005, and links[0] (A -> B) has delay 0.006; ")


def test_equal_lists_at_the_same_key_of_several_entries_vary_together() -> None:
    entry = '[[traffic]]\nfrom = "A"\nto = "C"\nbulk = true\nstack = ["newreno", "cubic"]\n'
    together = Scenario.from_toml(changed(("[run]", f"{entry}{entry}[run]")))
    assert together.keys == ["stack"]
    assert [[t.stack for t in case.variant.traffic[1:]] for case in together.cases] == [["newreno"] * 2, ["cubic"] * 2]
    other = entry.replace('["newreno", "cubic"]', '["cubic", "newreno"]')
    apart = Scenario.from_toml(changed(("[run]", f"{entry}{other}[run]")))
    assert apart.keys == ["traffic[1].stack", "traffic[2].stack"]
    assert len(apart.cases) == 4


def test_a_list_makes_a_matrix_at_any_key_that_takes_one_value() -> None:
    text = changed(
        ("[run]", '[[impairments]]\nlink = ["A", "B"]\nloss = [0.1, {model = "periodic", every = 9}]\n[run]'),
        ('"2s"', '["2s", "3s"]'),
        ("[[traffic]]", '[stacks.x]\ncongestion = ["newreno", {name = "newreno", beta = [0.5, 0.7]}]\n[[traffic]]'),
    )
    # a matrix inside a matrix is refused: its keys would differ from variant to variant
    assert "matrix inside a matrix" in problems(text)["stacks.x.congestion[1].beta"]
    scenario = Scenario.from_toml(text.replace("[0.5, 0.7]", "0.7"))
    assert scenario.keys == ["congestion", "loss", "duration"]
    assert scenario.cases[-1].values == {
        "congestion": "newreno beta=0.7",
        "loss": "periodic every=9",
        "duration": "3s",
    }
    assert len(scenario.cases) == 8


@pytest.mark.parametrize(
    "text",
    [
        '[topology]\nqueue = "codel" # short\nfrom = "x"\n[[traffic]]\nfrom = "A"\n[run]\nduration = "1s"\n',
        'topology.queue = "codel"\ntopology.from = "x"\ntraffic = [{ from = "A" }]\nrun.duration = "1s"\n',
        'topology = { queue = "codel", from = "x" }\ntraffic = [{ from = "A" }]\nrun.duration = "1s"\n',
    ],
)
def test_a_key_below_a_name_makes_its_table_in_any_layout(text: str) -> None:
    """Against the same change of the parsed document. Keys that follow, in dotted ones too, stay where they are."""
    keys = {"topology.queue.limit": "50 packets", "traffic[0].short.load": "0.5", "stacks.x.congestion.beta": "0.7"}
    expected = tomllib.loads(text)
    expected["topology"]["queue"] = {"discipline": "codel", "limit": "50 packets"}
    expected["traffic"][0]["short"] = {"load": 0.5}
    expected["stacks"] = {"x": {"congestion": {"name": "cubic", "beta": 0.7}}}
    assert tomllib.loads(with_values(text, {"stacks.x.congestion": "cubic"} | keys, "s")) == expected
    document = tomllib.loads(text)
    put(document, "topology.queue.limit", "50 packets", "s")
    assert document["topology"] == expected["topology"]
    with pytest.raises(ScenarioError, match=r'cannot set "topology.from.limit": topology.from has no limit'):
        with_values(text, {"topology.from.limit": "1"}, "s")


@pytest.mark.parametrize("names", [("x", "x"), ("traffic-2", None), (None, "traffic-1")])
def test_two_traffic_groups_have_two_names(names: tuple[str | None, str | None]) -> None:
    """Tables tell groups apart by their names; those without one are traffic-1, traffic-2 and so on."""
    keys = ["" if name is None else f'name = "{name}"' for name in names]
    second = f'[[traffic]]\nfrom = "B"\nto = "C"\n{keys[1]}\n[run]'
    text = changed(("bulk = true", f"bulk = true\n{keys[0]}"), ("[run]", second))
    place, other = (0, 1) if names[1] is None else (1, 0)
    assert problems(text) == {f"traffic[{place}].name": f"is also the name of traffic[{other}]; give another one"}
    own = text.replace("traffic-2", "traffic-3").replace("traffic-1", "traffic-2").replace('"x"', '"y"', 1)
    assert len({group["name"] for group in compile_run(Scenario.from_toml(own).cases[0], 1)["traffic"]}) == 2


@pytest.mark.parametrize(
    ("old", "values", "equal"),
    [
        ('"2s"', ["2s", "3s", "2000 ms"], '"2s" and "2000 ms"'),
        ('"10Mbps"', ["10Mbps", "1.25 MB/s"], '"10Mbps" and "1.25 MB/s"'),
        ("7.0", [7, 7.0], "7 and 7.0"),
        ('"newreno"', ["newreno", "newreno"], '"newreno" and "newreno"'),
    ],
)
def test_equal_values_make_no_matrix(old: str, values: list[object], equal: str) -> None:
    """They would be the same runs, and count as independent ones; `seeds = [1, 1]` is refused as well."""
    found = problems(changed((old, json.dumps(values))))
    assert list(found.values()) == [f"values must differ from each other; {equal} are equal"]
    Scenario.from_toml(changed((old, json.dumps(values[:1]))))


def test_a_table_of_one_name_equals_the_name_and_a_share_its_percentage() -> None:
    text = changed(("[run]", "[[impairments]]\nloss = {}\n[run]"), ("[topology]", "[topology]\nqueue = {}"))
    for queue, loss in (('["codel", { discipline = "codel" }]', "0"), ('"codel"', '[0.01, "1%"]')):
        assert "are equal" in str(problems(text.replace("{}", queue, 1).replace("{}", loss, 1)))
    different = text.replace("{}", '["codel", { discipline = "codel", target = "6ms" }]', 1)
    assert len(Scenario.from_toml(different.replace("{}", '[0.01, "2%"]', 1)).cases) == 4


def test_an_error_in_one_value_of_a_matrix_is_at_its_place() -> None:
    found = problems(changed(('"2s"', '["2s", "3 s", "4"]')))
    assert list(found) == ["run.duration[2]"]


def test_a_matrix_has_an_upper_bound() -> None:
    seconds = json.dumps([f"{n}ms" for n in range(1, 151)])
    text = changed(('"2s"', seconds), ("bulk = true", f"bulk = true\nstart = {seconds}"))
    assert "22500 variants" in problems(text)[""]


@pytest.mark.parametrize(
    ("section", "field", "hint"),
    [
        (
            'queue = { target = "1ms" }',
            "queue.target",
            'give discipline = "codel" or "fq-codel" or "pie" or "fq-pie" or "dualpi2"',
        ),
        ('queue = ["codel", { mark = 5 }]', "queue[1].mark", 'give discipline = "ecn-threshold"'),
        ("queue = { marc = 5 }", "queue.marc", "possible: discipline, limit"),
        (
            'override = [{ jitter = { mean = "1ms" } }]',
            "override[0].jitter.mean",
            'give distribution = "normal" or "pareto"',
        ),
    ],
)
def test_a_key_that_only_others_than_the_default_have_is_refused(section: str, field: str, hint: str) -> None:
    found = problems(changed(("[topology]", f"[topology]\n{section}")))
    assert list(found) == [f"topology.{field}"]
    assert found[f"topology.{field}"].startswith("unknown key; ")
    assert found[f"topology.{field}"].endswith(hint)


def test_a_pair_without_a_way_back_says_that_its_acks_need_one() -> None:
    text = changed(('target = "B", capacity', 'target = "B", directed = true, capacity'))
    (problem,) = refusals(Scenario.from_toml(text)).problems
    assert "ACKs from 'C' to 'A': no path leads there" in problem.message


def test_lines_are_those_of_the_file_whatever_values_are_set(tmp_path: Path) -> None:
    file = tmp_path / "line.toml"
    file.write_text(LINE.replace('duration = "2s"', 'duration = "2"'))
    line = next(number for number, text in enumerate(LINE.splitlines(), start=1) if text.startswith("duration"))
    values = {"topology.capacity": '"0bps"', "impairments": "[{loss = 2}]", "title": '"Three\\nmore\\nlines"'}
    with pytest.raises(ScenarioError) as caught:
        Scenario.load(file, values)
    listing = caught.value.listing
    lines = {format_path(problem.path): number for problem, number in zip(listing.problems, listing.lines, strict=True)}
    assert lines == {"topology.capacity": 3, "impairments[0].loss": None, "run.duration": line}


def test_setting_values_keeps_the_rest_of_the_text() -> None:
    scenario = Scenario.from_toml(DESIGN).with_values(
        {
            "run.duration": "17s",
            "traffic[0].stack": "cubic-over-fast-rto",
            "stacks.new.preset": "cubic",
            "run.seeds": "2",
        }
    )
    assert scenario.keys == ["routing"]
    assert scenario.seeds == [1, 2]
    assert scenario.document["stacks"]["new"] == {"preset": "cubic"}
    assert "# or a file, a generator, or inline nodes and links" in scenario.to_toml()
    for key in ("traffic[9].stack", "title.x", "a b", "traffic.x"):
        with pytest.raises(ScenarioError):
            Scenario.from_toml(DESIGN).with_values({key: "1"})


def test_the_json_schema_knows_every_algorithm_and_the_matrix() -> None:
    schema = Scenario.json_schema()
    text = json.dumps(schema)
    for kind in REGISTRIES:
        for algorithm in REGISTRIES[kind]:
            assert algorithm["summary"] in text
    stack = schema["$defs"]["Traffic"]["properties"]["stack"]
    assert [member["type"] for member in stack["anyOf"] if "type" in member] == ["array"]
    assert schema["$defs"]["Traffic"]["properties"]["from"]["oneOf"]
    assert schema["additionalProperties"] is False


def test_lines_of_keys_in_every_spelling() -> None:
    text = """\
a = 1
[b]
c.d = "x = 1"
"e f" = [
  "[g]",
  { h = 1 },
]
[[i]]
j = 1
[i.k]
l = 1
[[i]]
j = 2
"""
    lines = line_numbers(text)
    assert lines["a",] == 1
    assert lines["b", "c", "d"] == 3
    assert lines["b", "e f"] == 4
    assert lines["i", 0, "j"] == 9
    assert lines["i", 0, "k", "l"] == 11
    assert lines["i", 1, "j"] == 13
    assert ("g",) not in lines


def test_suggestions() -> None:
    assert suggest("titel", ["title", "run"]) == 'did you mean "title"?'
    assert suggest("xyz", ["b", "a"]) == "possible: a, b"
    assert suggest("xyz", []) == "there is none"


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.just("10ms")),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=8,
)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_no_value_at_any_key_breaks_the_reader(data: st.DataObject) -> None:
    document = tomllib.loads(DESIGN)
    here: Any = document
    while True:
        key = data.draw(st.sampled_from(sorted(here) if isinstance(here, dict) else range(len(here))))
        if isinstance(here[key], dict | list) and here[key] and data.draw(st.booleans()):
            here = here[key]
            continue
        here[key] = data.draw(VALUES)
        break
    with contextlib.suppress(ScenarioError):
        Scenario(document)


@given(st.lists(st.integers(1, 4), max_size=4))
def test_combinations_are_as_many_as_the_product(lengths: list[int]) -> None:
    matrix = [walk.Dimension(str(i), (), tuple(range(n))) for i, n in enumerate(lengths)]
    assert len(set(walk.combinations(matrix))) == walk.count(matrix)


def test_parallel_paths_may_differ_by_nothing_but_take_some_time() -> None:
    generated = '{ kind = "parallel", difference = "0ms" }'
    text = f"""
        topology = {{ generate = {generated} }}
        traffic = [{{ from = "s1", to = "d1", bulk = true, stack = "newreno", routing = "ospf" }}]
    """
    delays = {link.delay_s for link in Scenario.from_toml(text).cases[0].topology.links if "p" in link.source}
    assert delays == {0.005}
    without = problems(text.replace('difference = "0ms"', 'delay = "0ms"'))
    assert without == {"topology.generate.delay": "must be greater than zero"}
    assert "topology.generate.loss" in problems(text.replace('difference = "0ms"', "loss = 1"))
    lossy = Scenario.from_toml(text.replace('difference = "0ms"', "loss = 0.01")).cases[0].topology.links
    assert {(link.source, link.target) for link in lossy if link.loss} == {
        (end, middle) for end in ("left", "right") for middle in ("p1", "p2")
    }


@pytest.mark.parametrize(
    ("stack", "key", "other"),
    [
        ('linux-cubic = { congestion = "newreno" }', "congestion", "my-linux-cubic"),
        ('linux-cubic = { preset = "newreno" }', "congestion, detection, ack, follows", "my-linux-cubic"),
        ('bbr = { preset = "bbr", detection = "dup-ack" }', "detection", "bbr-dup-ack"),
        ('cubic = { slow_start = "hystart++", detection = "dup-ack" }', "slow_start", "my-cubic"),
        ('newreno = { preset = "newreno", follows = "ns-2" }', "follows", "my-newreno"),
        ('newreno = { preset = "newreno", congestion = { program = "anabranch_reno" } }', "congestion", "my-newreno"),
    ],
)
def test_the_name_of_a_preset_means_the_preset(stack: str, key: str, other: str) -> None:
    text = LINE.replace("[[traffic]]", f"[stacks]\n{stack}\n[[traffic]]")
    name = stack.partition(" ")[0]
    message = f'scenario:10: stacks.{name}: is the name of a preset with another {key}; give this stack another name, such as "{other}"'
    with pytest.raises(ScenarioError, match=re.escape(message)):
        Scenario.from_toml(text)
    Scenario.from_toml(text.replace(f"\n{name} =", "\nx ="))


@pytest.mark.parametrize(
    "stack",
    [
        'newreno = { congestion = "newreno", detection = "dup-ack" }',
        'newreno = { preset = "newreno", min_rto = "1s", mss = "536 bytes", sack = false }',
        'mprc = { congestion = "newreno", detection = { name = "fast-rto", gamma = 1.5 }, ack = "immediate" }',
    ],
)
def test_a_preset_may_be_written_out_or_have_other_parameters(stack: str) -> None:
    Scenario.from_toml(
        LINE.replace("[[traffic]]", f"[stacks]\n{stack}\n[[traffic]]").replace(
            '"newreno"\n\n[run]', f'"{stack.partition(" ")[0]}"\n\n[run]'
        )
    )


def test_a_broken_stack_of_a_presets_name_has_one_problem() -> None:
    text = LINE.replace("[[traffic]]", '[stacks]\ncubic = { min_rto = "soon" }\n[[traffic]]')
    with pytest.raises(ScenarioError) as error:
        Scenario.from_toml(text)
    assert [problem.path for problem in error.value.problems] == [("stacks", "cubic", "min_rto")]


@pytest.mark.parametrize(
    "text",
    [
        '[stacks]\nx = { congestion = { program = "anabranch_reno", threshold = 1 } }\n',
        '[stacks]\nx = { congestion = { program = "anabranch_reno", threshold = 1 } }\ny.min_rto = ["200ms", "1s"]\n',
    ],
)
def test_a_key_of_another_table_of_a_union_is_unknown(text: str) -> None:
    """``threshold`` is a parameter of some congestion controls, which have a name and no program."""
    with pytest.raises(ScenarioError) as error:
        Scenario.from_toml(LINE.replace("[[traffic]]", text + "[[traffic]]"))
    assert error.value.problems[0].describe() == "stacks.x.congestion.threshold: unknown key; possible: name, program"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("bulk = True", "(at line 12, column 8): bulk = True; write true"),
        ("from = None", "(at line 12, column 8): from = None; TOML has no such value, so leave the key out"),
        ("to = C", '(at line 12, column 6): to = C; a text needs quotation marks: "C"'),
        ("start = 10ms", '(at line 12, column 11): start = 10ms; a text needs quotation marks: "10ms"'),
        ("size = " + "x" * 5000, f'a text needs quotation marks: "{"x" * 57}..."'),
    ],
)
def test_a_value_that_toml_does_not_have_is_named_with_a_right_one(line: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(message)):
        Scenario.from_toml(LINE.replace("bulk = true", line))


@pytest.mark.parametrize("text", [".".join(["a"] * 100_000) + " = 1", "[" + " . ".join(['"b c"'] * 100_000) + "]"])
def test_a_key_of_many_parts_is_refused_at_once(text: str) -> None:
    """The reader of TOML would take a minute."""
    begun = time.process_time()
    with pytest.raises(ScenarioError, match="is nested too deep: line 17 has a key of more than 100 parts"):
        Scenario.from_toml(LINE + text + "\n")
    assert time.process_time() - begun < 2
