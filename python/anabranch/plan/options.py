"""What each pair may do with its traffic: a single path, or a split, each with the throughput that it costs."""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from anabranch.plan.throughput import Connection, path_losses, throughput
from anabranch.robust.candidates import Candidates
from anabranch.robust.network import Array
from anabranch.robust.splits import Splits

_QUARTERS = (0.25, 0.5, 0.75)


@dataclass(frozen=True, eq=False)
class Options:
    """Splits of pairs, those of a pair together, and of these the ones of most throughput first, then of least delay."""

    candidates: Candidates
    pair: Array
    start: Array
    """Where each option's paths begin; one more entry than options."""
    path: Array
    """Indexes of candidate paths."""
    fraction: Array
    throughput_bps: Array
    """Of each option, predicted."""

    @property
    def count(self) -> int:
        """How many options there are."""
        return len(self.pair)

    @cached_property
    def first(self) -> Array:
        """The first option of each pair, and the number of options."""
        return np.searchsorted(self.pair, np.arange(self.candidates.network.pairs + 1))

    @cached_property
    def single(self) -> Array:
        """Whether an option is a single path."""
        return np.diff(self.start) == 1

    @cached_property
    def best_bps(self) -> Array:
        """For each pair the throughput of its best option."""
        return self.throughput_bps[self.first[:-1]]

    def splits(self, chosen: Array) -> Splits:
        """The splits if each pair takes this option."""
        shares = np.zeros(self.candidates.paths)
        for option in chosen.tolist():
            span = slice(self.start[option], self.start[option + 1])
            shares[self.path[span]] = self.fraction[span]
        return Splits(self.candidates, shares)

    def links(self) -> tuple[Array, Array, Array]:
        """Where each option's links begin, the links that carry some of the pair's traffic, and what share."""
        candidates = self.candidates
        option = np.repeat(np.arange(self.count), np.diff(self.start))
        hops = candidates.hops[self.path]
        begin = candidates.start.astype(np.int64)[self.path]
        picked = np.repeat(begin - np.cumsum(hops) + hops, hops) + np.arange(hops.sum())
        key = np.repeat(option, hops) * candidates.network.links + candidates.path_links[picked]
        found, place = np.unique(key, return_inverse=True)
        share = np.bincount(place, weights=np.repeat(self.fraction, hops))
        start = np.searchsorted(found // candidates.network.links, np.arange(self.count + 1))
        return start, found % candidates.network.links, np.minimum(share, 1.0)


class Pool:
    """Makes options: at first single paths and splits of two in quarters; later those that a linear program found."""

    def __init__(self, candidates: Candidates, connection: Connection, tolerant: Array) -> None:
        """``tolerant`` says of each pair whether its hosts tolerate reordering."""
        self.candidates = candidates
        self.connection = connection
        self.tolerant = tolerant
        self._losses = path_losses(candidates)
        self._known: set[tuple[tuple[int, float], ...]] = set()
        self._rows: list[tuple[int, tuple[tuple[int, float], ...]]] = []
        for pair in range(candidates.network.pairs):
            paths = range(int(candidates.first[pair]), int(candidates.first[pair + 1]))
            for path in paths:
                self._add(pair, ((path, 1.0),))
            for one, other in combinations(paths, 2):
                for share in _QUARTERS:
                    self._add(pair, ((one, share), (other, 1 - share)))

    def _add(self, pair: int, split: tuple[tuple[int, float], ...]) -> None:
        if split not in self._known:
            self._known.add(split)
            self._rows.append((pair, split))

    def add(self, splits: Splits) -> None:
        """Let every pair also split so."""
        for pair in range(self.candidates.network.pairs):
            first, end = self.candidates.first[pair], self.candidates.first[pair + 1]
            shares = splits.shares[first:end]
            used = np.flatnonzero(shares)
            self._add(pair, tuple((int(first + at), float(shares[at])) for at in used))

    def options(self) -> Options:
        """All of them."""
        pair = np.array([pair for pair, _ in self._rows])
        start = np.cumsum([0] + [len(split) for _, split in self._rows])
        path = np.array([path for _, split in self._rows for path, _ in split])
        fraction = np.array([share for _, split in self._rows for _, share in split])
        rate = throughput(
            self.connection, self.candidates.delays[path], self._losses[path], fraction, start, self.tolerant[pair]
        )
        delay = np.add.reduceat(fraction * self.candidates.delays[path], start[:-1])
        order = np.lexsort((delay, -np.round(rate, 3), pair))
        sizes = np.diff(start)[order]
        begins = np.concatenate(([0], np.cumsum(sizes)))
        picked = np.repeat(start[order] - begins[:-1], sizes) + np.arange(len(path))
        return Options(self.candidates, pair[order], begins, path[picked], fraction[picked], rate[order])
