"""The search for a plan: linear programs for what must split, a local search for who need not."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from anabranch import _core
from anabranch.engineering.plan.options import Options, Pool
from anabranch.engineering.plan.sparse import sparse
from anabranch.engineering.plan.states import States
from anabranch.engineering.plan.ties import MARGIN, PENALTY_STEP, rounded
from anabranch.engineering.robust import local_search
from anabranch.engineering.robust.lp import OutOfTime
from anabranch.engineering.robust.problem import Problem
from anabranch.engineering.robust.solving import RobustRouting, best_found
from anabranch.engineering.robust.splits import Splits
from anabranch.foundation.array_types import Booleans, Floats

Report = Callable[[str, float], None]
"""Takes what is being searched for, and the share of the most possible work that is done."""

SEED = 1
MOVES_PER_PAIR = 1600
"""Moves of each local search, for each pair, without failures."""
_LEAST_PAIRS = 128
"""A network of fewer pairs gets the moves of this many: the fewer pairs there are, the more often a search gets stuck."""
_ROUNDS = 3
"""How often at most linear program and local search take turns."""
_STARTS = 4
"""How often the local search starts from shortest paths, with other draws, unless nothing is lost."""
_MOST_SEARCHES = 1 + _ROUNDS + _STARTS + 1 + 2 * _ROUNDS + _ROUNDS
"""The most local searches for one load: from shortest paths, for any plan within it, after linear programs, and for less load."""
_WATCHES = 12
"""How often at most a local search begins anew because its result overloads links after failures that it did not know."""
_CHUNK = 5_000
_HOT, _WARM = 0.03, 0.05
"""First temperatures: of a search from any choice, and of a search from a good one."""
_LOOSE = 1.0
"""First temperature of a search for less load, as a share of the greatest traffic of a pair: nothing is lost by any move."""
_NOTHING = 1e-9
_CLOSE = 1e-3
"""Loads that differ by less are as good, relative."""


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Splits within a load, with their penalty."""

    splits: Splits
    penalty: float
    load: float

    def better(self, other: "SearchResult") -> bool:
        """Whether this one has less penalty, or the same penalty and less load."""
        if abs(self.penalty - other.penalty) > PENALTY_STEP / 2:
            return self.penalty < other.penalty
        return self.load < other.load - _NOTHING


Improved = Callable[[SearchResult], None]
"""Takes the best splits for the present load, each time that better ones are found."""


def unseen(found: SearchResult) -> None:
    """Take no notice."""


