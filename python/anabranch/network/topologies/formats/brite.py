"""BRITE's output (Medina et al., MASCOTS 2001): numbered nodes on a plane, and edges with length, delay and bandwidth.

Places are a drawing's. Lengths are kilometres and delays milliseconds, as BRITE makes one of the other by the speed of light; bandwidths
are Mbit/s.
"""

import re

from anabranch.network.topologies.attributes import plain_number
from anabranch.network.topologies.draft import Draft, draw_or_map
from anabranch.network.topologies.errors import TopologyError
from anabranch.network.topologies.formats import agreed, text
from anabranch.network.topologies.words import Word

_SECTION = re.compile(r"(Nodes|Edges):\s*\(\s*\d+\s*\)")
_WORDS = {"length": Word("length", "km"), "delay": Word("delay", "ms"), "bandwidth": Word("capacity", "Mbps")}


def read(data: bytes, source: str, name: str, directed: bool | None) -> Draft:
    """Read the file; node names are the numbers."""
    draft = Draft(source, name, agreed(False, directed, source), _WORDS)
    sections: dict[str, list[tuple[int, list[str]]]] = {"Nodes": [], "Edges": []}
    rows: list[tuple[int, list[str]]] | None = None
    for number, line in enumerate(text(data, source).splitlines(), 1):
        head = _SECTION.match(line.strip())
        if head is not None:
            rows = sections[head[1]]
        elif line.strip() and rows is not None:
            rows.append((number, line.split()))
    points = []
    for number, words in sections["Nodes"]:
        x, y = (plain_number(word) for word in words[1:3]) if len(words) >= 3 else (None, None)
        if x is None or y is None:
            raise TopologyError(source, f"line {number}", " ".join(words), "must be a node: NUMBER X Y and more")
        points.append((x, y))
    for (_, words), place in zip(sections["Nodes"], draw_or_map(points, geographical=False), strict=True):
        draft.node(words[0], None, place)
    for number, words in sections["Edges"]:
        if len(words) < 6:
            raise TopologyError(
                source,
                f"line {number}",
                " ".join(words),
                "must be an edge: NUMBER FROM TO LENGTH DELAY BANDWIDTH and more",
            )
        # -1 stands for what the model does not give
        values = {
            key: word
            for key, word in zip(("length", "delay", "bandwidth"), words[3:6], strict=True)
            if not word.startswith("-1")
        }
        draft.link(words[1], words[2], values, "line {}", number, True if words[-1] == "D" else None)
    return draft
