"""The draft that every reader fills in: nodes by identity, and edges as a file has them.

:meth:`Draft.topology` makes the topology. Here, and only here, identities become names, an undirected edge becomes
two links, and what no link can have is left out with a warning: parallel edges, and those that join a node to itself.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, repeat
from typing import NamedTuple

from anabranch import _core
from anabranch.network.topologies.attributes import AttributeReader, Attributes, Coded, plain_number
from anabranch.network.topologies.errors import TopologyError
from anabranch.network.topologies.links import Link, Links, there_and_back
from anabranch.network.topologies.model import Node, Topology, unconnected
from anabranch.network.topologies.parallel import Bundle
from anabranch.network.topologies.words import Word

_SHOWN = 5
_COORDINATE_NAMES = {
    "latitude": ("latitude", "Latitude", "lat", "Lat"),
    "longitude": ("longitude", "Longitude", "lon", "Lon", "lng", "long"),
    "x": ("x",),
    "y": ("y",),
}
_DRAWN = (
    "the positions of nodes are those of a drawing, as nothing says that they are degrees: links without a length get the default delay; "
    "name them latitude and longitude for a map"
)


class _Edge(NamedTuple):
    """An edge, and where it is in its file: such as ``line {}`` with a number."""

    place: str
    number: object
    ends: tuple[str, str]
    attributes: Attributes = Attributes()
    directed: bool | None = None
    """As the draft's, if the file says it of this edge."""


