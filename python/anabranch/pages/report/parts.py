"""Parts of pages: figures, and tables whose columns say their meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

# More than this is no longer read, and would make the page heavy; the page says so where it leaves something out.
MOST_ROWS = 500
MOST_PANELS = 240


@dataclass(frozen=True)
class Figure:
    """A chart of the page: its specification, and how the page's script fits it to the width that there is."""

    name: str
    title: str
    caption: str
    specification: Mapping[str, Any]
    layout: Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, unit and meaning, and the functions that make its cells."""

    title: str
    unit: str
    meaning: str
    value: Callable[[Mapping[str, Any]], Any]
    show: Callable[[Any], str] = str
    beside: Callable[[Mapping[str, Any]], str] | None = None
    """Shows a known value where its digits depend on others of its row."""

    @property
    def numeric(self) -> bool:
        """Whether it is aligned and sorted as numbers."""
        return self.show is not str


@dataclass(frozen=True)
class Cell:
    """A cell of a table: the text that it shows, and the key by which it is sorted."""

    text: str
    key: str


@dataclass(frozen=True)
class ReportTable:
    """A table of the page; ``groups`` names for each row what a selector shows or hides it by."""

    columns: list[Column]
    rows: list[list[Cell]]
    groups: list[str] = field(default_factory=list)
    note: str = ""


def get(name: str, factor: float | None = None) -> Callable[[Mapping[str, Any]], Any]:
    """The value of a row at a key, times a factor if it is known."""

    def value(row: Mapping[str, Any]) -> Any:
        found = row[name]
        return found if factor is None or found is None else found * factor

    return value


def count(value: float | None) -> str:
    """A whole number, or a dash for an unknown one."""
    return "–" if value is None else f"{value:,.0f}"


def cells(columns: Sequence[Column], row: Mapping[str, Any]) -> list[Cell]:
    """The cells of a row of the page's table, from a row of data."""
    values = [column.value(row) for column in columns]
    return [
        Cell(_shown(column, value, row), "" if value is None else str(value))
        for column, value in zip(columns, values, strict=True)
    ]


def _shown(column: Column, value: Any, row: Mapping[str, Any]) -> str:
    if value is None:
        return "–"
    return column.show(value) if column.beside is None else column.beside(row)


def first_rows(columns: list[Column], rows: pl.DataFrame, group: str = "", of: str = "rows") -> ReportTable:
    """The first :data:`MOST_ROWS` rows of data as a table, with a note if there are more ``of`` them; ``group`` is the column with the table's groups."""
    shown = rows.head(MOST_ROWS).to_dicts()
    note = f"The first {MOST_ROWS} of {rows.height} {of}." if rows.height > MOST_ROWS else ""
    return ReportTable(
        columns, [cells(columns, row) for row in shown], [row[group] for row in shown] if group else [], note
    )


def longest(labels: Sequence[str]) -> int:
    """The number of characters of the longest text, 0 if there is none."""
    return max((len(label) for label in labels), default=0)


def largest(values: pl.Series) -> float:
    """The greatest value, 0 if there is none."""
    return float(values.max() or 0)  # type: ignore[arg-type]


def smallest(values: pl.Series) -> float:
    """The least value, 0 if there is none."""
    return float(values.min() or 0)  # type: ignore[arg-type]
