"""The options of each pair for its traffic: a single path or a split, each with its predicted throughput."""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from anabranch.engineering.plan.spray_stack import SprayStack
from anabranch.engineering.plan.tcp_throughput import Connection, path_losses, throughput
from anabranch.engineering.plan.ties import DELAY_STEP_S, PENALTY_STEP, on_grid
from anabranch.engineering.predict.spray import WIRE_BYTES
from anabranch.engineering.robust.candidates import Candidates
from anabranch.engineering.robust.splits import Splits, carried_by_links
from anabranch.foundation.array_types import Booleans, Floats, Integers

SPLIT_PENALTY = 1e-3
"""Cost of a split besides throughput, as a share of the application's rate: at equal throughput a single path is better."""

_QUARTERS = (0.25, 0.5, 0.75)
_Split = tuple[tuple[int, float], ...]
"""Candidate paths with fractions."""


@dataclass(frozen=True, eq=False)
class Options:
    """Splits of pairs. The options of a pair stand together, ordered by penalty, then by delay, then as they were made."""

    candidates: Candidates
    pair: Integers
    start: Integers
    """Where each option's paths begin; one more entry than options."""
    path: Integers
    """Indexes of candidate paths."""
    fraction: Floats
    throughput_bps: Floats
    """Predicted throughput of each option."""
    penalty: Floats
    """Cost of each option, as a share of the application's rate, in multiples of :data:`~anabranch.engineering.plan.ties.PENALTY_STEP`; 0 for a pair's best."""
    place: dict[_Split, int]
    """The option of a split."""

    @property
    def count(self) -> int:
        """How many options there are."""
        return len(self.pair)

    @cached_property
    def first(self) -> Integers:
        """The first option of each pair, and the number of options."""
        return np.searchsorted(self.pair, np.arange(self.candidates.network.pairs + 1))

    @cached_property
    def single(self) -> Booleans:
        """Whether an option is a single path."""
        one: Booleans = np.diff(self.start) == 1
        return one

    def splits(self, chosen: Integers) -> Splits:
        """The splits if each pair takes this option."""
        shares = np.zeros(self.candidates.paths)
        for option in chosen.tolist():
            span = slice(self.start[option], self.start[option + 1])
            shares[self.path[span]] = self.fraction[span]
        return Splits(self.candidates, shares)

    def chosen(self, splits: Splits) -> Integers:
        """The option of each pair; all must be there."""
        return np.array([self.place[split] for split in split_of_pairs(splits)], dtype=np.uint32)

    def links(self, path: Integers | None = None, fraction: Floats | None = None) -> tuple[Integers, Integers, Floats]:
        """The index at which each option's links begin, the links that carry some of the pair's traffic, and the shares that they carry.

        ``path`` and ``fraction`` are others in place of those of the options; fractions of 0 carry nothing.
        """
        if path is None or fraction is None:
            return carried_by_links(self.candidates, self.start, self.path, self.fraction)
        some = fraction > 0
        begins = np.concatenate(([0], np.cumsum(some)))[self.start]
        return carried_by_links(self.candidates, begins, path[some], fraction[some])


def split_of_pairs(splits: Splits) -> list[_Split]:
    """The paths of each pair with their fractions."""
    first = splits.candidates.first.tolist()
    shares = splits.shares.tolist()
    return [
        tuple((path, shares[path]) for path in range(first[pair], first[pair + 1]) if shares[path] > 0)
        for pair in range(splits.candidates.network.pairs)
    ]


