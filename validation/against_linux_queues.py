"""Queue disciplines beside Linux's own: goodput, shares, retransmissions, and the delay of a sparse flow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import fmean, median
from threading import Event
from typing import Any

from anabranch.compile.run import compile_run
from anabranch.engines import packet
from anabranch.scenario import Scenario
from bench.peers.linux import case as peer
from bench.peers.linux import kernel
from bench.peers.linux.disciplines import Discipline
from bench.peers.linux.runs import run as run_peer
from validation.real_linux_cells import SIZES, STACKS, WIRE_BYTES
from validation.section import Section, megabits, percent
from validation.work import Unrecorded, in_parallel, seconds

DURATION_S = 30
MEDIAN_TOLERANCE = 0.01
CELL_TOLERANCE = 0.03
SHARE_TOLERANCE = 0.05
RETRANSMIT_TOLERANCE = 0.15
MANY_RETRANSMITS = 50
"""From which on their number is compared."""
DELAY_TOLERANCE_S = {"flow queues": 0.001, "a single queue": 0.002}

PROBE_BYTES = 84
PROBE_INTERVAL_S = 0.1
PROBE_START_S = 1.037
LINE_BPS = 1_000_000_000
ROOMY_PACKETS = 1_000_000

LINUX_NAMES = {"drop-tail": "pfifo", "ared": "red", "fq-codel": "fq_codel", "fq-pie": "fq_pie"}
"""Where Linux's name is another."""
FLOW_QUEUES = ("fq-codel", "fq-pie", "fq", "sfq", "cake")
MARKING = ("codel", "fq-codel", "pie", "fq-pie", "cake", "ared")
OURS: Mapping[str, Mapping[str, Any]] = {
    "drop-tail": {"limit": "201 packets"},
    "codel": {"limit": "1001 packets"},
    "fq-codel": {"quantum": WIRE_BYTES},
    "fq-pie": {"quantum": WIRE_BYTES},
    "fq": {"quantum": 2 * WIRE_BYTES, "initial_quantum": 10 * WIRE_BYTES},
    "sfq": {"quantum": WIRE_BYTES, "limit": "128 packets"},
}
"""What differs from our defaults: Linux's quanta follow from the MTU of the device, and its limits do not count the packet in transmission."""
LIMITS = {"drop-tail": 200}

FLOWS = (("cubic", "bbr"), ("cubic",) * 4, ("reno",))
NETWORKS = ((20_000_000, 0.040), (100_000_000, 0.010), (20_000_000, 0.100))


@dataclass(frozen=True)
class Cell:
    """A discipline, and what it meets."""

    discipline: str
    flows: Sequence[str]
    rate_bps: int
    round_trip_s: float
    ecn: bool = False


@dataclass(frozen=True)
class Run:
    """The results of one side."""

    goodput_bps: Sequence[float]
    retransmits: int
    delay_s: float
    """The mean one-way delay of the sparse flow."""

    @property
    def total_bps(self) -> float:
        """Of all flows."""
        return sum(self.goodput_bps)

    @property
    def shares(self) -> list[float]:
        """Of the flows, in the order of their congestion controls, and by size among those with the same one."""
        return [goodput_bps / self.total_bps for goodput_bps in self.goodput_bps]


def cells(quick: bool) -> list[Cell]:
    """Every discipline over every network, with marks on the last one where it can mark."""
    disciplines = ("drop-tail", "codel", "fq-codel", "pie", "fq-pie", "fq", "sfq", "cake", "ared")
    return [
        Cell(discipline, flows, rate_bps, round_trip_s, number == 2 and discipline in MARKING)
        for discipline, flows, (number, (rate_bps, round_trip_s)) in product(
            disciplines, FLOWS, list(enumerate(NETWORKS))[: 1 if quick else None]
        )
    ]


