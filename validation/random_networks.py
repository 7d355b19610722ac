"""Random networks on which real Linux and this engine are compared: flows that cross some links of a chain. Nothing was fitted to them."""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from bench.peers.linux import case as peer
from validation.lost_packets import bernoulli
from validation.real_linux_cells import (
    CONGESTION,
    CONTROLS,
    DURATION_S,
    LEAST_S,
    PAYLOAD_BYTES,
    ROOMY_PACKETS,
    SIZES,
    STACKS,
    WIRE_BYTES,
    Run,
    linux_run,
    run_document,
)
from validation.work import seconds

DRAWS = range(1, 5)


@dataclass(frozen=True)
class Hop:
    """A link of the chain."""

    rate_bps: int
    delay_s: float
    queue_packets: int
    mark_packets: int | None
    """Packets in the queue from which on it marks."""


@dataclass(frozen=True)
class Flow:
    """A flow between hosts of its own."""

    control: str
    """Linux's name of the congestion control."""
    enters: int
    leaves: int
    """The nodes at which it enters and leaves the chain."""
    access_s: float
    """The delay between its sender and the chain."""
    loss: float
    """The ratio of data packets that are lost behind the chain."""
    segments: int | None
    """None for a flow that does not end."""


@dataclass(frozen=True)
class Network:
    """A chain of links, and the flows over it."""

    number: int
    hops: Sequence[Hop]
    flows: Sequence[Flow]
    ack_share: float | None
    """The rate of the links for ACKs, as a share of that for data; None for the same rate and a queue that drops nothing."""
    ack_queue_packets: int

    @property
    def ecn(self) -> bool:
        """Whether queues mark."""
        return self.hops[0].mark_packets is not None

    @property
    def seeds(self) -> range:
        """The seeds of start times and losses, one for each run; one where neither matters."""
        alone = self.flows[0]
        return DRAWS if len(self.flows) > 1 or alone.loss > 0 or alone.control == "bbr" else range(1, 2)

    @property
    def fastest_bps(self) -> int:
        """The rate of the links between hosts and chain, which never limit a flow."""
        return 10 * max(hop.rate_bps for hop in self.hops)

    def start_s(self, flow: int, seed: int) -> float:
        """When a flow starts."""
        return flow * (0.5 + 0.037 * seed)

    def lost(self, flow: int, seed: int) -> list[int]:
        """Numbers of a flow's packets that are lost; the SYN has the first, the ACK that ends the handshake the second."""
        packets = max(hop.rate_bps for hop in self.hops) * DURATION_S // (8 * WIRE_BYTES) + 1000
        return bernoulli(self.flows[flow].loss, packets, seed + 1000 * flow + 77 * self.number)

    def ack_rate_bps(self, hop: Hop) -> int:
        """The rate of the link back."""
        return hop.rate_bps if self.ack_share is None else max(20_000, round(hop.rate_bps * self.ack_share))


def network(number: int) -> Network:
    """A random network, with any of Linux's congestion controls."""
    draw = random.Random(f"networks {number}")
    links, count = draw.choice((1, 1, 1, 2, 3)), draw.choice((1, 1, 1, 2, 2, 3, 4, 6, 8))
    count = max(count, min(links, 2))
    marks = draw.random() < 0.2
    delays_s = [_log(draw, 0.0005, 0.04) for _ in range(links)]
    accesses_s = [_log(draw, 0.0005, 0.04) for _ in range(count)]
    round_trip_s = 2 * (sum(delays_s) + fmean(accesses_s))
    hops = []
    for delay_s in delays_s:
        rate_bps = round(_log(draw, 1e6, 40e6))
        queue = max(3, round(_log(draw, 0.15, 3) * rate_bps * round_trip_s / (8 * WIRE_BYTES)))
        hops.append(Hop(rate_bps, delay_s, queue, max(1, round(queue * draw.uniform(0.1, 0.7))) if marks else None))
    controls: Sequence[str] = draw.choice((CONGESTION, CONGESTION, CONTROLS, (*CONGESTION, *CONTROLS)))
    if marks and draw.random() < 0.3:
        controls = ("dctcp",)
    if draw.random() < 0.6:
        controls = (draw.choice(controls),)
    flows = []
    for index, access_s in enumerate(accesses_s):
        enters = 0 if index == 0 else draw.randint(0, links - 1)
        leaves = links if index == 0 else draw.randint(enters + 1, links)
        loss = _log(draw, 0.0003, 0.03) if draw.random() < 0.35 else 0.0
        segments = draw.choice((3, 12, 30, 100, 400)) if draw.random() < 0.15 else None
        flows.append(Flow(draw.choice(controls), enters, leaves, access_s, loss, segments))
    ack_share = draw.choice((0.02, 0.03, 0.05, 0.1)) if draw.random() < 0.2 else None
    return Network(number, hops, flows, ack_share, draw.choice((10, 30, 100, 300)))


