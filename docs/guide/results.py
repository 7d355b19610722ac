"""Writes the tables of the page on results from the columns' declarations: ``python docs/guide/results.py``."""

import re
from collections.abc import Sequence
from pathlib import Path

from anabranch.results.schema import TABLES, ResultColumn

PAGE = Path(__file__).parent / "results.md"
HEAD = "| column | type | unit | meaning | null |\n|---|---|---|---|---|\n"


def text() -> str:
    """The page with the tables of all columns that the core declares. The text around them stays."""
    page = PAGE.read_text(encoding="utf-8")
    for name, columns in TABLES.items():
        table = re.compile(rf"(^## {name}\n(?:(?!##|\|).*\n)*)((?:\|.*\n)+)", re.MULTILINE)
        assert table.search(page), f"{PAGE} has no table below '## {name}'"
        page = table.sub(lambda found, columns=columns: found[1] + HEAD + _rows(columns), page)  # type: ignore[misc]
    return page


def _rows(columns: Sequence[ResultColumn]) -> str:
    return "".join(
        f"| `{one.name}` | {one.type} |{' ' * bool(one.unit)}{one.unit} | {one.meaning.rstrip('.')} | {one.unknown or 'never'} |\n"
        for one in columns
    )


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
