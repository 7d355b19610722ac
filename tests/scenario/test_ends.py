"""Links and traffic name their two ends in several ways. Files may use each of them; a scenario's error names the right key."""

from pathlib import Path

import pytest

from anabranch import Scenario, ScenarioError, topologies
from anabranch.engineering.robust.files import pair_rows
from anabranch.foundation.suggest import suggest
from anabranch.scenario.trace import parse

ENDS = [("source", "target"), ("src", "dst"), ("from", "to"), ("From", "destination")]


@pytest.mark.parametrize(("source", "target"), ENDS)
def test_every_file_takes_every_name_of_the_ends(source: str, target: str, tmp_path: Path) -> None:
    (tmp_path / "links.csv").write_text(f"{source},{target},delay\nA,B,5ms\n")
    edges = f'[{{"{source}": "A", "{target}": "B", "delay": "5ms"}}]'
    (tmp_path / "links.json").write_text(f'{{"nodes": [{{"id": "A"}}, {{"id": "B"}}], "edges": {edges}}}')
    for name in ("links.csv", "links.json"):
        links = topologies.load(str(tmp_path / name)).links
        assert [(link.source, link.target, link.delay_s) for link in links] == [("A", "B", 0.005), ("B", "A", 0.005)]
    (tmp_path / "matrix.csv").write_text(f"{source},{target},rate\nA,B,1Mbps\n")
    assert [row[1:] for row in pair_rows(tmp_path / "matrix.csv")] == [("A", "B", 1e6)]
    trace = parse(f"{source},{target},start,size\nA,B,0,1000\n", "trace")
    assert (trace.sources, trace.targets) == (("A",), ("B",))


SCENARIO = """
[[topology.links]]
source = "A"
target = "B"
[[traffic]]
from = "A"
to = "B"
"""


@pytest.mark.parametrize(
    ("good", "bad", "said"),
    [
        ('source = "A"', 'from = "A"', 'topology.links[0].from: unknown key; did you mean "source"?'),
        ('target = "B"', 'dst = "B"', 'topology.links[0].dst: unknown key; did you mean "target"?'),
        ('from = "A"', 'source = "A"', 'traffic[0].source: unknown key; did you mean "from"?'),
        ('to = "B"', 'target = "B"', 'traffic[0].target: unknown key; did you mean "to"?'),
    ],
)
def test_a_scenario_with_the_other_word_names_the_right_key(good: str, bad: str, said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_toml(SCENARIO.replace(good, bad))
    assert said in str(caught.value)


def test_a_word_that_means_no_key_there_is_only_compared_by_its_letters() -> None:
    assert suggest("source", ["sources", "sinks"]) == 'did you mean "sources"?'
    assert suggest("from", ["delay"]) == "possible: delay"
