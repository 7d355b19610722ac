"""SNDlib's XML network files (https://sndlib.put.poznan.pl).

Coordinates x, y are longitude and latitude if the file says so, or a drawing's. A link's capacity is the pre-
installed one, or that of its largest module. Its cost is the routing cost, or the set-up cost. Whether links are directed
stands in another file (the model), so the caller says it.
"""

import re
from xml.etree.ElementTree import Element

from anabranch.network.topologies.attributes import plain_number
from anabranch.network.topologies.draft import Draft
from anabranch.network.topologies.errors import TopologyError
from anabranch.network.topologies.formats.xml import content, root

_UNITS_BPS = {"BITSPERSEC": 1, "KBITPERSEC": 10**3, "MBITPERSEC": 10**6, "GBITPERSEC": 10**9}
"""What capacities and demands count. Most instances name no unit. Most of the others count Mbit/s, but ``brain`` counts bit/s."""
_OWN = ("source", "target", "preInstalledModule", "additionalModules", "routingCost", "setupCost", "admissiblePaths")
"""The elements of a link that have a meaning of their own; others are read like attributes of other formats."""
_GEOGRAPHICAL = re.compile("geographical", re.IGNORECASE)


def read(data: bytes, source: str, name: str, directed: bool | None) -> Draft:
    """Read the file; node names are the ids."""
    top = root(data, source)
    nodes, links = top.find("networkStructure/nodes"), top.find("networkStructure/links")
    if top.tag != "network" or nodes is None or links is None:
        raise TopologyError(
            source, f"<{top.tag}>", None, "must be a <network> with a <networkStructure> of <nodes> and <links>"
        )
    axes = (
        ("longitude", "latitude")
        if _GEOGRAPHICAL.fullmatch(nodes.get("coordinatesType", "geographical"))
        else ("x", "y")
    )
    draft = Draft(source, name, directed)
    unit = unit_bps(top, source)
    for node in nodes.iter("node"):
        place = {axis: content(node.find(f"coordinates/{letter}")) for axis, letter in zip(axes, "xy", strict=True)}
        draft.node(node.get("id", ""), None, place)
    for number, link in enumerate(links.iter("link"), 1):
        element = f"<link> {link.get('id', number)}"
        ends = [content(link.find(side)) for side in ("source", "target")]
        draft.link(
            ends[0] or "", ends[1] or "", _attributes(link, unit, element, source), "<link> {}", link.get("id", number)
        )
    return draft


def unit_bps(network: Element, source: str) -> int:
    """The bit/s of one unit of a network's capacities and demands; Mbit/s if it does not say.

    Raises:
        TopologyError: a unit that is unknown.
    """
    unit = content(network.find("meta/unit")) or "MBITPERSEC"
    if unit not in _UNITS_BPS:
        raise TopologyError(source, "<unit>", unit, f"must be one of {', '.join(_UNITS_BPS)}")
    return _UNITS_BPS[unit]


def _attributes(link: Element, unit: int, element: str, source: str) -> dict[str, object]:
    values: dict[str, object] = {child.tag: content(child) for child in link if child.tag not in _OWN}
    modules = [_amount(capacity, element, source) for capacity in link.findall("additionalModules/addModule/capacity")]
    installed = _amount(link.find("preInstalledModule/capacity"), element, source)
    capacity = installed or max(modules, default=0)
    if values.get("capacity") is None and capacity:
        values["capacity"] = capacity * unit
    if values.get("cost") is None:
        routing, setup = (_amount(link.find(kind), element, source) for kind in ("routingCost", "setupCost"))
        values["cost"] = routing or setup or None
    return values


def _amount(found: Element | None, element: str, source: str) -> float:
    """A number of SNDlib's, 0 (which there means none) if it is absent."""
    value = content(found)
    number = 0.0 if value is None else plain_number(value)
    if number is None or not 0 <= number < float("inf"):
        tag = "" if found is None else found.tag
        raise TopologyError(source, f"{element}, <{tag}>", value, "must be a number of at least 0")
    return number
