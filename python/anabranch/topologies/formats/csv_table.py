"""CSV with a header row: ``source``, ``target`` and any of ``delay``, ``length``, ``loss``, ``capacity``, ``cost``.

A row is an edge; nodes are those that rows name, in that order. Unless the caller says that edges are directed, each
row is a link both ways.
"""

import csv
import io
from difflib import get_close_matches

from anabranch.topologies.attributes import ATTRIBUTES
from anabranch.topologies.draft import Draft
from anabranch.topologies.errors import TopologyError
from anabranch.topologies.formats import text

_ENDS = ("source", "target")


def read(data: bytes, source: str, name: str, directed: bool | None) -> Draft:
    """Read the file."""
    rows = csv.reader(io.StringIO(text(data, source), newline=""), strict=True, skipinitialspace=True)
    draft = Draft(source, name, directed)
    seen: set[str] = set()
    try:
        header = [column.strip() for column in next(rows, [])]
        _check_header(header, source)
        for row in rows:
            if not "".join(row).strip():
                continue
            if len(row) != len(header):
                raise TopologyError(
                    source,
                    f"line {rows.line_num}",
                    ",".join(row),
                    f"has {len(row)} fields; the header has {len(header)}",
                )
            values = dict(zip(header, row, strict=True))
            for end in _ENDS:
                cell = values[end]
                if cell not in seen:
                    seen.add(cell)
                    if cell.strip() and not draft.knows(cell):
                        draft.node(cell)
            draft.link(values["source"], values["target"], values, "line {}", rows.line_num)
    except csv.Error as error:
        raise TopologyError(source, f"line {rows.line_num}", None, f"is not CSV ({error})") from None
    return draft


def _check_header(header: list[str], source: str) -> None:
    known = (*_ENDS, *ATTRIBUTES)
    for column in header:
        if column not in known:
            close = get_close_matches(column, known, 1)
            hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
            raise TopologyError(source, "header", column, f"is not a column; {hint}")
        if header.count(column) > 1:
            raise TopologyError(source, "header", column, "stands there twice; keep one")
    for end in _ENDS:
        if end not in header:
            raise TopologyError(source, "header", ",".join(header), f"has no column {end}; it needs source and target")
