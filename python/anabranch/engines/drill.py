"""Scripts in packetdrill's language, run against the simulated sender and receiver."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from anabranch import _core
from anabranch.foundation import input_files

Verdict = Literal["passed", "failed", "refused", "invalid"]


@dataclass(frozen=True)
class Row:
    """A segment that the script expects, or that was sent, or both; times in seconds."""

    line: int | None
    expected_s: float | None
    expected: str | None
    sent_s: float | None
    sent: str | None
    agrees: bool


@dataclass(frozen=True)
class Outcome:
    """The result of a script.

    The verdict is ``passed``, ``failed`` (with rows to compare), ``refused`` (the simulator lacks something) or ``invalid``
    (not of the language). ``line`` and ``text`` say where and why.
    """

    file: Path
    verdict: Verdict
    line: int | None
    text: str
    rows: tuple[Row, ...]

    def document(self) -> dict[str, Any]:
        """The outcome for JSON."""
        rows = [vars(row) for row in self.rows]
        return {"file": str(self.file), "verdict": self.verdict, "line": self.line, "text": self.text, "rows": rows}


def run(file: Path, stack: str = "linux") -> Outcome:
    """Run one script against a stack (``linux`` or ``rfc``), unless the script's comments name another.

    Raises :class:`ValueError` for a stack that there is not, and for a file that cannot be read or is not text.
    """
    found = json.loads(_core.drill(input_files.text(file), stack))
    if problem := found.get("problem"):
        return Outcome(file, "refused" if problem["refused"] else "invalid", problem["line"], problem["text"], ())
    rows = tuple(Row(**row) for row in found["rows"])
    if failure := found["failure"]:
        return Outcome(file, "failed", failure["line"], failure["text"], rows)
    return Outcome(file, "passed", None, "", rows)


def describe(outcome: Outcome) -> Iterator[str]:
    """The lines that a user reads about a script. For a failed script they list the segments expected and sent."""
    where = str(outcome.file) if outcome.line is None else f"{outcome.file}:{outcome.line}"
    words = {"passed": "passed", "failed": "FAILED", "refused": "refused, not modelled", "invalid": "INVALID"}
    yield f"{where}: {words[outcome.verdict]}" + (f": {outcome.text}" if outcome.text else "")
    if outcome.verdict == "failed" and outcome.rows:
        yield from comparison(outcome.rows)


def comparison(rows: Sequence[Row]) -> Iterator[str]:
    """The segments expected and sent as a table; ``!`` marks a difference, and ``+`` a segment that no line of the script expects."""
    head = ("", "line", "expected", "at", "sent", "at", "off")
    cells = [head, *(_cells(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    for row in cells:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _cells(row: Row) -> tuple[str, ...]:
    mark = "" if row.agrees else "+" if row.expected is None else "!"
    off = "" if row.expected_s is None or row.sent_s is None else f"{row.sent_s - row.expected_s:+.6f}"
    return (
        mark,
        "" if row.line is None else str(row.line),
        row.expected or "-",
        "" if row.expected_s is None else f"{row.expected_s:.6f}",
        row.sent or "-",
        "" if row.sent_s is None else f"{row.sent_s:.6f}",
        off,
    )


def summary(outcomes: Iterable[Outcome]) -> str:
    """How many scripts passed, failed, were refused and are invalid."""
    verdicts = Counter(outcome.verdict for outcome in outcomes)
    return ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in get_args(Verdict) if verdicts[verdict])
