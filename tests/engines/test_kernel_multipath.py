"""Linux's Multipath TCP in the kernel engine: every subflow has its path, and the packet engine's goodput comes out."""

from functools import partial
from typing import Any

import polars as pl
import pytest

from anabranch import Scenario
from anabranch.engines.kernel import multipath
from anabranch.engines.kernel.simulation import KernelSimulation
from anabranch.results.limiting import LIMITS
from anabranch.results.result import Result
from anabranch.runs import execute

PAYLOAD = 1424 / 1440
"""Data in a packet of Linux, which has timestamps, and of the preset mptcp-cubic."""

linux = pytest.mark.skipif(multipath.missing() is not None, reason=f"needs Multipath TCP: {multipath.missing()}")


def paths(*relays: str, **more: Any) -> dict[str, Any]:
    """A flow over disjoint paths of 5 Mbit/s and 10 ms."""
    links = [ends for relay in relays for ends in (("a", relay), (relay, "b"))]
    return {
        "topology": {
            "links": [{"source": one, "target": other, "capacity": "5Mbps", "delay": "5ms"} for one, other in links],
            "queue": {"discipline": "drop-tail", "limit": "40 packets"},
        },
        "routing": {"all": {"metric": "delay", "paths": {"disjoint": len(relays)}}},
        "traffic": [{"from": "a", "to": "b", "bulk": True, "stack": "linux-mptcp"}],
        "run": {"duration": "8s", "warm_up": "3s"},
    } | more


def run(scenario: dict[str, Any]) -> Result:
    """Run it however late packets are."""
    make = partial(KernelSimulation, max_lateness_s=60.0)
    return execute(Scenario(scenario), engine="kernel", seeds=[1], make=make, show_progress=False)


@linux
@pytest.mark.usefixtures("namespaces")
def test_linux_fills_both_paths_as_the_packet_engine_does() -> None:
    of_linux = run(paths("r", "s"))
    own = paths("r", "s")
    own["traffic"][0]["stack"] = ["linux-mptcp", "mptcp-cubic"]
    same, of_rfc = Scenario(own).run(seed=1).flows["goodput_bps"].to_list()
    (flow,) = of_linux.flows.rows(named=True)
    assert flow["goodput_bps"] == pytest.approx(same, rel=0.02)
    assert flow["goodput_bps"] == pytest.approx(of_rfc * PAYLOAD, rel=0.02)
    first, second = (of_linux.links.filter(src="a", dst=relay)["packets"][0] for relay in "rs")
    assert first == pytest.approx(second, rel=0.05)


@linux
@pytest.mark.usefixtures("namespaces")
def test_every_connection_has_its_subflows_and_the_columns_are_sums() -> None:
    """Three paths from a to b, and one to c. Sender and receiver of the same host, and plain TCP beside them."""
    scenario = paths("r", "s", "t", run={"duration": "6s", "delays": True, "sample": "100ms"})
    scenario["topology"]["links"] += [{"source": "b", "target": "c", "capacity": "5Mbps", "delay": "5ms"}]
    scenario["traffic"] = [
        {"from": "a", "to": "b", "size": "400 kB", "flows": 2, "stack": "linux-mptcp"},
        {"from": "b", "to": "a", "size": "300 kB", "stack": "linux-mptcp"},
        {"from": "a", "to": "c", "size": "30 kB", "stack": "linux-mptcp"},
        {"from": "a", "to": "b", "constant": "200kbps", "stack": "linux-mptcp"},
        {"from": "a", "to": "b", "size": "50 kB", "stack": "linux-cubic"},
    ]
    result = run(scenario)
    flows = result.flows
    sized = flows.filter(pl.col("size_bytes").is_not_null())
    assert (
        sized["delivered_bytes"].to_list()
        == sized["size_bytes"].to_list()
        == [400_000, 400_000, 300_000, 30_000, 50_000]
    )
    for relay in "rst":
        for source in "ab":
            assert result.links.filter(src=source, dst=relay)["bytes"][0] > 40_000
    first = flows.row(0, named=True)
    assert first["segments_sent"] - first["retransmits"] >= 400_000 // 1424
    assert first["min_rtt_s"] >= 0.02
    assert first["timeouts"] is not None
    assert first["delay_median_s"] >= 0.01
    # Linux counts these by subflow, and the packet engine knows none either.
    assert [first[column] for column in ("rtt_median_s", *LIMITS)] == [None] * (1 + len(LIMITS))
    samples = result.series_flows.filter(flow=0)
    assert samples["cwnd_segments"].max() >= 30
    assert samples["ssthresh_segments"].null_count() == samples.height


