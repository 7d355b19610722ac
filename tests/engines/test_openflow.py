"""The live network: rules and groups of its switches, STAMP, estimates, hysteresis, and the end of its files."""

import signal
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import product
from math import sqrt
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.engines.kernel.linux_network.errors import NetworkError
from anabranch.engines.openflow import lab, routes, rules, stamp
from anabranch.engines.openflow.cabling import cables, document_of
from anabranch.engines.openflow.hysteresis import Hysteresis, cost
from anabranch.engines.openflow.link_state import CableEstimate, Delay, MeasuredCable, wilson
from anabranch.engines.openflow.plan import HOST_PORT, MOST_NODES, SOURCE_PORTS, LabPlan, address
from anabranch.network import topologies
from anabranch.studies.papers.tcpbp import networks

METRICS = ("tcpbp", "tcpbp-exact", "delay", "hop-count, delay")
FIXED = {"mine": {("1", "10"): ("1", "2", "3", "4", "10"), ("10", "1"): ("10", "4", "3", "1")}}
PLAN = LabPlan(cables(document_of(networks.ten_nodes(), "100packets"), 1), METRICS, fixed=FIXED)


def walk(
    found: list[rules.FlowRule], source: str, packet: dict[str, rules.Value], groups: Sequence[rules.SelectGroup] = (), bucket: int = 0
) -> tuple[str, ...]:  # fmt: skip
    """The nodes that a packet passes, by the rule of the highest priority at each. A group chooses its bucket of this number."""
    packet = dict(packet)

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
        port = best.port
        if best.group:
            (group,) = (one for one in groups if (one.node, one.number) == (best.node, best.group))
            _, tag, port = group.buckets[bucket]
            packet["vlan_vid"] = rules.TAGGED | tag
        assert port is not None
        if port == HOST_PORT:
            assert best.pops == ("vlan_vid" in packet), "a host takes no tags"
            return tuple(passed)
        passed.append(names[port - 1])
        packet["in_port"] = 0
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


def test_a_group_spreads_flows_over_weighted_paths_that_part_and_meet() -> None:
    """Three paths from 1 to 10, two of which part only after 1-5. Tags keep them apart; ACKs take the reversed paths; weights are in shares of 256."""
    ways = [(0.5, ("1", "5", "10")), (0.25, ("1", "5", "4", "10")), (0.25, ("1", "3", "4", "10"))]
    spread = {("1", "10"): ways, ("10", "1"): [(weight, path[::-1]) for weight, path in ways]}
    own, groups = rules.of_spread(2, spread, PLAN.numbers)
    found = [*own]
    for node, number in PLAN.numbers.items():
        found += rules.standing(node, number, {other: PLAN.numbers[other] for other in PLAN.neighbours(node)})
    assert [weight for weight, _, _ in groups[0].buckets] == [128, 64, 64]
    here, there, port = address(1), address(10), 0x8000 + 2 * SOURCE_PORTS + 7
    tcp = {"eth_type": 0x0800, "ip_proto": 6, "in_port": HOST_PORT}
    for bucket, (_, path) in enumerate(ways):
        data = tcp | {"ipv4_src": here, "ipv4_dst": there, "tcp_src": port, "tcp_dst": 5201}
        ack = tcp | {"ipv4_src": there, "ipv4_dst": here, "tcp_src": 5201, "tcp_dst": port}
        assert walk(found, "1", data, groups, bucket) == path
        assert walk(found, "10", ack, groups, bucket) == path[::-1]


def test_the_plan_has_the_values_of_the_cables() -> None:
    """The topology goes into a scenario and comes back from the compiled run; so comparisons use the emulated values."""
    for own, link in zip(networks.ten_nodes().links, PLAN.topology.links, strict=True):
        assert own[:2] == link[:2]
        assert own.capacity_bps == link.capacity_bps
        assert own.delay_s == pytest.approx(link.delay_s)
        assert own.loss == pytest.approx(link.loss)


def test_link_state_is_the_mean_of_the_last_three_samples() -> None:
    state = MeasuredCable(500)
    state.sample(0, 0, Delay(0.010))
    assert not state.is_known
    for sent, received, delay_s in ((1000, 990, 0.020), (2000, 1970, 0.030), (3000, 2960, 0.040)):
        state.sample(sent, received, Delay(delay_s))
    state.sample(3100, 3060, None)
    assert state.is_known
    assert state.estimate.loss == pytest.approx((0.01 + 0.02 + 0.01) / 3)  # a hundred packets say nothing
    assert state.estimate.delay_s == pytest.approx(0.030)


def test_packets_that_the_next_sample_counts_are_no_loss() -> None:
    """Two switches are read one after the other: 10 packets were under way, then none. Cut at each sample, this would be a loss of 0.3 %."""
    state = MeasuredCable(500)
    for sent, received in ((0, 0), (1000, 990), (2000, 2000), (3000, 3000)):
        state.sample(sent, received, Delay(0.01))
    assert state.estimate.loss == 0


def test_the_delay_of_an_estimate_has_the_interval_of_its_samples() -> None:
    """Two samples whose means have a standard error of 3 and 4 ms: their mean has one of 2.5 ms, worked by hand."""
    state = MeasuredCable(1)
    for number, variance in enumerate((0.0, 9e-6, 16e-6)):
        state.sample(100 * number, 100 * number, Delay(0.05, variance))
    own = state.estimate
    assert own.delay_high_s - own.delay_s == pytest.approx(1.96 * 2.5e-3)
    assert own.delay_s - own.delay_low_s == pytest.approx(1.96 * 2.5e-3)


