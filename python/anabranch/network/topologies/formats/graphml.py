"""GraphML, also that of the Internet Topology Zoo, and the drawings of yEd.

networkx also reads GraphML, but accepts a second node of one id and an edge to no node without a warning. So this module reads
the few parts of the format that a topology needs. In yEd's drawings a node's name is its label, and an edge without an arrow, or with one at
each end, leads both ways. A group of nodes is no node, unless an edge ends at it.
"""

from typing import NamedTuple
from xml.etree.ElementTree import Element

from anabranch.network.topologies.attributes import plain_number
from anabranch.network.topologies.draft import Draft
from anabranch.network.topologies.errors import TopologyError
from anabranch.network.topologies.formats import agreed
from anabranch.network.topologies.formats.xml import content, root

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
    edges = list(graph.iter("edge"))
    ends = {edge.get(side) for edge in edges for side in ("source", "target")}
    for number, node in enumerate(graph.iter("node"), 1):
        values = _data(node, of_nodes)
        identity = node.get("id")
        if identity is None:
            raise _missing("id", f"<node> {number}", source)
        if node.find("graph") is None or identity in ends:
            name_of_node = values.get("label") or values.get("name") or content(_drawn(node, "NodeLabel"))
            draft.node(identity, name_of_node, _place(node) | values)
    if graph.find(".//hyperedge") is not None:
        raise TopologyError(source, "<hyperedge>", None, "joins any number of nodes; write an <edge> for each link")
    data_of_edges = [_data(edge, of_edges) for edge in edges]
    if _read_columns(edges, data_of_edges, draft):
        return draft
    for number, (edge, values) in enumerate(zip(edges, data_of_edges, strict=True), 1):
        start, end = edge.get("source"), edge.get("target")
        if start is None or end is None:
            raise _missing("source" if start is None else "target", f"<edge> {number}", source)
        is_directed, leads_back = _direction(edge)
        if leads_back:
            start, end = end, start
        if (label := content(_drawn(edge, "EdgeLabel"))) is not None:
            values.setdefault("label", label)
        draft.link(start, end, values, "<edge> {}", number, is_directed)
    return draft


def _read_columns(edges: list[Element], data: list[dict[str, object]], draft: Draft) -> bool:
    """Whether the edges could be read at once: nothing in them is wrong or drawn, and no two are parallel."""
    if any(edge.get("directed") is not None or edge.find("data/*") is not None for edge in edges):
        return False
    sources, targets = ([edge.get(side) for edge in edges] for side in ("source", "target"))
    names = filter(draft.reads, sorted(set[str]().union(*data)))
    return draft.plain_links(sources, targets, {name: [values.get(name) for values in data] for name in names})


def _direction(edge: Element) -> tuple[bool | None, bool]:
    """Whether an edge says that it is directed, and whether it leads from its target to its source."""
    own = edge.get("directed")
    if own is not None:
        return own in ("true", "1"), False
    arrows = _drawn(edge, "Arrows")
    if arrows is None:
        return None, False
    at_source, at_target = (arrows.get(side, "none") != "none" for side in ("source", "target"))
    return at_source != at_target, at_source and not at_target


def _drawn(element: Element, tag: str) -> Element | None:
    """A part of yEd's drawing of a node or an edge."""
    return element.find(f"data/*/{tag}")


def _place(node: Element) -> dict[str, object]:
    """The place of a node in yEd's drawing, whose y counts downwards."""
    geometry = _drawn(node, "Geometry")
    if geometry is None:
        return {}
    x, y = plain_number(geometry.get("x")), plain_number(geometry.get("y"))
    return {} if x is None or y is None else {"x": x, "y": -y}


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
