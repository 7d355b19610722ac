"""The result of a comparison: a table and a verdict, for a terminal and for the page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

from rich.console import Console
from rich.table import Table as Printed

from bench.page import write_part
from bench.table import Table

LONG = 16
"""Rows of a table beyond which the page has its summary, and a CSV file beside the page the rows."""


@dataclass(frozen=True)
class Section:
    """One comparison."""

    key: str
    """Names its part of the page."""
    title: str
    model: str
    """The reference of the comparison."""
    how: str
    """The network and the stacks, for the reader of the page."""
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    passed: bool
    verdict: str
    """How close, in one sentence."""
    notes: Sequence[str] = field(default_factory=tuple)
    cells: Table | None = None
    """The cells behind a summary in the table, for a CSV file."""

    def show(self, console: Console) -> None:
        """Print the table and the verdict."""
        table = Printed(title=self.title, title_justify="left")
        for index, column in enumerate(self.columns):
            table.add_column(column, justify="left" if index == 0 else "right")
        for row in self.rows:
            table.add_row(*row)
        console.print(table)
        console.print(f"{self.mark}: {self.verdict}", highlight=False)
        for note in self.notes:
            console.print(f"  {note}", highlight=False, markup=False)

    def markdown(self) -> str:
        """The part of the page."""
        table, file = Table(self.columns, self.rows), self.file
        printed = table.summary() if file and not self.cells else table
        lines = [f"### {self.title}", "", self.how, ""]
        if self.cells or not file or len(printed.rows) < len(file[1].rows):
            lines += [printed.markdown(), ""]
        if file:
            name, cells = file
            lines += [f"All {len(cells.rows)} rows: [{name}]({name}).", ""]
        lines += [f"**{self.mark}**: {self.verdict}", "", *(f"- {note}" for note in self.notes)]
        return "\n".join(lines).rstrip() + "\n"

    def write(self, page: Path, source: str) -> None:
        """Into its part of the page, and into the file beside it."""
        write_part(page, self.key, f"{self.markdown()}\n{source}")
        if self.file:
            name, cells = self.file
            page.with_name(name).write_text(cells.csv(), encoding="utf-8")

    @property
    def file(self) -> tuple[str, Table] | None:
        """The CSV file beside the page: its name and what it contains."""
        cells = self.cells or (Table(self.columns, self.rows) if len(self.rows) > LONG else None)
        return (f"{self.key}.csv", cells) if cells else None

    @property
    def mark(self) -> str:
        """The verdict in a word."""
        return "holds" if self.passed else "DEVIATES"


@dataclass(frozen=True)
class Comparison:
    """A comparison that can be run."""

    key: str
    run: Callable[[bool], Section]
    """Runs the comparison, with fewer seeds and cells if the argument is true."""


def percent(ratio: float) -> str:
    """A deviation from 1 with its sign; ``-`` for an unknown one, which is NaN or infinite."""
    return f"{(ratio - 1) * 100:+.1f} %" if isfinite(ratio) else "-"


def megabits(rate_bps: float) -> str:
    """A rate, in Mbit/s."""
    return f"{rate_bps / 1e6:.4g}"
