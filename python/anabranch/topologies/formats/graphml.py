"""GraphML, also that of the Internet Topology Zoo.

networkx also reads GraphML, but accepts a second node of one id and an edge to no node without a warning. So this module reads
the few parts of the format that a topology needs. The Zoo's own attribute ``LinkSpeedRaw`` (bit/s) is the
capacity.
"""

from typing import NamedTuple
from xml.etree.ElementTree import Element

from anabranch.topologies.attributes import ATTRIBUTES
from anabranch.topologies.draft import Draft
from anabranch.topologies.errors import TopologyError
from anabranch.topologies.formats import agreed
from anabranch.topologies.formats.xml import content, root

_Key = tuple[str, str | None]
"""Name and default."""


def read(data: bytes, source: str, name: str, directed: bool | None) -> Draft:
    """Read the file; node names are the data ``label`` or ``name``, else the ids."""
    graph = root(data, source)
    keys = _keys(graph)
    found = graph.findall("graph")
    if graph.tag != "graphml" or len(found) != 1:
        raise TopologyError(source, f"<{graph.tag}>", None, "must be a <graphml> that holds one <graph>")
    graph = found[0]
    default = graph.get("edgedefault")
    if default not in ("directed", "undirected"):
        raise TopologyError(source, "<graph>, edgedefault", default, 'must be "directed" or "undirected"')
    title = str(_data(graph, _of_kind(keys, "graph")).get("name", name))
    draft = Draft(source, title, agreed(default == "directed", directed, source))
    of_nodes, of_edges = _of_kind(keys, "node"), _of_kind(keys, "edge")
    for number, node in enumerate(graph.iter("node"), 1):
        values = _data(node, of_nodes)
        identity = node.get("id")
        if identity is None:
            raise _missing("id", f"<node> {number}", source)
        draft.node(identity, values.get("label") or values.get("name"), values)
    if graph.find(".//hyperedge") is not None:
        raise TopologyError(source, "<hyperedge>", None, "joins any number of nodes; write an <edge> for each link")
    edges = list(graph.iter("edge"))
    data_of_edges = [_data(edge, of_edges) for edge in edges]
    for values in data_of_edges:
        if "capacity" not in values and "LinkSpeedRaw" in values:
            values["capacity"] = values["LinkSpeedRaw"]
    if _read_columns(edges, data_of_edges, draft):
        return draft
    for number, (edge, values) in enumerate(zip(edges, data_of_edges, strict=True), 1):
        own = edge.get("directed")
        if own is not None and (own in ("true", "1")) != draft.directed:
            raise TopologyError(
                source, f"<edge> {number}, directed", own, "differs from the graph's edgedefault; make all alike"
            )
        start, end = edge.get("source"), edge.get("target")
        if start is None or end is None:
            raise _missing("source" if start is None else "target", f"<edge> {number}", source)
        draft.link(start, end, values, "<edge> {}", number)
    return draft


def _read_columns(edges: list[Element], data: list[dict[str, object]], draft: Draft) -> bool:
    """Whether the edges could be read at once: nothing in them is wrong, and no two are parallel."""
    if any(edge.get("directed") is not None for edge in edges):
        return False
    sources, targets = ([edge.get(side) for edge in edges] for side in ("source", "target"))
    return draft.plain_links(sources, targets, {name: [values.get(name) for values in data] for name in ATTRIBUTES})


def _keys(graph: Element) -> dict[tuple[str, str], _Key]:
    """The declared data: from the kind of element and the id to the name and default."""
    keys = {}
    for key in graph.iter("key"):
        identity, kind = key.get("id", ""), key.get("for", "all")
        keys[kind, identity] = (key.get("attr.name", identity), content(key.find("default")))
    return keys


class _Data(NamedTuple):
    """The data of one kind of element: by id, and the defaults by name."""

    keys: dict[str, _Key]
    defaults: dict[str, object]


def _of_kind(keys: dict[tuple[str, str], _Key], kind: str) -> _Data:
    used = [(of, identity, key) for (of, identity), key in keys.items() if of in (kind, "all")]
    return _Data(
        {identity: key for wanted in ("all", kind) for of, identity, key in used if of == wanted},
        {name: default for _, _, (name, default) in used if default is not None},
    )


def _data(element: Element, kind: _Data) -> dict[str, object]:
    values = dict(kind.defaults)
    for data in element:
        if data.tag != "data":
            continue
        identity = data.get("key", "")
        name, default = kind.keys.get(identity) or (identity, None)
        value = content(data) or default
        if value is not None:
            values[name] = value
    return values


def _missing(name: str, place: str, source: str) -> TopologyError:
    return TopologyError(source, place, None, f"has no {name}; it needs one")
