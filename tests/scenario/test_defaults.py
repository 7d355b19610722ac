"""Keys that a scenario leaves out have the values that docs/guide/scenario.md gives. A topology with one traffic group is a scenario."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from anabranch.compile.run import compile_run
from anabranch.scenario import Scenario, ScenarioError

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "scenario.md"
LINKS = """
[topology]
links = [{ source = "A", target = "B" }, { source = "B", target = "C" }]
"""
MS = 10**9


def compiled(text: str) -> Any:
    (case,) = Scenario.from_toml(text).cases
    return compile_run(case, 1)


def test_a_topology_and_one_traffic_group_are_a_scenario_that_runs() -> None:
    text = LINKS + '[[traffic]]\nfrom = "A"\nto = "C"\n[run]\nduration = "2s"\n'
    flow = Scenario.from_toml(text).run().flows.row(0, named=True)
    assert flow["stack"] == "linux-cubic"
    assert flow["routing"] == "ospf"
    # 100 Mbit/s less 40 of 1500 bytes of headers, less the part of two seconds that slow start takes
    assert 0.6 * 97.33e6 < flow["goodput_bps"] < 97.34e6


def test_the_page_begins_with_that_scenario() -> None:
    example = PAGE.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    spec = compiled(example)
    assert [stack["name"] for stack in spec["stacks"]] == ["linux-cubic"]
    assert set(tomllib.loads(example)) == {"topology", "traffic"}


def test_links_and_their_queues() -> None:
    spec = compiled(LINKS + "[[traffic]]\n")
    for link in spec["links"]:
        assert link["rate"] == 100_000_000
        assert link["delay"] == 5 * MS, "1000 km of fibre at 2e8 m/s"
        assert link["queue"] == {"discipline": "drop-tail", "limit": {"packets": 100}}
    of_length_0 = LINKS.replace('target = "B" }', 'target = "B", length = "0km" }', 1)
    assert [link["delay"] for link in compiled(of_length_0 + "[[traffic]]\n")["links"]] == [0, 0, 5 * MS, 5 * MS]
    small = compiled(LINKS + 'queue = { limit = "7 packets" }\n[[traffic]]\n')
    assert small["links"][0]["queue"] == {"discipline": "drop-tail", "limit": {"packets": 7}}


def test_traffic_is_bulk_between_all_nodes() -> None:
    (group,) = compiled(LINKS + "[[traffic]]\n")["traffic"]
    assert len(group["pairs"]) == 6
    assert group["application"] == {"kind": "bulk", "bytes": None}


@pytest.mark.parametrize(
    ("application", "expected"),
    [
        (
            'on-off = { peak = "1Mbps" }',
            {"kind": "pareto-on-off", "peak": 10**6, "on": 500 * MS, "off": 500 * MS, "shape": 1.5},
        ),
        ('short = { arrivals = "5/s" }', {"kind": "short-flows", "arrivals": 5.0}),
    ],
)
def test_applications(application: str, expected: dict[str, Any]) -> None:
    (group,) = compiled(LINKS + f"[[traffic]]\n{application}\n")["traffic"]
    assert expected.items() <= group["application"].items()


def test_impairments_and_overrides_are_of_all_links_and_events_happen_at_the_start() -> None:
    more = '[[impairments]]\nloss = 0.1\n[[events]]\nfail = ["A", "B"]\n[[traffic]]\n'
    spec = compiled(LINKS + '[[topology.override]]\ncapacity = "7Mbps"\n' + more)
    assert {link["rate"] for link in spec["links"]} == {7_000_000}
    assert all(link["loss"] == {"model": "bernoulli", "ratio": 0.1} for link in spec["links"])
    assert spec["events"] == [{"at": 0, "action": "fail", "links": [0, 1]}]


def test_a_stack_without_congestion_control_has_cubic() -> None:
    spec = compiled(LINKS + '[stacks.x]\ndetection = "rack-tlp"\n[[traffic]]\n')
    assert [stack["name"] for stack in spec["stacks"]] == ["x"]
    assert spec["stacks"][0]["congestion"]["name"] == "cubic"


def test_of_several_stacks_one_must_be_named() -> None:
    """Neither of them is the one that a researcher would choose, and the default preset would hide both."""
    with pytest.raises(ScenarioError, match=r"is missing, and \[stacks\] has several; possible: x, y"):
        Scenario.from_toml(LINKS + "[stacks]\nx = {}\ny = {}\n[[traffic]]\n")


def test_a_link_fails_in_one_direction() -> None:
    """Datagrams from A to C arrive until the link fails from A to B; when it fails from B to A, they do not notice."""
    run = '[[traffic]]\nfrom = "A"\nto = "C"\ntransport = "udp"\nconstant = "1Mbps"\n[run]\nduration = "2s"\n'
    fail = '[[events]]\nat = "1s"\none_way = true\nfail = '

    def delivered(event: str) -> float:
        return float(Scenario.from_toml(LINKS + event + run).run().flows["delivered_bytes"][0])

    whole = delivered("")
    assert delivered(fail + '["B", "A"]\n') == whole
    assert delivered(fail + '["A", "B"]\n') == pytest.approx(whole / 2, rel=0.02)


def test_one_way_names_a_direction_that_there_is() -> None:
    text = LINKS.replace('target = "B" }', 'target = "B", directed = true }', 1) + '[[traffic]]\nfrom = "A"\nto = "C"\n'
    for entry in (
        '[[events]]\nfail = ["B", "A"]\n',
        '[[impairments]]\nlink = ["B", "A"]\nloss = 0.1\n',
        '[[topology.override]]\nlink = ["B", "A"]\ncost = 2\n',
    ):
        Scenario.from_toml(text + entry)
        with pytest.raises(ScenarioError, match="no such link; B has links to C"):
            Scenario.from_toml(text + entry + "one_way = true\n")


def test_a_stack_without_a_detection_has_that_of_traffic_without_a_stack() -> None:
    (without,) = compiled(LINKS + "[[traffic]]\n")["stacks"]
    for keys in ("", 'congestion = "newreno"', 'congestion = "linux-cubic"', 'follows = "linux"'):
        (stack,) = compiled(LINKS + f"[stacks.x]\n{keys}\n[[traffic]]\n")["stacks"]
        assert stack["detection"]["name"] == without["detection"]["name"] == "rack-tlp", keys
    (stack,) = compiled(LINKS + "[stacks.x]\nsack = false\n[[traffic]]\n")["stacks"]
    assert stack["detection"]["name"] == "dup-ack", "RFC 8985 section 4 requires SACK"


def test_a_stack_with_the_name_of_a_preset_begins_with_it() -> None:
    (preset,) = compiled(LINKS + '[[traffic]]\nstack = "kikolo"\n')["stacks"]
    for keys in ("", 'congestion = "kikolo"', 'preset = "kikolo"'):
        assert compiled(LINKS + f"[stacks.kikolo]\n{keys}\n[[traffic]]\n")["stacks"] == [preset]
    (other,) = compiled(LINKS + '[stacks.kikolo]\nmin_rto = "1s"\n[[traffic]]\n')["stacks"]
    assert other == preset | {"min_rto": 1000 * MS}
