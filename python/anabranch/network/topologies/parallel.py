"""Parallel links, which join the same two nodes in the same direction: one link that has all their capacity.

Such a link sends the packets of all of them, one after another instead of side by side. It can replace them only if packets
meet the same delay and loss on each. Of links that differ in more than capacity, those of the least cost stay, then of the least delay,
length and loss, as routes prefer them; the others are left out.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from anabranch.network.topologies.attributes import Attributes

Edge = TypeVar("Edge")

_ALIKE = {"delay_s": "delay", "length_m": "length", "loss": "loss", "cost": "cost"}
_SHOWN = 5


class Bundle(Generic[Edge]):
    """The links that are known so far, parallel ones added up."""

    def __init__(self, describe: Callable[[Edge], str], alike: bool = False) -> None:
        """Starts without links. ``describe`` returns an edge's name for messages; ``alike`` refuses parallel links that differ."""
        self._describe = describe
        self._alike = alike
        self._links: dict[tuple[str, str], list[tuple[Attributes, Edge]]] = {}

    def add(self, ends: tuple[str, str], attributes: Attributes, edge: Edge) -> None:
        """One more link, of this edge.

        Raises:
            ValueError: a parallel one differs in more than capacity, and must not; the message follows the name of this edge.
        """
        parallel = self._links.setdefault(ends, [])
        if self._alike and parallel:
            self._check_alike(*parallel[0], attributes)
        parallel.append((attributes, edge))

    def _check_alike(self, other: Attributes, first: Edge, attributes: Attributes) -> None:
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

    def links(self) -> Iterator[tuple[str, str, Attributes]]:
        """Source, target and attributes of all links, in the order in which their first edges came."""
        for (source, target), parallel in self._links.items():
            kept = _kept(parallel)
            capacities = [attributes.capacity_bps for attributes, _ in kept if attributes.capacity_bps is not None]
            yield source, target, kept[0][0]._replace(capacity_bps=sum(capacities) if capacities else None)

    def warnings(self) -> list[str]:
        """Warnings about parallel links."""
        summed, unknown, others = dict[str, None](), dict[str, None](), dict[str, None]()
        for parallel in self._links.values():
            if len(parallel) == 1:
                continue
            kept = _kept(parallel)
            first = next((place for place, (known, _) in enumerate(kept) if known.capacity_bps is not None), 0)
            for place, (attributes, edge) in enumerate(kept):
                if place != first:
                    (unknown if attributes.capacity_bps is None else summed)[self._describe(edge)] = None
            others |= dict.fromkeys(self._describe(edge) for link in parallel if link not in kept for edge in link[1:])
        return [
            *_warning(summed, "added to the capacity of the first link between their nodes"),
            *_warning(
                unknown,
                "left out, as no capacity is known: the nodes have one link, of the others' capacity or the default",
            ),
            *_warning(
                others,
                "left out, as one between the same nodes has less cost, delay, length or loss: parallel links become one; "
                "put a node into one of them to keep both",
            ),
        ]


def _kept(parallel: list[tuple[Attributes, Edge]]) -> list[tuple[Attributes, Edge]]:
    """Those links that differ in capacity alone from the one that routes prefer; an attribute that is unknown comes last."""
    if len(parallel) == 1:
        return parallel
    best = min(_rank(attributes) for attributes, _ in parallel)
    return [link for link in parallel if _rank(link[0]) == best]


def _rank(link: Attributes) -> tuple[float, ...]:
    return tuple(
        float("inf") if value is None else value for value in (link.cost, link.delay_s, link.length_m, link.loss)
    )


def _warning(edges: Iterable[str], what: str) -> Iterable[str]:
    names = list(edges)
    if names:
        shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        yield f"{len(names)} parallel {'link' if len(names) == 1 else 'links'} {what}: {shown}"


def _shown(name: str, value: float | None) -> str:
    return f"no {name}" if value is None else f"{name} {value:g}"
