"""The networks on which real Linux and this engine are compared, and a run of either side on one of them.

No other comparison has these rates, delays, queues and losses, so that nothing here was fitted to them. The cells of `controls` are the
exception.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import isnan
from threading import Event
from typing import Any

from anabranch.compile.run import compile_run
from anabranch.engines import packet
from anabranch.scenario import Scenario
from bench.peers.linux import case as peer
from bench.peers.linux.kernel import JIFFIES_PER_SECOND
from bench.peers.linux.runs import run as run_peer
from validation.lost_packets import bernoulli
from validation.work import Unrecorded, seconds

CONGESTION = ("cubic", "reno", "bbr")
"""Linux's names."""
CONTROLS = ("bic", "htcp", "westwood", "highspeed", "hybla", "illinois", "scalable", "vegas", "veno", "yeah")
"""The others without marks or draws."""
DURATION_S = 20
WIRE_BYTES = 1500
PAYLOAD_BYTES = 1448
SIZES = {"mss": f"{PAYLOAD_BYTES} bytes", "header": f"{WIRE_BYTES - PAYLOAD_BYTES} bytes"}
"""Linux's segments with timestamps."""

CLOCK = {"hz": JIFFIES_PER_SECOND}
STACKS: Mapping[str, Mapping[str, Any]] = {
    name: {"preset": f"linux-{name}", "segmentation_offload": False, **CLOCK}
    for name in (*CONGESTION, *CONTROLS, "cdg", "dctcp")
}
"""Ours, with the clock of that kernel and without offload, as the peer."""

LEAST_S = 0.000001
"""The delay of the link on which packets are lost, behind the one with the queue: only what has left the queue is counted."""

ROOMY_PACKETS = 1_000_000
"""A queue that drops nothing."""


