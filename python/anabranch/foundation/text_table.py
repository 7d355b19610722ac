"""Tables of text for people, and numbers in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import combining, east_asian_width

from anabranch.foundation.printable import printable, printable_line

LEFT = 3
"""The number of columns that are usually texts, and so aligned to the left."""
_PREFIXES = [
    *(("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0)),
    *(("m", 1e-3), ("u", 1e-6), ("n", 1e-9), ("p", 1e-12)),
]
_ROUNDED_UP = 1 - 5e-5
"""From this share of a power of ten on, a number with four digits is shown as the power."""


@dataclass(frozen=True)
class TextTable:
    """A table for people, and sentences below it."""

    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    text_columns: int = LEFT
    """The number of columns aligned to the left; the others are aligned to the right as numbers."""
    notes: Sequence[str] = ()


def print_table(table: TextTable) -> None:
    """Print a table without its head if it has no rows, and its notes."""
    lines = [[printable_line(cell) for cell in line] for line in (table.head, *table.rows)] if table.rows else []
    widths = [max(map(display_width, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        blanks = [" " * (width - display_width(cell)) for cell, width in zip(line, widths, strict=True)]
        cells = (
            cell + blank if column < table.text_columns else blank + cell
            for column, (cell, blank) in enumerate(zip(line, blanks, strict=True))
        )
        print("  ".join(cells).rstrip())
    for note in table.notes:
        print(printable(note))


def html_table(table: TextTable) -> str:
    """The same as HTML, for notebooks."""
    from html import escape

    def line(cells: Sequence[str], tag: str) -> str:
        sides = ("left" if column < table.text_columns else "right" for column in range(len(cells)))
        shown = (
            f'<{tag} style="text-align: {side}">{escape(printable_line(cell))}</{tag}>'
            for cell, side in zip(cells, sides, strict=True)
        )
        return f"<tr>{''.join(shown)}</tr>"

    body = "".join(line(row, "td") for row in table.rows)
    notes = "".join(f"<p>{escape(printable(note))}</p>" for note in table.notes)
    return f"<table><thead>{line(table.head, 'th')}</thead><tbody>{body}</tbody></table>{notes}"


def display_width(text: str) -> int:
    """The columns of a terminal that a text takes: two for a character of East Asia, none for one that changes the one before it."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(one) else 2 if east_asian_width(one) in "FW" else 1 for one in text)


def quantity(value: float | None, unit: str) -> str:
    """A number with four digits and a prefix of its unit; ``-`` for an unknown one, 0 for less than 1 bit/s.

    Times of whole hours, and all from 10,000 s on, are in hours: a scenario takes no kiloseconds.
    """
    if value is None:
        return "-"
    if unit == "bit/s" and abs(value) < 1:
        return f"0 {unit}"
    if unit == "s" and value and (abs(value) >= 1e4 * _ROUNDED_UP or value % 3600 == 0):
        return f"{value / 3600:.4g} h"
    prefixes = _PREFIXES[_PREFIXES.index(("", 1.0)) :] if unit == "s" else _PREFIXES
    prefix, scale = next(((p, s) for p, s in prefixes if abs(value) >= s * _ROUNDED_UP), ("", 1.0))
    return f"{value / scale:.4g} {prefix}{unit}"


def count(number: int, noun: str) -> str:
    """A number of things: ``1 run``, ``2 runs``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def percent(value: float | None) -> str:
    """A ratio in per cent with three digits; ``-`` for an unknown one."""
    return "-" if value is None else f"{100 * value:.3g} %"


def plain(value: float | None) -> str:
    """A number with four digits; ``-`` for an unknown one."""
    return "-" if value is None else f"{value:.4g}"


def size_class(from_bytes: int, below_bytes: int | None) -> str:
    """A class of flow sizes: ``10 kB to 100 kB``, ``below 10 kB``, ``from 100 MB``, or ``all``."""
    low, high = (quantity(bound, "B") for bound in (from_bytes, below_bytes))
    if below_bytes is None:
        return f"from {low}" if from_bytes else "all"
    return f"{low} to {high}" if from_bytes else f"below {high}"
