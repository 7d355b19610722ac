"""A topology: named nodes, and directed links with their known attributes.

Units are SI and stand in the names. A value that the source does not give is ``None``; the scenario decides which value replaces
it.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import eq
from typing import Any, NamedTuple

from anabranch import _core
from anabranch.network.topologies.errors import TopologyError
from anabranch.network.topologies.links import Link, Links, columns

EARTH_RADIUS_M = 6_371_008.8
"""Mean radius of the Earth (IUGG: (2 a + b) / 3 of the GRS80 ellipsoid)."""

_SHOWN = 5


class AllowedRange(NamedTuple):
    """The values that a number may have: between two bounds, and how to say so."""

    low: float
    low_allowed: bool
    high: float
    high_allowed: bool
    expectation: str

    def holds(self, value: float) -> bool:
        """Whether the value lies in the range; NaN does not."""
        above = value >= self.low if self.low_allowed else value > self.low
        below = value <= self.high if self.high_allowed else value < self.high
        return above and below


RANGES = {
    "capacity_bps": AllowedRange(
        1, True, 1e15, True, 'must be at least 1 bit/s and at most 1000 Tbit/s, such as "10Mbps"'
    ),
    # The packet engine counts picoseconds in 56 bits.
    "delay_s": AllowedRange(
        0, False, (2**56 - 1) / 1e12, True, 'must be more than 0 and at most 20 hours, such as "5ms"'
    ),
    # Two nodes in one town have a link of length 0.
    "length_m": AllowedRange(0, True, 1e12, True, 'must be at least 0 and at most 1e9 km, such as "1000km"'),
    "loss": AllowedRange(0, True, 1, False, 'must be a ratio from 0 to less than 1, such as 0.001 or "0.1%"'),
    "cost": AllowedRange(0, False, 1e15, True, "must be more than 0 and at most 1e15, such as 10"),
}
"""The range of each attribute of a link."""

_COORDINATES = {
    "latitude": AllowedRange(-90, True, 90, True, "must be degrees north, from -90 to 90"),
    "longitude": AllowedRange(-180, True, 180, True, "must be degrees east, from -180 to 180"),
    "x": AllowedRange(-1e12, True, 1e12, True, "must be a finite number"),
    "y": AllowedRange(-1e12, True, 1e12, True, "must be a finite number"),
}


class Node(NamedTuple):
    """A node, on the Earth (degrees), or on a drawing (``x`` to the right, ``y`` upwards), or nowhere."""

    name: str
    latitude: float | None = None
    longitude: float | None = None
    x: float | None = None
    y: float | None = None


@dataclass(frozen=True)
class Topology:
    """Nodes and directed links, checked.

    No link joins a node to itself, and two nodes have at most one link each way. A link
    without a length whose ends both have geographical coordinates gets the great-circle distance. ``warnings`` says
    what a loader left out or changed; it does not count when topologies are compared. ``multihomed`` names the hosts with
    several neighbours; every node with one neighbour is a host anyway.
    """

    name: str
    nodes: tuple[Node, ...]
    links: Sequence[Link]
    """A tuple, or :class:`Links` that a reader or generator has checked."""
    warnings: tuple[str, ...] = field(default=(), compare=False)
    multihomed: tuple[str, ...] = field(default=(), compare=False)
    numbers: tuple[int, ...] = field(default=(), compare=False)
    """The places of the nodes in their file, if some of its nodes were left out."""
    in_parts: bool = field(default=False, compare=False)
    """Whether there may be parts without a link between them: files of others have some, and all else is refused then."""

    def __post_init__(self) -> None:
        """Check, and fill in the lengths.

        Raises:
            TopologyError: names the element, its value and what would be right.
        """
        self._check_nodes()
        self._check_links()
        if not self.in_parts and (parts := unconnected(self)) is not None:
            raise TopologyError(self.name, "links", None, f"{parts}; join them or keep one part")
        places = {node.name: (node.latitude, node.longitude) for node in self.nodes if node.latitude is not None}
        if places:
            object.__setattr__(self, "links", tuple(_with_lengths(self.links, places)))  # type: ignore[arg-type]

    def ends(self) -> Iterable[tuple[str, str]]:
        """Source and target of each link."""
        if isinstance(self.links, Links):
            return self.links.ends()
        return ((link.source, link.target) for link in self.links)

    def numbered(self) -> dict[int, str]:
        """The nodes by their places in their file, from 0, as the demands of some data sets name them."""
        names = [node.name for node in self.nodes]
        return dict(zip(self.numbers or range(len(names)), names, strict=True))

    def _check_nodes(self) -> None:
        if not self.nodes:
            raise TopologyError(self.name, "nodes", None, "there are none; a topology needs at least two, and a link")
        names, *numbers = columns(self.nodes)
        numbers_hold = _all_hold(numbers, _COORDINATES)
        if numbers_hold and _are_names(names) and all(map(_are_given_together, numbers[::2], numbers[1::2])):
            return
        for node in self.nodes:
            element = f"node {node.name}"
            if not isinstance(node.name, str) or not is_name(node.name):
                raise TopologyError(
                    self.name, "a node's name", node.name, "must be printable text without blanks at its ends"
                )
            if not numbers_hold:
                _check_numbers(self.name, element, node, _COORDINATES)
            for one, other in (("latitude", "longitude"), ("x", "y")):
                if (getattr(node, one) is None) != (getattr(node, other) is None):
                    known, missing = (one, other) if getattr(node, other) is None else (other, one)
                    raise TopologyError(
                        self.name, f"{element}, {known}", getattr(node, known), f"needs a {missing} beside it"
                    )
        for name, count in Counter(node.name for node in self.nodes).items():
            if count > 1:
                raise TopologyError(self.name, "node", name, f"appears {count} times; each node needs its own name")

    def _check_links(self) -> None:
        if not self.links:
            raise TopologyError(self.name, "links", None, "there are none; a topology needs at least one")
        if isinstance(self.links, Links):
            return
        known = {node.name for node in self.nodes}
        sources, targets, *numbers = columns(self.links)
        if (
            known.issuperset(sources)
            and known.issuperset(targets)
            and not any(map(eq, sources, targets))
            and len(set(zip(sources, targets, strict=True))) == len(self.links)
            and _all_hold(numbers, RANGES)
        ):
            return
        seen: set[tuple[str, str]] = set()
        for link in self.links:
            ends = link.source, link.target
            element = f"link {link.source} -> {link.target}"
            for end in (link.source, link.target):
                if end not in known:
                    raise TopologyError(self.name, element, None, f"there is no node {end!r}; links join nodes by name")
            if link.source == link.target:
                raise TopologyError(self.name, element, None, "joins a node to itself; a link needs two different ends")
            if ends in seen:
                raise TopologyError(
                    self.name, element, None, "appears twice; keep one, or put a node into each parallel path"
                )
            seen.add(ends)
            _check_numbers(self.name, element, link, RANGES)
            if link.capacity_bps is not None and not isinstance(link.capacity_bps, int):
                raise TopologyError(self.name, f"{element}, capacity_bps", link.capacity_bps, "must be whole bit/s")


def unconnected(topology: Topology) -> str | None:
    """The parts of a topology between which there is no link, as a clause; ``None`` if there is one part."""
    links = Links.of([node.name for node in topology.nodes], topology.links)
    if _core.first_reaches_all(len(topology.nodes), links.sources, links.targets):
        return None  # most topologies have links both ways
    parts = _parts(topology)
    if len(parts) == 1:
        return None
    listed = "; ".join(f"{_some(part)} ({len(part)})" for part in parts[:_SHOWN])
    more = "" if len(parts) <= _SHOWN else f"; and {len(parts) - _SHOWN} more"
    return f"leave {len(parts)} parts unconnected: {listed}{more}"


def largest_part(topology: Topology) -> Topology:
    """The largest connected part; of several as large, that of the earliest node. It has no warning about parts."""
    parts = _parts(topology)
    kept = set(parts[0])
    left = [name for part in parts[1:] for name in part]
    if not left:
        return topology
    return Topology(
        topology.name,
        tuple(node for node in topology.nodes if node.name in kept),
        tuple(link for link in topology.links if link.source in kept),
        (
            *(warning for warning in topology.warnings if not warning.startswith("links leave ")),
            f"{len(left)} {'node' if len(left) == 1 else 'nodes'} outside the largest part left out: {_some(left)}",
        ),
        tuple(name for name in topology.multihomed if name in kept),
        tuple(number for number, name in topology.numbered().items() if name in kept),
    )


def _parts(topology: Topology) -> list[list[str]]:
    return components((node.name for node in topology.nodes), topology.ends())


def great_circle_m(latitude: float, longitude: float, other_latitude: float, other_longitude: float) -> float:
    """Distance in metres between two points in degrees on the sphere of the Earth's mean radius (haversine formula)."""
    phi, other_phi = math.radians(latitude), math.radians(other_latitude)
    half_chord_squared = (
        math.sin((other_phi - phi) / 2) ** 2
        + math.cos(phi) * math.cos(other_phi) * math.sin(math.radians(other_longitude - longitude) / 2) ** 2
    )
    return 2 * EARTH_RADIUS_M * math.asin(math.sqrt(min(1.0, half_chord_squared)))


