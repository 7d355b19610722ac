"""The live network: its rules lead packets over the routes of the metric that the source port names; what it leaves behind."""

import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import pytest

from anabranch.engines.kernel.linux_network.errors import NetworkError
from anabranch.engines.openflow import lab, routes, rules
from anabranch.engines.openflow.cabling import cables, document_of
from anabranch.engines.openflow.link_state import MeasuredCable
from anabranch.engines.openflow.plan import HOST_PORT, MOST_NODES, SOURCE_PORTS, LabPlan, address
from anabranch.network import topologies
from anabranch.studies.papers.tcpbp import networks

METRICS = ("tcpbp", "tcpbp-exact", "delay", "hop-count, delay")
FIXED = {"mine": {("1", "10"): ("1", "2", "3", "4", "10"), ("10", "1"): ("10", "4", "3", "1")}}
PLAN = LabPlan(cables(document_of(networks.ten_nodes(), "100packets"), 1), METRICS, fixed=FIXED)


def walk(found: list[rules.FlowRule], source: str, packet: dict[str, rules.Value]) -> tuple[str, ...]:
    """The nodes that a packet passes, by the rule of the highest priority at each."""

    def matches(rule: rules.FlowRule) -> bool:
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


def test_data_and_acks_take_the_routes_that_the_source_port_names() -> None:
    """Walked rule by rule, for all pairs, metrics and fixed routes; a connection of another port takes delay's."""
    chosen = {**routes.chosen(PLAN.topology, METRICS), **FIXED}
    found = list(rules.of_routes(chosen, rules.for_others(METRICS), PLAN.numbers))
    for node, number in PLAN.numbers.items():
        neighbours = {other: PLAN.numbers[other] for other in PLAN.neighbours(node)}
        found += rules.standing(node, number, neighbours)
    for name, (source, target) in product(PLAN.names, networks.pairs(PLAN.topology)[::3]):
        if (source, target) not in chosen[name]:
            continue
        tcp = {"eth_type": 0x0800, "ip_proto": 6, "in_port": HOST_PORT}
        here, there = (address(PLAN.numbers[node]) for node in (source, target))
        for port in (PLAN.source_port(name), PLAN.source_port(name) + SOURCE_PORTS - 1):
            data = tcp | {"ipv4_src": here, "ipv4_dst": there, "tcp_src": port, "tcp_dst": 5201}
            ack = tcp | {"ipv4_src": there, "ipv4_dst": here, "tcp_src": 5201, "tcp_dst": port}
            assert walk(found, source, data) == chosen[name][source, target]
            assert walk(found, target, ack) == chosen[name][target, source]
        control = tcp | {"ipv4_src": here, "ipv4_dst": there, "tcp_src": 2000, "tcp_dst": 5201}
        assert walk(found, source, control) == chosen["delay"][source, target]


def test_the_plan_has_the_values_of_the_cables() -> None:
    """The topology goes into a scenario and comes back from the compiled run; so the values that are compared are those that are emulated."""
    for own, link in zip(networks.ten_nodes().links, PLAN.topology.links, strict=True):
        assert own[:2] == link[:2]
        assert own.capacity_bps == link.capacity_bps
        assert own.delay_s == pytest.approx(link.delay_s)
        assert own.loss == pytest.approx(link.loss)


def test_link_state_is_the_mean_of_the_last_three_samples() -> None:
    state = MeasuredCable(500)
    state.sample(0, 0, 0.010)
    assert not state.is_known
    for sent, received, delay_s in ((1000, 990, 0.020), (2000, 1970, 0.030), (3000, 2960, 0.040), (3100, 3060, None)):
        state.sample(sent, received, delay_s)
    assert state.is_known
    assert state.loss == pytest.approx((0.01 + 0.02 + 0.01) / 3)  # a hundred packets say nothing
    assert state.delay_s == pytest.approx(0.030)


def test_packets_that_the_next_sample_counts_are_no_loss() -> None:
    """Two switches are read one after the other: 10 packets were under way, then none. Cut at each sample, this would be a loss of 0.3 %."""
    state = MeasuredCable(500)
    for sent, received in ((0, 0), (1000, 990), (2000, 2000), (3000, 3000)):
        state.sample(sent, received, 0.01)
    assert state.loss == 0


def test_too_large_a_network_is_refused() -> None:
    grid = topologies.load("tcpbp10")
    large = LabPlan(cables({"topology": {"generate": {"kind": "line", "nodes": MOST_NODES + 1}}}, 1), METRICS)
    assert len(grid.nodes) <= MOST_NODES
    with pytest.raises(NetworkError, match="61 nodes: a live network has at most 60"):
        lab.Lab(large)


def test_the_scratch_directory_ends_with_a_killed_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    code = (
        "import contextlib, time\nfrom anabranch.engines.openflow.scratch import scratch_directory\n"
        "path = scratch_directory(contextlib.ExitStack())\n(path / 'file').touch()\nprint(path, flush=True)\ntime.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        path = Path(process.stdout.readline().strip())
        assert path.parent == tmp_path
        assert (path / "file").exists()
        process.send_signal(signal.SIGKILL)
    end = time.monotonic() + 20
    while path.exists():
        assert time.monotonic() < end
        time.sleep(0.02)
