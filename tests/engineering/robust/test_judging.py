"""Routings judged as they are: loads of paths listed one by one, what other commands wrote, failures, and clear errors."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anabranch.cli import robust_judge, status
from anabranch.engineering import robust
from anabranch.engineering.robust.failures import failures_of
from anabranch.engineering.robust.judging import explicit, judge, ospf, weights_by
from anabranch.engineering.robust.splits import Splits
from anabranch.network.topologies import Link, Node, Topology
from anabranch.network.topologies.export import to_json
from tests.engineering.robust.networks import random_model, random_network
from tests.engineering.weights.test_loads import listed_loads

PAPER = ["robust", "nsfnet", "--hose", "130Mbps", "--pipe", "50Mbps", "--capacity", "500Mbps"]
MATRIX = ["robust", "nsfnet", "--matrix", "gravity=2Gbps", "--capacity", "500Mbps"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = status(list(arguments))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code, out, error = run(capsys, *arguments, "--json")
    assert code == 0, error
    return json.loads(out)  # type: ignore[no-any-return]


@pytest.mark.parametrize("seed", range(10))
def test_the_worst_matrix_puts_the_load_on_the_link_over_equal_cost_paths(seed: int) -> None:
    """The matrix is sent hop by hop over paths listed one by one, also after failures of nodes and of two links."""
    network, model = random_network(seed), random_model(random_network(seed), seed)
    weight = np.random.default_rng(seed).integers(1, 4, network.links).astype(float)
    failures = [*failures_of("nodes", network), *failures_of("links=2", network)[::5]]
    for state in judge(network, model, ospf(network, weight), failures):
        left = weight.copy()
        left[list(state.failure.links if state.failure else ())] = np.inf
        pair, amount = state.loads.matrix(state.loads.worst)
        matrix = np.zeros((network.nodes, network.nodes))
        matrix[network.pair_sources[pair], network.pair_targets[pair]] = amount
        load = listed_loads(network, left, matrix) / network.capacity
        assert load[state.link] == pytest.approx(state.load, rel=1e-6)
        for other in random_matrices(model, seed):
            assert (listed_loads(network, left, other) / network.capacity).max() <= state.load * (1 + 1e-9)


def random_matrices(model: robust.TrafficModel, seed: int) -> list[np.ndarray]:  # type: ignore[type-arg]
    """Some matrices of the model: those of a set, or random ones within the bounds."""
    if isinstance(model, robust.Matrices):
        return list(model.matrices)
    random, found = np.random.default_rng(seed), []
    for _ in range(3):
        above = model.above
        more = random.uniform(0, 1, model.upper.shape) * (model.largest - model.lower)
        np.fill_diagonal(more, 0)
        within = min(
            1.0,
            *(above.rows / np.maximum(1e-9, more.sum(axis=1))),
            *(above.columns / np.maximum(1e-9, more.sum(axis=0))),
        )
        found.append(model.lower + within * more)
    return found


def test_shares_count_as_they_are_and_are_renormalised_after_a_failure() -> None:
    """From a to d 6 Mbit/s, two thirds over b, the rest over c, over links of 10 Mbit/s."""
    ends = [("a", "b"), ("b", "d"), ("a", "c"), ("c", "d")]
    links = tuple(Link(*pair, 10_000_000) for one, other in ends for pair in ((one, other), (other, one)))
    network = robust.Network.of(Topology("two", tuple(map(Node, "abcd")), links))
    rates = np.zeros((4, 4))
    rates[0, 3] = 6e6
    routing = explicit(network, [(["a", "b", "d"], 2.0), (["a", "c", "d"], 1.0)])
    states = judge(network, robust.matrices(network, [rates]), routing, failures_of("links", network))
    assert [state.load for state in states] == pytest.approx([0.4, 0.6, 0.6, 0.6, 0.6])
    assert not any(state.lost_pairs for state in states)  # other pairs have no path, and no traffic either
    two = judge(network, robust.matrices(network, [rates]), routing, failures_of("links=2", network))
    assert sum(bool(state.lost_pairs) for state in two) == 4
    with pytest.raises(robust.RobustError, match="d -> a may send, and has no path"):
        judge(network, robust.matrices(network, [rates + rates.T]), routing)


@pytest.mark.parametrize("traffic", [PAPER, MATRIX])
def test_splits_are_read_back_with_their_load(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, traffic: list[str]
) -> None:
    file = str(tmp_path / "splits.json")
    solved = document(capsys, *traffic, "--paths", "2", "--out", file, "--fail", "links")
    judged = document(capsys, *traffic, "--paths", "2", "--judge", file, "--fail", "links")
    assert judged["worst_case_load"] == pytest.approx(solved["worst_case_load"], rel=1e-6)
    assert judged["optimum"]["load"] <= solved["worst_case_load"] * (1 + 1e-6)
    loads = [[one["worst_case_load"] for one in found["failures"]] for found in (solved, judged)]
    assert loads[1] == pytest.approx(loads[0], rel=1e-6)


def test_weights_and_their_costs_are_judged_alike(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    given = ["nsfnet", "--matrix", "gravity=2Gbps", "--capacity", "500Mbps"]
    found = document(capsys, "weights", *given, "--limit", "0.3s", "--out", str(tmp_path / "with.json"))
    (tmp_path / "found.json").write_text(json.dumps(found))
    by_file = document(capsys, *MATRIX, "--judge", str(tmp_path / "found.json"))
    by_cost = document(capsys, "robust", str(tmp_path / "with.json"), "--matrix", "gravity=2Gbps", "--judge", "cost")
    load = found["routings"][-1]["load"]
    assert by_file["worst_case_load"] == pytest.approx(load)
    assert by_cost["worst_case_load"] == pytest.approx(load)
    assert by_file["optimum"]["load"] == pytest.approx(found["optimal_flow"]["load"])


@pytest.mark.parametrize("format", ["json", "scenario"])
def test_an_export_is_read_back(capsys: pytest.CaptureFixture[str], tmp_path: Path, format: str) -> None:
    printed = document(capsys, "routes", "nsfnet", "--metric", "hop-count", "--shortest", "2")
    (tmp_path / "routes.json").write_text(json.dumps(printed))
    made = ["--metric", "hop-count", "--shortest", "2", "--export", format, "--out", str(tmp_path / "made")]
    assert status(["routes", "nsfnet", *made]) == 0
    capsys.readouterr()
    loads = [
        document(capsys, *PAPER, "--judge", str(tmp_path / name))["worst_case_load"] for name in ("routes.json", "made")
    ]
    assert loads[0] == pytest.approx(loads[1])


def test_a_plan_is_judged_with_its_load(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    bounds = PAPER[1:]
    planned = document(capsys, "plan", *bounds, "--paths", "2", "--load", "1", "--out", str(tmp_path))
    judged = document(capsys, *PAPER, "--judge", str(tmp_path / "plan.json"))
    assert judged["worst_case_load"] == pytest.approx(planned["worst_case_load"], rel=1e-6)


def test_a_recorded_series_says_which_matrix_is_the_worst(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rates = np.ones((3, 14 * 14)) * np.array([[1e6], [3e6], [2e6]])
    (tmp_path / "day.txt").write_text("\n".join(" ".join(map(str, row)) for row in rates))
    given = [
        "robust",
        "nsfnet",
        "--capacity",
        "500Mbps",
        "--matrix",
        f"{tmp_path}/day.txt#1..3",
        "--judge",
        "hop-count",
    ]
    judged = document(capsys, *given, "--fail", "nodes")
    assert judged["matrix"] == 2
    assert {one["matrix"] for one in judged["failures"]} == {2}
    assert all(one["optimum"] <= one["worst_case_load"] * (1 + 1e-9) for one in judged["failures"])
    code, out, _ = run(capsys, *given, "--fail", "nodes")
    assert code == 0
    assert "matrix 2" in out


def line_with_a_ring(tmp_path: Path) -> list[str]:
    """a - b - c - a, and c - d: only d can be cut off."""
    ends = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]
    links = tuple(Link(*pair, 10_000_000) for one, other in ends for pair in ((one, other), (other, one)))
    (tmp_path / "ring.json").write_text(to_json(Topology("ring", tuple(map(Node, "abcd")), links)))
    (tmp_path / "a-to-c.csv").write_text("source,target,rate\na,c,1Mbps\n")
    (tmp_path / "a-to-d.csv").write_text("source,target,rate\na,d,1Mbps\n")
    return ["robust", str(tmp_path / "ring.json"), "--fail", "links"]


def test_a_failure_that_cuts_no_traffic_is_no_loss(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ring = line_with_a_ring(tmp_path)
    _, out, _ = run(capsys, *ring, "--matrix", str(tmp_path / "a-to-c.csv"), "--paths", "2")
    assert "c - d cuts" not in out
    _, out, _ = run(capsys, *ring, "--matrix", str(tmp_path / "a-to-d.csv"), "--judge", "hop-count")
    assert "lost traffic     after 1 failure; " in out
    assert "c - d cuts a -> d\n" in out


def test_probabilities_of_failures_add_up_to_the_availability(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Two ducts: the loss of c - d (2 %) cuts a -> d, that of c - a (10 %) only moves it."""
    given = [*line_with_a_ring(tmp_path)[:2], "--matrix", str(tmp_path / "a-to-d.csv"), "--judge", "hop-count"]
    groups = {
        "ring": {"links": [["a", "c"]], "probability": 0.1},
        "spur": {"links": [["c", "d"]], "probability": 0.02},
    }
    (tmp_path / "groups.json").write_text(json.dumps(groups))
    judged = document(capsys, *given, "--fail", str(tmp_path / "groups.json"))
    assert judged["availability"]["within_capacity"] == pytest.approx(0.98)
    assert judged["availability"]["judged"] == pytest.approx(1 - 0.1 * 0.02)
    _, out, _ = run(capsys, *given, "--fail", str(tmp_path / "groups.json"))
    assert "within capacity  with probability 0.98, no traffic lost; 0.002 are several failures at once" in out


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ({"links": [["a", "b"]], "probability": 1}, "x: probability 1 must be from 0 to less than 1"),
        ({"links": [["a", "b"]], "chance": 0.1}, 'x: must be a list of links, or {"links"'),
        ([["a", "b"]], "x: has no probability, though others have"),
    ],
)
def test_a_wrong_probability_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, group: object, message: str
) -> None:
    ring = line_with_a_ring(tmp_path)[:2]
    groups = {"x": group, "y": {"links": [["c", "d"]], "probability": 0.1}}
    (tmp_path / "groups.json").write_text(json.dumps(groups))
    code, _, error = run(capsys, *ring, "--hose", "1Mbps", "--judge", "ospf", "--fail", str(tmp_path / "groups.json"))
    assert code == 1
    assert message in error


