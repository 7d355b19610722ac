"""Completion times of transfers, beside each other and beside flows that do not end, against real Linux."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median, quantiles

from bench.peers.linux import kernel
from bench.table import Table
from validation.against_real_linux import AS_ABOVE, CELL_TOLERANCE, MEDIAN_TOLERANCE, both_sides
from validation.random_transfers import transfers
from validation.real_linux_cells import DURATION_S, Cell, Run, run_here, run_linux
from validation.section import Section, percent

LINKS = 150
NEAR = 0.01
"""Completion times are equal if they differ by less."""


@dataclass(frozen=True)
class Compared:
    """Both sides of a link, transfer by transfer."""

    cell: Cell
    theirs: Run
    ours: Run

    @property
    def times_s(self) -> list[tuple[float, float]]:
        """The completion time of each transfer, Linux's and ours; the whole run for one that has not ended."""
        return [
            (DURATION_S if theirs is None else theirs, DURATION_S if ours is None else ours)
            for segments, theirs, ours in zip(
                self.cell.segments, self.theirs.completions_s, self.ours.completions_s, strict=True
            )
            if segments is not None
        ]


Kind = Callable[[Cell], bool]
KINDS: Sequence[tuple[str, Kind]] = (
    ("only transfers", lambda cell: None not in cell.segments),
    ("only transfers, no losses", lambda cell: None not in cell.segments and not cell.loss),
    ("only transfers, losses", lambda cell: None not in cell.segments and cell.loss > 0),
    ("beside flows that do not end", lambda cell: None in cell.segments),
)


def run(quick: bool) -> Section:
    """Random transfers."""
    cells = [transfers(number) for number in range(9 if quick else LINKS)]
    sides = both_sides("Transfers, against Linux", cells, partial(run_linux, settings={}), run_here)
    compared = [Compared(cell, *theirs, *ours) for cell, (theirs, ours) in zip(cells, sides, strict=True)]
    of_kind = [(name, some) for name, is_kind in KINDS if (some := [one for one in compared if is_kind(one.cell)])]
    alone = [time for one in compared if None not in one.cell.segments for time in one.times_s]
    beside = [time for one in compared if None in one.cell.segments for time in one.times_s]
    middle, tails = _middle(alone), [abs(_tail(times)) for times in (alone, beside)]
    return Section(
        key="real-linux-transfers",
        title="Transfers against real Linux",
        model=f"Linux {kernel.version(kernel.built()[0])}",
        how=(
            f"{len(cells)} random links of 2 to 40 Mbit/s, RTTs of 8 to 200 ms, queues from 5 packets on, losses of up to 3 % over two fifths of them. Over each go 25 to 55 transfers of one "
            "congestion control (all but CDG), of 1 to 300 segments, which start at random instants and load the link by up to a half. Over every third link go one to three flows that "
            "do not end as well. Nothing was fitted to these links. Times run from the application's start to the arrival of the last byte. Times are equal if they differ by less than "
            f"{NEAR * 100:g} %. {AS_ABOVE}"
        ),
        columns=(
            "links",
            "number",
            "transfers",
            "equal",
            "deviation of a transfer: median",
            "of the median time",
            "of the 95th percentile",
            "of the sum",
            "timeouts, ours / Linux",
        ),
        rows=[_row(name, some) for name, some in of_kind],
        passed=middle <= MEDIAN_TOLERANCE and max(tails) <= CELL_TOLERANCE,
        verdict=(
            f"of {len(alone)} transfers that are alone or beside each other, the completion time deviates by {middle * 100:.1f} % in the median (at most {MEDIAN_TOLERANCE * 100:.0f} %). Their "
            f"95th percentile deviates by {tails[0] * 100:.1f} %, and that of transfers beside flows without end by {tails[1] * 100:.1f} % (at most {CELL_TOLERANCE * 100:.0f} %)"
        ),
        notes=(
            "A packet more or less in a short queue decides whether a transfer waits for a timeout. So single times differ by much where flows share a link, in both directions.",
        ),
        cells=Table(
            ("link", "control", "flows without end", "transfers", "equal", "of the sum", "timeouts"),
            [
                (
                    str(number),
                    one.cell.flows[-1],
                    str(list(one.cell.segments).count(None)),
                    str(len(one.times_s)),
                    _equal(one.times_s),
                    percent(_sum(one.times_s)),
                    f"{one.theirs.timeouts} / {one.ours.timeouts}",
                )
                for number, one in enumerate(compared)
            ],
        ),
    )


Times = Sequence[tuple[float, float]]
"""Linux's and ours, s."""


def _row(name: str, some: Sequence[Compared]) -> tuple[str, ...]:
    times = [time for one in some for time in one.times_s]
    theirs, ours = zip(*times, strict=True)
    timeouts = [
        sum(side.timeouts for side in sides) for sides in ([one.ours for one in some], [one.theirs for one in some])
    ]
    return (
        name,
        str(len(some)),
        str(len(times)),
        _equal(times),
        f"{_middle(times) * 100:.1f} %",
        percent(median(ours) / median(theirs)),
        percent(1 + _tail(times)),
        percent(_sum(times)),
        f"{timeouts[0]} / {timeouts[1]}",
    )


def _equal(times: Times) -> str:
    return f"{100 * sum(abs(ours / theirs - 1) < NEAR for theirs, ours in times) / len(times):.0f} %"


def _middle(times: Times) -> float:
    """The median deviation of a transfer."""
    return median(abs(ours / theirs - 1) for theirs, ours in times)


def _tail(times: Times) -> float:
    """How far the 95th percentile of our times is from Linux's, relative."""
    theirs, ours = (quantiles(side, n=20, method="inclusive")[-1] for side in zip(*times, strict=True))
    return ours / theirs - 1


def _sum(times: Times) -> float:
    """The sum of our times over Linux's."""
    theirs, ours = map(sum, zip(*times, strict=True))
    return float(ours / theirs)
