"""Rules for the split of each pair: a greatest number of paths, and shares in whole parts, as routers have them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np

from anabranch.engineering.robust.candidates import Candidates
from anabranch.engineering.robust.errors import RobustError
from anabranch.engineering.robust.splits import Splits
from anabranch.foundation.array_types import Floats, Integers

MOST_PARTS = 4096
FINE = 8192
"""Parts of a whole in which a search counts shares that may be any."""
_GRID = 8
"""Parts of a whole in which a search moves such shares."""
_MOST_LISTED = 200
"""Up to this many, all splits of a pair are options of a search; else those near its present split."""

Split = tuple[tuple[int, int], ...]
"""Paths, each with its share in parts of a whole."""


@dataclass(frozen=True)
class Rules:
    """The rules that the split of each pair must keep to."""

    max_paths: int | None = None
    """The most paths of a pair; None for any number."""
    weights_in: int | None = None
    """Shares are whole multiples of one over this; None for any shares."""

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            RobustError: one is out of its range.
        """
        if self.max_paths is not None and self.max_paths < 1:
            raise RobustError(f"at most {self.max_paths} paths of each pair: must be at least 1")
        if self.weights_in is not None and not 1 <= self.weights_in <= MOST_PARTS:
            raise RobustError(f"weights in {self.weights_in} parts: must be from 1 to {MOST_PARTS:,}")

    @property
    def any(self) -> bool:
        """Whether there is a rule."""
        return self.max_paths is not None or self.weights_in is not None

    @property
    def parts(self) -> int:
        """The parts of a whole in which a search counts."""
        return self.weights_in or FINE

    def most(self, paths: int) -> int:
        """The most paths that a pair may use, given the number of its candidates."""
        return min(paths, self.max_paths or paths, self.parts)

    def rounded(self, splits: Splits) -> Splits:
        """The nearest splits that keep to the rules: the paths of the greatest shares, and parts by greatest remainder."""
        candidates = splits.candidates
        parts = np.zeros(candidates.paths, dtype=int)
        for pair in range(candidates.network.pairs):
            first, end = int(candidates.first[pair]), int(candidates.first[pair + 1])
            parts[first:end] = self._of_pair(splits.shares[first:end])
        return Splits(candidates, parts / self.parts)

    def _of_pair(self, shares: Floats) -> Integers:
        kept = np.sort(np.argsort(-shares, kind="stable")[: self.most(len(shares))])
        exact = shares[kept] / shares[kept].sum() * self.parts
        whole = np.floor(exact + 1e-9).astype(int)
        missing = self.parts - int(whole.sum())
        whole[np.argsort(whole - exact, kind="stable")[:missing]] += 1
        parts = np.zeros(len(shares), dtype=int)
        parts[kept] = whole
        return parts


def splits_of_pairs(splits: Splits, rules: Rules) -> list[Split]:
    """The split of each pair in parts; the shares must be whole parts."""
    parts = np.rint(splits.shares * rules.parts).astype(int).tolist()
    first = splits.candidates.first.tolist()
    return [
        tuple((path, parts[path]) for path in range(first[pair], first[pair + 1]) if parts[path])
        for pair in range(splits.candidates.network.pairs)
    ]


def options(candidates: Candidates, rules: Rules, pair: int, present: Split) -> list[Split]:
    """The splits of a pair that a search may choose: the present one first, then all, or those near it."""
    paths = range(int(candidates.first[pair]), int(candidates.first[pair + 1]))
    most, parts = rules.most(len(paths)), rules.parts
    grid = rules.weights_in or min(_GRID, parts)
    found = {present: None}
    if sum(comb(len(paths), used) * comb(grid - 1, used - 1) for used in range(1, most + 1)) <= _MOST_LISTED:
        for split in _all(len(paths), grid, most):
            found[tuple((paths[at], units * parts // grid) for at, units in split)] = None
    else:
        found |= dict.fromkeys(((path, parts),) for path in paths)
    if rules.weights_in is None or len(found) <= len(paths) + 1:
        found |= dict.fromkeys(_near(paths, most, parts, grid, present))
    return list(found)


@lru_cache(maxsize=256)
def _all(paths: int, parts: int, most: int) -> tuple[Split, ...]:
    """All ways to give ``parts`` whole parts to at most ``most`` of the paths."""
    return tuple(
        tuple(
            (path, end - begin)
            for path, begin, end in zip(chosen, (0, *cuts), (*cuts, parts), strict=True)
        )
        for used in range(1, most + 1)
        for chosen in combinations(range(paths), used)
        for cuts in combinations(range(1, parts), used - 1)
    )  # fmt: skip


def _near(paths: range, most: int, parts: int, grid: int, present: Split) -> Iterator[Split]:
    """Splits that give some parts of one path to another."""
    before = dict(present)
    for source, held in present:
        steps = {held}
        step = max(1, parts // grid)
        while step < held:
            steps.add(step)
            step *= 2
        for target in paths:
            if target == source:
                continue
            for moved in steps:
                after = before | {source: held - moved, target: before.get(target, 0) + moved}
                split = tuple(sorted((path, units) for path, units in after.items() if units))
                if len(split) <= most:
                    yield split
