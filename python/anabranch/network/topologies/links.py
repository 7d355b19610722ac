"""Directed links, one by one or by columns."""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat
from math import isnan, nan
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, overload


class Link(NamedTuple):
    """A directed link."""

    source: str
    target: str
    capacity_bps: int | None = None
    delay_s: float | None = None
    length_m: float | None = None
    loss: float | None = None
    cost: float | None = None


ATTRIBUTES = Link._fields[2:]


class Links(Sequence[Link]):
    """Links by columns. A :class:`Link` is made when it is asked for: for a hundred thousand links, columns take a fifth of the time and memory.

    It equals a tuple of the same links.
    """

    def __init__(
        self,
        names: Sequence[str],
        sources: "array[int]",
        targets: "array[int]",
        values: Mapping[str, "array[float] | None"],
    ) -> None:
        """The ends are places in ``names``, the names of all nodes. A value that is not known is NaN, or a whole column ``None``."""
        self.names = names
        self.sources = sources
        self.targets = targets
        self.values = values

    @classmethod
    def of(cls, names: Sequence[str], links: Sequence[Link]) -> "Links":
        """Links that may be a tuple."""
        if isinstance(links, cls):
            return links
        place = {name: index for index, name in enumerate(names)}
        sources, targets, *values = columns(links)
        known = (
            None if set(column) == {None} else array("d", [nan if value is None else value for value in column])
            for column in values
        )
        one, other = (array("I", map(place.__getitem__, column)) for column in (sources, targets))
        return cls(names, one, other, dict(zip(ATTRIBUTES, known, strict=True)))

    def without(self, attribute: str) -> Link | None:
        """The first link whose attribute is not known."""
        column = self.values[attribute]
        if column is None:
            return self[0]
        if not isnan(sum(column)):
            return None
        return self[next(index for index, value in enumerate(column) if isnan(value))]

    def ends(self) -> Iterator[tuple[str, str]]:
        """Source and target of each."""
        one, other = (map(self.names.__getitem__, column) for column in (self.sources, self.targets))
        return zip(one, other, strict=True)

    def __len__(self) -> int:
        """The number of links."""
        return len(self.sources)

    @overload
    def __getitem__(self, index: int) -> Link: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Link, ...]: ...
    def __getitem__(self, index: int | slice) -> Link | tuple[Link, ...]:
        """A link, or a tuple of links."""
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(len(self))))
        place = range(len(self))[index]
        values = (None if column is None or isnan(column[place]) else column[place] for column in self.values.values())
        link = Link(self.names[self.sources[place]], self.names[self.targets[place]], *values)  # type: ignore[arg-type]
        return link if link.capacity_bps is None else link._replace(capacity_bps=int(link.capacity_bps))

    def __iter__(self) -> Iterator[Link]:
        """All links."""
        ends = (map(self.names.__getitem__, column) for column in (self.sources, self.targets))
        return map(partial(tuple.__new__, Link), zip(*ends, *map(self._cells, ATTRIBUTES), strict=False))

    def _cells(self, attribute: str) -> Iterable[float | None]:
        column = self.values[attribute]
        if column is None:
            return repeat(None, len(self))
        number: Any = int if attribute == "capacity_bps" else float
        if not isnan(sum(column)):
            once = {value: number(value) for value in set(column)}  # links have few different values
            return map(once.__getitem__, column)
        return (None if isnan(value) else number(value) for value in column)

    def __eq__(self, other: object) -> bool:
        """Whether the other has the same links."""
        return tuple(self) == tuple(other) if isinstance(other, tuple | Links) else NotImplemented

    def __hash__(self) -> int:
        """The hash of the tuple of these links."""
        return hash(tuple(self))

    def __repr__(self) -> str:
        """The links."""
        return repr(tuple(self))


def column(links: Sequence[Link], attribute: str) -> list[Any]:
    """An attribute of all links; ``None`` where it is not known."""
    if isinstance(links, Links):
        return list(links._cells(attribute))
    return list(map(attrgetter(attribute), links))


def columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    """The fields of nodes or links, each of all of them. ``zip(*rows)`` takes several times as long for many rows."""
    return [list(map(itemgetter(field), rows)) for field in range(len(rows[0]))]


def there_and_back(there: "array[Any]", back: "array[Any]") -> "array[Any]":
    """Two columns as one, in turn."""
    both = array(there.typecode, bytes(2 * len(there) * there.itemsize))
    both[::2], both[1::2] = there, back
    return both