@linux
@pytest.mark.usefixtures("namespaces")
def test_data_of_a_failed_path_is_sent_again_on_another() -> None:
    scenario = paths("r", "s", events=[{"at": "500ms", "fail": ["s", "b"]}], run={"duration": "6s"})
    scenario["traffic"] = [{"from": "a", "to": "b", "size": "1 MB", "stack": "linux-mptcp"}]
    result = run(scenario)
    flow = result.flows.row(0, named=True)
    assert (flow["delivered_bytes"], flow["size_bytes"]) == (1_000_000, 1_000_000)
    assert flow["retransmits"] > 0


@linux
@pytest.mark.usefixtures("namespaces")
def test_a_capture_has_the_packets_of_a_further_subflow() -> None:
    scenario = paths("r", "s", capture=[["a", "s"]], run={"duration": "1s"})
    result = run(scenario)
    (record,) = result.manifest["runs"][0]["captures"]
    content = (result.directory / record["file"]).read_bytes()
    second, own = (content.count(bytes([network, 0, 0, 1, 10, 0, 0, 3])) for network in (11, 10))
    assert second > 50
    assert own == 0


@pytest.mark.parametrize(
    ("stack", "said"),
    [
        ({"preset": "mptcp-lia"}, 'couples no subflows, so it has no "lia"; .* preset = "linux-mptcp"'),
        ({"preset": "linux-mptcp", "congestion": "olia"}, 'no "olia"'),
        ({"preset": "linux-mptcp", "congestion": "balia"}, 'no "balia"'),
        ({"preset": "linux-mptcp", "protocol": "mptcp"}, 'protocol.scheduler: .*not "min-rtt"; use "blest"'),
        ({"preset": "linux-mptcp", "protocol": {"name": "mptcp", "scheduler": "ecf"}}, 'not "ecf"; use "blest"'),
        (
            {"preset": "linux-mptcp", "protocol": {"name": "mptcp", "scheduler": "blest", "subflows": 10}},
            "protocol.subflows: .*at most 9, here 10",
        ),
        ({"preset": "linux-mptcp", "pacing": True}, "pacing: .*leave pacing out"),
        ({"preset": "uet-nscc"}, 'no "uet"; use "tcp" or "mptcp"'),
    ],
)
@pytest.mark.usefixtures("namespaces")
def test_what_linux_cannot_do_with_subflows_is_refused_by_name(stack: dict[str, Any], said: str) -> None:
    scenario = paths("r", "s", stacks={"mine": stack})
    scenario["traffic"][0]["stack"] = "mine"
    with pytest.raises(ValueError, match=said) as refused:
        run(scenario)
    assert "stack 'mine'" in str(refused.value)


@pytest.mark.usefixtures("namespaces", "iperf3")
def test_iperf3_sends_no_subflows() -> None:
    scenario = paths("r", "s")
    scenario["traffic"][0]["sender"] = "iperf3"
    with pytest.raises(ValueError, match=r"stack 'linux-mptcp': iperf3 sends by plain TCP"):
        run(scenario)


@pytest.mark.usefixtures("namespaces")
def test_a_linux_without_multipath_tcp_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multipath, "_PROTOCOL", 254)  # which no Linux has
    with pytest.raises(ValueError, match=r'protocol = "mptcp": this Linux .* has no Multipath TCP'):
        run(paths("r", "s"))
