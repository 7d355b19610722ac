"""Places for nodes without coordinates, by the structure of their graph: rows and tiers instead of springs.

A *host* is a node with one neighbour. The *tier* of a node is its distance from the nearest host: in a leaf-spine network hosts are
tier 0, leaves 1, and spines 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

Point = tuple[float, float]
_HEIGHT_OF_TIERS = 0.5
"""The height of a drawing in tiers, as a share of its width."""


def structured(names: Sequence[str], ends: Iterable[tuple[str, str]]) -> dict[str, Point] | None:
    """Places by structure: in a row, or in tiers; nothing for a graph that has neither.

    Nodes that form a row, with hosts at them, lie from left to right: two nodes, a line, or a dumbbell. Nodes lie in
    tiers if every link joins neighbouring tiers: trees, fat trees and leaf-spines. The order of ``names`` decides where
    the structure does not.
    """
    neighbours = neighbours_of(names, ends)
    hosts = [name for name in names if len(neighbours[name]) == 1]
    return _row(names, neighbours, hosts) or _tiers(names, neighbours)


def neighbours_of(names: Sequence[str], ends: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The other ends of each node's links, each once."""
    neighbours: dict[str, list[str]] = {name: [] for name in names}
    for one, other in dict.fromkeys(tuple(sorted(pair)) for pair in ends if pair[0] != pair[1]):
        neighbours[one].append(other)
        neighbours[other].append(one)
    return neighbours


def tiers_of(names: Sequence[str], neighbours: Mapping[str, Sequence[str]]) -> dict[str, int] | None:
    """The tier of each node; ``None`` unless there are two at least, and every link joins neighbouring tiers."""
    queue = [name for name in names if len(neighbours[name]) == 1]
    tier = dict.fromkeys(queue, 0)
    for name in queue:
        for other in neighbours[name]:
            if other not in tier:
                tier[other] = tier[name] + 1
                queue.append(other)
    if len(tier) < len(names) or max(tier.values(), default=0) < 1:
        return None
    is_tiered = all(abs(tier[name] - tier[other]) == 1 for name in names for other in neighbours[name])
    return tier if is_tiered else None


def _row(
    names: Sequence[str], neighbours: Mapping[str, Sequence[str]], hosts: Sequence[str]
) -> dict[str, Point] | None:
    is_host = set(hosts)
    middle = [name for name in names if name not in is_host] or list(names)
    chain = _chain(middle, neighbours)
    if chain is None:
        return None
    places = {name: (float(column), 0.0) for column, name in enumerate(chain)}
    for column, name in enumerate(chain):
        own = [host for host in neighbours[name] if host in is_host and host not in places]
        left, right = column == 0, column == len(chain) - 1
        if left and right:  # a star: as many on either side
            half = (len(own) + 1) // 2
            _stand(places, own[:half], -1.0)
            _stand(places, own[half:], 1.0)
        elif left or right:
            _stand(places, own, column + (1.0 if right else -1.0))
        else:
            for place, host in enumerate(own):
                places[host] = (column + (place + 1) / (len(own) + 1) - 0.5, 0.6)
    return places if len(places) == len(names) else None


def _stand(places: dict[str, Point], hosts: Sequence[str], x: float) -> None:
    """Hosts above each other, the first on top."""
    step = min(0.5, 2.0 / max(len(hosts) - 1, 1))
    for place, host in enumerate(hosts):
        places[host] = (x, ((len(hosts) - 1) / 2 - place) * step)


def _chain(middle: Sequence[str], neighbours: Mapping[str, Sequence[str]]) -> list[str] | None:
    """The nodes from one end to the other, if they form a path; the first end is the one named first."""
    inside = set(middle)
    of = {name: [other for other in neighbours[name] if other in inside] for name in middle}
    ends = [name for name in middle if len(of[name]) <= 1]
    if not ends or any(len(others) > 2 for others in of.values()):
        return None
    chain = [ends[0]]
    while following := [other for other in of[chain[-1]] if other not in chain[-2:]]:
        chain.append(following[0])
    return chain if len(chain) == len(middle) else None


def _tiers(names: Sequence[str], neighbours: Mapping[str, Sequence[str]]) -> dict[str, Point] | None:
    tier = tiers_of(names, neighbours)
    if tier is None:
        return None
    top = max(tier.values())
    rows = [[name for name in names if tier[name] == level] for level in range(top + 1)]
    # Hosts lie below their switch. Each node above lies over the middle of the lower nodes that it joins, as far as there is room.
    order = {name: place for place, name in enumerate(rows[1])}
    rows[0].sort(key=lambda host: order[neighbours[host][0]])
    across: dict[str, float] = {}
    for level, row in enumerate(rows):
        if level:
            below = {name: [across[other] for other in neighbours[name] if tier[other] == level - 1] for name in row}
            row.sort(key=lambda name: sum(below[name]) / len(below[name]))
        for place, name in enumerate(row):
            across[name] = (place + 0.5) / len(row)
    return {name: (across[name], tier[name] * _HEIGHT_OF_TIERS / top) for name in names}