def _log(draw: random.Random, low: float, high: float) -> float:
    return round(low * math.exp(draw.random() * math.log(high / low)), 6)


def run_linux(net: Network, seed: int) -> Run:
    """One run of real Linux."""
    links: list[peer.Link] = []

    def link(rate_bps: int, delay_s: float, queue: int = ROOMY_PACKETS, **more: Any) -> int:
        links.append(peer.Link(rate_bps, delay_s, queue, **more))
        return len(links) - 1

    ack_queue = ROOMY_PACKETS if net.ack_share is None else net.ack_queue_packets
    ahead = [link(hop.rate_bps, hop.delay_s, hop.queue_packets, mark_packets=hop.mark_packets) for hop in net.hops]
    back = [link(net.ack_rate_bps(hop), hop.delay_s, ack_queue) for hop in net.hops]
    flows = []
    for index, flow in enumerate(net.flows):
        span = slice(flow.enters, flow.leaves)
        last = link(net.fastest_bps, LEAST_S, lost=net.lost(index, seed))
        there = (link(net.fastest_bps, flow.access_s), *ahead[span], last)
        home = (link(net.fastest_bps, LEAST_S), *reversed(back[span]), link(net.fastest_bps, flow.access_s))
        size = flow.segments and flow.segments * PAYLOAD_BYTES
        courses = peer.Course([there]), peer.Course([home])
        flows.append(peer.Flow(flow.control, *courses, net.start_s(index, seed), size))
    settings = {"net/ipv4/tcp_ecn": "1"} if net.ecn else {}
    return linux_run(peer.Case(links, flows, DURATION_S, seed=seed, settings=settings))


def run_here(net: Network, seed: int) -> Run:
    """One run of this engine."""
    return run_document(document(net, seed), seed)


def document(net: Network, seed: int) -> Mapping[str, Any]:
    """The scenario of the same network and flows, for this engine."""
    links, overrides, losses, traffic = [], [], [], []
    for index, hop in enumerate(net.hops):
        near, far = f"n{index}", f"n{index + 1}"
        links.append(_link(near, far, hop.rate_bps, hop.delay_s))
        queue: dict[str, Any] = {"discipline": "drop-tail", "limit": f"{hop.queue_packets} packets"}
        if hop.mark_packets is not None:
            queue |= {"discipline": "ecn-threshold", "mark": hop.mark_packets}
        overrides.append({"link": [near, far], "one_way": True, "queue": queue})
        if net.ack_share is not None:
            limit = {"discipline": "drop-tail", "limit": f"{net.ack_queue_packets} packets"}
            capacity = f"{net.ack_rate_bps(hop)}bps"
            overrides.append({"link": [far, near], "one_way": True, "capacity": capacity, "queue": limit})
    for index, flow in enumerate(net.flows):
        links.append(_link(f"s{index}", f"n{flow.enters}", net.fastest_bps, flow.access_s))
        links.append(_link(f"n{flow.leaves}", f"d{index}", net.fastest_bps, LEAST_S))
        if lost := net.lost(index, seed):
            loss = {"model": "list", "packets": lost}
            losses.append({"link": [f"n{flow.leaves}", f"d{index}"], "one_way": True, "loss": loss})
        size = {"bulk": True} if flow.segments is None else {"size": f"{flow.segments * PAYLOAD_BYTES} bytes"}
        ends = {"from": f"s{index}", "to": f"d{index}"}
        traffic.append({**ends, **size, "stack": f"{flow.control}-here", "start": seconds(net.start_s(index, seed))})
    return {
        "topology": {
            "links": links,
            "queue": {"discipline": "drop-tail", "limit": f"{ROOMY_PACKETS} packets"},
            "override": overrides,
        },
        "impairments": losses,
        "stacks": {f"{flow.control}-here": {**STACKS[flow.control], **SIZES, "ecn": net.ecn} for flow in net.flows},
        "traffic": traffic,
        "run": {"duration": seconds(DURATION_S)},
    }


def _link(source: str, target: str, rate_bps: int, delay_s: float) -> dict[str, str]:
    return {"source": source, "target": target, "capacity": f"{rate_bps}bps", "delay": seconds(delay_s)}
