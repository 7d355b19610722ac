"""Sets of disjoint paths by predicted throughput: against all sets of small networks, and in the packet engine."""

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anabranch.cli import status
from anabranch.compile.stacks import preset_law
from anabranch.engineering.predict.spray import SprayedPath, ack_delay_s, spray_price
from anabranch.engineering.routes import Search, completed
from anabranch.network import topologies
from anabranch.network.topologies import Link
from anabranch.scenario import Scenario
from tests.engineering.test_goodput_metric import METRIC, STACK, interpolated, network, simple_paths


def best_sum(paths: list[list[Link]], most: int, value: Any) -> float:
    """The greatest sum over disjoint paths, by trying all sets; they share what all paths begin and end with."""
    first = sum(1 for _ in itertools.takewhile(lambda at: len(set(at)) == 1, zip(*paths, strict=False)))
    turned = [path[::-1] for path in paths]
    last = sum(1 for _ in itertools.takewhile(lambda at: len(set(at)) == 1, zip(*turned, strict=False)))
    if len(paths) == 1:
        return float(value(paths[0]))
    own = [frozenset(path[first : len(path) - last]) for path in paths]
    values = [float(value(path)) for path in paths]

    def grow(start: int, taken: frozenset[Link], left: int) -> float:
        fits = [index for index in range(start, len(paths)) if left and not own[index] & taken]
        return max((values[one] + grow(one + 1, taken | own[one], left - 1) for one in fits), default=0.0)

    return grow(0, frozenset(), most)


def tcpbp(path: Sequence[Link]) -> float:
    """1 / (delay x sqrt(loss))."""
    loss = -math.expm1(sum(math.log1p(-(link.loss or 0)) for link in path))
    return 1 / (sum(link.delay_s or 0 for link in path) * math.sqrt(loss))


@pytest.mark.parametrize(("metric", "value"), [("tcpbp", tcpbp), ("tcpbp-exact", tcpbp), (METRIC, interpolated)])
def test_no_set_of_disjoint_paths_has_more(metric: str, value: Any) -> None:
    compared = 0
    for seed in range(3):
        topology = network(seed, 5)
        routes, throughputs = Search(topology, preset_law).throughput_sets(metric, 2)
        for route in routes.routes:
            paths = list(simple_paths(topology.links, route.source, route.target))
            if not paths:
                assert not route.paths
                continue
            found, best = throughputs[route.source, route.target], best_sum(paths, 2, value)
            assert found.alone == pytest.approx(max(map(value, paths)), rel=1e-9)
            assert found.together <= best * (1 + 1e-9)
            assert found.at_most >= found.together
            by_nodes = {(*(link.source for link in path), path[-1].target): path for path in paths}
            sums = [value(by_nodes[path.nodes]) for path in route.paths]
            assert [path.weight for path in route.paths] == pytest.approx([one / sum(sums) for one in sums])
            if metric != METRIC or sum(sums) <= found.together * (1 + 1e-9):  # no link at the ends limits them
                assert found.together == pytest.approx(best, rel=1e-9)
                assert found.is_proven
                compared += 1
    assert compared > 20


