"""Congestion controls against the ones of Linux 2.6.22 in ns-2, over flows, rate, delay and loss: the network and the runs."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from threading import Event
from typing import Any

from anabranch.compile.run import compile_run
from anabranch.engines import packet
from anabranch.scenario import Scenario
from bench.peers import PeerCrash, ns2
from validation.lost_packets import bernoulli
from validation.work import Unrecorded, seconds

DURATION_S = 60
WIRE_BYTES = 1500
ACCESS_S = 0.001
"""Part of the one-way delay on each side of the bottleneck."""
LEAST_S = 0.000001
"""The delay of links that have none in ns-2's network."""

STACKS: Mapping[str, Mapping[str, Any]] = {
    "reno": {"congestion": "reno"},
    "cubic": {"congestion": {"name": "cubic", "beta": 819 / 1024, "reno_alpha_rises": False}},
    "bic": {"congestion": {"name": "bic", "ack_compensation": 31 / 16}},
    "highspeed": {"congestion": {"name": "highspeed", "whole_steps": True}},
    "scalable": {"congestion": {"name": "scalable", "increase": 1 / 51, "legacy_window": 0, "at_least_reno": True}},
    "westwood": {"congestion": {"name": "westwood", "weight": 1 / 16, "least_share": 1 / 2}},
    "vegas": {
        "congestion": {
            "name": "vegas",
            "alpha": 2,
            "beta": 4,
            "gamma": 1,
            "doubling_rounds": 1,
            "step_rounds": 2,
            "drain": True,
        },
    },
    "compound": {"congestion": "compound"},
    "htcp": {"congestion": "htcp"},
    "illinois": {
        "congestion": {"name": "illinois", "window_threshold": 15, "beta_min": 7 / 8, "beta_max": 1 / 2},
    },
}
"""Ours under the name that ns-2 has for it, with the parameters of Linux 2.6.22; validation.against_linux explains them."""

COMMON = {
    "detection": "rack-tlp",
    "initial_window": "2 packets",
    "receive_window": "1400 MB",
}
"""Agent/TCP/Linux begins with one segment and the SYN's acknowledgement for any windowInit_, and finds lost retransmissions."""


@dataclass(frozen=True)
class Cell:
    """One network and what runs over it."""

    algorithm: str
    flows: int
    bottleneck_bps: float
    one_way_s: float
    loss: float

    @property
    def bandwidth_delay_packets(self) -> int:
        """Packets that fill the path for a round trip; as many may wait at the bottleneck."""
        return ns2.bandwidth_delay_packets(self.bottleneck_bps, self.one_way_s, WIRE_BYTES)

    def __str__(self) -> str:
        """The cell's name on the page."""
        flows = f"{self.flows} flow{'s' if self.flows > 1 else ''}"
        return f"{self.algorithm}, {flows}, {self.bottleneck_bps / 1e6:.0f} Mbit/s, {self.one_way_s * 1e3:.0f} ms, {self.loss:g}"


@dataclass(frozen=True)
class Run:
    """The results of one run of either simulator; rates in payload bit/s, all flows together."""

    goodput_bps: float
    retransmits: int
    timeouts: int
    flood_seconds: float = 0.0
    below_threshold: float = 0.0
    """Values of ns-2 only, as ``flood_seconds``; see bench/peers/single_flow.tcl."""


def grid(quick: bool) -> list[Cell]:
    """All cells."""
    flows, one_way_s = (1, 15), (0.010, 0.050)
    rates_bps = (100e6,) if quick else (100e6, 1000e6)
    losses = (0.0, 1e-3, 1e-2) if quick else (0.0, 1e-5, 1e-4, 1e-3, 1e-2)
    return [Cell(*one) for one in product(STACKS, flows, rates_bps, one_way_s, losses)]


