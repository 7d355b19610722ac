"""Which to choose: each transport with the policy that serves it best under the worst of its kinds of traffic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anabranch.foundation.text_table import TextTable
from anabranch.studies.fabrics.answer import FabricAnswer, FabricCell, Value

TITLE = "Which to choose: each transport with its best policy, by the worst of these kinds of traffic"
HEAD = ("transport", "entropy", "worst under", "level with it", "times least")
"""The columns of :func:`table`."""
_Row = tuple[Value, str, str]
"""The greatest multiple of a row, its kind of traffic, and the policy."""


@dataclass(frozen=True)
class Choice:
    """A transport, and the policy whose greatest multiple of the least time is smallest."""

    transport: str
    entropy: str
    worst: Value
    """The last completion over the least time, under ``kind``."""
    kind: str
    """The kind of traffic where this multiple is greatest."""
    level: tuple[str, ...] | None
    """Other policies of the transport that are not worse beyond the 95 % intervals. Unknown for one seed."""


def choices(answer: FabricAnswer) -> list[Choice]:
    """A choice for each transport, the best first. Rows with unfinished messages, or without a run under some kind of traffic, are left out."""
    found: dict[str, list[_Row]] = {}
    for row in answer.rows:
        worst = _worst({kind: cells.get(row.name) for kind, cells in answer.cells.items()})
        if worst is not None:
            found.setdefault(row.transport, []).append((*worst, row.entropy))
    return sorted((_choice(name, rows) for name, rows in found.items()), key=lambda choice: choice.worst.mean)


def table(answer: FabricAnswer) -> TextTable:
    """The choices in the columns of :data:`HEAD`."""

    def level(names: tuple[str, ...] | None) -> str:
        return "unknown for one seed" if names is None else ", ".join(names) or "-"

    rows = [
        (choice.transport, choice.entropy, choice.kind, level(choice.level), choice.worst.written())
        for choice in choices(answer)
    ]
    return TextTable(HEAD, rows, len(HEAD) - 1)


def _worst(cells: Mapping[str, FabricCell | None]) -> tuple[Value, str] | None:
    """The greatest multiple over the kinds of traffic, and its kind."""
    known = [
        (cell.times_least, kind) for kind, cell in cells.items() if cell is not None and cell.times_least is not None
    ]
    return max(known, key=lambda one: one[0].mean) if len(known) == len(cells) else None


def _choice(transport: str, rows: Sequence[_Row]) -> Choice:
    worst, kind, entropy = min(rows, key=lambda row: row[0].mean)
    level = tuple(name for value, _, name in rows if name != entropy and not worst.below(value))
    return Choice(transport, entropy, worst, kind, None if worst.interval is None else level)
