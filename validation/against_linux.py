"""Compares the congestion controls of Linux 2.6.22 in ns-2 with ours, and explains the great deviations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt
from statistics import fmean, median, stdev

from bench.table import Table
from validation.linux_grid import STACKS, Cell, Run, grid, run_here, run_ns2
from validation.section import Section, megabits, percent
from validation.work import Sample, in_parallel

MEDIAN_TOLERANCE = 0.05
CELL_TOLERANCE = 0.15
HALVING = ("reno", "highspeed", "scalable", "vegas", "compound", "illinois")
"""Algorithms whose window in recovery is half of ssthresh in Linux 2.6.22 (min_cwnd)."""

CONSERVING_NOTHING = ("bic", "cubic", "htcp")
"""Algorithms that have no min_cwnd, so that ns-2 refills the network to ssthresh at once."""


@dataclass(frozen=True)
class Result:
    """Both sides of a cell, run by run."""

    cell: Cell
    theirs: Sequence[Run]
    ours: Sequence[Run]

    @property
    def ratio(self) -> float:
        """Our mean goodput over ns-2's."""
        return fmean(run.goodput_bps for run in self.ours) / fmean(run.goodput_bps for run in self.theirs)

    @property
    def error(self) -> float:
        """Standard error of the ratio; the runs are paired, as the same packets are lost on both sides."""
        if len(self.ours) == 1:
            return 0.0
        rests = [
            ours.goodput_bps - self.ratio * theirs.goodput_bps
            for ours, theirs in zip(self.ours, self.theirs, strict=True)
        ]
        return stdev(rests) / sqrt(len(rests)) / fmean(run.goodput_bps for run in self.theirs)

    @property
    def is_within(self) -> bool:
        """Whether the deviation needs no explanation."""
        return abs(self.ratio - 1) <= CELL_TOLERANCE

    @property
    def flood_seconds(self) -> float:
        """How long ns-2 sent more than packet conservation allows."""
        return fmean(run.flood_seconds for run in self.theirs)

    @property
    def below_threshold(self) -> float:
        """Share of the time that ns-2's window was below its slow-start threshold."""
        return fmean(run.below_threshold for run in self.theirs)


@dataclass(frozen=True)
class Evidence:
    """Other runs that may explain a deviation."""

    early: Result | None
    """The same cell with an early loss."""
    reno: Result | None
    """The same network with reno."""


@dataclass(frozen=True)
class Cause:
    """A cause of deviations, and how it shows in the runs themselves."""

    letter: str
    text: str
    applies: Callable[[Result, Evidence], bool]


