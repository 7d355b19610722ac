"""Parallel links, which join the same two nodes in the same direction: one link that has all their capacity.

Such a link sends the packets of all of them, one after another instead of side by side. It can replace them only if packets
meet the same delay and loss on each. So links that differ in more than capacity are refused.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from anabranch.topologies.attributes import Attributes

Edge = TypeVar("Edge")

_ALIKE = {"delay_s": "delay", "length_m": "length", "loss": "loss", "cost": "cost"}
_SHOWN = 5


class Bundle(Generic[Edge]):
    """The links that are known so far, parallel ones added up."""

    def __init__(self, describe: Callable[[Edge], str]) -> None:
        """Starts without links. ``describe`` returns an edge's name for messages."""
        self._describe = describe
        self._links: dict[tuple[str, str], tuple[Attributes, Edge]] = {}
        self._added: dict[str, bool] = {}

    def edge_of(self, ends: tuple[str, str]) -> Edge | None:
        """The first edge that joins two nodes in this direction."""
        known = self._links.get(ends)
        return None if known is None else known[1]

    def add(self, ends: tuple[str, str], attributes: Attributes, edge: Edge) -> None:
        """One more link, of this edge.

        Raises:
            ValueError: a parallel one differs in more than capacity; the message follows the name of this edge.
        """
        known = self._links.setdefault(ends, (attributes, edge))
        if known[1] is edge:
            return
        other, first = known
        for attribute, name in _ALIKE.items():
            one, two = getattr(other, attribute), getattr(attributes, attribute)
            if one != two:
                raise ValueError(
                    f"has {_shown(name, two)}, and {self._describe(first)} has {_shown(name, one)}; parallel links become one, so "
                    "give both the same, or put a node into one of them"
                )
        if (other.capacity_bps is None) != (attributes.capacity_bps is None):
            raise ValueError(
                f"is parallel to {self._describe(first)}, and one of the two has no capacity; give one to both, or to neither"
            )
        has_capacity = attributes.capacity_bps is not None
        if has_capacity:
            capacity = (other.capacity_bps or 0) + (attributes.capacity_bps or 0)
            self._links[ends] = other._replace(capacity_bps=capacity), first
        self._added[self._describe(edge)] = has_capacity

    def links(self) -> Iterator[tuple[str, str, Attributes]]:
        """Source, target and attributes of all links, in the order in which their first edges came."""
        for (source, target), (attributes, _) in self._links.items():
            yield source, target, attributes

    def warnings(self) -> list[str]:
        """Warnings about parallel links."""
        summed = [edge for edge, known in self._added.items() if known]
        counted_once = [edge for edge, known in self._added.items() if not known]
        return [
            *_warning(summed, "added to the capacity of the first link between their nodes"),
            *_warning(
                counted_once, "left out, as no capacity is known: the nodes have one link, of the default capacity"
            ),
        ]


def _warning(edges: list[str], what: str) -> Iterable[str]:
    if edges:
        shown = ", ".join(edges[:_SHOWN]) + (", ..." if len(edges) > _SHOWN else "")
        yield f"{len(edges)} parallel {'link' if len(edges) == 1 else 'links'} {what}: {shown}"


def _shown(name: str, value: float | None) -> str:
    return f"no {name}" if value is None else f"{name} {value:g}"