@pytest.mark.parametrize(("lost", "number"), [(0, 50), (3, 40), (40, 40), (17, 1000)])
def test_wilsons_bounds_are_where_the_share_is_1_96_standard_errors_away(lost: int, number: int) -> None:
    """The defining equation of the interval (Wilson 1927): the standard error is that of the bound itself."""
    for bound in wilson(lost / number, number):
        if 0 < bound < 1:
            assert abs(lost / number - bound) == pytest.approx(1.96 * sqrt(bound * (1 - bound) / number))
        else:
            assert bound == lost / number


LINKS = {
    ("a", "b"): CableEstimate(0.010, 0.009, 0.011, 0.01, 0.008, 0.012),
    ("b", "d"): CableEstimate(0.010, 0.009, 0.011, 0.01, 0.008, 0.012),
    ("a", "c"): CableEstimate(0.008, 0.007, 0.009, 0.01, 0.008, 0.012),
    ("c", "d"): CableEstimate(0.008, 0.007, 0.009, 0.01, 0.008, 0.012),
    ("d", "e"): CableEstimate(0.100, 0.050, 0.150, 0.10, 0.050, 0.150),
}
"""From a to d, b costs 20 +- 1.41 ms and c 16 +- 1.41 ms: the errors of two links add up as squares. The link to e is far less certain."""


def test_the_cost_of_a_path_has_the_interval_of_its_links() -> None:
    least, middle, most = cost("delay", ("a", "b", "d"), LINKS)
    assert (least, middle, most) == pytest.approx((0.02 - 0.001 * sqrt(2), 0.02, 0.02 + 0.001 * sqrt(2)))
    least, middle, most = cost("loss", ("a", "b", "d"), LINKS)
    assert middle == pytest.approx(1 - 0.99**2)
    assert (middle - least, most - middle) == pytest.approx((0.002 * sqrt(2), 0.002 * sqrt(2)))
    least, middle, most = cost("tcpbp-exact", ("a", "b", "d"), LINKS)
    assert middle == pytest.approx(0.02 * sqrt(1 - 0.99**2))
    assert least < middle < most


def test_a_route_changes_only_if_the_intervals_are_apart() -> None:
    """18.59 ms at least against 17.41 ms at most: apart. With estimates half as far apart they overlap, and the route stays."""
    by_b, by_c = ("a", "b", "d"), ("a", "c", "d")
    rule = Hysteresis(0.0, intervals=True)
    assert rule.route("delay", None, by_c, LINKS) == by_c
    assert rule.route("delay", by_b, by_c, LINKS) == by_c
    nearer = LINKS | {("a", "c"): CableEstimate(0.010, 0.009, 0.011, 0.01, 0.008, 0.012)}
    assert rule.route("delay", by_b, by_c, nearer) == by_b
    assert Hysteresis(0.25, intervals=True).route("delay", by_b, by_c, LINKS) == by_b  # 16 ms are 20 % less than 20 ms
    assert Hysteresis(0.19, intervals=True).route("delay", by_b, by_c, LINKS) == by_c


def test_an_uncertain_link_of_both_paths_does_not_keep_a_route() -> None:
    assert Hysteresis(0.0, intervals=True).route("delay", ("a", "b", "d", "e"), ("a", "c", "d", "e"), LINKS) == (
        "a",
        "c",
        "d",
        "e",
    )


def test_stamps_packets_have_the_fields_of_rfc_8762() -> None:
    """Byte by byte as in sections 4.2.1 and 4.3.1: numbers, NTP's timestamps, error estimates, and the sender's fields in the reply."""
    sent_s, received_s, answered_s = 1.5, 2.25, 3.125
    request = stamp.request(7, sent_s)
    epoch = 2_208_988_800
    assert request == struct.pack("!III", 7, epoch + 1, 1 << 31) + bytes.fromhex("8c01") + bytes(30)
    assert len(request) == 44
    reply = stamp.reply(request + b"padding", 5, received_s, answered_s)
    assert reply[:14] == struct.pack("!III", 5, epoch + 3, 1 << 29) + bytes.fromhex("8c01")
    assert reply[14:16] == bytes(2)
    assert reply[16:24] == struct.pack("!II", epoch + 2, 1 << 30)
    assert reply[24:38] == request[:14]
    assert reply[38:40] == bytes(2)
    assert reply[40:] == bytes([255, 0, 0, 0])
    assert stamp.read(reply) == stamp.Reply(5, answered_s, received_s, 7, sent_s)
    for short in (b"", request[:43]):
        with pytest.raises(ValueError, match="at least 44"):
            stamp.reply(short, 0, 0.0, 0.0)


@settings(max_examples=50)
@given(there=st.lists(st.booleans(), max_size=60), back=st.lists(st.booleans(), min_size=60, max_size=60))
def test_a_session_tells_losses_of_both_directions_apart(there: list[bool], back: list[bool]) -> None:
    """Any packets lost on the way there or back: up to the last answered one, the sender counts exactly what was lost in each direction."""
    sender, reflector = stamp.Sender(), stamp.Reflector()
    answered, reached = 0, 0
    known = (0, 0, 0)
    for arrives, returns in zip(there, back, strict=False):
        request = sender.request()
        if not arrives:
            continue
        reached += 1
        reply = reflector.answer(request, 1.0)
        if returns:
            sender.on_reply(reply, 2.0)
            answered += 1
            known = (sender.sent, reached, answered)
    assert (sender.requests_known, sender.reflected, sender.there.number) == known
    if answered:
        assert sender.loss_there == pytest.approx(1 - known[1] / known[0])
        assert sender.loss_back == pytest.approx(1 - known[2] / known[1])


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
