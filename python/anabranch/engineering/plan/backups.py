"""Backup paths: for each candidate path, a path of the same pair that shares no link with it."""

from itertools import chain

import numpy as np

from anabranch.engineering.robust.candidates import By, Candidates, avoiding, disjoint
from anabranch.engineering.robust.network import Network
from anabranch.foundation.array_types import Booleans, Integers

NONE = -1
"""In place of a backup path, where there is none."""


def with_backups(candidates: Candidates, sending: Booleans, by: By) -> tuple[Candidates, Integers]:
    """The candidates with their backup paths among them, and for each of these paths the index of its backup, or :data:`NONE`.

    The backup of a path is the first candidate of its pair that shares no link with it, in either direction. If there is none, the shortest path without
    its links becomes a candidate, too. Pairs none of whose paths has a backup then get two disjoint paths, if the network has them.
    Paths without a backup are left out where their pair has others. Pairs that do not send keep their first candidate alone.
    """
    network = candidates.network
    cables = _cables(network)
    first = candidates.first.tolist()
    of_pair: list[list[Integers]] = []
    least: Candidates | None = None
    for pair in range(network.pairs):
        paths = [candidates.links_of(path) for path in range(first[pair], first[pair + 1])]
        if sending[pair]:
            for path, backup in zip(list(paths), _backups(paths, cables), strict=True):
                if backup == NONE:
                    other = avoiding(network, pair, np.isin(cables, cables[path]), by)
                    paths += [] if other is None else [other]
            if max(_backups(paths, cables)) == NONE:
                least = least or disjoint(network, 2, by)
                two = [least.links_of(path) for path in range(least.first[pair], least.first[pair + 1])]
                paths += two if max(_backups(two, cables)) != NONE else []
            backups = _backups(paths, cables)
            if max(backups) != NONE:
                paths = [path for path, backup in zip(paths, backups, strict=True) if backup != NONE]
        of_pair.append(paths)
    counts = [len(paths) for paths in of_pair]
    listed = list(chain.from_iterable(of_pair))
    found = Candidates(
        network,
        np.repeat(np.arange(network.pairs, dtype=np.uint32), counts),
        np.cumsum([0] + [len(path) for path in listed]).astype(np.uint32),
        np.concatenate(listed),
    )
    places = [
        place if place == NONE else begin + place
        for begin, paths, sends in zip(found.first.tolist(), of_pair, sending.tolist(), strict=False)
        for place in (_backups(paths, cables) if sends else [NONE] * len(paths))
    ]
    return found, np.array(places, dtype=np.int64)


def _cables(network: Network) -> Integers:
    """For each link the lesser index of it and of the link back."""
    ends = zip(network.sources.tolist(), network.targets.tolist(), strict=True)
    return np.array([min(link, network.link_index.get((b, a), link)) for link, (a, b) in enumerate(ends)])


def _backups(paths: list[Integers], cables: Integers) -> list[int]:
    """For each path of a pair the first one that shares no cable with it."""
    sets = [frozenset(cables[path].tolist()) for path in paths]
    return [next((place for place, other in enumerate(sets) if not one & other), NONE) for one in sets]
