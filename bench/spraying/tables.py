"""The tables of the page: detectors and windows beside each other, the best of each column in bold."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import polars as pl

from anabranch.pages.report.chart import three_digits
from bench.spraying.cells import CONDITION, GOODPUT, REFERENCE, TIMES, apart, half
from bench.table import Table

DETECTORS = {
    "three duplicate ACKs": ("newreno-dup-ack", "cubic-dup-ack", "bbr-dup-ack"),
    "path count": ("newreno-path-count", "cubic-path-count", "bbr-path-count"),
    "RACK-TLP as in Linux": ("linux-reno", "linux-cubic", "linux-bbr"),
    "FastRTO": ("mprc", "cubic-fast-rto", "bbr-fast-rto"),
    "TCP-PR": ("newreno-tcp-pr", "cubic-tcp-pr", "bbr-tcp-pr"),
}
"""Its stacks with the windows of Reno, CUBIC and BBR."""
LOSSES = (0.0, 0.1, 1.0)
SELECTORS = {"random": "at random", "in-turn": "in turn"}
LEVEL = 0.01
"""Values that differ by less than this share are level."""
OTHERS = ("linux-reno", "linux-cubic", "linux-bbr", "newreno-tcp-pr", "cubic-fast-rto")
"""The stacks that the page sets MPRC beside."""


@dataclass(frozen=True)
class Column:
    """A column of a table: a measure under a condition."""

    title: str
    measure: str
    condition: Mapping[str, float | str]
    unit: float = 1.0
    """The measure's value is divided by it."""


def of_columns(cells: pl.DataFrame, columns: Sequence[Column]) -> Table:
    """A row for each stack."""
    shown = [_cells(cells.filter(**column.condition), column) for column in columns]
    rows = [
        [detector, stack, *(column[stack] for column in shown)]
        for detector, stacks in DETECTORS.items()
        for stack in stacks
    ]
    return Table(["detector", "stack", *(column.title for column in columns)], rows)


def of_measure(cells: pl.DataFrame, measure: str, unit: float) -> Table:
    """A row for each stack and number of paths, with all conditions of it side by side."""
    columns = [
        Column(
            f"{delays}, {selector}, {_loss(loss)}",
            measure,
            {"delays": delays, "loss_percent": loss, "select": select},
            unit,
        )
        for select, selector in SELECTORS.items()
        for delays in ("equal", "unequal")
        for loss in LOSSES
    ]
    rows = []
    for paths in cells["paths"].unique().sort():
        table = of_columns(cells.filter(paths=paths), columns)
        rows += [[str(paths), *row[1:]] for row in table.rows]
    return Table(["paths", *table.columns[1:]], rows)


def beside(cells: pl.DataFrame, others: Sequence[str]) -> Table:
    """How far the reference is ahead of others, for each length of flow and loss, over the conditions with this loss."""
    rows = []
    for name, measure in {"long": GOODPUT, **TIMES}.items():
        for loss in LOSSES:
            found = cells.filter(loss_percent=loss)
            rows.append([name, _loss(loss), *(_lead(found, measure, other) for other in others)])
    return Table(["flow", "loss", *others], rows)


@dataclass(frozen=True)
class Lead:
    """How far the reference is ahead of another stack over several conditions."""

    gains: Sequence[float]
    """Under each condition, by which share it has more goodput or is faster."""
    ahead: int
    """Under how many of them it is ahead by more than :data:`LEVEL`, and the 95 % interval of the difference excludes zero."""
    behind: int

    @classmethod
    def of(cls, cells: pl.DataFrame, measure: str, other: str) -> "Lead":
        """The lead of the reference over another stack under the conditions of the cells."""
        reference = cells.filter(stack=REFERENCE).select(*CONDITION, reference=measure)
        pairs = reference.join(cells.filter(stack=other), on=CONDITION).select("reference", measure, apart(measure))
        gains, signs = [], []
        for value, beside, width in pairs.drop_nulls().iter_rows():
            gains.append((value / beside if measure == GOODPUT else beside / value) - 1)
            decided = abs(gains[-1]) >= LEVEL and abs(value - beside) > width
            signs.append((1 if gains[-1] > 0 else -1) if decided else 0)
        return cls(gains, signs.count(1), signs.count(-1))

    @property
    def level(self) -> int:
        """Under how many conditions neither is ahead."""
        return len(self.gains) - self.ahead - self.behind

    @property
    def typical(self) -> str:
        """The median of the gains."""
        return _percent(median(self.gains))

    @property
    def spread(self) -> str:
        """The least and the greatest gain."""
        return f"{_percent(min(self.gains))} to {_percent(max(self.gains))}"


def _percent(share: float) -> str:
    rounded = round(share * 100)
    return f"{'+' if rounded > 0 else '−' if rounded < 0 else ''}{abs(rounded)} %"


def _lead(cells: pl.DataFrame, measure: str, other: str) -> str:
    lead = Lead.of(cells, measure, other)
    return f"{lead.typical} ({lead.spread}); {lead.ahead} / {lead.level} / {lead.behind}"


def _cells(cells: pl.DataFrame, column: Column) -> dict[str, str]:
    """The text of each stack; the best, and all that are level with it, in bold."""
    interval = half(column.measure) if half(column.measure) in cells.columns else None
    rows = {
        stack: (value, width or 0.0)
        for stack, value, width in cells.select(
            "stack", column.measure, pl.lit(0.0) if interval is None else pl.col(interval)
        ).iter_rows()
        if value is not None
    }
    if not rows:
        return dict.fromkeys(cells["stack"], "–")
    choose: Callable[..., tuple[float, float]] = max if column.measure == GOODPUT else min
    best, best_width = choose(rows.values(), key=lambda row: row[0])
    texts = {}
    for stack in cells["stack"]:
        if stack not in rows:
            texts[stack] = "unfinished"
            continue
        value, width = rows[stack]
        text = three_digits(value / column.unit)
        if interval and width:
            text += f" ± {width / column.unit:.2g}"
        is_best = abs(value - best) <= max(LEVEL * best, width + best_width)
        texts[stack] = f"**{text}**" if is_best and interval else text
    return texts


def _loss(percent: float) -> str:
    return f"{percent:g} %" if percent else "no loss"