class Searcher:
    """Searches plans of one problem for one load after another. A search uses the results for earlier loads."""

    def __init__(
        self,
        states: States,
        pool: Pool,
        report: Report,
        moves_per_pair: int = MOVES_PER_PAIR,
        limit_s: float = inf,
        improved: Improved = unseen,
    ) -> None:
        """Solves the least worst-case load without failures first. All searches together end after ``limit_s`` or at Ctrl-C."""
        self._ends = time.monotonic() + limit_s
        self.states = states
        self.problem = problem = states.problem
        self.pool = pool
        self.report = report
        self.improved = improved
        # A move costs as much more as there are states; fewer of them keep the search from growing as much.
        self.moves = round(moves_per_pair * max(problem.network.pairs, _LEAST_PAIRS) / sqrt(1 + len(states.failures)))
        self.least: RobustRouting = best_found(problem, report=self._say_bounds, limit_s=limit_s)
        self.interrupted = self.least.interrupted
        self.out_of_time = self.least.out_of_time
        self._allowed = inf
        self._free: SearchResult | None = None
        """The plan of least load without regard to the load allowed."""
        self._known: list[SearchResult] = []
        """The best splits found for any load; none is better than another of more load."""
        self.best: SearchResult | None = None
        """The best splits found for the present load."""
        self._seed = SEED
        self._what = ""
        self._searches = 0
        """How many local searches for the present load have begun."""
        self._watched = np.zeros((len(states.failures), problem.network.links), dtype=bool)
        """The links after each failure that local searches know: those that a plan was found to overload."""

    def within(self, load: float, what: str) -> SearchResult | None:
        """The splits of least penalty found within a load, and of these of least load; ``None`` if failures leave none that is found.

        The load must be at least that of :attr:`least`. It is never worse than what was found for another load and keeps to this one.
        Interrupted or out of time, it is the best so far. Reports name the search ``what``.
        """
        self.best, self._allowed = None, load
        self._what, self._searches = what, 0
        shortest = Splits.first_paths(self.problem.candidates)
        for known in (*(self._judged(splits, load) for splits in (self.least.splits, shortest)), *self._known):
            self._offer(known, load)
        if not self.stopped:
            try:
                self._search(load)
            except KeyboardInterrupt:
                self.interrupted = True
            except OutOfTime:
                self.out_of_time = True
        return self.best

    @property
    def least_found(self) -> float:
        """The least load of all splits found, after failures, too."""
        return min(one.load for one in self._known)

    @property
    def stopped(self) -> bool:
        """Whether Ctrl-C or the end of the time has ended the search."""
        return self.interrupted or self.out_of_time

    def left_s(self) -> float:
        """How much time is left, seconds."""
        return self._ends - time.monotonic()

    def _without_limit(self, allowed: float) -> None:
        """Search the plan of least load in which no pair loses throughput, whatever the load allowed: a more generous one never gives another plan."""
        if self._free is None:
            within, seed = self.best, self._seed
            self.best = self._judged(Splits.first_paths(self.problem.candidates), inf)
            try:
                if self.best.penalty > _NOTHING:
                    self._local(inf, _HOT, self.best.splits)
                if self.best.penalty <= _NOTHING:
                    self._lower()
                self._free = self.best
            finally:  # what is found until Ctrl-C may keep to the load
                found, self.best, self._seed = self.best, within, seed
                self._offer(found, allowed)
        else:
            self._offer(self._free, allowed)

    def _search(self, load: float) -> None:
        self._without_limit(load)
        assert self._free is not None
        if self._free.penalty <= _NOTHING and self._free.load <= load * (1 + _NOTHING):
            return
        for _ in range(_STARTS):
            if self.best is None or self.best.penalty > _NOTHING:
                self._local(load, _HOT, Splits.first_paths(self.problem.candidates))
        if self.best is None:  # failures leave little room: any splits within the load are a beginning
            self._reach(load)
            if self.best is None:
                return
        if self.best.penalty > _NOTHING:
            weight = self._weight()
            start = self._judged(self.least.splits, load).splits
            room = load * (1 - MARGIN)
            within = room if self.least.worst_case_load <= room else load
            for _ in range(_ROUNDS):
                before = self.best
                for splits in sparse(self.problem, within, start, weight, self.left_s):
                    self._offer(self._judged(splits, load), load)
                self._local(load, _WARM, self.best.splits)
                self._polish(load)
                self._local(load, _WARM, self.best.splits)
                if self.best.penalty > before.penalty - _NOTHING:
                    break
                start = self.best.splits
        if self.best.penalty <= _NOTHING:
            self._lower()

    def _reach(self, load: float) -> None:
        """Search splits of little load, whatever their penalty, and take them if they are within this one."""
        try:
            self._local(inf, _LOOSE, self.least.splits, lower_load=True, greatest=inf)
        finally:  # what is found until Ctrl-C may do
            found, self.best = self.best, None
            if found is not None:
                self._offer(found, load)

    def _weight(self) -> Floats:
        """Mean cost of the splits of each pair."""
        options = self.pool.options()
        pairs = self.problem.network.pairs
        of_pair = options.pair[~options.single]
        count = np.maximum(np.bincount(of_pair, minlength=pairs), 1)
        return np.bincount(of_pair, weights=options.penalty[~options.single], minlength=pairs) / count

    def _lower(self) -> None:
        """Lower the load of a plan in which no pair loses throughput."""
        assert self.best is not None
        for _ in range(_ROUNDS):
            before = self.best
            if before.load <= self.least.lower_bound * (1 + _CLOSE):
                return
            self._local(before.load, _LOOSE, before.splits, lower_load=True)
            self._polish(before.load)
            if self.best.load > before.load * (1 - _CLOSE):
                return

    def _polish(self, load: float) -> None:
        """Choose the shares of the split pairs anew, so that load becomes free."""
        assert self.best is not None
        candidates = self.problem.candidates
        shares = self.best.splits.shares
        used = np.add.reduceat((shares > 0).astype(int), candidates.first[:-1])
        kept = (shares > 0) | (used > 1)[candidates.pair]
        if not (used > 1).any():
            return
        few = best_found(
            Problem(self.problem.network, self.problem.model, candidates.keep(kept)), limit_s=self.left_s()
        )
        if few.interrupted:
            raise KeyboardInterrupt
        whole = np.zeros(candidates.paths)
        whole[kept] = few.splits.shares
        self._offer(self._judged(Splits(candidates, whole), load), load)

    def _judged(self, splits: Splits, load: float) -> SearchResult:
        """The splits of a linear program, rounded if they keep to the load then."""
        whole = rounded(splits)
        reached = self.states.load(whole)
        if reached > load * (1 + _NOTHING):
            whole, reached = splits, self.states.load(splits)
        self.pool.add(whole)
        options = self.pool.options()
        return SearchResult(whole, float(options.penalty[options.chosen(whole)].sum()), reached)

    def _offer(self, found: SearchResult, load: float) -> None:
        self._remember(found)
        if found.load <= load * (1 + _NOTHING) and (self.best is None or found.better(self.best)):
            self.best = found
            if found.load <= self._allowed * (1 + _NOTHING):
                self.improved(found)

    def _remember(self, found: SearchResult) -> None:
        if any(not found.better(one) and one.load <= found.load for one in self._known):
            return
        self._known = [one for one in self._known if one.better(found) or one.load < found.load]
        self._known.append(found)

    def _local(
        self, load: float, hottest: float, start: Splits, lower_load: bool = False, greatest: float | None = None
    ) -> None:
        """Search from these splits; with ``lower_load`` for less load, over options whose penalty is at most ``greatest``, by default nothing."""
        if greatest is None:
            greatest = _NOTHING if lower_load else inf
        self._searches += 1
        for _ in range(_WATCHES if self.states.failures else 1):
            found, reached = self._once(load, hottest, start, lower_load, greatest)
            if found is None or not self._watch(found, reached if lower_load else load):
                return
            start = found

    def _watch(self, splits: Splits, load: float) -> bool:
        """Watch the links after failures that these splits load more than this. Returns whether there are any that were not watched."""
        if not self.states.failures:
            return False
        fresh = (self.states.loads(splits)[1:] > load * (1 + _NOTHING)) & ~self._watched
        self._watched |= fresh
        return bool(fresh.any())

    def _once(
        self, load: float, hottest: float, start: Splits, lower_load: bool, greatest: float
    ) -> tuple[Splits | None, float]:
        """The best splits found, and their load on the links that are watched."""
        self.pool.add(start)
        options = self.pool.options()
        self._seed += 1
        search = core_search(self.states, options, self._seed, self._watched)
        search.choose(options.chosen(start))
        search.begin(load, greatest, lower_load, self.moves, hottest, 10.0 if hottest == _WARM else 1.0)
        self._say(0.0)
        done = 0
        found, reached = None, inf
        try:
            while search.advance(_CHUNK):
                done += _CHUNK
                self._say(done / self.moves)
                if self.left_s() <= 0:
                    raise OutOfTime
        finally:
            best = search.best()
            if best is not None:
                chosen, penalty, reached = best
                found = options.splits(chosen)
                whole = self.states.load(found) if self.states.failures else reached
                self._offer(SearchResult(found, penalty, whole), load)
        return found, reached

    def _say_bounds(self, lower: float, upper: float, what: str) -> None:
        self.report(f"least worst-case load: {lower:.4f} to {upper:.4f}; {what}", 0.0)

    def _say(self, done: float) -> None:
        """Report the share of the present search that is done."""
        what = f"{self._what}, search {self._searches} of at most {_MOST_SEARCHES}"
        self.report(what, (self._searches - 1 + done) / _MOST_SEARCHES)


def core_search(states: States, options: Options, seed: int, watched: Booleans | None = None) -> "_core.PlanSearch":
    """The local search over these options, in the core.

    For it, each failure has links of its own: those that are ``watched``, by default all.
    """
    links = states.links(options, watched)
    listed = options.first, options.penalty, links.start, links.link, links.share
    return local_search.core_search(states.problem, links.capacity, listed, seed)
