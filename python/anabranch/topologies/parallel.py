"""Parallel links, which join the same two nodes in the same direction: one link that has all their capacity.

Such a link sends what they send together, one packet after another instead of side by side. It can stand for them only if
packets meet the same delay and loss on each, so links that differ in more than capacity are refused.
"""

from collections.abc import Iterable
from dataclasses import replace

from anabranch.topologies.model import Link

_ALIKE = {"delay_s": "delay", "length_m": "length", "loss": "loss", "cost": "cost"}
_SHOWN = 5


class Bundle:
    """The links that are known so far, parallel ones added up; what each edge is called stands in messages."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._links: dict[tuple[str, str], Link] = {}
        self._edges: dict[tuple[str, str], str] = {}
        self._added: dict[str, bool] = {}

    def edge_of(self, source: str, target: str) -> str | None:
        """The first edge that joins two nodes in this direction."""
        return self._edges.get((source, target))

    def add(self, link: Link, edge: str) -> None:
        """One more link, of this edge.

        Raises:
            ValueError: a parallel one differs in more than capacity; the message follows the name of this edge.
        """
        ends = link.source, link.target
        other = self._links.get(ends)
        if other is None:
            self._links[ends], self._edges[ends] = link, edge
            return
        for attribute, name in _ALIKE.items():
            one, two = getattr(other, attribute), getattr(link, attribute)
            if one != two:
                raise ValueError(
                    f"has {_shown(name, two)}, and {self._edges[ends]} has {_shown(name, one)}; parallel links become one, so "
                    "give both the same, or put a node into one of them"
                )
        if (other.capacity_bps is None) != (link.capacity_bps is None):
            raise ValueError(
                f"is parallel to {self._edges[ends]}, and one of the two has no capacity; give one to both, or to neither"
            )
        known = link.capacity_bps is not None
        if known:
            self._links[ends] = replace(link, capacity_bps=(other.capacity_bps or 0) + (link.capacity_bps or 0))
        self._added[edge] = known

    def links(self) -> tuple[Link, ...]:
        """All links, in the order in which their first edges came."""
        return tuple(self._links.values())

    def warnings(self) -> list[str]:
        """What has become of parallel links."""
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
