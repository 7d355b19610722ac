"""CSV as other programs write it, and texts that a spreadsheet must not execute as formulas."""

import csv
import io
import re
from typing import Any

GUARD = "'"
BEGINS = r"[=+\-@\t\r\n']"
"""How texts begin that spreadsheets take for formulas (OWASP, "CSV Injection"); and the guard itself, so that removing it gives the former text."""
_GUARDED = re.compile(GUARD + f"(?={BEGINS})")
_BETWEEN = re.compile(r"\s*[,;]\s*|\s+")


def rows(written: str) -> Any:
    """The reader of the rows, the first line among them; :class:`csv.Error` if a quote has no end.

    The first of comma, semicolon and tab in the first line separates columns. If it has none of them, blanks do, and any of these
    below it: TEAVAR writes some tables so.
    """
    head = written.lstrip().partition("\n")[0]
    between = next((sign for sign in ",;\t" if sign in head), " " if len(head.split()) > 1 else ",")
    lines: Any = io.StringIO(written, newline="")
    if between == " ":
        lines = (" ".join(_BETWEEN.split(line.strip())) for line in lines)
    return csv.reader(lines, strict=True, skipinitialspace=True, delimiter=between)


def unguarded(text: str) -> str:
    """A text of a CSV file without the guard that :func:`anabranch.results.csv.guarded` puts before it."""
    return text[len(GUARD) :] if _GUARDED.match(text) else text
