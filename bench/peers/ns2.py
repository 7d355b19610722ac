"""Run the ns-2 scripts."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from .child import ChildRun, PeerError, run_child
from .results import PeerRun, SingleFlowRun
from .work import Work

SCRIPTS = Path(__file__).resolve().parent


def run_dumbbell(flows: int = 16, seconds: float = 20, *, tuned: bool = True, cpu: int | None = None) -> PeerRun:
    """Run the reference dumbbell with `flows` NewReno flows for `seconds` of simulated time.

    tuned: with the splay-tree scheduler and few packet headers; otherwise as installed.
    """
    options = {"flows": flows, "seconds": seconds, "tuned": str(tuned).lower()}
    return PeerRun.of(_run_script("dumbbell.tcl", options, cpu))


def run_flows(work: Work, seconds: float, *, tuned: bool = True, cpu: int | None = None) -> float:
    """Run NewReno flows over any network; return packet-hops per CPU second, without the time to build the network."""
    with tempfile.TemporaryDirectory() as folder:
        options = {**work.write(Path(folder)), "seconds": seconds, "tuned": str(tuned).lower()}
        values = _run_script("flows.tcl", options, cpu).values
    return float(values["packet_hops"] / values["cpu_seconds"])


def run_single_flow(
    variant: str = "newreno",
    *,
    flows: int = 1,
    bottleneck_bps: float = 100e6,
    bottleneck_seconds: float = 0.010,
    access_seconds: float = 0.001,
    queue_packets: int | None = None,
    loss: float = 0.0,
    losses: Path | None = None,
    seed: int = 1,
    seconds: float = 60,
    warm_up_seconds: float = 5,
    wire_bytes: int = 1000,
    initial_window: int = 10,
    window: int = 1_000_000,
    minimum_rto_seconds: float = 0.2,
    tick_seconds: float = 0.001,
    start_interval_seconds: float = 0.010,
    handshake: bool = True,
    cpu: int | None = None,
) -> SingleFlowRun:
    """Run the validation network: access links of ten times the bottleneck's rate on both sides.

    variant: "reno" and "newreno" (no SACK), "sack1", or "linux-NAME" for the Linux congestion control of that name.
    queue_packets: packets that may wait at the bottleneck, the one being sent not counted; without it, one
    bandwidth-delay product of the path.
    loss: ratio of the data packets lost at random after the bottleneck; seed chooses which.
    losses: a file with the numbers of the packets lost there instead, ascending, counted from 1.
    wire_bytes: size of a data packet on the wire, 40 bytes of header included.
    initial_window, window: packets; window is also the initial slow-start threshold.
    tick_seconds: resolution of the sender's round-trip measurement (the linux variants have their own).
    """
    if queue_packets is None:
        queue_packets = bandwidth_delay_packets(bottleneck_bps, bottleneck_seconds + 2 * access_seconds, wire_bytes)
    run = _run_script(
        "single_flow.tcl",
        {
            "variant": variant,
            "flows": flows,
            "bottleneck_bps": bottleneck_bps,
            "bottleneck_seconds": bottleneck_seconds,
            "access_seconds": access_seconds,
            "queue_packets": queue_packets,
            "loss": loss,
            "losses": losses or "",
            "seed": seed,
            "seconds": seconds,
            "warm_up_seconds": warm_up_seconds,
            "wire_bytes": wire_bytes,
            "initial_window": initial_window,
            "window": window,
            "minimum_rto_seconds": minimum_rto_seconds,
            "tick_seconds": tick_seconds,
            "start_interval_seconds": start_interval_seconds,
            "handshake": str(handshake).lower(),
        },
        cpu,
    )
    return SingleFlowRun(
        goodput_bps=tuple(run.values["goodput_bps"]),
        sent=run.values["sent"],
        retransmits=run.values["retransmits"],
        timeouts=run.values["timeouts"],
        queue_drops=run.values["queue_drops"],
        random_losses=run.values["random_losses"],
        flood_seconds=run.values["flood_seconds"],
        below_threshold=run.values["below_threshold"],
        cpu_seconds=run.cpu_seconds,
        peak_rss_bytes=run.peak_rss_bytes,
    )


def bandwidth_delay_packets(rate_bps: float, one_way_seconds: float, wire_bytes: int) -> int:
    """Packets of `wire_bytes` that fill a path of that rate for one round trip, at least 1."""
    return max(1, round(rate_bps * 2 * one_way_seconds / (8 * wire_bytes)))


def _run_script(script: str, options: Mapping[str, object], cpu: int | None) -> ChildRun:
    program = shutil.which("ns")
    if program is None:
        raise PeerError("ns-2 is not installed; on Debian or Ubuntu: apt-get install ns2")
    arguments = [str(word) for option in options.items() for word in option]
    return run_child([program, str(SCRIPTS / script), *arguments], cpu)
