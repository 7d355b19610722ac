"""Queue disciplines beside Linux's own: goodput, shares, retransmissions, and the delay of a sparse flow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from validation.against_real_linux import both_sides
from validation.real_linux_cells import SIZES, STACKS, WIRE_BYTES
from validation.section import Section, megabits, percent
from validation.work import Unrecorded, seconds

DURATION_S = 40
WARM_UP_S = 10
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
FAST_BPS = 100_000_000
ROOMY_PACKETS = 1_000_000

LINUX_NAMES = {"drop-tail": "pfifo", "ared": "red", "fq-codel": "fq_codel", "fq-pie": "fq_pie"}
"""Where Linux's name is another."""
DISCIPLINES = ("drop-tail", "codel", "fq-codel", "pie", "fq-pie", "fq", "sfq", "cake", "ared")
DRAWING = ("pie", "fq-pie", "ared")
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
SLOW = ((0.040, False), (0.100, True))
"""RTT and ECN of the networks of 20 Mbit/s."""


@dataclass(frozen=True)
class Cell:
    """A discipline, and what it meets."""

    discipline: str
    flows: Sequence[str]
    rate_bps: int
    round_trip_s: float
    ecn: bool = False

    @property
    def seeds(self) -> range:
        """The seeds of the runs; several where the discipline draws which packets it drops, or where flows meet each other."""
        meet = len(self.flows) > 1 and self.rate_bps < FAST_BPS
        return range(1, 4 if meet or self.discipline in DRAWING else 2)


@dataclass(frozen=True)
class Run:
    """The results of one side."""

    goodput_bps: Sequence[float]
    retransmits: float
    delay_s: float
    """The mean one-way delay of the sparse flow."""

    @classmethod
    def mean(cls, runs: Sequence["Run"]) -> "Run":
        """The means of several runs."""
        return cls(
            [fmean(of_flow) for of_flow in zip(*(run.goodput_bps for run in runs), strict=True)],
            fmean(run.retransmits for run in runs),
            fmean(run.delay_s for run in runs),
        )

    @property
    def total_bps(self) -> float:
        """Of all flows."""
        return sum(self.goodput_bps)

    @property
    def shares(self) -> list[float]:
        """Of the flows."""
        return [goodput_bps / self.total_bps for goodput_bps in self.goodput_bps]


def cells(quick: bool) -> list[Cell]:
    """Every discipline over every network, with marks where it can mark. On the fast network only the first flows run, because packets cost time."""
    slow = [
        Cell(discipline, flows, 20_000_000, round_trip_s, ecn and discipline in MARKING)
        for discipline, flows, (round_trip_s, ecn) in product(DISCIPLINES, FLOWS, SLOW[: 1 if quick else None])
    ]
    fast = [Cell(discipline, FLOWS[0], FAST_BPS, 0.010) for discipline in DISCIPLINES]
    return slow if quick else slow + fast


def run_linux(cell: Cell, seed: int) -> Run:
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
            flows=[
                peer.Flow(name, course, peer.Course([[1]]), start_s(flow, seed)) for flow, name in enumerate(cell.flows)
            ],
            duration_s=DURATION_S,
            warm_up_s=WARM_UP_S,
            seed=seed,
            probes=peer.Probes(PROBE_INTERVAL_S, PROBE_START_S, course),
            settings={"net/ipv4/tcp_ecn": "1"} if cell.ecn else {},
        )
    )
    return Run(
        [flow.goodput_bps for flow in outcome.flows],
        sum(flow.retransmits for flow in outcome.flows),
        fmean(outcome.delays_s),
    )


def run_here(cell: Cell, seed: int) -> Run:
    """One run of this engine, and once more without warm-up: Linux's retransmissions are those of the whole run."""
    measured, whole = (
        packet.simulate(
            compile_run(Scenario(document(cell, seed, warm_up_s)).cases[0], seed), Unrecorded(), Event()
        ).flows
        for warm_up_s in (WARM_UP_S, 0)
    )
    bulk = len(cell.flows)
    return Run(
        [float(goodput_bps) for goodput_bps in measured["goodput_bps"][:bulk]],
        int(whole["retransmits"][:bulk].sum()),
        float(measured["delay_mean_s"][bulk]),
    )


def start_s(flow: int, seed: int) -> float:
    """When a flow starts."""
    return round(flow * (0.1 + 0.007 * (seed - 1)), 3)


def document(cell: Cell, seed: int, warm_up_s: int) -> Mapping[str, Any]:
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
        "transport": "udp",
        "packet": f"{PROBE_BYTES} bytes",
        "constant": f"{PROBE_BYTES * 8 / PROBE_INTERVAL_S:.0f}bps",
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
                {
                    "from": "source",
                    "to": "sink",
                    "bulk": True,
                    "start": seconds(start_s(flow, seed)),
                    "stack": f"{name}-here",
                }
                for flow, name in enumerate(cell.flows)
            ),
            probes,
        ],
        "run": {"duration": seconds(DURATION_S), "warm_up": seconds(warm_up_s), "delays": True},
    }


def run(quick: bool) -> Section:
    """All cells."""
    compared = cells(quick)
    runs = both_sides("Queue disciplines, against Linux", compared, run_linux, run_here)
    sides = [(cell, Run.mean(theirs), Run.mean(ours)) for cell, (theirs, ours) in zip(compared, runs, strict=True)]
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
            f"Bulk flows for {DURATION_S} s, which start about 0.1 s apart, over one queue; goodput and delay are of the time from {WARM_UP_S} s on. A router of Linux forwards through its own discipline, behind `htb` with a burst of one "
            f"packet (`cake` shapes itself); ours has `shaper`. Disciplines have their defaults; drop-tail holds {LIMITS['drop-tail']} packets. A sparse flow sends {PROBE_BYTES} bytes every "
            f"{PROBE_INTERVAL_S:g} s, and its mean one-way delay is compared. Hashes and draws differ. Values are means of three runs where a discipline draws, and where flows meet at 20 Mbit/s: the second flow starts 7 ms later in each."
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
        f"{theirs.retransmits:.0f} / {ours.retransmits:.0f}",
        f"{theirs.delay_s * 1e3:.1f} / {ours.delay_s * 1e3:.1f}",
    )
