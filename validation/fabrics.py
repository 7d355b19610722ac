"""NSCC and RCCC with four policies of entropy values on data-center fabrics, here and in the consortium's own simulator."""

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from pathlib import Path
from statistics import fmean, median
from threading import Event
from typing import Any

from anabranch.compile.run import compile_run
from anabranch.engines import packet
from anabranch.scenario import Scenario
from bench.peers import uet_htsim
from bench.peers.child import PeerError
from bench.table import Table
from validation.section import Section, percent
from validation.work import Unrecorded, in_parallel

RATE = 100e9
HOP_S = 1e-6
END_US = 50_000
SEEDS = (1, 2, 3, 4, 5)
OF_MEDIAN, OF_MOST_MEDIANS, OF_LAST = 0.02, 0.05, 0.10
"""Deviations: of the median completion time in the median cell, in 90 % of the cells, and of the last completion in 90 %."""
SLOW_SHARE = 0.25
"""htsim's slow links have this share of the rate and of the queue."""

Flow = tuple[int, int, int, int]
"""Source, target, start in microseconds, bytes."""


@dataclass(frozen=True)
class Fabric:
    """A fat tree of two or three tiers without oversubscription."""

    name: str
    hosts: int
    pod: int
    down: int
    """Hosts of a leaf, and as many links up."""

    @property
    def tiers(self) -> int:
        """Tiers of switches."""
        return 2 if self.pod == self.hosts else 3

    @property
    def bdp_packets(self) -> int:
        """Bandwidth-delay product of the longest path in full packets, rounded up as htsim does."""
        return ceil(self.round_trip_s * RATE / 8 / uet_htsim.PACKET)

    @property
    def round_trip_s(self) -> float:
        """Of a full packet and its answer over the longest path."""
        hops = 2 * self.tiers
        return 2 * hops * HOP_S + hops * 8 * (uet_htsim.PACKET + uet_htsim.HEADER) / RATE

    def answer_s(self, source: int, target: int) -> float:
        """How long an answer takes over an idle path. htsim's completion times end with it."""
        inside = [source // group == target // group for group in (self.down, self.pod)]
        hops = 2 if inside[0] else 4 if inside[1] else 6
        return hops * (HOP_S + 8 * uet_htsim.HEADER / RATE)

    def topo(self) -> str:
        """As htsim reads it."""
        leaves = self.pod // self.down
        radixes = [(self.down, self.down), (leaves, leaves), (self.hosts // self.pod, 0)]
        if self.tiers == 2:
            radixes[1] = leaves, 0
        lines = [f"Nodes {self.hosts}", f"Tiers {self.tiers}", f"Podsize {self.pod}"]
        for tier, (down, up) in enumerate(radixes[: self.tiers]):
            lines += [
                f"\nTier {tier}",
                "Downlink_speed_Gbps 100",
                f"Radix_Down {down}",
                *([f"Radix_Up {up}"] if up else []),
            ]
            lines += ["Downlink_Latency_ns 1000", "Switch_Latency_ns 0"]
        return "\n".join([*lines, ""])

    def slow_links(self, count: int) -> Iterator[tuple[str, str, bool]]:
        """The links that htsim slows down: both ends, and whether only in this direction."""
        leaves = self.hosts // self.down
        if self.tiers == 2:
            yield from ((f"tor{leaf}", f"agg{spine}", False) for leaf in range(leaves) for spine in range(count))
        else:
            aggregates = self.down
            uplinks = self.pod // self.down
            yield from (
                (f"core{agg % aggregates + aggregates * place}", f"agg{agg}", True)
                for agg in range(self.hosts // self.pod * aggregates)
                for place in range(uplinks)
                if place + agg * aggregates < count
            )


SMALL = Fabric("leaf-spine of 32", 32, 32, 8)
MEDIUM = Fabric("leaf-spine of 128", 128, 128, 16)
TALL = Fabric("three tiers of 128", 128, 16, 4)
LARGE = Fabric("three tiers of 1,024", 1024, 64, 8)


def one_flow(fabric: Fabric, size: int) -> list[Flow]:
    """From the first host to the last."""
    return [(0, fabric.hosts - 1, 0, size)]


def permutation(fabric: Fabric, size: int, draw: int = 1) -> list[Flow]:
    """Each host sends to another, and each gets from another."""
    order, drawn = list(range(fabric.hosts)), random.Random(draw)
    while any(host == target for host, target in enumerate(order)):
        drawn.shuffle(order)
    return [(host, target, 0, size) for host, target in enumerate(order)]


def incast(fabric: Fabric, size: int, senders: int) -> list[Flow]:
    """Random hosts send to the first one."""
    chosen = random.Random(senders).sample(range(1, fabric.hosts), senders)
    return [(host, 0, 0, size) for host in chosen]


def random_flows(fabric: Fabric, size: int, count: int) -> list[Flow]:
    """Flows of up to twice this size between random hosts, which start within 100 us."""
    drawn = random.Random(count)
    ends = (drawn.sample(range(fabric.hosts), 2) for _ in range(count))
    return [(source, target, drawn.randrange(100), drawn.randrange(1, 2 * size)) for source, target in ends]


@dataclass(frozen=True)
class Cell:
    """One setting in both simulators."""

    fabric: Fabric
    traffic: str
    flows: list[Flow]
    control: str
    selector: str
    trims: bool = True
    slow: int = 0

    @property
    def name(self) -> str:
        """For the table."""
        more = ("" if self.trims else ", drops") + (f", {self.slow} slow" if self.slow else "")
        return f"{self.fabric.name}, {self.traffic}, {self.control}, {self.selector}{more}"

    def scenario(self, topology: str) -> dict[str, Any]:
        """Ours, over the topology of this file."""
        fabric, selector = self.fabric, self.selector
        rows = [f"{source},{target},{start}us,{size}" for source, target, start, size in self.flows]
        network_rtt = f"{round(1e12 * fabric.round_trip_s)}ps"
        protocol = {"name": "uet", "control": self.control, "trimming": self.trims, "network_rtt": network_rtt}
        stack = {
            "protocol": protocol,
            "entropy": selector,
            "mss": f"{uet_htsim.PACKET - uet_htsim.HEADER}B",
            "header": f"{uet_htsim.HEADER}B",
            "ecn": True,
        }
        overrides: list[dict[str, Any]] = [
            {
                "link": [first, second],
                "one_way": one_way,
                "capacity": f"{RATE * SLOW_SHARE / 1e9:g}Gbps",
                "queue": self.queue(SLOW_SHARE),
            }
            for first, second, one_way in fabric.slow_links(self.slow)
        ]
        if self.control != "nscc":  # with credit, the last hop does not mark
            overrides += [
                {"link": [f"tor{host // fabric.down}", str(host)], "one_way": True, "queue": self.queue(marks=False)}
                for host in range(fabric.hosts)
            ]
        return {
            "topology": {"from": topology, "queue": self.queue(), "override": overrides},
            "stacks": {"uet": stack},
            "routing": {"spray": {"metric": "hop-count", "select": "hash", "per": "packet"}},
            "traffic": [{"trace": "\n".join(["src,dst,start,size", *rows, ""])}],
            "run": {"duration": f"{END_US}us", "warm_up": "0s"},
        }

    def queue(self, share: float = 1.0, *, marks: bool = True) -> dict[str, Any]:
        """htsim's: with trimming one BDP, else five; marks between 20 % and 80 % of a BDP in whole packets."""
        bdp = self.fabric.bdp_packets
        limit = bdp * (1 if self.trims else 5)
        thresholds = [ceil(part * bdp) / limit for part in (0.2, 0.8)] if marks else [1.0, 1.0]
        return {
            "discipline": "trimming",
            "limit": f"{int(limit * uet_htsim.PACKET * share)} bytes",
            "trim": self.trims,
            "mark_from": thresholds[0],
            "mark_to": thresholds[1],
        }


@dataclass(frozen=True)
class Outcome:
    """Means over the seeds, in seconds."""

    median_s: float
    last_s: float
    cpu_seconds: float


def here(cell: Cell, seeds: Sequence[int]) -> Outcome:
    """Run a cell in the packet engine."""
    with tempfile.TemporaryDirectory() as folder:
        topology = Path(folder) / "x.topo"
        topology.write_text(cell.fabric.topo(), encoding="ascii")
        case = Scenario(cell.scenario(str(topology))).cases[0]
        runs, took = [], 0.0
        for seed in seeds:
            began = time.process_time()
            compiled = compile_run(case, seed)
            outcome = packet.simulate(compiled, Unrecorded(), Event())
            took += time.process_time() - began
            names, flows = compiled["nodes"], outcome.flows
            ends = zip(flows["src"], flows["dst"], strict=True)
            answers = [cell.fabric.answer_s(int(names[source]), int(names[target])) for source, target in ends]
            runs.append((flows["fct_s"] + answers).tolist())
    return _outcome(runs, took / len(seeds))


def there(cell: Cell, seeds: Sequence[int], cpu: int | None = None) -> Outcome:
    """Run a cell in htsim; :class:`PeerError` if it cannot."""
    runs = [
        uet_htsim.run(
            cell.fabric.topo(),
            cell.flows,
            cell.fabric.hosts,
            control=cell.control,
            selector=cell.selector,
            seed=seed,
            end_us=END_US,
            trims=cell.trims,
            slow=cell.slow,
            cpu=cpu,
        )
        for seed in seeds
    ]
    return _outcome([run.completions_s for run in runs], fmean(run.cpu_seconds for run in runs))


def _outcome(runs: Sequence[Sequence[float]], cpu_seconds: float) -> Outcome:
    """NaN, if a flow has not finished."""
    return Outcome(fmean(median(run) for run in runs), fmean(_last(run) for run in runs), cpu_seconds)


def _last(run: Sequence[float]) -> float:
    return next((time_s for time_s in run if time_s != time_s), max(run))


def cells(quick: bool) -> list[Cell]:
    """All settings, or some of them."""
    fabrics = (SMALL,) if quick else (SMALL, MEDIUM, TALL)
    found = []
    for fabric in fabrics:
        traffics: dict[str, list[Flow]] = {
            "one flow of 2 MB": one_flow(fabric, 2_000_000),
            "permutation of 2 MB": permutation(fabric, 2_000_000),
            "permutation of 100 kB": permutation(fabric, 100_000, 2),
            "incast 4 to 1 of 1 MB": incast(fabric, 1_000_000, 4),
            "incast 16 to 1 of 1 MB": incast(fabric, 1_000_000, 16),
            f"{2 * fabric.hosts} random flows of 500 kB": random_flows(fabric, 500_000, 2 * fabric.hosts),
        }
        for name, flows in traffics.items():
            for control in uet_htsim.CONTROLS:
                found += [Cell(fabric, name, flows, control, selector) for selector in uet_htsim.SELECTORS]
            found += [Cell(fabric, name, flows, "nscc", selector, trims=False) for selector in uet_htsim.SELECTORS]
        for name in ("permutation of 2 MB", f"{2 * fabric.hosts} random flows of 500 kB"):
            found += [
                Cell(fabric, name, traffics[name], control, selector, slow=1)
                for control in ("nscc", "rccc")
                for selector in uet_htsim.SELECTORS
            ]
    return found[:: 7 if quick else 1]


def run(quick: bool) -> Section:
    """Compare completion times cell by cell, and the CPU time on 1,024 hosts in turn."""
    uet_htsim.program()
    seeds = SEEDS[:1] if quick else SEEDS
    chosen = cells(quick)
    theirs = in_parallel("htsim_uec", [partial(_or_none, partial(there, cell, seeds)) for cell in chosen])
    ours = in_parallel("fabrics", [partial(here, cell, seeds) for cell in chosen])
    rows, medians, lasts = [], [], []
    for cell, mine, peer in zip(chosen, ours, theirs, strict=True):
        if peer is None:
            rows.append([cell.name, "-", *_microseconds(mine), "-", "-", "-", "-"])
            continue
        of_median, of_last = mine.median_s / peer.median_s, mine.last_s / peer.last_s
        medians.append(_deviation(of_median))
        lasts.append(_deviation(of_last))
        both = [*_microseconds(peer)[:1], *_microseconds(mine)[:1], percent(of_median)]
        rows.append([cell.name, *both, *_microseconds(peer)[1:], *_microseconds(mine)[1:], percent(of_last)])
    judged = {"median cell": median(medians), "90 % of cells": _most(medians), "last completion in 90 %": _most(lasts)}
    passed = all(
        value <= limit for value, limit in zip(judged.values(), (OF_MEDIAN, OF_MOST_MEDIANS, OF_LAST), strict=True)
    )
    said = ", ".join(f"{name} within {100 * value:.1f} %" for name, value in judged.items())
    skipped = sum(peer is None for peer in theirs)
    return Section(
        key="fabrics",
        title="Messages sprayed over fabrics, beside the consortium's simulator",
        model=f"uet-htsim at commit {uet_htsim.COMMIT[:7]}",
        how=f"Fat trees of 100 Gbit/s and 1 us a link; completion times to the last acknowledgement, means over {len(seeds)} seeds.",
        columns=("cell", "htsim: median, us", "here", "deviation", "htsim: last, us", "here", "deviation"),
        rows=[
            [
                "deviations",
                "",
                "",
                f"{100 * judged['median cell']:.1f} %",
                "",
                "",
                f"{100 * judged['last completion in 90 %']:.1f} %",
            ]
        ],
        cells=Table(("cell", "htsim: median, us", "here", "deviation", "htsim: last, us", "here", "deviation"), rows),
        passed=passed,
        verdict=f"{said}, of {len(medians)} cells.",
        notes=[
            *(
                [f"htsim ends {skipped} cells with an error, as REPS after a timeout without trimming."]
                if skipped
                else []
            ),
            *([] if quick else [_cpu_time()]),
        ],
    )


def _or_none(run: Callable[[], Outcome]) -> Outcome | None:
    try:
        return run()
    except PeerError:
        return None


def _cpu_time() -> str:
    """CPU time of a permutation over 1,024 hosts, in turn, three times each."""
    cell = Cell(LARGE, "permutation of 2 MB", permutation(LARGE, 2_000_000), "nscc", "mixed")
    cpu = min(os.sched_getaffinity(0))
    times = [(here(cell, (seed,)).cpu_seconds, there(cell, (seed,), cpu).cpu_seconds) for seed in (1, 2, 3)]
    mine, peer = (median(side) for side in zip(*times, strict=True))
    return f"A permutation of 2 MB over 1,024 hosts takes {mine:.2f} CPU seconds here and {peer:.1f} there: {peer / mine:.1f} times as many."


def _microseconds(outcome: Outcome) -> list[str]:
    return [f"{1e6 * outcome.median_s:.1f}", f"{1e6 * outcome.last_s:.1f}"]


def _deviation(ratio: float) -> float:
    """Infinite where a flow has not finished."""
    return abs(ratio - 1) if ratio == ratio else float("inf")


def _most(deviations: Sequence[float]) -> float:
    """The deviation that 90 % of the cells keep."""
    finite = sorted(deviations)
    return finite[min(len(finite) - 1, ceil(0.9 * len(finite)) - 1)]
