"""SNDlib's native network files: sections of rows in brackets (https://sndlib.put.poznan.pl, "Native format").

A node has a longitude and latitude; if they are no degrees, they are a drawing's. A link's capacity is the pre-installed one, or that of its
largest module; its cost is the routing cost, or the set-up cost. Capacities and demands count Mbit/s.
"""

import re
from collections.abc import Iterator

from anabranch.network.topologies.attributes import plain_number
from anabranch.network.topologies.draft import Draft, draw_or_map
from anabranch.network.topologies.errors import TopologyError
from anabranch.network.topologies.formats import text

_BPS = 10**6
_SECTION = re.compile(r"\s*([A-Z_]+)\s*\(\s*")
_TOKEN = re.compile(r"[()]|[^\s()]+")
_NODES, _LINKS, _DEMANDS = "NODES", "LINKS", "DEMANDS"
_Row = tuple[int, list[str]]


def read(data: bytes, source: str, name: str, directed: bool | None) -> Draft:
    """Read the network; node names are the ids."""
    sections = _sections(text(data, source), source)
    draft = Draft(source, name, directed)
    nodes = sections.get(_NODES, [])
    points = {
        words[0]: (_number(words[2], source, line), _number(words[3], source, line))
        for line, words in nodes
        if len(words) == 5 and words[1] == "("
    }
    places = dict(zip(points, draw_or_map(points.values()), strict=True))
    for _, words in nodes:
        draft.node(words[0], None, places.get(words[0]))
    for line, words in sections.get(_LINKS, []):
        # id ( source target ) capacity cost-of-capacity routing-cost set-up-cost ( { module-capacity module-cost } )
        if len(words) < 5 or words[1] != "(" or words[4] != ")":
            raise TopologyError(source, f"line {line}", " ".join(words), "must be ID ( SOURCE TARGET ) and numbers")
        numbers = [_number(word, source, line) for word in words[5:] if word not in "()"]
        installed, _, routing, setup = (numbers + [0.0] * 4)[:4]
        capacity = installed or max(numbers[4::2], default=0.0)
        values = {"capacity": capacity * _BPS or None, "cost": routing or setup or None}
        draft.link(words[2], words[3], values, "line {}", line)
    return draft


def demands(written: str, source: str) -> Iterator[tuple[str, str, str, float]]:
    """Place, source, destination and bit/s of each demand; those of one pair are added.

    Raises:
        TopologyError: names the line, its value and what would be right.
    """
    found: dict[tuple[str, str], float] = {}
    for line, words in _sections(written, source).get(_DEMANDS, []):
        # id ( source target ) routing-unit value longest-path
        if len(words) < 7 or words[1] != "(" or words[4] != ")":
            raise TopologyError(
                source, f"line {line}", " ".join(words), "must be ID ( SOURCE TARGET ) UNIT VALUE LENGTH"
            )
        rate = _number(words[5], source, line) * _number(words[6], source, line) * _BPS
        found[words[2], words[3]] = found.get((words[2], words[3]), 0.0) + rate
    for (one, other), rate in found.items():
        yield source, one, other, rate


def _sections(written: str, source: str) -> dict[str, list[_Row]]:
    """The rows of each section: number of the line, and words."""
    sections: dict[str, list[_Row]] = {}
    rows: list[_Row] | None = None
    for number, raw in enumerate(written.splitlines(), 1):
        line = raw.partition("#")[0].strip()
        if not line or line.startswith("?"):
            continue
        if rows is None:
            head = _SECTION.match(line)
            if head is None:
                raise TopologyError(source, f"line {number}", line, "must begin a section such as NODES (")
            rows = sections.setdefault(head[1], [])
            line = line[head.end() :]
        words = _TOKEN.findall(line)
        ends = words.count(")") > words.count("(")
        words = words[:-1] if ends else words
        if words:
            rows.append((number, words))
        if ends:
            rows = None
    if rows is not None:
        raise TopologyError(source, "end of file", None, "comes before the ) that ends a section")
    return sections


def _number(word: str, source: str, line: int) -> float:
    number = plain_number(word)
    if number is None or not 0 <= abs(number) < float("inf"):
        raise TopologyError(source, f"line {line}", word, "must be a number")
    return number
