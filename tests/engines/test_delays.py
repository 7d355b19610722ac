"""How long packets took: the columns of flows and links that `run.delays` fills."""

from functools import partial

import pytest

from anabranch import Scenario
from anabranch.engines.kernel.simulation import KernelSimulation
from anabranch.results.delays import DELAYS
from anabranch.results.result import Result
from anabranch.runs import execute

PROBE = """
[topology]
links = [
    { source = "a", target = "r", capacity = "8Mbps", delay = "5ms" },
    { source = "r", target = "b", capacity = "1Mbps", delay = "20ms" },
]
[[traffic]]
name = "probe"
from = "a"
to = "b"
transport = "udp"
packet = "100 bytes"
constant = "8kbps"
"""
BULK = """
[[traffic]]
name = "bulk"
from = "a"
to = "b"
stack = "linux-reno"
"""
RUN = """
[run]
duration = "3s"
warm_up = "1s"
"""
RTTS = ("rtt_median_s", "rtt_p95_s", "rtt_p99_s")
WAITS = ("queue_delay_median_s", "queue_delay_p95_s", "queue_delay_p99_s")


def require(engine: str, request: pytest.FixtureRequest) -> None:
    """Skip where the kernel engine cannot run."""
    if engine == "kernel":
        request.getfixturevalue("namespaces")


def run(text: str, engine: str = "packet") -> Result:
    """Run it however late packets of the kernel engine are."""
    make = partial(KernelSimulation, max_lateness_s=60.0) if engine == "kernel" else None
    return execute(Scenario.from_toml(text), engine=engine, make=make, show_progress=False)


@pytest.mark.parametrize("engine", ["packet", "kernel"])
def test_a_probe_alone_takes_both_transmissions_and_both_delays(engine: str, request: pytest.FixtureRequest) -> None:
    """100 bytes take 0.1 ms at 8 Mbit/s and 0.8 ms at 1 Mbit/s. Percentiles are exact to 0.4 %."""
    require(engine, request)
    result = run(f"{PROBE}{RUN}delays = true", engine)
    (flow,) = result.flows.to_dicts()
    exact = 0.0001 + 0.005 + 0.0008 + 0.020
    assert [flow[name] for name in DELAYS] == pytest.approx([exact] * 5, rel=1 / 256)
    assert [flow["delay_mean_s"], flow["delay_max_s"]] == pytest.approx([exact] * 2, rel=1e-6)
    assert flow["jitter_s"] == pytest.approx(0, abs=1e-9)
    assert [flow[name] for name in RTTS] == [None] * 3
    there = result.links.filter(src="a", dst="r").row(0, named=True)
    assert [there[name] for name in WAITS] == [0, 0, 0]


@pytest.mark.parametrize("engine", ["packet", "kernel"])
def test_a_probe_beside_a_bulk_flow_waits_as_packets_of_the_queue_do(
    engine: str, request: pytest.FixtureRequest
) -> None:
    """The queue of 100 packets is never empty. The probe takes the mean wait, and the sender's round trips are about its packets' delays and the way back."""
    require(engine, request)
    result = run(PROBE + BULK + RUN.replace("3s", "20s").replace('"1s"', '"5s"') + "delays = true", engine)
    probe, bulk = result.flows.to_dicts()
    link = result.links.filter(src="r", dst="b").row(0, named=True)
    assert 0.05 < link["queue_delay_median_s"] <= link["queue_delay_p95_s"] <= link["queue_delay_p99_s"]
    assert link["queue_delay_p99_s"] <= link["queue_delay_max_s"] * (1 + 1 / 256)
    assert probe["delay_mean_s"] == pytest.approx(link["queue_delay_mean_s"] + 0.0259, rel=0.1)
    assert probe["delay_p95_s"] == pytest.approx(link["queue_delay_p95_s"] + 0.0259, rel=0.05)
    # An ACK takes 25 ms and is sometimes delayed by 40 ms; more packets than ACKs have a sample.
    assert bulk["rtt_median_s"] == pytest.approx(bulk["delay_median_s"] + 0.025, rel=0.1)
    assert bulk["rtt_median_s"] <= bulk["rtt_p95_s"] <= bulk["rtt_p99_s"]


@pytest.mark.parametrize("engine", ["packet", "predict"])
def test_without_the_key_nothing_is_known(engine: str) -> None:
    result = run(PROBE + BULK + RUN, engine)
    for table, columns in ((result.flows, (*DELAYS, "jitter_s", *RTTS)), (result.links, WAITS)):
        assert all(table[name].null_count() == table.height for name in columns)
