"""Texts in CSV files that a spreadsheet must not execute as formulas."""

import re

GUARD = "'"
BEGINS = r"[=+\-@\t\r\n']"
"""How texts begin that spreadsheets take for formulas (OWASP, "CSV Injection"); and the guard itself, so that removing it gives the former text."""
_GUARDED = re.compile(GUARD + f"(?={BEGINS})")


def unguarded(text: str) -> str:
    """A text of a CSV file without the guard that :func:`anabranch.results.csv.guarded` puts before it."""
    return text[len(GUARD) :] if _GUARDED.match(text) else text