CAUSES = (
    Cause(
        "C",
        "**ns-2's compound is its reno.** Packet for packet, it sends what its reno sends in the same network. Ours is compared with the "
        "paper's equations only.",
        lambda result, evidence: (
            result.cell.algorithm == "compound"
            and evidence.reno is not None
            and [run.goodput_bps for run in evidence.reno.theirs] == [run.goodput_bps for run in result.theirs]
        ),
    ),
    Cause(
        "B",
        "**Rate halving against PRR.** For reno, highspeed, scalable, vegas, compound and illinois, Linux 2.6.22 lets the window fall to "
        "half in recovery, whatever the algorithm's own decrease, and slow-starts back to ssthresh. If a window has several losses, the "
        "next decrease starts from this lower window. PRR (RFC 6937) replaced rate halving in Linux 3.2 and stops at ssthresh. Evidence: "
        "the share of time in which ns-2's window is below its threshold without timeouts; it is near zero for bic and cubic, which have no "
        "min_cwnd. Where several losses occur only at the end of slow start, the evidence is the cell with an early loss.",
        lambda result, evidence: (
            result.cell.algorithm in HALVING
            and result.ratio > 1
            and (result.below_threshold >= 0.05 or (evidence.early is not None and evidence.early.is_within))
        ),
    ),
    Cause(
        "A",
        "**ns-2's recovery does not conserve packets.** For bic, cubic and htcp it sets cwnd to ssthresh when recovery begins and fills the "
        "network up to that. Linux (tcp_cwnd_down) never exceeds in_flight + 1. After slow start cwnd is twice the capacity of path and "
        "queue, so 0.8 of it is still too much, and retransmissions are lost throughout recovery. Then ns-2 clears its scoreboard, sends "
        "SACKed segments again, counts earlier retransmissions as lost, and floods the access link at more than 2.5 times the bottleneck's "
        "rate. Ours follows PRR (RFC 6937). Evidence: with one more loss on both sides, of the packet that completes the first "
        "bandwidth-delay product, the cells agree.",
        lambda result, evidence: (
            result.cell.algorithm in CONSERVING_NOTHING and evidence.early is not None and evidence.early.is_within
        ),
    ),
    Cause(
        "D",
        "**Westwood's bandwidth filter.** Linux filters twice with weight 1/8, in whole bytes per millisecond, and rounds down, also the "
        "window. Ours filters once with weight 1/16 without rounding. A shift by 3 stops rising 7 bytes/ms below its input, two of them 14. "
        "For a flow at 4 Mbit/s, 510 bytes/ms, that is 2.7 %, and rounding a window of 43 costs another 1 % at every loss. Between losses "
        "the window grows by two or three segments. At 1000 Mbit/s rounding is negligible, but the estimate follows the end of slow start "
        "differently: 48 % and 41 % of a step after 10 round trips, 86 % and 91 % after 30. This bounds the difference by numbers and is "
        "not shown by a run.",
        lambda result, _: result.cell.algorithm == "westwood",
    ),
)
UNEXPLAINED = "?"
NOTES = (
    "Ours has the parameters of Linux 2.6.22 where they differ from the paper's. bic: Linux counts ACKs and multiplies by its estimate "
    "of segments per ACK, which stays at 31/16 when every segment is acknowledged. scalable: one segment per 51 ACKs, and at least "
    "Reno's growth. vegas: a step every other round trip, since it starts from the window of one round trip before. highspeed: the rows "
    "of its table. cubic: beta 819/1024, and the Reno-friendly window grows no faster once it is back at the "
    "window of the last loss.",
    "illinois: 2.6.22 confuses the share that a loss takes with the share that remains (corrected later). Ours runs with these shares, "
    "7/8 and 1/2. With the paper's 1/8 and 1/2 it has up to six times ns-2's goodput.",
    "westwood: Linux's module sets ssthresh to its estimate at CA_EVENT_COMPLETE_CWR, which ns-2 never raises. So in ns-2 ssthresh is "
    "half of the window, and the window after a loss is the greater of both. Ours runs with that least share.",
    "reno, cubic, highspeed and vegas are below by up to 14 % at a loss of 1e-2. Linux slow-starts where cwnd equals ssthresh (RFC 5681 "
    "section 3.1 allows either), so every recovery ends with one segment more. That counts for windows of ten.",
)


def run(quick: bool) -> Section:
    """Compare every cell, and look again at cells that deviate much."""
    cells = grid(quick)
    results = _results("Against Linux in ns-2", cells, quick, early_loss=False)
    again = [result.cell for result in results if not result.is_within and result.cell.flows == 1]
    early = {result.cell: result for result in _results("With an early loss", again, quick, early_loss=True)}
    by_cell = {result.cell: result for result in results}
    letters = {
        result.cell: _cause(
            result, Evidence(early.get(result.cell), by_cell.get(replace(result.cell, algorithm="reno")))
        )
        for result in results
        if not result.is_within
    }
    deviations = [abs(result.ratio - 1) for result in results]
    unexplained = [str(cell) for cell, letter in letters.items() if letter == UNEXPLAINED]
    middle = median(deviations)
    return Section(
        key="linux",
        title="Congestion controls against Linux in ns-2",
        model="ns-2's Agent/TCP/Linux (Linux 2.6.22)",
        how=(
            "Bulk flows for 60 s over one bottleneck. All combinations of 1 and 15 flows, 100 and 1000 Mbit/s, 10 and 50 ms one way, and 0, "
            "1e-5, 1e-4, 1e-3 and 1e-2 of the packets lost behind the bottleneck. The queue is drop-tail with one bandwidth-delay product, "
            "access links have ten times the rate, and packets 1500 bytes. Every packet is acknowledged, with SACK, initial window 2 (ns-2's "
            "agent has no other), a least timeout of 200 ms, and no initial threshold. Goodput is the payload delivered by all flows from start "
            "to end. Both sides lose the same packets, which removes most of the noise from the deviations. Ours detects losses by RACK-TLP, "
            "since ns-2 notices lost retransmissions. The file has means and deviations with their standard errors over the seeds. It also has "
            "the time for which ns-2 flooded its access link, the share of time in which its windows were below their thresholds, and the "
            "deviation with an early loss, where it was run."
        ),
        columns=("algorithm", "ours", "cells", "median", "greatest", f"beyond {CELL_TOLERANCE * 100:.0f} %", "causes"),
        rows=[_row(name, [result for result in results if result.cell.algorithm == name], letters) for name in STACKS],
        passed=middle <= MEDIAN_TOLERANCE and not unexplained,
        verdict=(
            f"median deviation {middle * 100:.1f} % (at most {MEDIAN_TOLERANCE * 100:.0f} %) in {len(results)} cells of {len(cells)}; "
            f"{len(letters)} beyond {CELL_TOLERANCE * 100:.0f} %, of which "
            + (
                f"{len(unexplained)} are not explained: {'; '.join(unexplained)}"
                if unexplained
                else "each has its cause below (D by numbers only, not by a run)"
            )
        ),
        notes=[
            *(f"{cause.letter}: {cause.text}" for cause in CAUSES if cause.letter in letters.values()),
            *NOTES,
        ],
        cells=_cells(results, early, letters),
    )


