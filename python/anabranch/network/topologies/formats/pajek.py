"""Pajek's networks (``.net``): ``*Vertices`` with names and places of a drawing, ``*Arcs`` one way and ``*Edges`` both ways.

The number after the ends of a line is its weight, which is a cost; further words are attributes in pairs, such as ``l "10 ms"``.
"""

import shlex
from collections.abc import Iterator

from anabranch.network.topologies.attributes import plain_number
from anabranch.network.topologies.draft import Draft
from anabranch.network.topologies.errors import TopologyError
from anabranch.network.topologies.formats import agreed, text

_SECTIONS = ("*network", "*vertices", "*arcs", "*edges")


def read(data: bytes, source: str, name: str, directed: bool | None) -> Draft:
    """Read the file; node names are the labels."""
    draft = Draft(source, name, agreed(False, directed, source))
    section = ""
    for number, words in _lines(text(data, source), source):
        if words[0].startswith("*"):
            section = words[0].lower()
            if section == "*network" and len(words) > 1:
                draft.name = words[1]
            if section not in _SECTIONS:
                raise TopologyError(
                    source,
                    f"line {number}",
                    words[0],
                    "is not read; write links below *Arcs (one way) or *Edges (both ways)",
                )
        elif section == "*vertices":
            x, y = (plain_number(word) for word in (words[2:4] if len(words) > 3 else ("", "")))
            place = {} if x is None or y is None else {"x": x, "y": -y}  # whose y counts downwards
            draft.node(words[0], words[1] if len(words) > 1 else None, place)
        elif section in ("*arcs", "*edges"):
            if len(words) < 2:
                raise TopologyError(
                    source, f"line {number}", " ".join(words), "must have two nodes, and may have a weight"
                )
            values: dict[str, object] = {"weight": words[2]} if len(words) > 2 else {}
            for key, value in zip(words[3::2], words[4::2], strict=False):
                values["label" if key == "l" else key] = value
            draft.link(words[0], words[1], values, "line {}", number, section == "*arcs")
        else:
            raise TopologyError(source, f"line {number}", " ".join(words), "must begin with *Vertices and their number")
    return draft


def _lines(written: str, source: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(written.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("%"):
            try:
                words = shlex.split(line)
            except ValueError as error:
                raise TopologyError(source, f"line {number}", line.strip(), f"cannot be read ({error})") from None
            if words:
                yield number, words
