"""Splits: what share of each pair's traffic takes which of its candidate paths."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anabranch.engineering.robust.candidates import Candidates
from anabranch.foundation.array_types import Floats, Integers

SMALLEST_SHARE = 1e-7
"""Shares below this are what interior points leave of zero. Without them, the other shares of a pair grow by as little."""


@dataclass(frozen=True, eq=False)
class Crossings:
    """The share of each pair that crosses each link, link after link; pairs that do not cross are left out."""

    start: Integers
    """Where each link's entries begin; shape (links + 1,)."""
    pair: Integers
    """The pair of each entry; shape (entries,)."""
    share: Floats
    """The share of the pair's traffic, 0 to 1; shape (entries,)."""

    def of(self, link: int) -> tuple[Integers, Floats]:
        """The pairs that cross a link, and their shares."""
        span = slice(self.start[link], self.start[link + 1])
        return self.pair[span], self.share[span]


@dataclass(frozen=True, eq=False)
class Splits:
    """A share of at least 0 for each candidate path; those of a pair add up to 1."""

    candidates: Candidates
    shares: Floats

    @staticmethod
    def rounded(candidates: Candidates, shares: Floats) -> "Splits":
        """Splits from a solver's shares. They leave out negligible shares and add up to exactly 1."""
        kept = np.where(shares > SMALLEST_SHARE, shares, 0.0)
        sums = np.add.reduceat(kept, candidates.first[:-1])
        kept[candidates.first[:-1][sums <= 0]] = 1.0
        sums = np.add.reduceat(kept, candidates.first[:-1])
        return Splits(candidates, kept / sums[candidates.pair])

    @staticmethod
    def first_paths(candidates: Candidates) -> "Splits":
        """All traffic of each pair on its first path."""
        shares = np.zeros(candidates.paths)
        shares[candidates.first[:-1]] = 1.0
        return Splits(candidates, shares)

    @cached_property
    def crossings(self) -> Crossings:
        """The share of each pair that crosses each link."""
        return crossings(self.candidates, self.shares)


def crossings(candidates: Candidates, shares: Floats) -> Crossings:
    """The share of each pair that crosses each link, if paths have these shares (of any sum)."""
    used = shares > 0
    each = np.repeat(used, candidates.hops)
    links = candidates.path_links[each].astype(np.int64)
    hops = candidates.hops[used]
    pairs = np.repeat(candidates.pair[used].astype(np.int64), hops)
    key = links * candidates.network.pairs + pairs
    found, place = np.unique(key, return_inverse=True)
    # bincount counts in whole numbers if there is nothing to count
    total = np.bincount(place, weights=np.repeat(shares[used], hops), minlength=len(found)).astype(np.float64)
    link = found // candidates.network.pairs
    start = np.searchsorted(link, np.arange(candidates.network.links + 1))
    return Crossings(start, found % candidates.network.pairs, total)


def carried_by_links(
    candidates: Candidates, start: Integers, path: Integers, share: Floats
) -> tuple[Integers, Integers, Floats]:
    """The links that carry some of the traffic of options, and their shares of it; also where each option's links begin.

    Args:
        candidates: the paths.
        start: where each option's paths begin; shape (options + 1,).
        path: the paths of all options.
        share: the share of the pair's traffic on each of them.
    """
    options = len(start) - 1
    option = np.repeat(np.arange(options), np.diff(start))
    hops = candidates.hops[path]
    begin = candidates.start.astype(np.int64)[path]
    picked = np.repeat(begin - np.cumsum(hops) + hops, hops) + np.arange(hops.sum())
    key = np.repeat(option, hops) * candidates.network.links + candidates.path_links[picked]
    found, place = np.unique(key, return_inverse=True)
    total = np.bincount(place, weights=np.repeat(share, hops))
    begins = np.searchsorted(found // candidates.network.links, np.arange(options + 1))
    return begins, found % candidates.network.links, np.minimum(total, 1.0)
