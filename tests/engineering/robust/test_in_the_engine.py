"""Splits in the packet engine: the bytes on the paths are in proportion to the fractions."""

import json
from pathlib import Path

import pytest

from anabranch.engineering import robust
from anabranch.engineering.robust.documents import document
from anabranch.network import topologies
from anabranch.scenario import Scenario, ScenarioError

PAIR = ("1", "11")


@pytest.fixture(scope="module")
def routing() -> robust.RobustRouting:
    network = robust.Network.of(topologies.load("nsfnet"), 500e6)
    model = robust.bounds(network, 130e6, 130e6, 50e6)
    return robust.solve(robust.Problem(network, model, robust.shortest(network, 3)))


def scenario(directory: Path, routing: str, traffic: str) -> Scenario:
    text = f"""
    [topology]
    from = "nsfnet"
    capacity = "500Mbps"
    [routing.robust]
    {routing}
    [[traffic]]
    routing = "robust"
    {traffic}
    [run]
    duration = "5s"
    """
    return Scenario.from_toml(text, directory=directory)


def shares_by_first_links(split: dict) -> dict[tuple[str, ...], float]:  # type: ignore[type-arg]
    """The fractions by the link with which paths begin."""
    shares: dict[tuple[str, ...], float] = {}
    for part in split["paths"]:
        shares[tuple(part["path"][:2])] = shares.get(tuple(part["path"][:2]), 0.0) + part["fraction"]
    return shares


@pytest.mark.parametrize(
    ("keys", "traffic", "tolerance"),
    [
        ('from = "splits.json"', 'constant = "40Mbps"', 0.02),  # 16,667 packets
        ('from = "splits.json"\nper = "flow"', 'poisson = "100kbps"\nflows = 2000', 0.04),
    ],
)
def test_bytes_follow_the_fractions(
    routing: robust.RobustRouting, tmp_path: Path, keys: str, traffic: str, tolerance: float
) -> None:
    written = document(routing)
    (tmp_path / "splits.json").write_text(json.dumps(written))
    split = next(one for one in written["splits"] if (one["src"], one["dst"]) == PAIR and len(one["paths"]) > 1)
    traffic = f'from = "{PAIR[0]}"\nto = "{PAIR[1]}"\ntransport = "udp"\n{traffic}'
    result = scenario(tmp_path, keys, traffic).run(seed=1)
    links = {(row["src"], row["dst"]): row["bytes"] for row in result.links.to_dicts()}
    sent = sum(amount for (src, _), amount in links.items() if src == PAIR[0])
    assert sent > 0
    for link, share in shares_by_first_links(split).items():
        assert links[link] / sent == pytest.approx(share, abs=tolerance)


def test_all_pairs_run_both_ways_over_their_splits(routing: robust.RobustRouting, tmp_path: Path) -> None:
    (tmp_path / "splits.json").write_text(json.dumps(document(routing)))
    traffic = 'from = "all"\nto = "all"\nstack = "newreno"\nsize = "20 kB"'
    result = scenario(tmp_path, 'from = "splits.json"', traffic).run(seed=1)
    assert len(result.flows) == 182
    assert result.flows["fct_s"].null_count() == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("nonsense", "is not JSON"),
        ('{"flows": []}', 'has neither "splits" nor "routes"'),
        ('{"splits": [{"src": "1", "dst": "2"}]}', 'must have a "path"'),
        ('{"splits": [{"paths": [{"path": ["1"]}]}]}', "at least two node names"),
        ('{"splits": [{"paths": [{"path": ["1", "2"], "fraction": -1}]}]}', "fraction is -1"),
        (f'{{"splits": [{{"paths": [{{"path": ["1", "2"], "fraction": 1{"0" * 400}}}]}}]}}', "fraction is 1000"),
        ('{"splits": [{"paths": [{"path": ["1", "2"]}]}]}', "has no path from 1 to 11"),
        ('{"splits": [{"paths": [{"path": ["1", "11"]}]}]}', "there is no link from 1 to 11"),
    ],
)
def test_a_file_that_does_not_serve_is_refused_by_name(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "splits.json").write_text(content)
    with pytest.raises(ScenarioError, match=message):
        scenario(tmp_path, 'from = "splits.json"', 'from = "1"\nto = "11"\nstack = "newreno"\nbulk = true')


def test_paths_beside_a_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="cannot stand beside it"):
        scenario(tmp_path, 'from = "splits.json"\npaths = [["1", "2"]]', 'from = "1"\nto = "2"\nbulk = true')
