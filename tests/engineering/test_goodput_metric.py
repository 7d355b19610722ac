"""The metric goodput:STACK: the best of all paths, judged by an interpolation of its own and by the packet engine."""

import itertools
import json
import math
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from anabranch.cli import status
from anabranch.compile.stacks import preset_law
from anabranch.engineering.routes.search import Search
from anabranch.network.topologies import Link, Node, Topology
from anabranch.runs.errors import RunError
from anabranch.scenario import Scenario, ScenarioError

STACK = "linux-cubic"
METRIC = f"goodput:{STACK}"


@cache
def law() -> dict[str, Any]:
    return preset_law(STACK)


def interpolated(links: list[Link]) -> float:
    """The table of the law at a path, by numpy, within the table's range."""
    table = law()
    values = np.reshape(table["goodput_bps"], (len(table["losses"]), len(table["rtts_s"])))
    losses, rtts = np.log(table["losses"]), np.log(table["rtts_s"])
    kept = math.prod(1 - (link.loss or 0) for link in links)
    rtt_s = 2 * sum(link.delay_s or 0 for link in links)
    by_loss = [np.interp(math.log(rtt_s), rtts, row) for row in np.log(values)]
    found = float(np.interp(math.log(1 - kept), losses, by_loss))
    return float(min(math.exp(found), min(link.capacity_bps or 0 for link in links) * table["efficiency"] * kept))


def network(seed: int, nodes: int = 6) -> Topology:
    draws = np.random.default_rng(seed)
    links = []
    for source, target in itertools.permutations(range(nodes), 2):
        if draws.random() < 0.5:
            delay, loss = 10 ** draws.uniform(-4, -1.5), 10 ** draws.uniform(-5, -0.8)
            rate = int(10 ** draws.uniform(5, 9))
            links.append(Link(str(source), str(target), rate, round(delay, 12), None, loss))
    return Topology("drawn", tuple(Node(str(node)) for node in range(nodes)), tuple(links), in_parts=True)


def simple_paths(links: Sequence[Link], at: str, target: str, seen: tuple[str, ...] = ()) -> Iterator[list[Link]]:
    if at == target:
        yield []
        return
    for link in links:
        if link.source == at and link.target not in (*seen, at):
            for rest in simple_paths(links, link.target, target, (*seen, at)):
                yield [link, *rest]


@pytest.mark.parametrize("seed", range(6))
def test_no_simple_path_has_a_greater_predicted_goodput(seed: int) -> None:
    topology = network(seed)
    found = Search(topology, preset_law).routes(METRIC)
    compared = 0
    for route in found.routes:
        goodputs = [interpolated(path) for path in simple_paths(topology.links, route.source, route.target)]
        assert bool(goodputs) == bool(route.paths)
        if goodputs:
            assert route.paths[0].cost == pytest.approx(max(goodputs), rel=1e-9)
            compared += len(goodputs)
    assert compared > 100


# A clean path of 10 ms, and a short one that loses packets: delay x sqrt(loss) prefers the short one at every loss here.
LOSSES = ((0.05, "0.003"), (0.1, "0.006"), (0.2, "0.012"))


def lossy(metric: str, short: float, clean: str) -> Scenario:
    text = f"""
    stacks.{STACK}.preset = "{STACK}"
    [topology]
    links = [
        {{ source = "A", target = "B", capacity = "10Gbps", delay = "1ms" }},
        {{ source = "B", target = "D", capacity = "10Gbps", delay = "1ms" }},
        {{ source = "A", target = "C", capacity = "10Gbps", delay = "5ms" }},
        {{ source = "C", target = "D", capacity = "10Gbps", delay = "5ms" }},
    ]
    [[impairments]]
    link = ["A", "B"]
    loss = {short}
    one_way = true
    [[impairments]]
    link = ["A", "C"]
    loss = {clean}
    one_way = true
    [routing]
    r = {{ metric = "{metric}" }}
    [[traffic]]
    from = "A"
    to = "D"
    flows = 8
    bulk = true
    [run]
    duration = "30s"
    """
    return Scenario(tomllib.loads(text))


def mean_goodput(scenario: Scenario) -> float:
    return float(np.mean(scenario.run().flows["goodput_bps"].to_numpy()))


@pytest.mark.parametrize(("short", "clean"), LOSSES)
def test_timeouts_decide_where_the_root_of_the_loss_promises_more(short: float, clean: str) -> None:
    goodput = {}
    for metric in ("tcpbp-exact", METRIC):
        goodput[metric] = mean_goodput(lossy(metric, short, clean))
    assert 2 * math.sqrt(short) < 10 * math.sqrt(float(clean))  # what the first metric goes by
    assert goodput[METRIC] > 1.05 * goodput["tcpbp-exact"]


@pytest.mark.parametrize("loss", [0.01, 0.05, 0.1, 0.2])
@pytest.mark.parametrize("delay_s", [0.002, 0.02])
def test_the_prediction_is_that_of_the_packet_engine(loss: float, delay_s: float) -> None:
    links = (Link("A", "B", 10**10, delay_s, None, loss), Link("B", "A", 10**10, delay_s, None, 0.0))
    topology = Topology("pair", (Node("A"), Node("B")), links)
    ((path,),) = (route.paths for route in Search(topology, preset_law).routes(METRIC, ["A"], ["B"]).routes)
    scenario = lossy("delay", loss, "0.5")
    document = dict(scenario.document)
    document["topology"] = {"links": [{"source": "A", "target": "B", "capacity": "1Gbps", "delay": f"{delay_s}s"}]}
    document["impairments"] = [{"link": ["A", "B"], "loss": loss, "one_way": True}]
    document["traffic"] = [dict(document["traffic"][0]) | {"to": "B"}]
    document["run"] = {"duration": "60s" if loss < 0.1 else "300s"}
    assert path.cost == pytest.approx(mean_goodput(Scenario(document)), rel=0.15)


def test_the_command_line_routes_by_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["routes", "tcpbp10", "--from", "1", "--to", "10", "--metric", METRIC, "--json"]) == 0
    (route,) = json.loads(capsys.readouterr().out)["routes"]
    assert (route["path"][0], route["path"][-1]) == ("1", "10")
    assert 1e6 < route["cost"] < 1e8


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("goodput:linux-cubik", 'names no stack; did you mean "linux-cubic"?'),
        ("goodput:", '"goodput:" needs the name of a stack, such as "goodput:linux-cubic"'),
        ("goodput", '"goodput" needs the name of a stack, such as "goodput:linux-cubic"'),
        ("delay, goodput:linux-cubic", '"goodput:linux-cubic" cannot be combined with other metrics'),
        ("goodput:linux-cdg", "linux-cdg"),
    ],
)
def test_what_is_no_goodput_metric_is_refused_with_its_key(metric: str, message: str) -> None:
    with pytest.raises((ScenarioError, RunError)) as refused:
        lossy(metric, 0.05, "0.002").run()
    assert "routing.r.metric" in str(refused.value)
    assert message in str(refused.value)
