"""TCPBP's testbed, live: its rules lead packets over the routes, and it measures the links that it is made of."""

import os
import shutil
import subprocess
import time
from collections import Counter
from importlib.util import find_spec
from math import sqrt
from statistics import median

import pytest

from anabranch.studies.papers.tcpbp import networks
from anabranch.studies.papers.tcpbp.networks import DELAY, TCPBP
from testbed import lab, rules
from testbed.link_state import LinkState
from testbed.plan import (
    HOST_PORT,
    METRICS,
    PROBE_BPS,
    SOURCE_PORTS,
    Plan,
    address,
    source_port,
)
from testbed.probes import Probes
from testbed.switches import SCHEMA

PLAN = Plan.drawn(1, 4.0)


def lacking() -> str | None:
    """The program or package that the live testbed lacks here."""
    for program, package in (("iperf3", "iperf3"), ("ovs-vswitchd", "openvswitch-switch")):
        if shutil.which(program) is None or not SCHEMA.is_file():
            return f"no {program}: apt install {package}"
    if find_spec("os_ken") is None:
        return "no os-ken: pip install os-ken"
    return None


def walk(found: list[rules.Rule], source: str, packet: dict[str, rules.Value]) -> tuple[str, ...]:
    """The nodes that a packet passes, by the rule of the highest priority at each."""

    def matches(rule: rules.Rule) -> bool:
        for name, value in rule.match:
            own = packet.get(name)
            masked = isinstance(value, tuple)
            if own is None or ((own & value[1] != value[0]) if masked else own != value):  # type: ignore[operator,index]
                return False
        return True

    names = list(PLAN.numbers)
    passed = [source]
    while len(passed) < 20:
        at = [rule for rule in found if rule.node == passed[-1] and matches(rule)]
        best = max(at, key=lambda rule: rule.priority)
        assert [rule.priority for rule in at].count(best.priority) == 1, "two rules of one priority"
        assert best.port is not None
        if best.port == HOST_PORT:
            return tuple(passed)
        passed.append(names[best.port - 1])
    raise AssertionError(f"a circle: {passed}")


def test_data_and_acks_take_the_routes_of_the_metric_that_the_source_port_names() -> None:
    """Walked rule by rule, for all pairs and metrics; a connection of another port takes delay's."""
    chosen = networks.chosen(PLAN.topology, METRICS)
    found = list(rules.of_routes(chosen, PLAN.numbers))
    for node, number in PLAN.numbers.items():
        neighbours = {other: PLAN.numbers[other] for other in PLAN.neighbours(node)}
        found += rules.standing(node, number, neighbours)
    for source, target in networks.pairs(PLAN.topology)[::3]:
        tcp = {"eth_type": 0x0800, "ip_proto": 6}
        ends = {
            "ipv4_src": address(PLAN.numbers[source]),
            "ipv4_dst": address(PLAN.numbers[target]),
            "in_port": HOST_PORT,
        }
        back = {"ipv4_src": ends["ipv4_dst"], "ipv4_dst": ends["ipv4_src"], "in_port": HOST_PORT}
        for metric in METRICS:
            for port in (source_port(metric), source_port(metric) + SOURCE_PORTS - 1):
                data = tcp | ends | {"tcp_src": port, "tcp_dst": 5201}
                ack = tcp | back | {"tcp_src": 5201, "tcp_dst": port}
                assert walk(found, source, data) == chosen[metric][source, target]
                assert walk(found, target, ack) == chosen[metric][target, source]
        control = tcp | ends | {"tcp_src": 2000, "tcp_dst": 5201}
        assert walk(found, source, control) == chosen[DELAY][source, target]


def test_link_state_is_the_mean_of_the_last_three_samples() -> None:
    state = LinkState()
    state.sample(0, 0, 0.010)
    assert not state.is_known
    for sent, received, delay_s in ((1000, 990, 0.020), (2000, 1970, 0.030), (3000, 2960, 0.040), (3100, 3060, None)):
        state.sample(sent, received, delay_s)
    assert state.is_known
    assert state.loss == pytest.approx((0.01 + 0.02 + 0.01) / 3)  # a hundred packets say nothing
    assert state.delay_s == pytest.approx(0.030)


@pytest.mark.slow("probes a live network for half a minute")
@pytest.mark.usefixtures("namespaces")
def test_the_controller_measures_the_cables_and_routes_real_tcp_by_what_it_measures() -> None:
    """Losses within binomial bounds and delays within 2 ms of what the cables have; a flow of a metric's port sends over that metric's route.

    The 2 ms hold for the median cable. On a busy machine the frames of some cable wait for a processor, so each has 10 ms. If switches
    drop such frames, losses must be right once the controller has measured anew.
    """
    if (reason := lacking()) is not None:
        pytest.skip(reason)
    before = programs()
    with lab.Testbed(PLAN, 1) as bed:
        with Probes(PLAN, bed.hosts, 1):
            routed = bed.wait_for_routes(20)
            for later_s in (60, 100):
                if wrong_losses(routed):
                    routed = bed.wait_for_routes(later_s)
        true = {(link.source, link.target): link for link in PLAN.topology.links}
        assert routed.links.keys() == true.keys()
        assert not wrong_losses(routed)
        wrong_s = [abs(delay_s - (true[ends].delay_s or 0.0)) for ends, (delay_s, _) in routed.links.items()]
        assert median(wrong_s) < 2e-3
        assert max(wrong_s) < 10e-3
        best = networks.chosen(PLAN.topology, (TCPBP,))[TCPBP]
        assert sum(best[pair] == path for pair, path in routed.routes[TCPBP].items()) > 60
        # Until they have lost packets, flows know no law: slow start takes some seconds at the testbed's RTT.
        flows = bed.hosts.measure("1", "10", flows=4, first_port=source_port(TCPBP), seconds=10, warm_up_s=5)
        assert len(flows.bps) == 4
        assert 0.5 < flows.jain <= 1
        # The law (Mathis) gives 4.6 Mbit/s at the paper's speed, and a quarter of that with delays four times as long.
        assert 0.3e6 < flows.mean_bps < 4e6
        assert bed.switches.processor_s() > 0
    end = time.monotonic() + 10
    while programs() != before and time.monotonic() < end:
        time.sleep(0.1)
    assert programs() == before


def wrong_losses(routed: lab.Routed) -> list[tuple[str, str]]:
    """The cables whose measured losses are beyond binomial bounds."""
    packets = PROBE_BPS / (8 * 1500) * 10
    exact = {(link.source, link.target): link.loss or 0.0 for link in PLAN.topology.links}
    measured = {ends: loss for ends, (_, loss) in routed.links.items()}
    return [
        ends
        for ends, loss in measured.items()
        if abs(loss - exact[ends]) >= 5 * sqrt(exact[ends] / packets) + 5 / packets
    ]


def programs() -> Counter[str]:
    """The testbed's programs that this process has started."""
    command = ["ps", "-o", "comm=", "--ppid", str(os.getpid())]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return Counter(name for name in said.split() if name.startswith(("ovs", "iperf3", "python")))
