"""Node-link JSON as TopoHub and networkx write it.

Nodes have ``id``, ``name`` or ``label``, and ``pos``, edges ``source`` and ``target``, or other names of the ends (:mod:`anabranch.foundation.ends`). ``pos`` is a place on a drawing, as networkx has it.
In a document of TopoHub it is [longitude, latitude]; ``dist`` is the length in kilometres, as TopoHub has it.
"""

from collections.abc import Mapping
from typing import Any

from anabranch.foundation.ends import ENDS, key_of
from anabranch.foundation.input_files import InputError, parse_json
from anabranch.network.topologies.attributes import plain_number
from anabranch.network.topologies.draft import Draft, draw_or_map
from anabranch.network.topologies.errors import TopologyError
from anabranch.network.topologies.formats import agreed, text
from anabranch.network.topologies.words import Word

_WORDS = {"dist": Word("length", "km")}


def read(data: bytes, source: str, name: str, directed: bool | None) -> Draft:
    """Read the file; node names are ``name``, else the ids."""
    try:
        document = parse_json(text(data, source), source)
    except InputError as error:
        raise TopologyError(source, "JSON", None, error.reason) from None
    return from_document(document, source, name, directed)


def from_document(
    document: object, source: str, name: str, directed: bool | None = None, geographical: bool | None = None
) -> Draft:
    """The draft of a parsed document; ``geographical`` says what ``pos`` is, if it is known."""
    top = _mapping(document, source, "document")
    nodes = _list(top, ("nodes",), source)
    edges = _list(top, ("edges", "links"), source)
    own = _flag(top, "directed", source)
    about = _mapping(top.get("graph", {}), source, "graph")
    title = about.get("name")
    draft = Draft(
        source,
        title.strip() if isinstance(title, str) and title.strip() else name,
        agreed(own, directed, source),
        _WORDS,
    )
    rows = [_mapping(node, source, f"nodes[{number}]") for number, node in enumerate(nodes)]
    positions = {
        number: _position(row, source, number) for number, row in enumerate(rows) if row.get("pos") is not None
    }
    if geographical is None and not _is_of_topohub(about):
        geographical = False
        draft.drawn = bool(positions) and all(abs(x) <= 180 and abs(y) <= 90 for x, y in positions.values())
    places = dict(zip(positions, draw_or_map(positions.values(), geographical), strict=True))
    for number, row in enumerate(rows):
        if "id" not in row:
            raise TopologyError(source, f"nodes[{number}]", None, "has no id; it needs one")
        place = places.get(number)
        draft.node(row["id"], row.get("name") or row.get("label"), {**row, **place} if place else row)
    if _read_columns(edges, draft):
        return draft
    for number, edge in enumerate(edges):
        row = edge if isinstance(edge, dict) else _mapping(edge, source, f"edges[{number}]")
        source_key, target_key = (_key_of(side, row, source, number) for side in ENDS)
        draft.link(row[source_key], row[target_key], row, "edges[{}]", number)
    return draft


def _key_of(end: str, row: Mapping[str, Any], source: str, number: int) -> str:
    key = key_of(end, row)
    if key is None:
        names = ", ".join(ENDS[end])
        raise TopologyError(source, f"edges[{number}]", None, f"has no {end}, or several; its names are {names}")
    return key


def _read_columns(edges: list[Any], draft: Draft) -> bool:
    """Whether the edges could be read at once: nothing in them is wrong, and no two are parallel."""
    try:
        sources, targets = ([edge[side] for edge in edges] for side in ENDS)
        names = sorted(set[str]().union(*edges))
        values = {name: [edge.get(name) for edge in edges] for name in names if draft.reads(name)}
        return draft.plain_links(sources, targets, values)
    except (TypeError, KeyError, AttributeError):
        return False


def _is_of_topohub(about: Mapping[str, Any]) -> bool:
    """Whether TopoHub wrote the document: it says of each graph how long its links are."""
    stats = about.get("stats")
    return isinstance(stats, dict) and "avg_link_len" in stats


def _position(row: Mapping[str, Any], source: str, number: int) -> tuple[float, float]:
    position = row["pos"]
    if isinstance(position, list) and len(position) == 2:
        x, y = (plain_number(value) for value in position)
        if x is not None and y is not None:
            return x, y
    raise TopologyError(source, f"nodes[{number}], pos", position, "must be two numbers, such as [longitude, latitude]")


def _mapping(value: object, source: str, element: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TopologyError(source, element, value, "must be an object in braces")
    return value


def _list(top: Mapping[str, Any], keys: tuple[str, ...], source: str) -> list[Any]:
    for key in keys:
        if key in top:
            if not isinstance(top[key], list):
                raise TopologyError(source, key, top[key], "must be a list in square brackets")
            found: list[Any] = top[key]
            return found
    raise TopologyError(source, keys[0], None, "is missing; a topology is an object with nodes and edges")


def _flag(top: Mapping[str, Any], key: str, source: str) -> bool | None:
    value = top.get(key)
    if value is not None and not isinstance(value, bool):
        raise TopologyError(source, key, value, "must be true or false")
    return value
