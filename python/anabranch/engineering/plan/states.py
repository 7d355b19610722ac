"""The network as it is, and after each of some failures: what a routing's paths carry then, and the loads.

After a failure, the paths of a pair that survive carry its traffic in proportion to their shares. A pair on a single path that fails
changes to its backup path, if it has one that survives.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anabranch.engineering.plan.backups import NONE
from anabranch.engineering.plan.options import Options
from anabranch.engineering.robust.failures import AfterFailure, Failure, load_of, lost_pairs, renormalised, surviving
from anabranch.engineering.robust.problem import Problem
from anabranch.engineering.robust.separation import worst_loads
from anabranch.engineering.robust.splits import Splits, crossings
from anabranch.foundation.array_types import Booleans, Floats, Integers

_MORE = 1e-12
"""Shares that differ by less are equal."""


@dataclass(frozen=True, eq=False)
class LinkLoads:
    """What each option of each pair puts on the links of each state; a link of a failure stands behind all links of the network."""

    capacity: Floats
    """Bit/s."""
    start: Integers
    """Where each option's entries begin; shape (options + 1,)."""
    link: Integers
    share: Floats


@dataclass(frozen=True, eq=False)
class States:
    """The network as it is, and after each failure."""

    problem: Problem
    failures: Sequence[Failure] = ()
    backup: Integers | None = None
    """For each candidate path the one that takes over if it fails; none at all without backups."""

    @cached_property
    def alive(self) -> list[Booleans]:
        """For each failure, whether each candidate path survives it."""
        whole = Splits.first_paths(self.problem.candidates)
        return [surviving(whole, failure) for failure in self.failures]

    def shares(self, splits: Splits, place: int) -> tuple[Floats, Integers]:
        """The shares of all paths after the failure at this place, and the pairs without a path."""
        shares, without = renormalised(splits, self.failures[place])
        if self.backup is None:
            return shares, without
        used = np.flatnonzero((splits.shares == 1.0) & np.isin(splits.candidates.pair, without))
        taking = self.backup[used]
        taking = taking[taking != NONE]
        taking = taking[self.alive[place][taking]]
        shares[taking] = 1.0
        return shares, np.setdiff1d(without, splits.candidates.pair[taking])

    def after(self, splits: Splits, place: int) -> tuple[AfterFailure, Floats]:
        """The load and the lost pairs after the failure at this place, and the shares of all paths."""
        problem, failure = self.problem, self.failures[place]
        shares, without = self.shares(splits, place)
        lost = lost_pairs(problem.model, failure, without, problem.network)
        return AfterFailure(failure, load_of(problem.model, splits, shares), lost), shares

    def loads(self, splits: Splits) -> Floats:
        """The worst-case load of each link in each state; shape (1 + failures, links)."""
        shares = [splits.shares, *(self.shares(splits, place)[0] for place in range(len(self.failures)))]
        network, model = self.problem.network, self.problem.model
        return np.array([worst_loads(network, model, crossings(splits.candidates, one)).load for one in shares])

    def load(self, splits: Splits) -> float:
        """The worst-case load over all states."""
        return float(self.loads(splits).max())

    def links(self, options: Options, watched: Booleans | None = None) -> LinkLoads:
        """What each option puts on the links of the network as it is, and on the links after each failure that are ``watched``, by default all.

        ``watched`` has the shape (failures, links). A link of a failure is left out if no option puts more on it than without the failure: the network as
        it is then loads it as much.
        """
        capacity, links = [self.problem.network.capacity], self.problem.network.links
        start, link, share = options.links()
        if not self.failures:
            return LinkLoads(capacity[0], start, link, share)
        option = np.repeat(np.arange(options.count), np.diff(start))
        key = option * links + link  # ascending
        found = [(option.astype(np.uint32), link.astype(np.uint32), share)]
        several = links
        for failure, alive in enumerate(self.alive):
            if watched is not None and not watched[failure].any():
                continue
            paths, fractions = self._rerouted(options, alive)
            begin, on, much = options.links(paths, fractions)
            which = np.repeat(np.arange(options.count), np.diff(begin))
            at = np.minimum(np.searchsorted(key, which * links + on), len(key) - 1)
            before = np.where(key[at] == which * links + on, share[at], 0.0)
            more = np.unique(on[much > before + _MORE])
            more = more if watched is None else more[watched[failure][more]]
            place = np.full(links, -1)
            place[more] = several + np.arange(len(more))
            several += len(more)
            kept = place[on] >= 0
            found.append((which[kept].astype(np.uint32), place[on[kept]].astype(np.uint32), much[kept]))
            capacity.append(self.problem.network.capacity[more])
        option, link, share = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.argsort(option, kind="stable")
        starts = np.searchsorted(option[order], np.arange(options.count + 1))
        return LinkLoads(np.concatenate(capacity), starts, link[order], share[order])

    def _rerouted(self, options: Options, alive: Booleans) -> tuple[Integers, Floats]:
        """The paths of all options and their fractions where these paths survive; fractions of 0 carry nothing."""
        path, fraction = options.path, np.where(alive[options.path], options.fraction, 0.0)
        option = np.repeat(np.arange(options.count), np.diff(options.start))
        sums = np.bincount(option, weights=fraction, minlength=options.count)
        fraction = fraction * np.divide(1.0, sums, out=np.zeros(options.count), where=sums > 0)[option]
        if self.backup is not None:
            fails = options.single[option] & (fraction == 0)
            taking = self.backup[path]
            takes = fails & (taking != NONE) & alive[taking]
            path, fraction = np.where(takes, taking, path), np.where(takes, 1.0, fraction)
        return path, fraction
