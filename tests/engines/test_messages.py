"""Messages of Ultra Ethernet over fabrics, and entropy values of TCP."""

from statistics import fmean, median
from typing import Any

import pytest

from anabranch.runs.errors import RunError
from anabranch.scenario import Scenario, ScenarioError

BDP = 29 * 4150
"""The bandwidth-delay product of a leaf-spine of 100 Gbit/s and 1 us a link, in whole packets."""


def leaf_spine(traffic: list[dict[str, Any]], entropy: str = "mixed", **more: Any) -> dict[str, Any]:
    """32 hosts, with the packets and queues of the consortium's simulator."""
    stack = {"preset": "uet-nscc", "mss": "4086B", "entropy": entropy, **more}
    queue = {"discipline": "trimming", "limit": f"{BDP}B", "mark_from": 6 / 29, "mark_to": 24 / 29}
    fabric = {"kind": "leaf-spine", "leaves": 4, "spines": 8, "hosts": 8, "rate": "100Gbps", "delay": "1us"}
    return {
        "topology": {"generate": fabric, "queue": queue},
        "stacks": {"messages": stack},
        "routing": {"spray": {"metric": "hop-count", "select": "hash", "per": "packet"}},
        "traffic": traffic,
        "run": {"duration": "3ms", "warm_up": "0s"},
    }


def test_one_message_takes_the_time_of_its_packets() -> None:
    """2 MB are 489 packets of 4,150 bytes and one of 2,010. The line takes 332 ns for each. The last one is short, but waits behind a long one at
    each of the next three links, of which each takes 1 us more."""
    run = Scenario(leaf_spine([{"from": "l1h1", "to": "l2h1", "size": "2MB"}])).run(seed=1)
    (took,) = run.flows["fct_s"].to_list()
    line, long, short = 489 * 4150 * 8 / 100e9, 4150 * 8 / 100e9, 2010 * 8 / 100e9
    assert took == pytest.approx(line + 3 * long + short + 4e-6, abs=long)
    assert run.flows["segments_sent"].to_list() == [490]
    assert run.flows["slowdown"].to_list()[0] == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(
    ("entropy", "middle_us", "last_us"),
    [("oblivious", 173.3, 173.8), ("bitmap", 173.2, 173.9), ("reps", 173.5, 174.6), ("mixed", 173.2, 173.9)],
)
def test_a_permutation_takes_the_time_that_the_peer_says(entropy: str, middle_us: float, last_us: float) -> None:
    """uet-htsim at commit 40ccb05: host h sends 2 MB to host 5 h + 3 of 32 by NSCC. Means of five seeds of the median and the last completion,
    which it counts to the last ACK, 4.02 us later."""
    names = [f"l{leaf}h{host}" for leaf in range(1, 5) for host in range(1, 9)]
    rows = [f"{names[host]},{names[(5 * host + 3) % 32]},0s,2000000" for host in range(32)]
    scenario = Scenario(leaf_spine([{"trace": "\n".join(["src,dst,start,size", *rows, ""])}], entropy))
    runs = [sorted(1e6 * took + 4.02 for took in scenario.run(seed=seed).flows["fct_s"]) for seed in range(1, 4)]
    assert fmean(median(run) for run in runs) == pytest.approx(middle_us, rel=0.003)
    assert fmean(run[-1] for run in runs) == pytest.approx(last_us, rel=0.01)


@pytest.mark.parametrize("control", ["nscc", "rccc", "both"])
def test_an_incast_fills_the_line_of_its_receiver(control: str) -> None:
    """Sixteen messages of 1 MB take the time of their bytes on the last link and little more, though their first windows are trimmed."""
    group = {"from": "hosts", "to": "l1h1", "size": "1MB"}
    protocol = {"name": "uet", "control": control}
    flows = Scenario(leaf_spine([group], protocol=protocol)).run(seed=1).flows
    packets = len(flows) * 245
    assert max(flows["fct_s"]) == pytest.approx(packets * 4150 * 8 / 100e9, rel=0.04)
    assert sum(flows["retransmits"]) > 0
    assert sum(flows["delivered_bytes"]) == len(flows) * 1_000_000


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"stacks": {"messages": {"preset": "uet-nscc", "sack": False}}}, "sack has no meaning"),
        ({"stacks": {"messages": {"preset": "uet-rccc", "congestion": "cubic"}}}, "congestion has no meaning"),
        ({"stacks": {"messages": {"protocol": {"name": "uet", "grant": 0}}}}, "grant"),
        ({"traffic": [{"from": "l1h1", "to": "l2h1", "stack": "messages"}]}, "give a size"),
    ],
)
def test_what_has_no_meaning_for_messages_is_refused(change: dict[str, Any], problem: str) -> None:
    scenario = leaf_spine([{"from": "l1h1", "to": "l2h1", "size": "2MB"}]) | change
    with pytest.raises((ScenarioError, RunError), match=problem):
        Scenario(scenario).run(seed=1)


def test_the_predict_engine_refuses_messages() -> None:
    scenario = leaf_spine([{"from": "l1h1", "to": "l2h1", "size": "2MB"}])
    with pytest.raises(RunError, match="a transport of messages"):
        Scenario(scenario).run(seed=1, engine="predict")


def test_one_entropy_value_keeps_a_flow_of_tcp_on_one_path() -> None:
    """Each link of the first leaf to a spine carries whole flows with `flow`, and parts of all with `oblivious`."""
    used = {}
    for entropy in ("flow", "oblivious"):
        scenario = leaf_spine([{"from": "l1h1", "to": "l2h1", "size": "2MB", "stack": "tcp"}])
        scenario["stacks"] = {"tcp": {"preset": "linux-cubic", "entropy": entropy}}
        links = Scenario(scenario).run(seed=1).links
        used[entropy] = [
            packets
            for source, target, packets in zip(links["src"], links["dst"], links["packets"], strict=True)
            if source == "l1" and target.startswith("s") and packets > 0
        ]
    assert len(used["flow"]) == 1
    assert len(used["oblivious"]) == 8
