"""Tables as text: columns between commas, semicolons, tabs, or blanks, as the first line has them."""

import csv
import io
import re
from typing import Any

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
