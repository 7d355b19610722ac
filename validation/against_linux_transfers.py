"""Completion times of transfers, beside each other and beside flows that do not end, against real Linux."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan, nan
from statistics import median
from typing import NamedTuple

from anabranch.results.statistics import known_quantile
from bench.peers.linux import kernel
from bench.table import Table
from validation.against_real_linux import AS_ABOVE, CELL_TOLERANCE, MEDIAN_TOLERANCE, both_sides
from validation.random_transfers import transfers
from validation.real_linux_cells import DURATION_S, Cell, Run, run_here, run_linux
from validation.section import Section, percent

LINKS = 150
NEAR = 0.01
"""Completion times are equal if they differ by less."""
MOST_ONE_SIDED = 0.01
"""The share of transfers that may end on one side only."""


COLUMNS = (
    "links",
    "number",
    "transfers",
    "that end on both sides",
    "equal",
    "deviation of a transfer: median",
    "of the median time",
    "of the 95th percentile",
    "of the sum",
    "timeouts, ours / Linux",
)


class Transfer(NamedTuple):
    """Completion times of a transfer; None on a side where it has not ended. Then it takes ``at_least_s``."""

    theirs_s: float | None
    ours_s: float | None
    at_least_s: float


@dataclass(frozen=True)
class Compared:
    """Both sides of a link, transfer by transfer."""

    cell: Cell
    theirs: Run
    ours: Run

    @property
    def transfers(self) -> list[Transfer]:
        """All transfers."""
        sides = zip(self.theirs.completions_s, self.ours.completions_s, strict=True)
        return [
            Transfer(theirs, ours, DURATION_S - self.cell.start_s(flow, self.cell.seeds[0]))
            for flow, (segments, (theirs, ours)) in enumerate(zip(self.cell.segments, sides, strict=True))
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
    all_of_them = [transfer for one in compared for transfer in one.transfers]
    alone = [transfer for one in compared if None not in one.cell.segments for transfer in one.transfers]
    beside = [transfer for one in compared if None in one.cell.segments for transfer in one.transfers]
    middle, tails = _middle(alone), [abs(_quantile_ratio(some, 0.95) - 1) for some in (alone, beside)]
    middle_text, *tail_texts = ("an unknown share" if isnan(one) else f"{one * 100:.1f} %" for one in (middle, *tails))
    one_sided = sum((one.theirs_s is None) != (one.ours_s is None) for one in all_of_them)
    return Section(
        key="real-linux-transfers",
        title="Transfers against real Linux",
        model=f"Linux {kernel.version(kernel.built()[0])}",
        how=(
            f"{len(cells)} random links of 2 to 40 Mbit/s, RTTs of 8 to 200 ms, queues from 5 packets on, losses of up to 3 % over two fifths of them. Over each go 25 to 55 transfers of one "
            "congestion control (all but CDG), of 1 to 300 segments, which start at random instants and load the link by up to a half. Over every third link go one to three flows that "
            "do not end as well. Nothing was fitted to these links. Times run from the application's start to the arrival of the last byte. Times are equal if they differ by less than "
            f"{NEAR * 100:g} %. Deviations and sums are of transfers that end on both sides within the run, medians and percentiles of all. {AS_ABOVE}"
        ),
        columns=COLUMNS,
        rows=[row(name, some) for name, some in of_kind],
        passed=middle <= MEDIAN_TOLERANCE
        and all(tail <= CELL_TOLERANCE for tail in tails)
        and one_sided <= MOST_ONE_SIDED * len(all_of_them),
        verdict=(
            f"of {len(alone)} transfers that are alone or beside each other, the completion time deviates by {middle_text} in the median (at most {MEDIAN_TOLERANCE * 100:.0f} %). Their "
            f"95th percentile deviates by {tail_texts[0]}, and that of transfers beside flows without end by {tail_texts[1]} (at most {CELL_TOLERANCE * 100:.0f} %). "
            f"{one_sided} of {len(all_of_them)} transfers end on one side only (at most {MOST_ONE_SIDED * 100:g} %)"
        ),
        notes=(
            "A packet more or less in a short queue decides whether a transfer waits for a timeout. So single times differ by much where flows share a link, in both directions.",
        ),
        cells=Table(
            (
                "link",
                "control",
                "flows without end",
                "transfers",
                "that end on both sides",
                "equal",
                "of the sum",
                "timeouts",
            ),
            [
                (
                    str(number),
                    one.cell.flows[-1],
                    str(list(one.cell.segments).count(None)),
                    str(len(one.transfers)),
                    str(len(_ended(one.transfers))),
                    _equal(one.transfers),
                    percent(_sum(one.transfers)),
                    f"{one.theirs.timeouts} / {one.ours.timeouts}",
                )
                for number, one in enumerate(compared)
            ],
        ),
    )


Transfers = Sequence[Transfer]


def row(name: str, some: Sequence[Compared]) -> tuple[str, ...]:
    """The row of a kind of links, with :data:`COLUMNS`."""
    found = [transfer for one in some for transfer in one.transfers]
    timeouts = [
        sum(side.timeouts for side in sides) for sides in ([one.ours for one in some], [one.theirs for one in some])
    ]
    return (
        name,
        str(len(some)),
        str(len(found)),
        str(len(_ended(found))),
        _equal(found),
        f"{_middle(found) * 100:.1f} %",
        percent(_quantile_ratio(found, 0.5)),
        percent(_quantile_ratio(found, 0.95)),
        percent(_sum(found)),
        f"{timeouts[0]} / {timeouts[1]}",
    )


def _ended(some: Transfers) -> list[tuple[float, float]]:
    """Linux's time and ours of each transfer that has ended on both sides."""
    return [(one.theirs_s, one.ours_s) for one in some if one.theirs_s is not None and one.ours_s is not None]


def _equal(some: Transfers) -> str:
    times = _ended(some)
    return f"{100 * sum(abs(ours / theirs - 1) < NEAR for theirs, ours in times) / len(times):.0f} %" if times else "-"


def _middle(some: Transfers) -> float:
    """The median deviation of a transfer; NaN if none has ended."""
    return median([abs(ours / theirs - 1) for theirs, ours in _ended(some)] or [nan])


def _quantile_ratio(some: Transfers, share: float) -> float:
    """A quantile of our times over Linux's; NaN if one of the two is unknown."""
    at_least_s = [one.at_least_s for one in some]
    theirs = known_quantile([one.theirs_s for one in some], at_least_s, share)
    ours = known_quantile([one.ours_s for one in some], at_least_s, share)
    return nan if theirs is None or ours is None else ours / theirs


def _sum(some: Transfers) -> float:
    """The sum of our times over Linux's; NaN if no transfer has ended."""
    times = _ended(some)
    return sum(ours for _, ours in times) / sum(theirs for theirs, _ in times) if times else nan
