"""Who sends to whom: the pairs of a traffic group, of which there may be millions."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from anabranch.scenario import groups
from anabranch.scenario.groups import Links
from anabranch.scenario.traffic import Traffic

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MOST_FLOWS = 4_000_000
"""Flows of a variant: with the kilobyte that each may take, the memory of a large machine."""


def ends_of(entry: Traffic, nodes: Sequence[str], links: Links) -> tuple[Sequence[str], Sequence[str]]:
    """The sources and the destinations of a traffic group; :class:`ValueError` if one of its groups has no node."""
    sources, targets = (
        groups.members(end, nodes, links) if isinstance(end, str) else groups.several(end, nodes, links)
        for end in (entry.from_, entry.to)
    )
    return sources, targets


def check(entry: Traffic, nodes: Sequence[str], links: Links) -> None:
    """:class:`ValueError` if a traffic group has no pair, or more than :data:`MOST_FLOWS`; none is made."""
    sources, targets = ends_of(entry, nodes, links)
    if entry.pattern == "pairs":
        if len(sources) != len(targets):
            raise ValueError(f'pattern = "pairs" needs as many "from" as "to"; here {len(sources)} and {len(targets)}')
        same = next((source for source, target in zip(sources, targets, strict=True) if source == target), None)
        if same is not None:
            raise ValueError(f"{same} cannot send to itself")
        return
    if entry.pattern == "neighbours":
        if not any(_neighbours(sources, targets, links)):
            raise ValueError("no pair is left: no link joins a source with a destination")
        return
    product = _Product(sources, targets)
    if not len(product):
        raise ValueError("no pair is left: a node cannot send to itself")
    count = len(product) if entry.count is None else entry.count
    if count > MOST_FLOWS:
        raise ValueError(f"makes {count} pairs; at most {MOST_FLOWS} are possible")


def pairs_of(entry: Traffic, nodes: Mapping[str, int], links: Links, draw: str) -> list[tuple[int, int]]:
    """The source and destination of each pair of a traffic group that :func:`check` accepts, by their indexes.

    ``draw`` decides random pairs.
    """
    sources, targets = ends_of(entry, list(nodes), links)
    if entry.pattern == "neighbours":
        return [(nodes[source], nodes[target]) for source, target in _neighbours(sources, targets, links)]
    of_sources, of_targets = [nodes[name] for name in sources], [nodes[name] for name in targets]
    if entry.pattern == "pairs":
        return list(zip(of_sources, of_targets, strict=True))
    if entry.pattern == "all-pairs":
        return [(source, target) for source in of_sources for target in of_targets if source != target]
    import numpy as np

    product = _Product(sources, targets)
    assert entry.count is not None  # the schema wants one
    rows, columns = product.places(np.fromiter(_draws(draw, len(product), entry.count), np.int64, entry.count))
    return list(zip(np.array(of_sources)[rows].tolist(), np.array(of_targets)[columns].tolist(), strict=True))


def _neighbours(sources: Sequence[str], targets: Sequence[str], links: Links) -> Iterator[tuple[str, str]]:
    senders, receivers = set(sources), set(targets)
    return ((source, target) for source, target in links if source in senders and target in receivers)


class _Product:
    """Every source with every target but itself, in order, without a list of them: there may be billions."""

    def __init__(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        self._own: dict[str, list[int]] = {}
        for place, target in enumerate(targets):
            self._own.setdefault(target, []).append(place)
        self._sources = sources
        self._ends = list(accumulate(len(targets) - len(self._own.get(source, ())) for source in sources))

    def __len__(self) -> int:
        return self._ends[-1]

    def places(self, indexes: "npt.NDArray[np.int64]") -> "tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]":
        """The places in the lists of sources and targets of the pairs with these indexes."""
        import numpy as np

        rows = np.searchsorted(self._ends, indexes, side="right")
        columns = indexes - np.array([0, *self._ends])[rows]
        # Each source's own places among the targets, which its pairs leave out; none stands behind all others.
        most = max(map(len, self._own.values()))
        own = np.full((len(self._sources), most), np.iinfo(np.int64).max)
        for row, source in enumerate(self._sources):
            places = self._own.get(source, [])
            own[row, : len(places)] = places
        for skipped in own.T:
            columns += skipped[rows] <= columns
        return rows, columns


def _draws(draw: str, below: int, count: int) -> Iterator[int]:
    """Uniform draws that are the same on every machine and in every version of Python."""
    from hashlib import sha256

    begun = sha256(f"random-pairs {draw} ".encode())
    for index in range(count):
        digest = begun.copy()
        digest.update(b"%d" % index)
        yield int.from_bytes(digest.digest()[:16], "big") % below