def _effort(cell: Cell, quick: bool) -> int:
    """Seeds."""
    is_dear = cell.bottleneck_bps > 100e6 and cell.loss < 1e-3
    return 1 if quick or is_dear or (cell.loss == 0 and cell.flows == 1) else 4


def _results(label: str, cells: Sequence[Cell], quick: bool, early_loss: bool) -> list[Result]:
    runs = [(cell, range(1, _effort(cell, quick) + 1)) for cell in cells]
    jobs: list[Callable[[], Run | None]] = [
        partial(one, cell, seed, early_loss) for cell, seeds in runs for one in (run_ns2, run_here) for seed in seeds
    ]
    outcomes = iter(in_parallel(label, jobs))
    results = []
    for cell, seeds in runs:
        theirs = [next(outcomes) for _ in seeds]
        ours = [next(outcomes) for _ in seeds]
        pairs = [(one, other) for one, other in zip(theirs, ours, strict=True) if one and other]
        if pairs:
            results.append(Result(cell, [one for one, _ in pairs], [other for _, other in pairs]))
    return results


def _cause(result: Result, evidence: Evidence) -> str:
    return next((cause.letter for cause in CAUSES if cause.applies(result, evidence)), UNEXPLAINED)


def _row(name: str, results: Sequence[Result], letters: dict[Cell, str]) -> list[str]:
    deviations = [abs(result.ratio - 1) for result in results]
    beyond = [letters[result.cell] for result in results if not result.is_within]
    return [
        name,
        _parameters(name),
        str(len(results)),
        f"{median(deviations) * 100:.1f} %",
        f"{max(deviations) * 100:.1f} %",
        str(len(beyond)),
        ", ".join(f"{beyond.count(letter)} {letter}" for letter in sorted(set(beyond))),
    ]


def _parameters(name: str) -> str:
    congestion = STACKS[name]["congestion"]
    if isinstance(congestion, str):
        return congestion
    given = ", ".join(f"{key} {value:.4g}" for key, value in congestion.items() if key != "name")
    return f"{congestion['name']} ({given})"


def _cells(results: Sequence[Result], early: dict[Cell, Result], letters: dict[Cell, str]) -> Table:
    rows = []
    for result in results:
        cell = result.cell
        theirs = Sample.of([run.goodput_bps for run in result.theirs])
        ours = Sample.of([run.goodput_bps for run in result.ours])
        second = early.get(cell)
        rows.append(
            [
                cell.algorithm,
                str(cell.flows),
                f"{cell.bottleneck_bps / 1e6:.0f}",
                f"{cell.one_way_s * 1e3:.0f} ms",
                f"{cell.loss:g}",
                str(len(result.ours)),
                f"{megabits(theirs.mean)} ± {megabits(theirs.error)}",
                f"{megabits(ours.mean)} ± {megabits(ours.error)}",
                f"{percent(result.ratio)} ± {result.error * 100:.1f}",
                letters.get(cell, ""),
                f"{result.flood_seconds:.1f} s",
                f"{result.below_threshold * 100:.0f} %",
                percent(second.ratio) if second else "",
            ]
        )
    return Table(
        (
            "algorithm",
            "flows",
            "Mbit/s",
            "delay",
            "loss",
            "seeds",
            "ns-2, Mbit/s",
            "Anabranch, Mbit/s",
            "deviation",
            "cause",
            "flood",
            "below threshold",
            "early loss",
        ),
        rows,
    )
