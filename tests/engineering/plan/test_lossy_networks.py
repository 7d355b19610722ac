"""Plans on networks that lose packets: candidates by predicted throughput, against all paths, and in the packet engine."""

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from anabranch.cli import status
from anabranch.compile.stacks import preset_law
from anabranch.engineering import robust
from anabranch.engineering.plan import Connection, Planner
from anabranch.engineering.plan.candidates import by_throughput
from anabranch.engineering.predict import mathis
from anabranch.network import topologies
from anabranch.network.topologies import Link, Node, Topology
from anabranch.scenario import Scenario

# From A to B directly and over C with losses, and over D and E without any to speak of; F is at A.
CABLES = (
    *(("A", "B", 10, 0.02), ("A", "C", 5, 0.01), ("C", "B", 5, 0.01)),
    *(("A", "D", 5, 1e-5), ("D", "E", 5, 1e-5), ("E", "B", 5, 1e-5), ("F", "A", 1, 1e-5), ("F", "C", 1, 1e-5)),
)
ROWS = [f"{one},{other},{delay}ms,{loss},20Mbps" for one, other, delay, loss in CABLES]


def network(rate_bps: float) -> robust.Network:
    links = [
        Link(*ends, round(rate_bps), delay / 1e3, None, loss)
        for one, other, delay, loss in CABLES
        for ends in ((one, other), (other, one))
    ]
    return robust.Network.of(Topology("lossy", tuple(map(Node, "ABCDEF")), tuple(links)), rate_bps)


def best_of_all(on: robust.Network, pairs: list[tuple[str, str]], traffic_bps: float, flow: Connection) -> float:
    """The most predicted throughput of any single paths that no link is full with, by trying all of them."""
    graph = nx.DiGraph()
    for link in on.topology.links:
        graph.add_edge(link.source, link.target, link=link)
    every = [[list(zip(path, path[1:])) for path in nx.all_simple_paths(graph, *pair)] for pair in pairs]  # noqa: B905, RUF007
    best = 0.0
    for chosen in product(*every):
        carried: dict[Any, float] = {}
        for hop in (hop for path in chosen for hop in path):
            carried[hop] = carried.get(hop, 0.0) + traffic_bps
        if max(carried.values()) > on.capacity[0]:
            continue
        total = 0.0
        for path in chosen:
            links = [graph.edges[hop]["link"] for hop in path]
            loss = 1 - math.prod(1 - link.loss for link in links)
            rtt_s = 2 * sum(link.delay_s for link in links)
            total += min(flow.rate_bps, float(mathis(rtt_s, loss, mss_bytes=flow.payload_bytes)))
        best = max(best, total)
    return best


@pytest.mark.parametrize("metric", ["tcpbp-exact", "goodput:newreno"])
@pytest.mark.parametrize("rate_bps", [40e6, 10e6])
def test_no_single_paths_have_more_throughput_within_the_load(rate_bps: float, metric: str) -> None:
    """On wide links all three pairs keep to the path without losses; narrow ones carry one of them there."""
    on = network(rate_bps)
    flow, pairs = Connection(10e6), [("A", "B"), ("F", "B"), ("C", "B")]
    rates = np.zeros((6, 6))
    for source, target in pairs:
        rates[on.names.index(source), on.names.index(target)] = 10e6
    model = robust.matrices(on, [rates])
    best = best_of_all(on, pairs, 10e6, flow)
    problem = robust.Problem(on, model, by_throughput(on, metric, 2, preset_law))
    assert Planner(problem, flow).plan(1.0).total_bps >= best * (1 - 1e-6)
    if rate_bps == 40e6:
        by_hops = robust.Problem(on, model, robust.shortest(on, 2))
        assert Planner(by_hops, flow).plan(1.0).total_bps < 0.75 * best


def test_candidates_are_the_best_by_the_metric_then_the_shortest_by_hops() -> None:
    on = network(40e6)
    found = by_throughput(on, "tcpbp-exact", 1, preset_law)
    of_pair = [found.nodes_of(path) for path in range(found.paths) if found.pair[path] == on.pair(0, 1)]
    assert of_pair == [("A", "D", "E", "B"), ("A", "B")]
    disjoint = by_throughput(on, "tcpbp-exact", 3, preset_law, disjoint=True)
    of_pair = [disjoint.nodes_of(path) for path in range(disjoint.paths) if disjoint.pair[path] == on.pair(0, 1)]
    assert set(of_pair) == {("A", "D", "E", "B"), ("A", "F", "C", "B"), ("A", "C", "B"), ("A", "B")}


def test_links_without_a_loss_lose_nothing() -> None:
    on = robust.Network.of(topologies.load("nsfnet"), 500e6)
    found = by_throughput(on, "tcpbp-exact", 1, preset_law)
    delays = robust.shortest(on, 1, "delay")
    best = found.delays[found.first[:-1]]
    assert best == pytest.approx(delays.delays[delays.first[:-1]])


SCENARIO = """
topology = { from = "net.csv" }
routing = { plan = { from = "BY/plan.json" } }
stacks.newreno = { preset = "newreno", mss = "1000 bytes" }
run = { duration = "40s", warm_up = "5s" }
[[traffic]]
from = "A"
to = "B"
poisson = "10Mbps"
stack = "newreno"
"""


def test_connections_get_in_the_packet_engine_what_the_plan_predicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two candidates by hops, both lose 2 %; the path without losses carries all that the application sends. Mathis leaves out timeouts."""
    net, demands = tmp_path / "net.csv", tmp_path / "demands.csv"
    net.write_text("source,target,delay,loss,capacity\n" + "\n".join(ROWS) + "\n", encoding="utf-8")
    demands.write_text("source,target,rate\nA,B,8Mbps\n", encoding="utf-8")
    for by, expected_bps in (("hop-count", 3.46e6), ("tcpbp-exact", 10e6)):
        given = ["--pipe", str(demands), "--paths", "2", "--by", by, "--load", "1", "--out", str(tmp_path / by)]
        assert status(["plan", str(net), *given]) == 0
        planned = json.loads((tmp_path / by / "plan.json").read_text(encoding="utf-8"))["throughput_total_bps"]
        assert planned == pytest.approx(expected_bps, rel=0.01)
        (tmp_path / "run.toml").write_text(SCENARIO.replace("BY", by), encoding="utf-8")
        result = Scenario.load(tmp_path / "run.toml").run()
        assert float(result.flows["goodput_bps"].to_numpy().sum()) == pytest.approx(expected_bps, rel=0.2)
    capsys.readouterr()


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("loss", "--by loss: must be hop-count, delay, tcpbp-exact or goodput:STACK, such as goodput:linux-cubic"),
        ("tcpbp", "--by tcpbp: must be hop-count, delay, tcpbp-exact or goodput:STACK"),
        ("goodput:", '--by goodput:: "goodput:" needs the name of a stack'),
        ("goodput:linux-cubik", 'there is no stack "linux-cubik"; did you mean "linux-cubic"?'),
    ],
)
def test_what_candidates_do_not_go_by_is_refused(by: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["plan", "nsfnet", "--hose", "130Mbps", "--capacity", "500Mbps", "--by", by]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