def run_linux(cell: Cell) -> Run:
    """One run of real Linux."""
    discipline = Discipline(
        LINUX_NAMES.get(cell.discipline, cell.discipline),
        cell.rate_bps,
        ecn=cell.ecn if cell.discipline in ("codel", "pie", "fq-pie", "ared") else None,
        limit=LIMITS.get(cell.discipline),
    )
    delay_s = cell.round_trip_s / 2
    course = peer.Course([[0]])
    outcome = run_peer(
        peer.Case(
            links=[
                peer.Link(LINE_BPS, delay_s, ROOMY_PACKETS, discipline=discipline),
                peer.Link(LINE_BPS, delay_s, ROOMY_PACKETS),
            ],
            flows=[peer.Flow(name, course, peer.Course([[1]]), start_s(flow)) for flow, name in enumerate(cell.flows)],
            duration_s=DURATION_S,
            probes=peer.Probes(PROBE_INTERVAL_S, PROBE_START_S, course),
            settings={"net/ipv4/tcp_ecn": "1"} if cell.ecn else {},
        )
    )
    return Run(
        [flow.goodput_bps for flow in outcome.flows],
        sum(flow.retransmits for flow in outcome.flows),
        fmean(outcome.delays_s),
    )


def run_here(cell: Cell) -> Run:
    """One run of this engine."""
    flows = packet.simulate(compile_run(Scenario(document(cell)).cases[0], 1), Unrecorded(), Event()).flows
    bulk = len(cell.flows)
    return Run(
        [float(count) * 8 / DURATION_S for count in flows["delivered_bytes"][:bulk]],
        int(flows["retransmits"][:bulk].sum()),
        float(flows["delay_mean_s"][bulk]),
    )


def start_s(flow: int) -> float:
    """When a flow starts."""
    return round(0.1 * flow, 1)


def document(cell: Cell) -> Mapping[str, Any]:
    """The scenario of a cell, for this engine."""
    # CAKE shapes without a burst.
    burst = 1 if cell.discipline == "cake" else 1500
    queue = {"discipline": cell.discipline, **OURS.get(cell.discipline, {})}
    if cell.ecn and cell.discipline != "cake":
        queue["ecn"] = True
    probes = {
        "name": "probes",
        "from": "source",
        "to": "sink",
        "udp": True,
        "packet": f"{PROBE_BYTES} bytes",
        "rate": f"{PROBE_BYTES * 8 / PROBE_INTERVAL_S:.0f}bps",
        "start": seconds(PROBE_START_S),
    }
    return {
        "topology": {
            "links": [
                {
                    "source": "source",
                    "target": "sink",
                    "capacity": f"{cell.rate_bps}bps",
                    "delay": seconds(cell.round_trip_s / 2),
                }
            ],
            "queue": {"discipline": "drop-tail", "limit": f"{ROOMY_PACKETS} packets"},
            "override": [
                {
                    "link": ["source", "sink"],
                    "one_way": True,
                    "queue": queue,
                    "shaper": {"burst": f"{burst} B", "line": f"{LINE_BPS}bps"},
                },
                {"link": ["sink", "source"], "one_way": True, "capacity": f"{LINE_BPS}bps"},
            ],
        },
        "stacks": {
            f"{name}-here": {**STACKS[name], **SIZES, **({"ecn": True} if cell.ecn else {})} for name in cell.flows
        },
        "traffic": [
            *(
                {"from": "source", "to": "sink", "bulk": True, "start": seconds(start_s(flow)), "stack": f"{name}-here"}
                for flow, name in enumerate(cell.flows)
            ),
            probes,
        ],
        "run": {"duration": seconds(DURATION_S), "delays": True},
    }


