"""CSV with a header row: ``source``, ``target`` and any of ``delay``, ``length``, ``loss``, ``capacity``, ``cost``.

A row is an edge. The nodes are the ends of edges, in the order of the rows. Unless the caller says that edges are directed, each
row is a link both ways.
"""

import csv
import io
from difflib import get_close_matches
from itertools import chain
from typing import Any

from anabranch.topologies.attributes import ATTRIBUTES
from anabranch.topologies.draft import Draft
from anabranch.topologies.errors import TopologyError
from anabranch.topologies.formats import text

_ENDS = ("source", "target")


def read(data: bytes, source: str, name: str, directed: bool | None) -> Draft:
    """Read the file."""
    written = text(data, source)
    draft = Draft(source, name, directed)
    return draft if _read_columns(written, draft) else _read_rows(written, Draft(source, name, directed))


def _reader(written: str) -> Any:
    return csv.reader(io.StringIO(written, newline=""), strict=True, skipinitialspace=True)


def _read_columns(written: str, draft: Draft) -> bool:
    """Whether a file could be read at once: nothing in it is wrong, blank or parallel."""
    try:
        header, *rows = _reader(written)
        columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    except (csv.Error, ValueError):  # no rows, or of different lengths
        return False
    if len(columns) < len(header) or not {*_ENDS} <= columns.keys() <= {*_ENDS, *ATTRIBUTES}:
        return False
    sources, targets = (columns.pop(end) for end in _ENDS)
    nodes = dict.fromkeys(chain.from_iterable(zip(sources, targets, strict=True)))
    if not all(node and node == node.strip() for node in nodes):
        return False
    for node in nodes:
        draft.node(node)
    return draft.plain_links(sources, targets, columns)


def _read_rows(written: str, draft: Draft) -> Draft:
    source = draft.source
    rows = _reader(written)
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
