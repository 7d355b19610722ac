"""CSV with a header row: the ends of an edge, and any of ``delay``, ``length``, ``loss``, ``capacity``, ``cost``.

A row is an edge. The nodes are the ends of edges, in the order of the rows. Unless the caller says that edges are directed, each
row is a link both ways; if every row has one back, each is one direction. Semicolons, tabs or blanks may separate columns.
TEAVAR's ``topology.txt`` is such a table.
"""

import csv
from array import array
from difflib import get_close_matches
from itertools import chain

from anabranch import _core
from anabranch.foundation import csv_text
from anabranch.foundation.ends import ENDS, canonical
from anabranch.network.topologies.attributes import ATTRIBUTES, Coded
from anabranch.network.topologies.draft import Draft
from anabranch.network.topologies.errors import TopologyError
from anabranch.network.topologies.formats import text
from anabranch.network.topologies.words import NAMES, resembled, word_of

_MORE_ENDS = {
    **dict.fromkeys(("from_node", "node1", "start"), "source"),
    **dict.fromkeys(("to_node", "node2", "end"), "target"),
}
"""Further names of the columns of both ends."""
_SPECIAL = ('"', "\r", ", ", "\n ")
"""Quotes, other ends of lines, and blanks that begin a cell."""
_CLOSE = 0.75
"""How alike a column is to one that it is a misspelling of."""


def read(data: bytes, source: str, name: str, directed: bool | None) -> Draft:
    """Read the file."""
    written = text(data, source)
    draft = Draft(source, name, directed)
    return draft if _read_columns(written, draft) else _read_rows(written, Draft(source, name, directed))


def _read_columns(written: str, draft: Draft) -> bool:
    """Whether a file could be read at once: nothing in it is wrong, quoted, blank or parallel."""
    head, _, lines = written.rstrip("\n").partition("\n")
    header = head.split(",")
    known = set(header)
    if (
        any(sign in written for sign in _SPECIAL)
        or len(known) < len(header)
        or not known - ENDS.keys() <= ATTRIBUTES.keys()
        or not ENDS.keys() <= known
    ):
        return False
    source, target = map(header.index, ENDS)
    coded = _core.coded_columns(lines, len(header), (source, target))
    if coded is None:
        return False
    columns = [Coded(texts, array("I", places)) for texts, places in coded]
    nodes = columns[source].distinct
    if not all(nodes) or list(map(str.strip, nodes)) != nodes:
        return False
    if any(len(text) > csv.field_size_limit() for column in columns for text in column.distinct):
        return False
    draft.plain_nodes(nodes)
    values = {name: column for name, column in zip(header, columns, strict=True) if name not in ENDS}
    return draft.numbered_links(columns[source].places, columns[target].places, values)


def _read_rows(written: str, draft: Draft) -> Draft:
    source = draft.source
    rows = csv_text.rows(written)
    seen: set[str] = set()
    try:
        header = [_column(column) for column in next(rows, [])]
        _check_header(header, draft)
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
            for end in ENDS:
                cell = values[end]
                if cell not in seen:
                    seen.add(cell)
                    if cell.strip() and not draft.knows(cell):
                        draft.node(cell)
            draft.link(values["source"], values["target"], values, "line {}", rows.line_num)
    except csv.Error as error:
        raise TopologyError(source, f"line {rows.line_num}", None, f"is not CSV ({error})") from None
    return draft


def _column(written: str) -> str:
    """A column, with an end under its first name."""
    column = written.strip()
    return _MORE_ENDS.get(column.lower()) or canonical(column)


def _check_header(header: list[str], draft: Draft) -> None:
    source = draft.source
    known = (*ENDS, *ATTRIBUTES)
    for end in ENDS:
        if end not in header:
            raise TopologyError(
                source,
                "header",
                ",".join(header),
                f"has no column {end}; it needs source and target, separated by commas",
            )
    ignored = []
    for column in header:
        if header.count(column) > 1:
            raise TopologyError(source, "header", column, "appears twice; keep one")
        if column in known or word_of(column):
            continue
        close = get_close_matches(column, [*known, *chain.from_iterable(NAMES.values())], 1, _CLOSE)
        if close:
            raise TopologyError(source, "header", column, f"is not a column; did you mean {close[0]}?")
        if not resembled(column):  # of which the draft warns
            ignored.append(column)
    if ignored:
        draft.notes.append(f"these columns are not read: {', '.join(ignored)}; known are {', '.join(known)}")