def components(names: Iterable[str], pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """The sets of nodes that links join in either direction, the largest first."""
    neighbours: dict[str, list[str]] = {name: [] for name in names}
    for source, target in pairs:
        neighbours[source].append(target)
        neighbours[target].append(source)
    parts = []
    seen: set[str] = set()
    for start in neighbours:
        if start in seen:
            continue
        seen.add(start)
        part = [start]
        for name in part:  # grows while it is walked
            for other in neighbours[name]:
                if other not in seen:
                    seen.add(other)
                    part.append(other)
        parts.append(part)
    return sorted(parts, key=len, reverse=True)


def is_name(text: str) -> bool:
    """Whether every format can hold the text as a name: printable, not empty, no blanks at its ends."""
    return bool(text) and text.isprintable() and text == text.strip()


def _are_names(names: list[Any]) -> bool:
    """Whether all are names, and no two are alike."""
    return (
        set(map(type, names)) == {str}
        and all(names)
        and "".join(names).isprintable()
        and list(map(str.strip, names)) == names
        and len(set(names)) == len(names)
    )


def _are_given_together(one: list[float | None], other: list[float | None]) -> bool:
    return [value is None for value in one] == [value is None for value in other]


def _with_lengths(links: Iterable[Link], places: dict[str, tuple[float, float]]) -> Iterable[Link]:
    """The links, with the great-circle distance of those without a length between two places on the Earth."""
    previous, length = ("", ""), 0.0
    for link in links:
        if link.length_m is not None or link.source not in places or link.target not in places:
            yield link
            continue
        if previous != (link.target, link.source):  # often the next link leads back
            length = great_circle_m(*places[link.source], *places[link.target])
            previous = link.source, link.target
        yield Link(link.source, link.target, link.capacity_bps, link.delay_s, length, link.loss, link.cost)


def _all_hold(columns: Iterable[Sequence[object]], ranges: dict[str, AllowedRange]) -> bool:
    """Whether all numbers are plain ones in their ranges. Checks each value once; :func:`_check_numbers` finds what is wrong."""
    for values, (name, allowed) in zip(columns, ranges.items(), strict=True):
        types = {int, type(None)} if name == "capacity_bps" else {int, float, type(None)}
        if not set(map(type, values)) <= types or not all(map(allowed.holds, set(values) - {None})):  # type: ignore[arg-type]
            return False
    return True


def _check_numbers(source: str, element: str, holder: Node | Link, ranges: dict[str, AllowedRange]) -> None:
    for name, allowed in ranges.items():
        value = getattr(holder, name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not allowed.holds(value):
            raise TopologyError(source, f"{element}, {name}", value, allowed.expectation)


def _some(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
