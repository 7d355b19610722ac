"""Multipath TCP: connections whose data is split over subflows."""

from typing import Any

import pytest

from anabranch.runs.errors import RunError
from anabranch.scenario import Scenario, ScenarioError


def two_paths(stack: Any, **more: Any) -> dict[str, Any]:
    """A flow over two paths of 10 Mbit/s, which the routing offers to each packet."""
    links = [("a", "x"), ("x", "b"), ("a", "y"), ("y", "b")]
    return {
        "topology": {
            "links": [{"source": one, "target": other, "capacity": "10Mbps", "delay": "5ms"} for one, other in links],
            "queue": {"discipline": "drop-tail", "limit": "50 packets"},
        },
        "routing": {"both": {"metric": "delay", "paths": {"disjoint": 2}, "select": "random", "per": "packet"}},
        "stacks": {"split": stack},
        "traffic": [{"from": "a", "to": "b", "bulk": True, "stack": "split"}],
        "run": {"duration": "20s", "warm_up": "5s"},
    } | more


@pytest.mark.parametrize("preset", ["mptcp-lia", "mptcp-olia", "mptcp-balia", "mptcp-cubic"])
def test_a_connection_fills_both_paths(preset: str) -> None:
    """1,440 of 1,500 bytes are data: 19.2 Mbit/s of two links. Subflows do not reorder, so nothing is sent in vain."""
    flows = Scenario(two_paths({"preset": preset})).run(seed=1).flows
    assert flows["goodput_bps"].to_list() == [pytest.approx(19.2e6, rel=0.02)]
    assert flows["spurious_retransmits"].to_list() == [0]


def test_each_next_hop_may_lead_to_a_subflow() -> None:
    """Eight subflows over a leaf-spine with equal-cost paths use several spines, though flows keep to one path."""
    fabric = {"kind": "leaf-spine", "leaves": 2, "spines": 4, "hosts": 2, "rate": "10Gbps", "delay": "1us"}
    scenario = {
        "topology": {"generate": fabric},
        "routing": {"ecmp": {"metric": "hop-count", "select": "hash", "per": "flow"}},
        "traffic": [{"from": "l1h1", "to": "l2h1", "size": "10MB", "stack": "mptcp-lia"}],
        "run": {"duration": "1s"},
    }
    run = Scenario(scenario).run(seed=1)
    links = zip(run.links["src"], run.links["packets"], strict=True)
    assert sum(source.startswith("s") and packets > 1000 for source, packets in links) >= 2
    assert run.flows["delivered_bytes"].to_list() == [10_000_000]


@pytest.mark.parametrize(
    ("stack", "problem"),
    [
        ({"preset": "mptcp-lia", "entropy": "reps"}, "a subflow stays on its path"),
        ({"protocol": {"name": "mptcp", "subflows": 33}}, "at most 32"),
        ({"protocol": {"name": "mptcp", "scheduler": "fastest"}}, "min-rtt"),
    ],
)
def test_what_has_no_meaning_for_subflows_is_refused(stack: dict[str, Any], problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem):
        Scenario(two_paths(stack))


def test_predict_refuses_subflows() -> None:
    scenario = Scenario(two_paths({"preset": "linux-cubic", "protocol": "mptcp"}))
    with pytest.raises(RunError, match="subflows, between which a scheduler divides"):
        scenario.run(seed=1, engine="predict")