@dataclass
class Draft:
    """A topology while it is read."""

    source: str
    """Where it comes from, for errors: a file or a name."""
    name: str
    directed: bool | None
    """Whether an edge is one link, or one each way. If this is unknown (``None``), an edge is one link each way; but if every edge has one
    back, all are one link. If only some have one back, it may be parallel, or the other direction, and is refused."""
    words: Mapping[str, Word] = field(default_factory=dict)
    """Names of attributes with another meaning in this format."""
    notes: list[str] = field(default_factory=list)
    """Warnings of the reader."""
    drawn: bool = False
    """Whether positions were taken for those of a drawing, although they might be degrees."""
    _names: dict[str, str] = field(default_factory=dict)
    _places: dict[str, dict[str, float]] = field(default_factory=dict)
    _edges: list[_Edge] = field(default_factory=list)
    _loops: list[_Edge] = field(default_factory=list)
    _attributes: AttributeReader = field(init=False)
    _ends: "tuple[array[int], array[int]] | None" = None
    """The ends of all edges as places among the nodes, if they came at once (:meth:`plain_links`)."""
    _columns: "Mapping[str, array[float] | None]" = field(default_factory=dict)
    """The attributes of these edges."""

    def __post_init__(self) -> None:
        """There is no link yet."""
        self._attributes = AttributeReader(self.source, self.words)

    def node(self, identity: object, name: object = None, place: Mapping[str, object] | None = None) -> None:
        """A node: what edges call it, what people call it, and where it is."""
        key = self._key(identity, "a node's id")
        if key in self._names:
            raise TopologyError(self.source, "node", key, "appears twice; each node needs its own id")
        text = str(name).strip() if isinstance(name, str | int | float) else ""
        self._names[key] = text or key
        self._places[key] = self._coordinates(place, f"node {self._names[key]}") if place else {}

    def plain_nodes(self, names: Iterable[str]) -> None:
        """Nodes that all are called by their names, of which none is blank or given twice."""
        self._names |= {name: name for name in names}

    def knows(self, identity: object) -> bool:
        """Whether there is such a node."""
        return (type(identity) is str and identity in self._names) or self._key(identity, "a node's id") in self._names

    def reads(self, name: object) -> bool:
        """Whether an attribute of this name matters to :meth:`link`."""
        return isinstance(name, str) and self._attributes.reads(name)

    def link(
        self,
        source: object,
        target: object,
        values: Mapping[str, object],
        place: str,
        number: object,
        directed: bool | None = None,
    ) -> None:
        """An edge with its attributes under their names in files. ``place`` with the number in its braces is where it is, for errors.

        ``directed`` says it of this edge, if it is not as the others.
        """
        ends = self._end(source, "source", place, number), self._end(target, "target", place, number)
        edge = _Edge(place, number, ends, directed=directed)
        attributes = self._attributes.of_edge(values, lambda: self._described(edge))
        (self._edges if ends[0] != ends[1] else self._loops).append(edge._replace(attributes=attributes))

    def plain_links(
        self, sources: Sequence[object], targets: Sequence[object], values: Mapping[str, Sequence[object]]
    ) -> bool:
        """All edges at once, if none is wrong and no two join the same nodes: many times faster than :meth:`link`.

        Otherwise it adds none and returns ``False``; then :meth:`link` says what is wrong.
        """
        kinds = set(map(type, chain(sources, targets)))
        if kinds == {int}:
            sources, targets = list(map(str, sources)), list(map(str, targets))
        elif kinds != {str}:
            return False
        place: dict[object, int] = {key: index for index, key in enumerate(self._names)}
        try:
            one, other = (array("I", map(place.__getitem__, column)) for column in (sources, targets))
        except KeyError:
            return False
        return self.numbered_links(one, other, values)

    def numbered_links(
        self, sources: "array[int]", targets: "array[int]", values: Mapping[str, Coded | Sequence[object]]
    ) -> bool:
        """As :meth:`plain_links`, with the ends as places among the nodes."""
        if not sources or not _core.is_simple(len(self._names), sources, targets, not self.directed):
            return False
        attributes = self._attributes.columns(values)
        if attributes is None:
            return False
        self._ends = sources, targets
        self._columns = attributes
        return True

    def _end(self, identity: object, side: str, place: str, number: object) -> str:
        if type(identity) is str and identity in self._names:
            return identity
        element = f"{place.format(number)}, {side}"
        key = self._key(identity, element)
        if key not in self._names:
            raise TopologyError(self.source, element, key, "there is no such node; name one that is listed")
        return key

    def _described(self, edge: _Edge) -> str:
        source, target = edge.ends
        return f"{edge.place.format(edge.number)} ({self._names[source]} -> {self._names[target]})"

    def topology(self) -> Topology:
        """The topology.

        Raises:
            TopologyError: as the model says, with this draft's source.
        """
        names, warnings = self._distinct_names()
        bundle = self._bundle()
        placed = {key: place for key, place in self._places.items() if place}
        if placed:
            nodes = tuple(Node(name, **placed.get(key, {})) for key, name in names.items())
        else:
            nodes = tuple(map(partial(tuple.__new__, Node), zip(names.values(), *[repeat(None)] * 4, strict=False)))
        links = self._links(names, bundle)
        try:
            topology = Topology(self.name, nodes, links, in_parts=True)
        except TopologyError as error:
            raise TopologyError(self.source, error.element, error.value, error.expectation) from None
        if self._loops:
            warnings.append(
                f"{_counted(map(self._described, self._loops), 'edge', 'edges')} left out, as they join a node to itself"
            )
        warnings += [*self._attributes.warnings(topology.links), *bundle.warnings(), *self.notes]
        if self.drawn and any(link.length_m is None and link.delay_s is None for link in topology.links):
            warnings.append(_DRAWN)
        if (parts := unconnected(topology)) is not None:
            warnings.append(
                f'links {parts}; nothing leads from one to another; part = "largest" (--part largest) keeps the largest'
            )
        object.__setattr__(topology, "warnings", tuple(warnings))
        return topology

    def _bundle(self) -> Bundle[_Edge]:
        """The links of all edges that came one by one."""
        directed = self.directed
        if directed is None:
            directed = self._leads_both_ways()
        bundle: Bundle[_Edge] = Bundle(self._described)
        for edge in self._edges:
            bundle.add(edge.ends, edge.attributes, edge)
            if not (directed if edge.directed is None else edge.directed):
                bundle.add(edge.ends[::-1], edge.attributes, edge)
        return bundle

    def _leads_both_ways(self) -> bool:
        """Whether each edge has one back, so that each is one direction of a link."""
        first: dict[tuple[str, str], _Edge] = {}
        back = None
        for edge in self._edges:
            if back is None and edge.ends[::-1] in first:
                back = edge
            first.setdefault(edge.ends, edge)
        if back is None:
            return False
        if all(ends[::-1] in first for ends in first):
            self.notes.append(
                "every edge has one back, so each is one direction of a link; --no-directed makes each a link both ways"
            )
            return True
        raise TopologyError(
            self.source,
            self._described(back),
            None,
            f"goes back where {self._described(first[back.ends[::-1]])} goes; keep one of them, or say --directed "
            "(a scenario needs a format that says so itself, such as GraphML)",
        )

    def _links(self, names: Mapping[str, str], bundle: Bundle[_Edge]) -> Sequence[Link]:
        if self._ends is None:
            return tuple(Link(names[one], names[other], *known) for (one, other, known) in bundle.links())
        sources, targets = self._ends
        columns = self._columns
        if not self.directed:
            sources, targets = there_and_back(sources, targets), there_and_back(targets, sources)
            columns = {name: column and there_and_back(column, column) for name, column in columns.items()}
        return Links(list(names.values()), sources, targets, columns)

    def _distinct_names(self) -> tuple[dict[str, str], list[str]]:
        """Distinct names: nodes that share one get their id in brackets, independent of their order."""
        if len(set(self._names.values())) == len(self._names):
            return self._names, []
        counts = Counter(self._names.values())
        shared = sorted(name for name, count in counts.items() if count > 1)
        names = {key: f"{name} ({key})" if counts[name] > 1 else name for key, name in self._names.items()}
        listed = ", ".join(shared[:_SHOWN]) + (", ..." if len(shared) > _SHOWN else "")
        return names, [f"several nodes share a name, so they carry their ids in brackets: {listed}"]

    def _key(self, identity: object, element: str) -> str:
        if isinstance(identity, bool) or not isinstance(identity, str | int):
            raise TopologyError(self.source, element, identity, "must be a text or a whole number")
        try:
            key = str(identity).strip()
        except ValueError:  # an integer of thousands of digits
            key = ""
        if not key:
            raise TopologyError(self.source, element, identity, "must not be empty")
        return key

    def _coordinates(self, place: Mapping[str, object], element: str) -> dict[str, float]:
        known = {}
        for coordinate, names in _COORDINATE_NAMES.items():
            for name in names:
                value = place.get(name)
                if value is None or value == "":
                    continue
                number = plain_number(value)
                if number is None:
                    raise TopologyError(self.source, f"{element}, {name}", value, "must be a number")
                known[coordinate] = number
                break
        return known


def _counted(described: Iterable[str], one: str, many: str) -> str:
    names = list(described)
    listed = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    return f"{len(names)} {one if len(names) == 1 else many} ({listed})"


def draw_or_map(positions: Iterable[tuple[float, float]], geographical: bool | None = None) -> list[dict[str, float]]:
    """Positions (x, y) as longitudes and latitudes if they can be such, otherwise as a drawing's coordinates.

    If ``geographical`` is unknown, they mean degrees if every position can be in degrees. Positions that are all equal are ignored.
    """
    points = list(positions)
    if len(points) > 1 and len(set(points)) == 1:
        return [{} for _ in points]
    if geographical is None:
        geographical = all(abs(x) <= 180 and abs(y) <= 90 for x, y in points)
    names = ("longitude", "latitude") if geographical else ("x", "y")
    return [dict(zip(names, point, strict=True)) for point in points]
