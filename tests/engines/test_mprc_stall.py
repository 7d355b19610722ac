"""MPRC over two paths whose queues stay full: repairs must get through (docs/models/fast-rto.md, repeated expiries)."""

from itertools import product
from typing import Any

import pytest

from anabranch.scenario import Scenario

SPEEDS = (1.8, 2.0, 2.2, 2.4, 2.5, 2.6, 2.8, 3.0)
QUEUES = (50, 75, 100, 150, 200)


def longest_stall_s(detection: dict[str, Any] | str, speed: float, queue: int) -> float:
    """The longest stall of a flow across Abilene, sprayed in turn over two disjoint paths, with its ACKs on one of them."""
    spray = {"metric": "ospf", "paths": {"disjoint": 2}, "select": "round-robin", "per": "packet", "acks": "ospf"}
    scenario = Scenario(
        {
            "topology": {
                "from": "topozoo/Abilene",
                "capacity": "10Mbps",
                "delay": {"speed": f"{speed}e8 m/s", "plus": "1ms"},
                "queue": {"discipline": "drop-tail", "limit": f"{queue} packets"},
            },
            "routing": {"ospf": {"metric": "ospf"}, "spray": spray},
            "stacks": {"mprc": {"preset": "mprc", "detection": detection}},
            "traffic": [{"from": "Seattle", "to": "Atlanta", "bulk": True, "stack": "mprc", "routing": "spray"}],
            "run": {"duration": "4s"},
        }
    )
    return float(scenario.run(seed=1).flows["longest_stall_s"][0])


def test_the_strict_reading_stalls_and_the_default_does_not() -> None:
    strict = {"name": "fast-rto", "repeated_expiry": "ignored"}
    assert longest_stall_s(strict, 2.2, 100) > 3
    assert longest_stall_s("fast-rto", 2.2, 100) < 2


@pytest.mark.parametrize(("speed", "queue"), list(product(SPEEDS, QUEUES)))
def test_no_stall_lasts_longer_than_two_seconds(speed: float, queue: int) -> None:
    assert longest_stall_s("fast-rto", speed, queue) < 2
