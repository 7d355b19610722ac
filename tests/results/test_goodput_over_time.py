"""Goodput over time: what arrives behind a hole counts when it arrives, so no sample exceeds what the link carries."""

import polars as pl

from anabranch.scenario import Scenario

RATE_BPS, SAMPLE_S = 10e6, 0.1
SEGMENT_BITS = 8 * 1460
PAYLOAD = 1460 / 1500


def test_no_sample_of_goodput_is_above_what_the_link_carries() -> None:
    """A timer repairs the hole of a lost repair after a second, and the application gets all at once what came meanwhile."""
    result = Scenario.from_toml(
        """
        [topology]
        links = [{ source = "A", target = "B", capacity = "10Mbps", delay = "20ms" }]
        [stacks.x]
        congestion = "newreno"
        [[impairments]]
        link = ["A", "B"]
        one_way = true
        loss = { model = "list", packets = [200, 230, 231, 260] }
        [[traffic]]
        from = "A"
        to = "B"
        [run]
        duration = "10s"
        sample = "100ms"
        """
    ).run()
    assert result.flows["longest_stall_s"][0] > SAMPLE_S
    samples = result.series_flows.select(pl.col("goodput_bps").max()).item()
    assert 0.9 * RATE_BPS * PAYLOAD < samples <= RATE_BPS * PAYLOAD + SEGMENT_BITS / SAMPLE_S