def test_lost_traffic_names_the_pairs_and_what_would_carry_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = [*line_with_a_ring(tmp_path), "--matrix", str(tmp_path / "a-to-c.csv")]
    _, out, _ = run(capsys, *ring, "--paths", "1")
    assert "c - a cuts a -> c\n" in out
    assert "other paths are left for 1 of them: --paths disjoint=2 --protect uses these" in out
    solved = robust.best_found

    def first_paths(problem: robust.Problem, *options: Any) -> robust.RobustRouting:
        found = solved(problem, *options)
        splits = Splits.first_paths(problem.candidates)
        return replace(found, splits=splits, loads=robust.worst_loads(problem.network, problem.model, splits.crossings))

    monkeypatch.setattr(robust, "best_found", first_paths)
    _, out, _ = run(capsys, *ring, "--paths", "2")
    assert "candidate paths are left for 1 of them: --protect uses these" in out
    assert "other paths" not in out
    (tmp_path / "a-to-c.csv").write_text("source,target,rate\na,c,1Mbps\na,d,1Mbps\n")
    protected = document(capsys, *ring, "--paths", "2", "--protect")
    assert [one["lost_pairs"] for one in protected["failures"] if one["lost_pairs"]] == [[["a", "d"]]]


def test_ctrl_c_keeps_the_loads_before(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def advance(_: object, steps: int = 1) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(robust_judge.Steps, "advance", advance)
    code, out, error = run(capsys, *MATRIX, "--judge", "ospf", "--fail", "links", "--json")
    assert code == 130
    assert json.loads(out)["interrupted"]
    assert len(json.loads(out)["failures"]) == 1
    assert "Interrupted: the loads after 1 of 21 failures" in error


@pytest.mark.parametrize(
    ("given", "content", "message"),
    [
        ("bgp", None, "--judge bgp: must be hop-count, ospf, cost, delay, a file, or the directory of an export"),
        ("cost", None, "link 1 -> 2 has no cost; anabranch weights --out writes a topology with costs"),
        ("a.json", '{"splits": [{"paths": [{"path": ["1", "2"], "fraction": -1}]}]}', "fraction -1 must be at least 0"),
        ("a.json", '[["1", "2"]]', "1 -> 3 may send, and has no path (nor have 180 other pairs)"),
        ("a.json", '[["1", "99"]]', "nsfnet has no node 99"),
        (
            "a.json",
            '{"weights": [{"src": "1", "dst": "2", "weight": 0}]}',
            "weights[0]: weight 0 must be a whole number",
        ),
        ("a.json", '{"weights": [{"src": "1", "dst": "9", "weight": 1}]}', "weights[0]: nsfnet has no link 1 -> 9"),
        ("a.json", '{"weights": [{"src": "1", "dst": "2", "weight": 5}]}', "has no weight of the link 2 -> 1"),
        ("a.json", "3", "must be a list of paths"),
        ("a.toml", "[routing.x]\npaths = 3", "has 0 tables [routing.NAME] with a list of paths"),
        ("a.toml", '[routing.x]\npaths = [["1", "2"]]\nweights = [-1]', "weights a number of at least 0"),
        (
            "a",
            {"export.json": '{"format": "cisco"}'},
            "export.json: format 'cisco' must be one of ip-route, srv6, frr",
        ),
        ("a", {}, "is a directory without export.json"),
    ],
)
def test_what_cannot_be_judged_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, given: str, content: str | dict[str, str] | None, message: str
) -> None:
    if isinstance(content, str):
        (tmp_path / given).write_text(content)
    elif content is not None:
        (tmp_path / given).mkdir()
        for name, text in content.items():
            (tmp_path / given / name).write_text(text)
    code, out, error = run(capsys, *PAPER, "--judge", given if content is None else str(tmp_path / given))
    assert (code, out) == (1, "")
    assert message in error


@pytest.mark.parametrize("option", [["--protect", "--fail", "links"], ["--sweep"], ["--single", "40%"]])
def test_a_routing_that_is_judged_is_not_changed(capsys: pytest.CaptureFixture[str], option: list[str]) -> None:
    code, _, error = run(capsys, *PAPER, "--judge", "ospf", *option)
    assert code == 2
    assert "does not go with --judge" in error


def test_delays_are_weights_in_picoseconds() -> None:
    network = random_network(1)
    assert weights_by(network, "delay") == pytest.approx(network.delays * 1e12)
