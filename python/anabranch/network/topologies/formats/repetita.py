"""REPETITA's ``.graph`` files (Gay, Schaus, Vissicchio 2017): directed edges between numbered nodes.

By that project's convention bandwidths are kbit/s and delays microseconds; x and y are longitude and latitude.
"""

from anabranch.network.topologies.attributes import plain_number
from anabranch.network.topologies.draft import Draft, draw_or_map
from anabranch.network.topologies.errors import TopologyError
from anabranch.network.topologies.formats import agreed, text
from anabranch.network.topologies.words import Word

_NODE = ("label", "x", "y")
_EDGE = ("label", "src", "dest", "weight", "bw", "delay")
_WORDS = {"weight": Word("cost"), "bw": Word("capacity", "kbps"), "delay": Word("delay", "us")}
_MOST_DIGITS = 12
"""Digits that are read of a number of rows. No file has so many rows, and Python does not convert thousands of digits."""


def read(data: bytes, source: str, name: str, directed: bool | None) -> Draft:
    """Read the file; node names are the labels."""
    lines = [(number, line.split()) for number, line in enumerate(text(data, source).splitlines(), 1) if line.strip()]
    nodes, rest = _section(lines, "NODES", _NODE, source)
    edges, rest = _section(rest, "EDGES", _EDGE, source)
    if rest:
        raise TopologyError(
            source, f"line {rest[0][0]}", " ".join(rest[0][1]), "must not follow the edges that EDGES counts"
        )
    draft = Draft(source, name, agreed(True, directed, source), _WORDS)
    places = draw_or_map(
        (_number(x, source, number, "x"), _number(y, source, number, "y")) for number, (_, x, y) in nodes
    )
    for index, ((_, (label, _, _)), place) in enumerate(zip(nodes, places, strict=True)):
        draft.node(index, label, place)
    for number, (_, start, end, weight, bandwidth, delay) in edges:
        values = {"weight": weight, "bw": bandwidth, "delay": delay}
        draft.link(start, end, values, "line {}", number)
    return draft


Lines = list[tuple[int, list[str]]]


def _section(lines: Lines, keyword: str, columns: tuple[str, ...], source: str) -> tuple[Lines, Lines]:
    """The rows under ``KEYWORD count`` and a line of column names, and the lines after them."""
    if len(lines) < 2:
        raise TopologyError(source, "end of file", None, f"must not come before the section {keyword}")
    (number, head), (_, memo) = lines[:2]
    if head[0] != keyword or len(head) > 2:
        raise TopologyError(source, f"line {number}", " ".join(head), f"must be {keyword} and their number")
    if tuple(memo) != columns:
        raise TopologyError(
            source, f"line {lines[1][0]}", " ".join(memo), f"must be the column names: {' '.join(columns)}"
        )
    if len(head) == 2:
        if not head[1].isascii() or not head[1].isdigit():
            raise TopologyError(source, f"line {number}, {keyword}", head[1], "must be a whole number")
        count = int(head[1][:_MOST_DIGITS])
    else:
        ends = (place for place, (_, words) in enumerate(lines[2:]) if words[0] == "EDGES")
        count = next(ends, len(lines) - 2)
    rows = lines[2 : 2 + count]
    if len(rows) < count:
        raise TopologyError(
            source, f"line {number}, {keyword}", head[1], f"only {len(rows)} rows follow; say how many there are"
        )
    for row, words in rows:
        if len(words) != len(columns):
            raise TopologyError(source, f"line {row}", " ".join(words), f"must have the columns {' '.join(columns)}")
    return rows, lines[2 + count :]


def _number(value: str, source: str, line: int, column: str) -> float:
    number = plain_number(value)
    if number is None:
        raise TopologyError(source, f"line {line}, {column}", value, "must be a number")
    return number
