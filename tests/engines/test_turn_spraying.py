"""One flow of Linux over two paths in turn: deterministic courses must not repeat themselves for ever where Linux's do not."""

import pytest

from anabranch.scenario import Scenario

LINUX_MBPS = {(8, 47): 17.60, (8, 60): 17.64, (10, 42): 18.44, (10, 48): 18.34, (12, 68): 17.40, (20, 55): 19.11}
"""Goodput of Linux 6.1 with 250 ticks a second in virtual time, over two paths of 10 Mbit/s with these round trips (ms): the peer of
`python -m validation`, built with that clock."""


@pytest.mark.parametrize(("near_ms", "far_ms"), LINUX_MBPS)
def test_cubic_leaves_its_smallest_windows_as_linux_does(near_ms: int, far_ms: int) -> None:
    """Linux answers out-of-date ACKs twice a second. Without these answers, some such courses stay below 3 Mbit/s."""
    paths = [("A", near_ms), ("B", far_ms)]
    links = [
        {"source": source, "target": target, "capacity": capacity, "delay": f"{delay_us}us"}
        for name, round_trip_ms in paths
        for source, target, capacity, delay_us in (
            ("S", name, "10Mbps", 500 * round_trip_ms - 1),
            (name, "R", "100Mbps", 1),
        )
    ]
    scenario = Scenario(
        {
            "topology": {"links": links, "queue": {"limit": "30 packets"}},
            "routing": {
                "turn": {"metric": "delay", "paths": {"disjoint": 2}, "select": "round-robin", "per": "packet"}
            },
            "stacks": {
                "linux": {"preset": "linux-cubic", "mss": "1448 B", "header": "52 B", "segmentation_offload": False}
            },
            "traffic": [{"from": "S", "to": "R", "bulk": True, "stack": "linux", "routing": "turn"}],
            "run": {"duration": "20s", "warm_up": "0s"},
        }
    )
    found = scenario.run(seed=1).flows["goodput_bps"].item() / 1e6
    assert found == pytest.approx(LINUX_MBPS[near_ms, far_ms], rel=0.05)