def csv(tmp_path: Path, *lines: str) -> str:
    file = tmp_path / "net.csv"
    file.write_text("source,target,delay,loss,capacity\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return str(file)


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert status(["routes", *arguments, "--json"]) == 0
    (route,) = json.loads(capsys.readouterr().out)["routes"]
    assert isinstance(route, dict)
    return route


def test_tcpbp_over_the_papers_network(capsys: pytest.CaptureFixture[str]) -> None:
    """Worked: 1 / 1.104 + 1 / 1.333 + 1 / 2.279 = 1 / 0.4773, in milliseconds; each path's share is its part of the sum."""
    route = document(capsys, "tcpbp10", "--from", "1", "--to", "10", "--metric", "tcpbp", "--disjoint", "3")
    paths = [path["path"] for path in route["paths"]]
    assert paths == [["1", "3", "4", "10"], ["1", "5", "10"], ["1", "9", "7", "10"]]
    costs = np.array([path["cost"] for path in route["paths"]])
    assert 1 / route["throughput"]["together"] == pytest.approx(1 / (1 / costs).sum())
    assert 1 / route["throughput"]["together"] == pytest.approx(0.4773e-3, rel=1e-3)
    assert route["throughput"]["at_most"] == pytest.approx(route["throughput"]["together"])


def test_the_table_says_what_one_path_has_and_when_one_is_best(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    narrow = csv(
        tmp_path, "H,S,1ms,0,5Mbps", "S,A,1ms,0,1Gbps", "S,B,2ms,0,1Gbps", "A,D,1ms,1e-6,1Gbps", "B,D,1ms,1e-6,1Gbps"
    )
    assert status(["routes", narrow, "--from", "H", "--to", "D", "--metric", METRIC, "--disjoint", "2"]) == 0
    shown = capsys.readouterr().out
    assert "One path is best for 1 pair" in shown
    assert "H > S > A > D" in shown
    assert status(["routes", narrow, "--from", "S", "--to", "D", "--metric", METRIC, "--disjoint", "2"]) == 0
    shown = capsys.readouterr().out
    assert "S > B > D" in shown
    assert "Each path has flows of its own" in shown


def two_paths(paths: dict[str, Any], flows: int = 1, loss: float = 0.004) -> Scenario:
    document: dict[str, Any] = {
        "stacks": {STACK: {"preset": STACK}},
        "topology": {
            "links": [
                {"source": a, "target": b, "capacity": "1Gbps", "delay": delay}
                for a, b, delay in (("A", "B", "5ms"), ("B", "D", "5ms"), ("A", "C", "8ms"), ("C", "D", "8ms"))
            ]
        },
        "impairments": [
            {"link": ["A", "B"], "loss": 0.01, "one_way": True},
            {"link": ["A", "C"], "loss": loss, "one_way": True},
        ],
        "routing": {"r": paths},
        "traffic": [{"from": "A", "to": "D", "flows": flows, "bulk": True}],
        "run": {"duration": "40s", "warm_up": "2s"},
    }
    return Scenario(document)


def test_flows_on_the_set_get_in_the_packet_engine_what_is_predicted() -> None:
    """A flow on each path: their sum is that of the set, by the metric in the scenario itself."""
    given = two_paths({"metric": METRIC, "paths": {"disjoint": 2}, "select": "round-robin", "per": "flow"}, flows=2)
    links = [Link("A", "B", 10**9, 0.005, None, 0.01), Link("B", "D", 10**9, 0.005, None, 0.0)]
    others = [Link("A", "C", 10**9, 0.008, None, 0.004), Link("C", "D", 10**9, 0.008, None, 0.0)]
    predicted = interpolated(links) + interpolated(others)
    assert float(given.run().flows["goodput_bps"].to_numpy().sum()) == pytest.approx(predicted, rel=0.1)


def test_weighted_choice_goes_by_throughput_in_a_scenario() -> None:
    """10 ms x sqrt(1 %) = 1 ms, and 16 ms x sqrt(1 / 64) = 2 ms: two thirds of the packets take the first path."""
    routing = {"metric": "tcpbp-exact", "paths": {"disjoint": 2}, "select": "weighted"}
    links = two_paths(routing, loss=1 / 64).run().links
    packets = {(one["src"], one["dst"]): one["packets"] + one["losses"] for one in links.iter_rows(named=True)}
    assert packets["A", "B"] / (packets["A", "B"] + packets["A", "C"]) == pytest.approx(2 / 3, abs=0.02)


def test_several_best_paths_by_goodput_are_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        status(["routes", "tcpbp10", "--from", "1", "--to", "10", "--metric", METRIC, "--shortest", "4", "--json"]) == 0
    )
    (route,) = json.loads(capsys.readouterr().out)["routes"]
    costs = [path["cost"] for path in route["paths"]]
    topology = completed(topologies.load("tcpbp10"))
    every = sorted((interpolated(path) for path in simple_paths(topology.links, "1", "10")), reverse=True)
    assert costs == pytest.approx(every[:4], rel=1e-9)
    assert (
        status(["routes", "tcpbp10", "--from", "1", "--to", "10", "--metric", METRIC, "--within", "50%", "--json"]) == 0
    )
    (route,) = json.loads(capsys.readouterr().out)["routes"]
    near = [one for one in every if one >= every[0] / 1.5]
    assert [path["cost"] for path in route["paths"]] == pytest.approx(near, rel=1e-9)
    assert [path["fraction"] for path in route["paths"]] == pytest.approx([one / sum(near) for one in near])


PARALLEL = (
    *("A,B,5ms,0,20Mbps", "B,D,5ms,0,20Mbps"),
    *("A,C,8ms,0,10Mbps", "C,D,8ms,0,10Mbps"),
    *("A,E,20ms,0,10Mbps", "E,D,20ms,0,10Mbps"),
)


def test_a_sprayed_flow_takes_the_paths_by_their_rates(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """20, 10 and 10 Mbit/s: half and quarters fill all of them; in turn, the slowest allows three times its rate."""
    arguments = ("--from", "A", "--to", "D", "--metric", METRIC, "--disjoint", "3", "--spray")
    route = document(capsys, csv(tmp_path, *PARALLEL), *arguments)
    by_selector = {one["select"]: one for one in route["sprayed"]}
    shares = {tuple(path["path"]): path["fraction"] for path in by_selector["random"]["paths"]}
    assert shares == {("A", "B", "D"): 0.5, ("A", "C", "D"): 0.25, ("A", "E", "D"): 0.25}
    assert by_selector["random"]["goodput_bps"] == pytest.approx(40e6 * 1460 / 1500, rel=0.05)
    assert by_selector["round-robin"]["goodput_bps"] == pytest.approx(30e6 * 1460 / 1500, rel=0.01)
    assert route["best_path"]["goodput_bps"] == pytest.approx(20e6 * 1460 / 1514, rel=0.02)


@pytest.mark.slow("computes the goodput of NewReno over any path, 5 s")
def test_a_classic_sender_keeps_to_one_path(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Three duplicate ACKs over paths 6 ms and more apart: the count takes most of the goodput."""
    net = csv(tmp_path, *PARALLEL)
    arguments = ["--from", "A", "--to", "D", "--metric", "goodput:newreno", "--disjoint", "3", "--spray"]
    assert status(["routes", net, *arguments]) == 0
    assert "One path is best for 1 pair" in capsys.readouterr().out
    assert status(["routes", net, *arguments[:5], "goodput:linux-vegas", *arguments[6:]]) == 2
    assert "the price of spraying is known for the windows of newreno" in capsys.readouterr().err


@pytest.mark.parametrize(("option", "paths"), [("--disjoint", 2), ("--node-disjoint", 1)])
def test_sprayed_paths_share_no_node_if_so_asked(
    option: str, paths: int, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Two pairs of links that meet at M: two paths by links, one by nodes."""
    ways = [f"{one},{other},2ms,0,10Mbps" for one, other in ("AB", "BM", "AC", "CM", "MX", "XD", "MY", "YD")]
    arguments = ("--from", "A", "--to", "D", "--metric", METRIC, option, "2", "--spray")
    route = document(capsys, csv(tmp_path, *ways), *arguments)
    assert len(route["paths"] if "paths" in route else [route["path"]]) == paths


def test_losses_leave_nothing_to_gain_by_spraying(capsys: pytest.CaptureFixture[str]) -> None:
    """A sprayed flow has the mean delay and loss of its paths; the logarithm of the law is convex in them, so the best path has as much."""
    arguments = ("--from", "1", "--to", "10", "--metric", METRIC, "--disjoint", "3", "--spray")
    route = document(capsys, "tcpbp10", *arguments)
    best = max(one["goodput_bps"] for one in route["sprayed"])
    assert best <= route["best_path"]["goodput_bps"] * 1.02


def test_the_delay_of_acks_is_that_of_drawn_ones() -> None:
    draws = np.random.default_rng(1)
    delays, shares, rate = np.array([0.010, 0.020, 0.013]), [0.2, 0.5, 0.3], 200.0
    samples = []
    for _ in range(4000):
        later = np.cumsum(draws.exponential(1 / rate, 20))
        others = later + draws.choice(delays, 20, p=shares)
        samples.append(min(float(draws.choice(delays, p=shares)), float(others.min())))
    paths = [SprayedPath(delay, 1e7, 9) for delay in delays.tolist()]
    assert ack_delay_s(paths, shares, rate) == pytest.approx(float(np.mean(samples)), rel=0.02)
    assert ack_delay_s(paths[:1], [1.0], rate) == pytest.approx(0.010)


def test_equal_shares_are_those_of_no_shares_and_wrong_ones_are_refused() -> None:
    paths = [SprayedPath(0.01, 10e6, 40), SprayedPath(0.02, 10e6, 40)]
    for detector in ("dup-ack", "rack-tlp"):
        assert spray_price(paths, detector=detector, selector="random", shares=[0.5, 0.5]) == spray_price(
            paths, detector=detector, selector="random"
        )
    with pytest.raises(ValueError, match="one above 0 for each path, and add up to 1"):
        spray_price(paths, selector="random", shares=[0.5, 0.4])
    with pytest.raises(ValueError, match='go with the selector "random"'):
        spray_price(paths, shares=[0.25, 0.75])


@pytest.mark.slow("four runs of a minute of virtual time in the packet engine")
def test_the_packet_engine_sprays_by_weights_as_predicted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ("--from", "A", "--to", "D", "--metric", METRIC, "--disjoint", "3", "--spray")
    route = document(capsys, csv(tmp_path, *PARALLEL), *arguments)
    (found,) = [one for one in route["sprayed"] if one["select"] == "random"]
    links = [line.split(",") for line in PARALLEL]
    goodputs = []
    for seed in range(4):
        scenario: dict[str, Any] = {
            "stacks": {STACK: {"preset": STACK}},
            "topology": {
                "links": [
                    {"source": a, "target": b, "delay": delay, "capacity": rate} for a, b, delay, _, rate in links
                ]
            },
            "routing": {
                "r": {
                    "paths": [path["path"] for path in found["paths"]],
                    "weights": [path["fraction"] for path in found["paths"]],
                    "select": "weighted",
                }
            },
            "traffic": [{"from": "A", "to": "D", "bulk": True}],
            "run": {"duration": "60s", "warm_up": "10s", "seed": seed},
        }
        goodputs.append(float(Scenario(scenario).run().flows["goodput_bps"].to_numpy()[0]))
    assert found["goodput_bps"] == pytest.approx(float(np.mean(goodputs)), rel=0.15)
