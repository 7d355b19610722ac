"""REPETITA's ``.graph`` files (Gay, Schaus, Vissicchio 2017): directed edges between numbered nodes.

By that project's convention bandwidths are kbit/s and delays microseconds; x and y are longitude and latitude.
"""

from anabranch.topologies.attributes import ATTRIBUTES, plain_number
from anabranch.topologies.draft import Draft, draw_or_map
from anabranch.topologies.errors import TopologyError
from anabranch.topologies.formats import agreed, text
from anabranch.topologies.model import RANGES

_NODE = ("label", "x", "y")
_EDGE = ("label", "src", "dest", "weight", "bw", "delay")
_UNITS = {"bw": ("capacity", "kbit/s", 1000, 1), "delay": ("delay", "microseconds", 1, 1_000_000)}
"""The attribute and the unit of a column, and how many bit/s or seconds are how many of the unit."""
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
    draft = Draft(source, name, agreed(True, directed, source))
    places = draw_or_map(
        (_number(x, source, number, "x"), _number(y, source, number, "y")) for number, (_, x, y) in nodes
    )
    for index, ((_, (label, _, _)), place) in enumerate(zip(nodes, places, strict=True)):
        draft.node(index, label, place)
    for number, (_, start, end, weight, bandwidth, delay) in edges:
        values = {
            "cost": weight,
            "capacity": _quantity(bandwidth, source, number, "bw"),
            "delay": _quantity(delay, source, number, "delay"),
        }
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


def _quantity(value: str, source: str, line: int, column: str) -> float:
    """Bit/s or seconds."""
    name, unit, base, units = _UNITS[column]
    quantity = _number(value, source, line, column) * base / units
    allowed = RANGES[ATTRIBUTES[name]]
    if not allowed.holds(quantity):
        least, most = (f"{bound * units / base:g}" for bound in (allowed.low, allowed.high))
        than = "at least" if allowed.low_allowed else "more than"
        raise TopologyError(
            source, f"line {line}, {column}", value, f"must be {than} {least} and at most {most} {unit}"
        )
    return quantity
