"""GraphML, that of the Internet Topology Zoo too.

networkx also reads GraphML, but takes a second node of one id and an edge to no node without a word, so the little
that a topology needs of the format is read here. Of the Zoo's own attributes ``LinkSpeedRaw`` (bit/s) is the
capacity.
"""

from xml.etree.ElementTree import Element

from anabranch.topologies.draft import Draft
from anabranch.topologies.errors import TopologyError
from anabranch.topologies.formats import agreed
from anabranch.topologies.formats.xml import content, root


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
    title = str(_data(graph, keys, "graph").get("name", name))
    draft = Draft(source, title, agreed(default == "directed", directed, source))
    for number, node in enumerate(graph.iter("node"), 1):
        values = _data(node, keys, "node")
        draft.node(
            _attribute(node, "id", f"<node> {number}", source), values.get("label") or values.get("name"), values
        )
    for number, edge in enumerate(graph.iter("edge"), 1):
        element = f"<edge> {number}"
        own = edge.get("directed")
        if own is not None and (own == "true") != draft.directed:
            raise TopologyError(
                source, f"{element}, directed", own, "differs from the graph's edgedefault; make all alike"
            )
        values = _data(edge, keys, "edge")
        if "capacity" not in values and "LinkSpeedRaw" in values:
            values["capacity"] = values["LinkSpeedRaw"]
        start, end = (_attribute(edge, side, element, source) for side in ("source", "target"))
        draft.link(start, end, values, element)
    return draft


def _keys(graph: Element) -> dict[tuple[str, str], tuple[str, str | None]]:
    """The declared data: what they are for and their id, to their name and default."""
    keys = {}
    for key in graph.iter("key"):
        identity, kind = key.get("id", ""), key.get("for", "all")
        keys[kind, identity] = (key.get("attr.name", identity), content(key.find("default")))
    return keys


def _data(element: Element, keys: dict[tuple[str, str], tuple[str, str | None]], kind: str) -> dict[str, object]:
    values: dict[str, object] = {
        name: default for (used, _), (name, default) in keys.items() if used in (kind, "all") and default is not None
    }
    for data in element.findall("data"):
        identity = data.get("key", "")
        name, default = keys.get((kind, identity)) or keys.get(("all", identity)) or (identity, None)
        value = content(data) or default
        if value is not None:
            values[name] = value
    return values


def _attribute(element: Element, name: str, place: str, source: str) -> str:
    value = element.get(name)
    if value is None:
        raise TopologyError(source, place, None, f"has no {name}; it needs one")
    return value
