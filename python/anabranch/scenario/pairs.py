"""Who sends to whom: the pairs of a traffic group, of which there may be millions."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, count
from typing import TYPE_CHECKING

from anabranch.foundation import units
from anabranch.scenario import collectives
from anabranch.scenario.groups import Names
from anabranch.scenario.traffic import Traffic

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MOST_FLOWS = 4_000_000
"""Flows of a variant: with the kilobyte that each may take, the memory of a large machine."""
STARS = ("incast", "outcast")
"""Patterns of several nodes with one in the middle."""


def ends_of(entry: Traffic, names: Names) -> tuple[Sequence[str], Sequence[str]]:
    """The sources and the destinations of a traffic group; :class:`ValueError` if one of its groups has no node."""
    sources, targets = (
        names.members(end) if isinstance(end, str) else names.several(end) for end in (entry.from_, entry.to)
    )
    return sources, targets


def check(entry: Traffic, names: Names) -> None:
    """:class:`ValueError` if a traffic group has no pair, or more than :data:`MOST_FLOWS`; none is made."""
    sources, targets = ends_of(entry, names)
    if entry.pattern in collectives.ALL_REDUCE:
        assert entry.size is not None  # the schema wants one
        collectives.check(entry.pattern, sources, units.size(entry.size))
        return
    if entry.pattern in ("pairs", "permutation") and len(sources) != len(targets):
        raise ValueError(
            f'pattern = "{entry.pattern}" needs as many "from" as "to"; here {len(sources)} and {len(targets)}'
        )
    if entry.pattern == "pairs":
        same = next((source for source, target in zip(sources, targets, strict=True) if source == target), None)
        if same is not None:
            raise ValueError(f"{same} cannot send to itself")
        return
    if entry.pattern == "neighbours":
        if not any(_neighbours(sources, targets, names)):
            raise ValueError("no pair is left: no link joins a source with a destination")
        return
    product = _Product(sources, targets)
    if not len(product):
        raise ValueError("no pair is left: a node cannot send to itself")
    if entry.pattern == "permutation":
        _check_once(sources, "from")
        _check_once(targets, "to")
        return
    if entry.pattern in STARS:
        _check_star(entry, sources, targets)
        return
    pairs = len(product) if entry.count is None else entry.count
    if pairs > MOST_FLOWS:
        raise ValueError(f"makes {pairs} pairs; at most {MOST_FLOWS} are possible")


def _check_once(ends: Sequence[str], key: str) -> None:
    seen: set[str] = set()
    for end in ends:
        if end in seen:
            raise ValueError(f'pattern = "permutation" takes each node once; "{key}" names {end} twice')
        seen.add(end)


def _check_star(entry: Traffic, sources: Sequence[str], targets: Sequence[str]) -> None:
    """Check that ``count`` other nodes are left for every node in the middle."""
    many, middles = (sources, targets) if entry.pattern == "incast" else (targets, sources)
    others = set(many)
    for middle in dict.fromkeys(middles):
        left = len(others) - (middle in others)
        if left < (entry.count or 1):
            what = "senders" if entry.pattern == "incast" else "receivers"
            raise ValueError(
                f"count = {entry.count or 1} {what}: there are {left} beside {middle}; give at most {left}"
            )


def mean_star(entry: Traffic, names: Names) -> float:
    """How many pairs an incast or outcast of a group has, on average over the nodes in the middle."""
    sources, targets = ends_of(entry, names)
    many, middles = (sources, targets) if entry.pattern == "incast" else (targets, sources)
    others = set(many)
    return entry.count or sum(len(others) - (middle in others) for middle in middles) / len(middles)


def most_pairs(entry: Traffic, names: Names) -> int:
    """The most pairs that a traffic group may have; :class:`ValueError` as :func:`ends_of`."""
    sources, targets = ends_of(entry, names)
    if entry.pattern == "neighbours":
        return len(names.links)
    if entry.pattern in collectives.ALL_REDUCE:
        return collectives.ALL_REDUCE[entry.pattern].count(len(sources))
    if entry.pattern in ("pairs", "permutation"):
        return len(sources)
    if entry.pattern in STARS:
        return entry.count or max(len(sources), len(targets))
    return entry.count or len(sources) * len(targets)


def pairs_of(entry: Traffic, names: Names, draw: str) -> list[tuple[int, int]]:
    """The source and destination of each pair of a traffic group that :func:`check` accepts, by their indexes.

    ``draw`` decides what is random.
    """
    sources, targets = ends_of(entry, names)
    index = names.node_index
    if entry.pattern == "neighbours":
        return [(index[source], index[target]) for source, target in _neighbours(sources, targets, names)]
    if entry.pattern in collectives.ALL_REDUCE:
        return list(dict.fromkeys((one.source, one.target) for one in messages_of(entry, names)))
    of_sources, of_targets = [index[name] for name in sources], [index[name] for name in targets]
    if entry.pattern == "pairs":
        return list(zip(of_sources, of_targets, strict=True))
    if entry.pattern in ("all-pairs", "all-to-all"):
        return [(source, target) for source in of_sources for target in of_targets if source != target]
    if entry.pattern == "permutation":
        return _permutation(of_sources, of_targets, draw)
    if entry.pattern == "incast":
        return [(sender, receiver) for receiver, sender in _star(of_targets, of_sources, entry.count, draw)]
    if entry.pattern == "outcast":
        return _star(of_sources, of_targets, entry.count, draw)
    import numpy as np

    product = _Product(sources, targets)
    assert entry.count is not None  # the schema wants one
    drawn = _draws(f"random-pairs {draw}", len(product))
    indexes = np.fromiter((next(drawn) for _ in range(entry.count)), np.int64, entry.count)
    rows, columns = product.places(indexes)
    return list(zip(np.array(of_sources)[rows].tolist(), np.array(of_targets)[columns].tolist(), strict=True))


def messages_of(entry: Traffic, names: Names) -> list[collectives.Message]:
    """The messages of a collective operation that :func:`check` accepts, with the indexes of their nodes."""
    assert entry.size is not None  # the schema wants one
    size = units.size(entry.size)
    if entry.window is not None:
        return list(collectives.in_windows(pairs_of(entry, names, draw=""), size, entry.window))
    nodes = [names.node_index[name] for name in ends_of(entry, names)[0]]
    messages = collectives.ALL_REDUCE[entry.pattern].messages(len(nodes), size)
    return [message._replace(source=nodes[message.source], target=nodes[message.target]) for message in messages]


def _neighbours(sources: Sequence[str], targets: Sequence[str], names: Names) -> Iterator[tuple[str, str]]:
    senders, receivers = set(sources), set(targets)
    return ((source, target) for source, target in names.links if source in senders and target in receivers)


def _permutation(sources: Sequence[int], targets: Sequence[int], draw: str) -> list[tuple[int, int]]:
    """Each source with one destination and each destination with one source, none with itself: uniform over all such."""
    attempts = (
        list(zip(sources, _shuffled(targets, f"permutation {draw} {number}"), strict=True)) for number in count()
    )
    return next(
        pairs for pairs in attempts if all(source != target for source, target in pairs)
    )  # one in three, or more


def _star(middles: Sequence[int], others: Sequence[int], number: int | None, draw: str) -> list[tuple[int, int]]:
    """One node in the middle, drawn from ``middles``, with each of a ``number`` of others, drawn from ``others``; without it all."""
    middle = middles[next(_draws(f"middle {draw}", len(middles)))]
    left = [other for other in dict.fromkeys(others) if other != middle]
    chosen = left if number is None else _shuffled(left, f"others {draw}")[:number]
    return [(middle, other) for other in chosen]


def _shuffled(values: Sequence[int], draw: str) -> list[int]:
    """A uniform random order (Fisher and Yates)."""
    shuffled = list(values)
    drawn = _draws(draw)
    for last in range(len(shuffled) - 1, 0, -1):
        other = next(drawn) % (last + 1)
        shuffled[last], shuffled[other] = shuffled[other], shuffled[last]
    return shuffled


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


def uniforms(draw: str) -> Iterator[float]:
    """Uniform draws of at least 0 and less than 1, as :func:`_draws`."""
    return (number / 2**53 for number in _draws(draw, 2**53))


def _draws(draw: str, below: int = 2**128) -> Iterator[int]:
    """Uniform draws that are the same on every machine and in every version of Python."""
    from hashlib import sha256

    begun = sha256(f"{draw} ".encode())
    for index in count():
        digest = begun.copy()
        digest.update(b"%d" % index)
        yield int.from_bytes(digest.digest()[:16], "big") % below