class Predictor:
    """Predicts the throughput of splits of a pair's connection."""

    def __init__(self, candidates: Candidates, connection: Connection, tolerant: Booleans) -> None:
        """``tolerant`` says for each pair whether its hosts tolerate reordering."""
        self.candidates = candidates
        self.connection = connection
        self.tolerant = tolerant
        self._losses = path_losses(candidates)
        self._most: dict[_Split, float] = {}

    def rates(self, pair: Integers, start: Integers, path: Integers, fraction: Floats) -> Floats:
        """Of each of several splits, bit/s: that at ``k`` is of ``pair[k]``, over the paths from ``start[k]`` to ``start[k + 1]``."""
        candidates = self.candidates
        delays, losses = candidates.delays[path], self._losses[path]
        begins, links, shares = carried_by_links(candidates, start, path, fraction)
        carried = np.minimum.reduceat(candidates.network.capacity[links] / shares, begins[:-1])
        tolerant = self.tolerant[pair]
        rates = throughput(self.connection, delays, losses, fraction, start, tolerant, carried)
        stack = self.connection.stack
        if stack is not None and not stack.counts:
            for split in np.flatnonzero(tolerant & (np.diff(start) > 1)).tolist():
                span = slice(start[split], start[split + 1])
                rates[split] = min(rates[split], self._sprayed(stack, path[span], fraction[span]))
        return rates

    def of_shares(self, shares: Floats) -> Floats:
        """Of each pair, bit/s, if paths have these shares; 0 without a path."""
        path = np.flatnonzero(shares > 0)
        pair, start = np.unique(self.candidates.pair[path], return_index=True)
        found = np.zeros(self.candidates.network.pairs)
        if len(pair):
            found[pair] = self.rates(pair, np.append(start, len(path)), path, shares[path])
        return found

    @cached_property
    def most(self) -> Floats:
        """No split of a pair has more predicted throughput than this, bit/s; shape (pairs,).

        It is that of the pair's best path, without regard to capacities. In Mathis' law, round-trip time and loss of a split are means of those of
        its paths. The logarithm of the throughput is convex in the fractions, so that its maximum is at a single path.
        """
        candidates = self.candidates
        paths = candidates.paths
        start, alone = np.arange(paths + 1), self.tolerant[candidates.pair]
        rates = throughput(self.connection, candidates.delays, self._losses, np.ones(paths), start, alone)
        most: Floats = np.maximum.reduceat(rates, candidates.first[:-1])
        return most

    def _sprayed(self, stack: SprayStack, path: Integers, fraction: Floats) -> float:
        split = tuple(zip(path.tolist(), fraction.tolist(), strict=True))
        if split not in self._most:
            loss = float(fraction @ self._losses[path])
            delays, rates = self._crossing[path].tolist(), self._slowest[path].tolist()
            self._most[split] = stack.most_bps(delays, rates, fraction.tolist(), loss)
        return self._most[split]

    @cached_property
    def _crossing(self) -> Floats:
        """The time of a packet over each path, with its transmissions, seconds."""
        return self.candidates.delays + self.candidates.sums(8.0 * WIRE_BYTES / self.candidates.network.capacity)

    @cached_property
    def _slowest(self) -> Floats:
        """The capacity of each path's slowest link."""
        candidates = self.candidates
        least: Floats = np.minimum.reduceat(candidates.network.capacity[candidates.path_links], candidates.start[:-1])
        return least


class Pool:
    """Makes options: at first single paths and splits of two in quarters; later the splits that a linear program found."""

    def __init__(self, candidates: Candidates, connection: Connection, tolerant: Booleans) -> None:
        """``tolerant`` says for each pair whether its hosts tolerate reordering."""
        self.candidates = candidates
        self.predictor = Predictor(candidates, connection, tolerant)
        self._rows: dict[_Split, tuple[int, float]] = {}
        fresh: list[tuple[int, _Split]] = []
        first = candidates.first.tolist()
        for pair in range(candidates.network.pairs):
            paths = range(first[pair], first[pair + 1])
            fresh += [(pair, ((path, 1.0),)) for path in paths]
            fresh += [
                (pair, ((one, share), (other, 1 - share)))
                for one, other in combinations(paths, 2)
                for share in _QUARTERS
            ]
        self._take(fresh)

    def add(self, splits: Splits) -> None:
        """Add the split of every pair as an option."""
        self._take([(pair, split) for pair, split in enumerate(split_of_pairs(splits)) if split not in self._rows])

    def _take(self, fresh: list[tuple[int, _Split]]) -> None:
        if not fresh:
            return
        pair = np.array([pair for pair, _ in fresh])
        start = np.cumsum([0] + [len(split) for _, split in fresh])
        path = np.array([path for _, split in fresh for path, _ in split])
        fraction = np.array([share for _, split in fresh for _, share in split])
        rates = self.predictor.rates(pair, start, path, fraction)
        for (one, split), rate in zip(fresh, rates.tolist(), strict=True):
            self._rows[split] = (one, rate)

    def throughput(self, splits: Splits) -> Floats:
        """Predicted of each pair, bit/s."""
        self.add(splits)
        return np.array([self._rows[split][1] for split in split_of_pairs(splits)])

    def options(self) -> Options:
        """All of them."""
        listed = list(self._rows)
        pair = np.array([pair for pair, _ in self._rows.values()])
        rate = np.array([rate for _, rate in self._rows.values()])
        sizes = np.array([len(split) for split in listed])
        start = np.cumsum([0, *sizes.tolist()])
        path = np.array([path for split in listed for path, _ in split])
        fraction = np.array([share for split in listed for _, share in split])
        best = np.full(self.candidates.network.pairs, 0.0)
        np.maximum.at(best, pair, rate)
        connection, tolerant = self.predictor.connection, self.predictor.tolerant
        penalty = (best[pair] - rate) / connection.rate_bps
        penalty += SPLIT_PENALTY * ((sizes > 1) & ~(tolerant[pair] & (connection.stack is None)))
        penalty = on_grid(penalty, PENALTY_STEP)
        delay = on_grid(np.add.reduceat(fraction * self.candidates.delays[path], start[:-1]), DELAY_STEP_S)
        order = np.lexsort((delay, penalty, pair))  # stable: of equal ones, the option that was made first
        begins = np.concatenate(([0], np.cumsum(sizes[order])))
        picked = np.repeat(start[order] - begins[:-1], sizes[order]) + np.arange(len(path))
        place = {listed[row]: at for at, row in enumerate(order.tolist())}
        return Options(
            self.candidates, pair[order], begins, path[picked], fraction[picked], rate[order], penalty[order], place
        )