@dataclass(frozen=True)
class Cell:
    """One network and what runs over it."""

    flows: Sequence[str]
    rate_bps: int
    """The rate of each path."""
    round_trips_s: Sequence[float]
    """The round-trip time of each path, without queueing."""
    queue_bdp: float
    """Queue of each path, in bandwidth-delay products of the first."""
    loss: float = 0.0
    """The loss ratio of the data packets of each path."""
    select: peer.Select = "first"
    mark_packets: int | None = None
    """Packets in the queue from which on it marks."""
    draws: range = range(1, 3)
    """Seeds of the runs where something is drawn."""
    segments: Sequence[int | None] = ()
    """The segments of each flow, None for a flow that does not end; empty if none ends."""
    starts_s: Sequence[float] = ()
    """When each flow starts; empty for flows that start one after another."""
    offload: bool = False
    """Segmentation offload: paced segments leave in pairs."""
    lost_segments: Sequence[int] = ()
    """For a flow that ends: its segments, from 0, whose first transmission is lost."""

    @property
    def queue_packets(self) -> int:
        """Queue of each path."""
        return max(2, round(self.queue_bdp * self.rate_bps * self.round_trips_s[0] / (8 * WIRE_BYTES)))

    @property
    def seeds(self) -> range:
        """The seeds of the runs; one where nothing is drawn, and more where each packet's path is."""
        if self.select == "random":
            return range(11, 21)
        drawn = self.loss > 0 or len(self.flows) > 1 or not {"bbr", "cdg"}.isdisjoint(self.flows)
        return self.draws if drawn else range(1, 2)

    def lost(self, path: int, seed: int) -> list[int]:
        """Numbers of the packets lost on a path; the SYN has the first, the ACK that ends the handshake the second."""
        if self.lost_segments:
            return [segment + 3 for segment in self.lost_segments]
        return bernoulli(self.loss, self.rate_bps * DURATION_S // (8 * WIRE_BYTES) + 1000, seed + 1000 * path)

    def payload_bytes(self, flow: int) -> int | None:
        """Bytes that a flow sends; None for one that does not end."""
        segments = self.segments[flow] if self.segments else None
        return None if segments is None else segments * PAYLOAD_BYTES

    def start_s(self, flow: int, seed: int) -> float:
        """When a flow starts."""
        return self.starts_s[flow] if self.starts_s else flow * (0.5 + 0.037 * seed)


@dataclass(frozen=True)
class Run:
    """The results of one run of either side."""

    goodput_bps: tuple[float, ...]
    """The goodput of each flow, payload."""
    retransmits: int
    timeouts: int
    completions_s: Sequence[float | None] = ()
    """The completion time of each flow; None for one that does not end."""


def single_flows(quick: bool) -> list[Cell]:
    """One flow alone, over round-trip time, loss and queue."""
    round_trips_s = (0.040, 0.120) if quick else (0.010, 0.040, 0.120, 0.300)
    full = [
        Cell((name,), 8_000_000, (round_trip_s,), queue_bdp)
        for name, round_trip_s, queue_bdp in product(CONGESTION, round_trips_s, (0.6, 1.8))
    ]
    lossy = [
        Cell((name,), 10_000_000, (round_trip_s,), 1.2, loss)
        for name, round_trip_s, loss in product(CONGESTION, round_trips_s, (0.001, 0.01))
    ]
    return full + lossy


def controls(quick: bool) -> list[Cell]:
    """One flow of each other control, with a short queue, a long one, and losses. The presets were developed on these networks."""
    lossless = ((0.060, 0.5, 0.0), (0.150, 2.0, 0.0))
    lossy = ((0.060, 1.0, 0.001), (0.150, 1.0, 0.001), (0.020, 1.0, 0.01), (0.060, 1.0, 0.01))
    return [
        Cell((name,), 12_000_000, (round_trip_s,), queue_bdp, loss)
        for name in (CONTROLS[:3] if quick else CONTROLS)
        for round_trip_s, queue_bdp, loss in lossless + lossy
    ]


def cdg_and_dctcp(quick: bool) -> list[Cell]:
    """One flow of CDG, whose back-offs are drawn, and one of DCTCP over a queue that marks."""
    cdg = ((0.060, 0.5, 0.0), (0.060, 1.0, 0.001), (0.020, 1.0, 0.01), (0.060, 1.0, 0.01))
    dctcp = ((0.020, 5, 0.0), (0.060, 10, 0.0), (0.150, 25, 0.0), (0.060, 10, 0.001))
    return [
        *(
            Cell(("cdg",), 12_000_000, (round_trip_s,), queue_bdp, loss, draws=range(1, 9))
            for round_trip_s, queue_bdp, loss in cdg[: 1 if quick else None]
        ),
        *(
            Cell(("dctcp",), 12_000_000, (round_trip_s,), 2.0, loss, mark_packets=mark_packets)
            for round_trip_s, mark_packets, loss in dctcp[: 2 if quick else None]
        ),
    ]


def heavy_loss(quick: bool) -> list[Cell]:
    """One flow of BBR that loses much. The draws of Linux depend on its build: the median of five of them differed by a fifth from one build to another."""
    networks = ((12_000_000, 0.060), (30_000_000, 0.040), (16_000_000, 0.160))
    return [
        Cell(("bbr",), rate_bps, (round_trip_s,), 1.5, loss, draws=range(11, 22))
        for rate_bps, round_trip_s in networks[: 1 if quick else None]
        for loss in (0.05, 0.10, 0.15)
    ]


def shallow(quick: bool) -> list[Cell]:
    """Four flows of BBR over a queue of half a bandwidth-delay product."""
    networks = ((24_000_000, 0.060), (10_000_000, 0.120), (40_000_000, 0.030))
    return [
        Cell(("bbr",) * 4, rate_bps, (round_trip_s,), 0.5, draws=range(11, 15))
        for rate_bps, round_trip_s in networks[: 1 if quick else None]
    ]


def pairs(quick: bool) -> list[Cell]:
    """Two flows of different congestion control over one queue."""
    round_trips_s = (0.060,) if quick else (0.020, 0.060, 0.150)
    others = ("reno", "bbr")
    return [
        Cell(("cubic", other), 9_000_000, (round_trip_s,), queue_bdp)
        for other, round_trip_s, queue_bdp in product(others, round_trips_s, (0.7, 2.5))
    ]


def sprayed(quick: bool) -> list[Cell]:
    """One flow, packet by packet over two paths of equal and of different delay. All rules of the sender but
    one were found on other networks: which ACK takes a reduction back (reno, 25 ms apart, with losses)."""
    choices: tuple[tuple[float, peer.Select], ...] = ((0.0, "round-robin"), (0.0, "random"), (0.001, "random"))
    differences_s = (0.0, 0.020) if quick else (0.0, 0.006, 0.025)
    return [
        Cell((name,), 6_000_000, (0.055, 0.055 + difference_s), 1.2, loss, select)
        for name, difference_s, (loss, select) in product(CONGESTION[:2], differences_s, choices)
    ]


def sprayed_bbr(quick: bool) -> list[Cell]:
    """One flow of BBR over two paths in turn, with and without pairs."""
    networks = ((0.0, 0.01), (0.020, 0.001), (0.020, 0.01), (0.040, 0.001))
    return [
        Cell(("bbr",), 6_000_000, (0.055, 0.055 + difference_s), 1.2, loss, "round-robin", offload=offload)
        for difference_s, loss in networks[: 1 if quick else None]
        for offload in (False, True)
    ]


def short_flows(quick: bool) -> list[Cell]:
    """One flow that ends, without loss, without its last segment, and without its last two."""
    sizes = (6, 11) if quick else (2, 6, 10, 11, 16)
    return [
        Cell(
            ("cubic",), 20_000_000, (0.080,), 1.0, segments=(segments,), lost_segments=range(segments - lost, segments)
        )
        for segments in sizes
        for lost in (0, 1, 2)
    ]


def linux_case(cell: Cell, seed: int) -> peer.Case:
    """The network of a cell, for real Linux."""
    links: list[peer.Link] = []
    ahead, back = [], []
    for index, round_trip_s in enumerate(cell.round_trips_s):
        first = len(links)
        delay_s = round_trip_s / 2 - LEAST_S
        links += [
            peer.Link(cell.rate_bps, delay_s, cell.queue_packets, mark_packets=cell.mark_packets),
            peer.Link(10 * cell.rate_bps, LEAST_S, ROOMY_PACKETS, cell.lost(index, seed)),
            peer.Link(10 * cell.rate_bps, LEAST_S, ROOMY_PACKETS),
            peer.Link(cell.rate_bps, delay_s, ROOMY_PACKETS),
        ]
        ahead.append((first, first + 1))
        back.append((first + 2, first + 3))
    return peer.Case(
        links=links,
        flows=[
            peer.Flow(
                name,
                peer.Course(ahead, cell.select),
                peer.Course(back, cell.select),
                cell.start_s(flow, seed),
                cell.payload_bytes(flow),
            )
            for flow, name in enumerate(cell.flows)
        ],
        duration_s=DURATION_S,
        seed=seed,
        offload=cell.offload,
    )


def run_linux(cell: Cell, seed: int, settings: Mapping[str, str]) -> Run:
    """One run of real Linux, with these sysctls."""
    return linux_run(replace(linux_case(cell, seed), settings=settings))


def linux_run(case: peer.Case) -> Run:
    """One run of real Linux."""
    outcome = run_peer(case)
    return Run(
        tuple(flow.goodput_bps for flow in outcome.flows),
        sum(flow.retransmits for flow in outcome.flows),
        outcome.timeouts,
        [
            None if flow.completed_s is None else flow.completed_s - start.start_s
            for flow, start in zip(outcome.flows, case.flows, strict=True)
        ],
    )


def run_here(cell: Cell, seed: int, **stack: Any) -> Run:
    """One run of this engine; `stack` changes keys of the stacks."""
    return run_document(document(cell, seed, **stack), seed)


def run_document(document: Mapping[str, Any], seed: int) -> Run:
    """One run of this engine of a scenario."""
    flows = packet.simulate(compile_run(Scenario(document).cases[0], seed), Unrecorded(), Event()).flows
    return Run(
        tuple(float(count) * 8 / DURATION_S for count in flows["delivered_bytes"]),
        int(flows["retransmits"].sum()),
        int(flows["timeouts"].sum()),
        [None if isnan(time_s) else time_s for time_s in flows["fct_s"].tolist()],
    )


def document(cell: Cell, seed: int, **stack: Any) -> Mapping[str, Any]:
    """The scenario of the same network and flows, for this engine."""
    links, queues, losses = [], [], []
    for index, round_trip_s in enumerate(cell.round_trips_s):
        middle, exit_link = f"path {index}", [f"path {index}", "sink"]
        delay_s = round_trip_s / 2 - LEAST_S
        for source, target, rate_bps, delay in (
            ("source", middle, cell.rate_bps, delay_s),
            (middle, "sink", 10 * cell.rate_bps, LEAST_S),
        ):
            links.append({"source": source, "target": target, "capacity": f"{rate_bps}bps", "delay": seconds(delay)})
        queue: dict[str, Any] = {"discipline": "drop-tail", "limit": f"{cell.queue_packets} packets"}
        if cell.mark_packets:
            queue |= {"discipline": "ecn-threshold", "mark": cell.mark_packets}
        queues.append({"link": ["source", middle], "one_way": True, "queue": queue})
        if lost := cell.lost(index, seed):
            losses.append({"link": exit_link, "one_way": True, "loss": {"model": "list", "packets": lost}})
    routing: dict[str, Any] = {"metric": "hop-count"}
    if cell.select != "first":
        routing |= {"paths": {"disjoint": len(links) // 2}, "select": cell.select, "per": "packet"}
    return {
        "topology": {
            "links": links,
            "queue": {"discipline": "drop-tail", "limit": f"{ROOMY_PACKETS} packets"},
            "override": queues,
        },
        "impairments": losses,
        "routing": {"routing": routing},
        "stacks": {
            f"{name}-here": {**STACKS[name], **SIZES, "segmentation_offload": cell.offload, **stack}
            for name in cell.flows
        },
        "traffic": [
            {
                "from": "source",
                "to": "sink",
                **({"size": f"{size} bytes"} if (size := cell.payload_bytes(flow)) else {"bulk": True}),
                "start": seconds(cell.start_s(flow, seed)),
                "stack": f"{name}-here",
                "routing": "routing",
            }
            for flow, name in enumerate(cell.flows)
        ],
        "run": {"duration": seconds(DURATION_S)},
    }