def lost_packets(cell: Cell, seed: int, early_loss: bool) -> list[int]:
    """Numbers of the packets lost behind the bottleneck.

    early_loss: whether one more is lost, when a bandwidth-delay product was sent: slow start ends before the queue is full.
    """
    most = round(cell.bottleneck_bps * DURATION_S / (8 * WIRE_BYTES)) + 1000  # and some that are smaller, as SYNs are
    lost = set(bernoulli(cell.loss, most, seed))
    if early_loss:
        lost.add(cell.bandwidth_delay_packets)
    return sorted(lost)


def start_interval_s(seed: int) -> float:
    """Seconds from the start of one flow to the start of the next."""
    return 0.010 + 0.001 * seed


def run_ns2(cell: Cell, seed: int, early_loss: bool) -> Run | None:
    """One run of ns-2; none if it crashed, as it does with highspeed in some networks."""
    with tempfile.TemporaryDirectory() as directory:
        losses = Path(directory) / "losses"
        losses.write_text("\n".join(map(str, lost_packets(cell, seed, early_loss))), encoding="ascii")
        try:
            run = ns2.run_single_flow(
                f"linux-{cell.algorithm}",
                flows=cell.flows,
                bottleneck_bps=cell.bottleneck_bps,
                bottleneck_seconds=cell.one_way_s - 2 * ACCESS_S,
                access_seconds=ACCESS_S,
                losses=losses,
                seconds=DURATION_S,
                warm_up_seconds=0,
                wire_bytes=WIRE_BYTES,
                start_interval_seconds=start_interval_s(seed),
            )
        except PeerCrash:
            return None
    return Run(sum(run.goodput_bps), run.retransmits, run.timeouts, run.flood_seconds, run.below_threshold)


def run_here(cell: Cell, seed: int, early_loss: bool) -> Run:
    """One run of this engine on the same network."""
    case = Scenario(document(cell, seed, early_loss)).cases[0]
    flows = packet.simulate(compile_run(case, seed), Unrecorded(), Event()).flows
    return Run(
        float(flows["delivered_bytes"].sum()) * 8 / DURATION_S,
        int(flows["retransmits"].sum()),
        int(flows["timeouts"].sum()),
    )


def document(cell: Cell, seed: int, early_loss: bool) -> dict[str, Any]:
    """The scenario. Unlike ns-2's, the queue limit counts the packet in transmission.

    Packets are lost on a link of its own behind the bottleneck, so that only what has left the queue is counted.
    """
    fast = f"{10 * cell.bottleneck_bps:.0f}bps"
    path = [
        ("router 1", "router 2", f"{cell.bottleneck_bps:.0f}bps", cell.one_way_s - 2 * ACCESS_S),
        ("router 2", "exit", fast, ACCESS_S - LEAST_S),
    ]
    path += [(f"source {flow}", "router 1", fast, ACCESS_S) for flow in range(cell.flows)]
    path += [("exit", f"sink {flow}", fast, LEAST_S) for flow in range(cell.flows)]
    bottleneck_limit = {"discipline": "drop-tail", "limit": f"{cell.bandwidth_delay_packets + 1} packets"}
    lost = lost_packets(cell, seed, early_loss)
    loss = {"link": ["router 2", "exit"], "one_way": True, "loss": {"model": "list", "packets": lost}}
    return {
        "topology": {
            "links": [
                {"source": source, "target": target, "capacity": capacity, "delay": seconds(delay_s)}
                for source, target, capacity, delay_s in path
            ],
            "queue": {"discipline": "drop-tail", "limit": "1000000 packets"},
            "override": [{"link": ["router 1", "router 2"], "one_way": True, "queue": bottleneck_limit}],
        },
        "impairments": [loss] if lost else [],
        "stacks": {"stack": {**COMMON, **STACKS[cell.algorithm]}},
        "traffic": [
            {
                "from": [f"source {flow}" for flow in range(cell.flows)],
                "to": [f"sink {flow}" for flow in range(cell.flows)],
                "pattern": "pairs",
                "bulk": True,
                "stagger": seconds(start_interval_s(seed)),
                "stack": "stack",
            }
        ],
        "run": {"duration": seconds(DURATION_S)},
    }
