"""Delays and losses that FRR's routers advertise: its database, and what the controller makes of it."""

import pytest

from anabranch.engines.openflow.igp import Advertised, configuration, links, parameters, replaced
from anabranch.engines.openflow.link_state import CableEstimate

DATABASE = {
    "ted": {
        "name": "OSPF",
        "edges": [
            {"edge-attributes": {"local-address": "10.9.0.1", "remote-address": "10.9.0.2", "delay": 5000, "min-delay": 4000, "loss": 1.5}},
            {"edge-attributes": {"local-address": "10.9.0.2", "remote-address": "10.9.0.1", "max-link-bandwidth": 176258176.0}},
            {"edge-attributes": {"local-address": "10.9.0.2", "remote-address": "192.0.2.1", "delay": 7}},
        ],
    }
}  # fmt: skip
"""The fields of `show ip ospf mpls-te database json` of FRR 8.4: microseconds and percent (RFC 7471, sections 4.1 and 4.4)."""
MEASURED = CableEstimate(0.004, 0.003, 0.005, 0.02, 0.01, 0.03)


def test_the_database_has_microseconds_and_percent() -> None:
    found = links(DATABASE, {"10.9.0.1": "a", "10.9.0.2": "b"})
    assert found == {("a", "b"): Advertised(0.005, pytest.approx(0.015)), ("b", "a"): Advertised(None, None)}
    assert links({"ted": {"name": "ISIS", "verticesCount": 0}}, {}) == {}


def test_advertised_values_replace_measured_ones_and_have_no_interval() -> None:
    assert replaced(MEASURED, None) == replaced(MEASURED, Advertised(None, None)) == MEASURED
    assert replaced(MEASURED, Advertised(0.007, None)) == CableEstimate(0.007, 0.007, 0.007, 0.02, 0.01, 0.03)
    assert replaced(MEASURED, Advertised(None, 0.5)) == CableEstimate(0.004, 0.003, 0.005, 0.5, 0.5, 0.5)


def test_an_advertised_delay_has_24_bits_and_is_never_0() -> None:
    """RFC 7471, section 4.1: microseconds in 24 bits."""
    for delay_s, said in ((0.0025, "delay 2500"), (1e-9, "delay 1"), (60.0, f"delay {2**24 - 1}")):
        assert said in parameters("s1-2", delay_s).split("\n")[3].strip()


@pytest.mark.parametrize("igp", ["ospf", "isis"])
def test_every_device_to_a_neighbour_takes_part(igp: str) -> None:
    text = configuration(igp, 7, "10.1.0.7", {"b": "s7-1", "c": "s7-2"})  # type: ignore[arg-type]
    assert [line for line in text.splitlines() if line.startswith("interface")] == ["interface s7-1", "interface s7-2"]
    assert "mpls-te router-address 10.1.0.7" in text
