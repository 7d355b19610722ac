"""A topology as text that :func:`anabranch.network.topologies.load` reads back.

Numbers are written without units (seconds, metres, bit/s) and with all their digits, and every link is directed.
"""

import json
from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from anabranch.network.topologies.attributes import ATTRIBUTES
from anabranch.network.topologies.links import Link
from anabranch.network.topologies.model import Node, Topology

_NAMESPACE = "http://graphml.graphdrawing.org/xmlns"


def to_graphml(topology: Topology) -> str:
    """GraphML. (That of networkx groups links by their source; their order is part of a topology.)"""
    top = Element("graphml", xmlns=_NAMESPACE)
    graph = Element("graph", edgedefault="directed")
    declared: dict[tuple[str, str], str] = {}

    def describe(element: Element, values: Mapping[str, str | float]) -> None:
        for name, value in values.items():
            key = declared.get((element.tag, name))
            if key is None:
                key = declared[element.tag, name] = f"{element.tag}-{name}"
                kind = "string" if isinstance(value, str) else "long" if name == "capacity" else "double"
                SubElement(top, "key", {"id": key, "for": element.tag, "attr.name": name, "attr.type": kind})
            SubElement(element, "data", key=key).text = str(value)

    describe(graph, {"name": topology.name})
    for node in topology.nodes:
        describe(SubElement(graph, "node", id=node.name), _place(node))
    for link in topology.links:
        describe(SubElement(graph, "edge", source=link.source, target=link.target), _attributes(link))
    top.append(graph)
    indent(top)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(top, encoding="unicode") + "\n"


def to_json(topology: Topology) -> str:
    """Node-link JSON, as TopoHub and networkx have it."""
    document: dict[str, Any] = {
        "directed": True,
        "multigraph": False,
        "graph": {"name": topology.name},
        "nodes": [{"id": node.name, **_place(node)} for node in topology.nodes],
        "edges": [{"source": link.source, "target": link.target, **_attributes(link)} for link in topology.links],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _place(node: Node) -> dict[str, float]:
    known = {name: getattr(node, name) for name in ("latitude", "longitude", "x", "y")}
    return {name: value for name, value in known.items() if value is not None}


def _attributes(link: Link) -> dict[str, float]:
    known = {name: getattr(link, attribute) for name, attribute in ATTRIBUTES.items()}
    return {name: value for name, value in known.items() if value is not None}
