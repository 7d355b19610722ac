"""Reno and NewReno, and NewReno with SACK, against ns-2, over loss, delay and rate."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import hypot
from statistics import median

from bench.peers import ns2
from validation.formulas import mathis
from validation.section import Section, megabits, percent
from validation.work import Sample, in_parallel, measure, seconds

ACCESS_SECONDS = 0.001
MEDIAN_TOLERANCE = 0.05
CELL_TOLERANCE = 0.15
WIRE_BITS = 8000
VARIANTS = {"reno": ("reno", False), "newreno": ("newreno", False), "sack1": ("newreno", True)}
"""ns-2's agent; here the congestion control, and whether it has SACK."""


@dataclass(frozen=True)
class Cell:
    """One network."""

    variant: str
    loss: float
    bottleneck_seconds: float
    bottleneck_bps: float

    @property
    def round_trip_s(self) -> float:
        """The round-trip time without queueing."""
        return 2 * (self.bottleneck_seconds + 2 * ACCESS_SECONDS)


def run(quick: bool) -> Section:
    """Compare NewReno with and without SACK."""
    losses = (0.0, 1e-3, 1e-2) if quick else (0.0, 1e-4, 1e-3, 1e-2)
    return _compare("ns2", "NewReno and SACK against ns-2", ("newreno", "sack1"), losses, quick)


def run_reno(quick: bool) -> Section:
    """Compare Reno, where losses are so dense that two of a window are not rare."""
    note = (
        "ns-2's bugFix_ is off: with it Reno waits for the timer when a window has a second loss, which RFC 5681 does not ask "
        "for."
    )
    return _compare("ns2-reno", "Reno against ns-2", ("reno",), (0.0, 1e-3, 1e-2), quick, note)


def _compare(
    key: str, title: str, variants: Sequence[str], losses: Sequence[float], quick: bool, *notes: str
) -> Section:
    delays = (0.005, 0.025) if quick else (0.005, 0.010, 0.025, 0.050)
    cells = [Cell(*one) for one in product(variants, losses, delays, (10e6, 100e6))]
    jobs: list[Callable[[], float]] = []
    counts = []
    for cell in cells:
        seeds, counted_s, warm_up_s = _effort(cell, quick)
        counts.append(seeds)
        for measured in (ns2_goodput_bps, goodput_bps):
            jobs += [partial(measured, cell, seed, counted_s, warm_up_s) for seed in range(1, seeds + 1)]
    results = iter(in_parallel("Against ns-2", jobs))
    rows, deviations, errors = [], [], []
    for cell, seeds in zip(cells, counts, strict=True):
        theirs = Sample.of([next(results) for _ in range(seeds)])
        ours = Sample.of([next(results) for _ in range(seeds)])
        ratio = ours.mean / theirs.mean
        error = ratio * hypot(ours.relative_error, theirs.relative_error)
        deviations.append(abs(ratio - 1))
        errors.append(error)
        rows.append(
            [
                cell.variant,
                f"{cell.loss:g}",
                f"{cell.bottleneck_seconds * 1e3:.0f} ms",
                f"{cell.bottleneck_bps / 1e6:.0f}",
                str(seeds),
                f"{megabits(theirs.mean)} ± {megabits(theirs.error)}",
                f"{megabits(ours.mean)} ± {megabits(ours.error)}",
                f"{percent(ratio)} ± {error * 100:.1f}",
            ]
        )
    middle, worst = median(deviations), max(deviations)
    return Section(
        key=key,
        title=title,
        model="ns-2's agents " + ", ".join(variants),
        how=(
            "One bulk flow. Access links have ten times the bottleneck's rate and 1 ms. Data is lost at random behind the bottleneck, whose "
            "queue has one bandwidth-delay product. Packets have 1000 bytes (960 of payload), and every segment is acknowledged. Initial window "
            "10, least timeout 200 ms, no initial threshold. Goodput after ten losses, mean ± standard error over the seeds, and our deviation "
            "from ns-2's ± its standard error."
        ),
        columns=("agent", "loss", "delay", "Mbit/s", "seeds", "ns-2, Mbit/s", "Anabranch, Mbit/s", "deviation"),
        rows=rows,
        passed=middle <= MEDIAN_TOLERANCE and worst <= CELL_TOLERANCE,
        verdict=(
            f"median deviation {middle * 100:.1f} % (at most {MEDIAN_TOLERANCE * 100:.0f} %), greatest "
            f"{worst * 100:.1f} % (at most "
            f"{CELL_TOLERANCE * 100:.0f} %), in {len(cells)} cells; the greatest standard error is "
            f"{max(errors) * 100:.1f} %"
        ),
        notes=notes,
    )


def _effort(cell: Cell, quick: bool) -> tuple[int, float, float]:
    """Seeds, simulated seconds to count, and to let pass before: as many losses in every cell."""
    if cell.loss == 0:
        return 1, 100, 20
    packets_per_second = min(mathis(cell.loss, cell.round_trip_s), cell.bottleneck_bps / WIRE_BITS)
    between_losses_s = 1 / (cell.loss * packets_per_second)
    seeds, losses = (6, 100) if quick else (20, 120)
    return seeds, losses * between_losses_s, max(5, 10 * between_losses_s)


def ns2_goodput_bps(cell: Cell, seed: int, counted_s: float, warm_up_s: float) -> float:
    """One run of ns-2."""
    run = ns2.run_single_flow(
        cell.variant,
        bottleneck_bps=cell.bottleneck_bps,
        bottleneck_seconds=cell.bottleneck_seconds,
        access_seconds=ACCESS_SECONDS,
        loss=cell.loss,
        seed=seed,
        seconds=warm_up_s + counted_s,
        warm_up_seconds=warm_up_s,
    )
    return run.goodput_bps[0]


def goodput_bps(cell: Cell, seed: int, counted_s: float, warm_up_s: float) -> float:
    """One run of this engine on the same network; unlike ns-2's, its queue limit counts the packet in transmission."""
    congestion, sack = VARIANTS[cell.variant]
    one_way_s = cell.bottleneck_seconds + 2 * ACCESS_SECONDS
    waiting = ns2.bandwidth_delay_packets(cell.bottleneck_bps, one_way_s, 1000)
    access = {"capacity": f"{10 * cell.bottleneck_bps:.0f}bps", "delay": seconds(ACCESS_SECONDS)}
    bottleneck = {"capacity": f"{cell.bottleneck_bps:.0f}bps", "delay": seconds(cell.bottleneck_seconds)}
    document = {
        "topology": {
            "links": [
                {"source": "source", "target": "router 1", **access},
                {"source": "router 1", "target": "router 2", **bottleneck},
                {"source": "router 2", "target": "sink", **access},
            ],
            "queue": {"discipline": "drop-tail", "limit": "1000000 packets"},
            "override": [
                {
                    "link": ["router 1", "router 2"],
                    "one_way": True,
                    "queue": {"discipline": "drop-tail", "limit": f"{waiting + 1} packets"},
                }
            ],
        },
        "stacks": {
            "stack": {
                "preset": congestion,
                "sack": sack,
                "mss": "960 bytes",
                "receive_window": "900 MB",
            }
        },
        "impairments": [{"link": ["router 1", "router 2"], "one_way": True, "loss": cell.loss}],
        "traffic": [{"from": "source", "to": "sink", "bulk": True}],
        "run": {"duration": seconds(warm_up_s + counted_s), "warm_up": seconds(warm_up_s)},
    }
    return measure(document, seed).goodput_bps
