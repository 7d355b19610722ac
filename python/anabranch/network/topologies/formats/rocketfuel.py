"""Rocketfuel's maps (Spring, Mahajan, Wetherall, SIGCOMM 2002): ``weights.intra`` and ``latencies.intra``, and maps of routers (``.cch``).

A line of the first two is ``SOURCE TARGET NUMBER``, one way; the number is a weight (a cost), or with ``latenc`` in the file's name a
latency in milliseconds. Both files of one network are two topologies here. A line of a ``.cch`` map is a router with its neighbours,
whose links have neither capacity nor delay. Routers outside the map (negative numbers) are no nodes, nor are the links to them.
"""

import re

from anabranch.network.topologies.draft import Draft
from anabranch.network.topologies.errors import TopologyError
from anabranch.network.topologies.formats import agreed, text
from anabranch.network.topologies.words import Word

_ROUTER = re.compile(r"(-?\d+)\s+(?:@(\S+))?[^>]*?\((\d+)\)[^<{=]*(?:->)?((?:\s*<\d+>)*)((?:\s*\{-?\d+\})*)")
_OUTSIDE = re.compile(r"-\d+\s+=")
_LATENCY = {"number": Word("delay", "ms")}
_WEIGHT = {"number": Word("cost")}


def read(data: bytes, source: str, name: str, directed: bool | None) -> Draft:
    """Read the file; node names are the places with their numbers, or the numbers."""
    lines = [(number, line.strip()) for number, line in enumerate(text(data, source).splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if any(_ROUTER.match(line) or _OUTSIDE.match(line) for _, line in lines[:1]):
        return _map(lines, source, name, directed)
    draft = Draft(
        source,
        name,
        agreed(True, directed, source),
        _LATENCY if "latenc" in source.rpartition("/")[2].lower() else _WEIGHT,
    )
    rows = []
    for number, line in lines:
        words = line.split()
        if len(words) != 3:
            raise TopologyError(source, f"line {number}", line, "must be SOURCE TARGET NUMBER")
        rows.append((number, words))
    for node in dict.fromkeys(end for _, words in rows for end in words[:2]):
        draft.node(node, node.replace("+", " ").replace(",", ", ").replace(",  ", ", "))
    for number, (start, end, value) in rows:
        draft.link(start, end, {"number": value}, "line {}", number)
    return draft


def _map(lines: list[tuple[int, str]], source: str, name: str, directed: bool | None) -> Draft:
    routers: dict[str, tuple[int, str, list[str]]] = {}
    outside = 0
    for number, line in lines:
        if _OUTSIDE.match(line):
            continue
        match = _ROUTER.match(line)
        if match is None:
            raise TopologyError(source, f"line {number}", line, "must be NUMBER @PLACE (COUNT) -> <NEIGHBOUR> ...")
        identity, place, _, neighbours, others = match.groups()
        if identity in routers:
            raise TopologyError(source, f"line {number}", identity, "is listed twice; each router needs its own number")
        routers[identity] = number, place or "", re.findall(r"\d+", neighbours)
        outside += others.count("{")
    draft = Draft(source, name, agreed(False, directed, source))
    for identity, (_, place, _) in routers.items():
        draft.node(identity, f"{place.replace('+', ' ')} {identity}" if place not in ("", "?") else identity)
    # each end lists the other: an edge is one link both ways
    ends: dict[tuple[str, ...], int] = {}
    for identity, (number, _, neighbours) in routers.items():
        for neighbour in neighbours:
            if neighbour in routers:
                ends.setdefault(tuple(sorted((identity, neighbour))), number)
            else:
                outside += 1
    for (one, other), number in ends.items():
        draft.link(one, other, {}, "line {}", number)
    if outside:
        draft.notes.append(f"{outside} links to routers outside the map are left out")
    return draft