def run(quick: bool) -> Section:
    """All cells."""
    kernel.built()
    compared = cells(quick)
    jobs = [partial(side, cell) for cell in compared for side in (run_linux, run_here)]
    runs = iter(in_parallel("Queue disciplines, against Linux", jobs))
    sides = [(cell, next(runs), next(runs)) for cell in compared]
    goodputs = [abs(ours.total_bps / theirs.total_bps - 1) for _, theirs, ours in sides]
    shares = [share_difference(theirs, ours) for _, theirs, ours in sides]
    retransmits = [
        abs(ours.retransmits / theirs.retransmits - 1)
        for _, theirs, ours in sides
        if theirs.retransmits >= MANY_RETRANSMITS
    ]
    delays = [abs(ours.delay_s - theirs.delay_s) / DELAY_TOLERANCE_S[kind_of(cell)] for cell, theirs, ours in sides]
    return Section(
        key="real-linux-queues",
        title="Queue disciplines against real Linux",
        model=f"Linux {kernel.version(kernel.built()[0])}",
        how=(
            f"Bulk flows for {DURATION_S} s, which start 0.1 s apart, over one queue. A router of Linux forwards through its own discipline, behind `htb` with a burst of one "
            f"packet (`cake` shapes itself); ours has `shaper`. Disciplines have their defaults; drop-tail holds {LIMITS['drop-tail']} packets. A sparse flow sends {PROBE_BYTES} bytes every "
            f"{PROBE_INTERVAL_S:g} s, and its mean one-way delay is compared. One run of either side; hashes and draws differ."
        ),
        columns=(
            "discipline",
            "flows",
            "Mbit/s",
            "RTT",
            "ECN",
            "Linux, Mbit/s",
            "ours, Mbit/s",
            "deviation",
            "share of the first flow",
            "retransmissions",
            "sparse flow, ms",
        ),
        rows=[row(*side) for side in sides],
        passed=(
            median(goodputs) <= MEDIAN_TOLERANCE
            and max(goodputs) <= CELL_TOLERANCE
            and max(shares) <= SHARE_TOLERANCE
            and max(retransmits, default=0.0) <= RETRANSMIT_TOLERANCE
            and max(delays) <= 1
        ),
        verdict=(
            f"goodput deviates by {median(goodputs) * 100:.2f} % in the median (at most {MEDIAN_TOLERANCE * 100:.0f} %) and by {max(goodputs) * 100:.1f} % at most "
            f"({CELL_TOLERANCE * 100:.0f} %), a share by {max(shares) * 100:.1f} points at most ({SHARE_TOLERANCE * 100:.0f}), retransmissions where there are {MANY_RETRANSMITS} or more "
            f"by {max(retransmits, default=0.0) * 100:.0f} % at most ({RETRANSMIT_TOLERANCE * 100:.0f} %). The sparse flow's delay is within its tolerance (1 ms in flow queues, 2 ms in "
            f"others) in {sum(delay <= 1 for delay in delays)} of {len(sides)} cells; pairs of values are Linux / here"
        ),
    )


def kind_of(cell: Cell) -> str:
    """Whether flows have queues of their own."""
    return "flow queues" if cell.discipline in FLOW_QUEUES else "a single queue"


def share_difference(theirs: Run, ours: Run) -> float:
    """The greatest difference of a share; flows of one control are compared by size."""
    if len(theirs.shares) == 2:
        return abs(theirs.shares[0] - ours.shares[0])
    return max(abs(one - other) for one, other in zip(sorted(theirs.shares), sorted(ours.shares), strict=True))


def row(cell: Cell, theirs: Run, ours: Run) -> Sequence[str]:
    """A line of the table."""
    return (
        cell.discipline,
        " and ".join(cell.flows) if len(set(cell.flows)) == len(cell.flows) else f"{len(cell.flows)} {cell.flows[0]}",
        megabits(cell.rate_bps),
        f"{cell.round_trip_s * 1e3:g} ms",
        "yes" if cell.ecn else "no",
        megabits(theirs.total_bps),
        megabits(ours.total_bps),
        percent(ours.total_bps / theirs.total_bps),
        f"{theirs.shares[0]:.2f} / {ours.shares[0]:.2f}",
        f"{theirs.retransmits} / {ours.retransmits}",
        f"{theirs.delay_s * 1e3:.1f} / {ours.delay_s * 1e3:.1f}",
    )
