"""iperf3 as the sender of the kernel engine. The emulator counts the packets of both: neither count is made by the other program."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from anabranch import Scenario
from anabranch.engines.kernel.simulation import KernelSimulation
from anabranch.results.result import Result
from anabranch.runs import execute
from tests.linux_leftovers import assert_nothing_left, network_namespaces

HEAD = """
[topology]
nodes = [{ name = "a" }, { name = "r" }, { name = "s" }, { name = "b" }]
links = [{ source = "a", target = "r" }, { source = "r", target = "b" }, { source = "a", target = "s" }, { source = "s", target = "b" }]
capacity = "5Mbps"
delay = "5ms"
queue = { limit = "50 packets" }
[routing]
spray = { paths = { disjoint = 2 }, select = "round-robin", per = "packet" }
"""
BULK = """
[[traffic]]
from = "a"
to = "b"
sender = "iperf3"
stack = "linux-cubic"
[run]
duration = "4s"
warm_up = "1s"
sample = "500ms"
"""
DATAGRAMS = """
[[traffic]]
from = "b"
to = "a"
transport = "udp"
constant = "1Mbps"
packet = "528 bytes"
sender = "iperf3"
"""
HEADERS = 52
"""Bytes of IPv4's and TCP's headers with timestamps."""


def run(text: str) -> Result:
    """Run it however late packets are."""
    make = partial(KernelSimulation, max_lateness_s=60.0)
    return execute(Scenario.from_toml(text), engine="kernel", seeds=[1], make=make, show_progress=False)


@pytest.mark.usefixtures("namespaces", "iperf3")
def test_what_iperf3_counts_is_what_crosses_the_links_on_both_paths() -> None:
    before = network_namespaces()
    result = run(HEAD + BULK + DATAGRAMS)
    flow, datagrams = result.flows.sort("flow").rows(named=True)
    there = result.links.filter(dst="b")
    # The links count the whole run, the flow from the warm-up on. Most of the difference is sent in the first second.
    wire = int(there["bytes"].sum())
    segments = flow["delivered_bytes"] / 1448
    assert flow["delivered_bytes"] + HEADERS * segments <= wire
    assert flow["delivered_bytes"] > wire / 3
    assert 0 < flow["goodput_bps"] <= 10e6
    assert flow["goodput_bps"] == pytest.approx(8 * flow["delivered_bytes"] / 3)
    # Round robin counts the packets of both connections, and the answers to the datagrams' client.
    first, second = there["packets"]
    assert abs(first - second) <= 2
    assert 0.02 <= flow["srtt_s"] < 2
    assert flow["cwnd_segments"] >= 1
    assert flow["timeouts"] is None
    # 1 Mbit/s of packets of 528 bytes, of which 500 are payload.
    assert datagrams["goodput_bps"] == pytest.approx(1e6 * 500 / 528, rel=0.1)
    series = result.series_flows.filter(flow=0)
    counted = series.filter(series["time_s"] > 1)["goodput_bps"].sum() * 0.5 / 8
    assert counted == pytest.approx(flow["delivered_bytes"], rel=1e-3)
    assert_nothing_left("iperf3", before)


@pytest.mark.usefixtures("namespaces", "iperf3")
def test_ctrl_c_at_a_terminal_keeps_what_iperf3_has_measured(tmp_path: Path) -> None:
    """A terminal interrupts all processes of its foreground group."""
    path, out = tmp_path / "stopped.toml", tmp_path / "out"
    path.write_text(HEAD + BULK.replace('"4s"', '"60s"'))
    command = [
        sys.executable,
        "-m",
        "anabranch",
        "run",
        path,
        "--engine",
        "kernel",
        "--max-lateness",
        "60s",
        "--out",
        out,
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(5)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=60) == 130
    result = Result.load(out)
    assert result.interrupted
    assert result.flows["delivered_bytes"][0] > 100_000


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('size = "1 MB"', "traffic 'traffic-1', size: iperf3 ends when"),
        ('stop = "1s"', "traffic 'traffic-1', stop: iperf3 sends until the run ends"),
        ('poisson = "1Mbps"', "traffic 'traffic-1', poisson: iperf3 sends bulk or constant"),
        ("flows = 1001", "traffic 'traffic-1', sender: only the first 1000 flows"),
    ],
)
@pytest.mark.usefixtures("namespaces")
def test_what_iperf3_cannot_do_is_refused_by_name(keys: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        run(HEAD + BULK.replace('sender = "iperf3"', f'sender = "iperf3"\n{keys}'))


@pytest.mark.usefixtures("namespaces")
def test_samples_that_iperf3_has_not_are_refused() -> None:
    with pytest.raises(ValueError, match=r"sample: iperf3 reports every 0.1 s at most"):
        run(HEAD + BULK.replace("500ms", "50ms"))


def test_other_engines_send_the_same_whatever_the_sender() -> None:
    own, other = (Scenario.from_toml(HEAD + BULK.replace("iperf3", sender)).run(seed=1) for sender in ("own", "iperf3"))
    assert own.flows.equals(other.flows)
    assert own.links.equals(other.links)
