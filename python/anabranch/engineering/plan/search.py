"""The search for a plan: linear programs for what must split, a local search for who need not."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import inf, log

import numpy as np

from anabranch import _core
from anabranch.engineering.plan.options import Options, Pool
from anabranch.engineering.plan.sparse import sparse, worst_load
from anabranch.engineering.plan.ties import MARGIN, PENALTY_STEP, rounded
from anabranch.engineering.robust.lp import OutOfTime
from anabranch.engineering.robust.problem import Problem
from anabranch.engineering.robust.solving import RobustRouting, best_found
from anabranch.engineering.robust.splits import Splits
from anabranch.engineering.robust.traffic import Bounds
from anabranch.foundation.array_types import Floats, Integers

Report = Callable[[str, float], None]
"""Takes what is being searched for, and the share of the most possible work that is done."""

SEED = 1
MOVES_PER_PAIR = 1600
"""Moves of the search for the plan without loss, for each pair."""
_LEAST_PAIRS = 128
"""A network of fewer pairs gets the moves of this many: the fewer pairs there are, the more often a search gets stuck."""
_ROUNDS = 3
"""How often at most linear program and local search take turns, to lower the load of a plan without loss."""
_LEVELS = 48
"""How many loads are searched from the least one up to that of the plan without loss, a constant factor apart."""
_LEVEL_MOVES = 32
"""Each local search at a level has the moves of the search for the plan without loss over this."""
_LEVEL_SEARCHES = 3
"""Local searches at a level."""
_CHUNK = 5_000
_HOT, _WARM, _COOL = 0.03, 0.05, 0.02
"""First temperatures: of a search from any choice, of one after a linear program, and of the last one at a level."""
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
    throughput: float
    """Predicted throughput of all pairs, in steps of the penalty."""
    load: float

    def better(self, other: "SearchResult") -> bool:
        """Whether this one has more throughput and less penalty, or as much of both and less load.

        Of a sequence of plans, each better than the one before, none has less throughput than an earlier one. At equal throughput,
        none has more load or fewer single paths.
        """
        if self.throughput != other.throughput:
            return self.throughput > other.throughput and self.penalty < other.penalty - PENALTY_STEP / 2
        if self.load > other.load + _NOTHING or self.penalty > other.penalty + PENALTY_STEP / 2:
            return False
        return self.load < other.load - _NOTHING or self.penalty < other.penalty - PENALTY_STEP / 2


Improved = Callable[[SearchResult], None]
"""Takes the best splits for the present load, each time that better ones are found."""


def unseen(found: SearchResult) -> None:
    """Take no notice."""


class Searcher:
    """Searches plans of one problem for one load after another. A search uses the results for earlier loads."""

    def __init__(
        self,
        problem: Problem,
        pool: Pool,
        report: Report,
        moves_per_pair: int = MOVES_PER_PAIR,
        limit_s: float = inf,
        improved: Improved = unseen,
    ) -> None:
        """Solves the least worst-case load first. All searches together end after ``limit_s`` or at Ctrl-C."""
        self._ends = time.monotonic() + limit_s
        self.problem = problem
        self.pool = pool
        self.report = report
        self.improved = improved
        self.moves = moves_per_pair * max(problem.network.pairs, _LEAST_PAIRS)
        self.least: RobustRouting = best_found(problem, report=self._say_bounds, limit_s=limit_s)
        self.interrupted = self.least.interrupted
        self.out_of_time = self.least.out_of_time
        self._free: SearchResult | None = None
        """The plan of least load without regard to the load allowed."""
        self._found: list[SearchResult] = []
        """The best splits for each level of load that was searched, from the least load up."""
        self.best: SearchResult | None = None
        """The best splits found for the present load."""
        self._seed = SEED
        self._what = ""
        self._reported: SearchResult | None = None
        self._allowed = inf
        self._planned = self._done = 0
        """How many local searches the present load needs at most, and how many of them are done."""

    def within(self, load: float, what: str) -> SearchResult:
        """The best splits found within a load.

        The load must be at least that of :attr:`least`. Levels of load that do not depend on it are searched from the least load up, each from the best of the
        level below. The result is the best of the levels up to the load. So a more generous load never has a worse result, and what was searched before makes no difference.
        Interrupted or out of time, it is the best so far. Reports name the search ``what``.
        """
        self._allowed, self._what, self._reported = load, what, None
        self._begin()
        if not self.stopped:
            try:
                self._search(load)
            except KeyboardInterrupt:
                self.interrupted = True
            except OutOfTime:
                self.out_of_time = True
        return self._result(load)

    @property
    def stopped(self) -> bool:
        """Whether Ctrl-C or the end of the time has ended the search."""
        return self.interrupted or self.out_of_time

    def left_s(self) -> float:
        """How much time is left, seconds."""
        return self._ends - time.monotonic()

    def _begin(self) -> None:
        """Routings that need no search are the first results."""
        if self.best is None:
            self.best = self._judged(self.least.splits, self.least.worst_case_load)
        for known in (self.best, self._shortest, *self._found, self._free):
            if known is not None:
                self._show(known)

    @cached_property
    def _shortest(self) -> SearchResult:
        return self._judged(Splits.first_paths(self.problem.candidates), inf)

    def _search(self, load: float) -> None:
        """Search the plan without loss, then the levels up to the load, unless the load has room for that plan."""
        if self._free is None:
            self._without_limit()
        assert self._free is not None
        if self._free.load <= load * (1 + _NOTHING):
            return
        todo = self._levels(load)[len(self._found) :]
        self._planned, self._done = _LEVEL_SEARCHES * len(todo), 0
        for level in todo:
            self._level(level)
            assert self.best is not None
            self._found.append(self.best)

    def _levels(self, load: float) -> list[float]:
        """The loads to search up to that load: their ratios do not depend on it."""
        assert self._free is not None
        least, most = self.least.worst_case_load, self._free.load
        count = min(_LEVELS, max(1, round(log(most / least) / _CLOSE)))
        levels = least * (most / least) ** (np.arange(count) / count)
        return [level for level in levels.tolist() if level <= load * (1 + _NOTHING)]

    def _result(self, load: float) -> SearchResult:
        if self.stopped:
            assert self._reported is not None
            return self._reported
        assert self._free is not None
        found = self._free
        if found.load > load * (1 + _NOTHING):
            found = self._found[len(self._levels(load)) - 1]
        self._show(found)
        return found

    def _without_limit(self) -> None:
        """Search the plan of least load in which no pair loses throughput, whatever the load allowed: it serves every greater load."""
        within, seed = self.best, self._seed
        self._planned, self._done = _ROUNDS + 1, 0
        least = self._judged(self.least.splits, inf)  # free of loss where all pairs tolerate reordering
        self.best = least if least.penalty <= _NOTHING else self._shortest
        try:
            if self.best.penalty > _NOTHING:
                self._local(inf, _HOT, self.best.splits, self.moves)
            if self.best.penalty > _NOTHING:
                options = self.pool.options()
                self._offer(self._judged(options.splits(options.first[:-1]), inf), inf)
            self._lower()
            self._free = self.best
        finally:
            self.best, self._seed = within, seed

    def _level(self, load: float) -> None:
        """Search one level: from shortest paths, from a linear program, and from the best of the level below."""
        assert self.best is not None
        moves = max(1, self.moves // _LEVEL_MOVES)
        self._offer(self._shortest, load)
        self._local(load, _HOT, self._shortest.splits, moves)
        room = load * (1 - MARGIN)
        within = room if self.least.worst_case_load <= room else load
        # One program of the sequence a level: the levels are the sequence.
        for splits in islice(sparse(self.problem, within, self.best.splits, self._weight(), self.left_s), 1):
            self._offer(self._judged(splits, load), load)
        for hottest in (_WARM, _COOL):
            self._local(load, hottest, self.best.splits, moves)

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
            self._local(before.load, _LOOSE, before.splits, self.moves, lower_load=True)
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
        reached = worst_load(self.problem, whole)
        if reached > load * (1 + _NOTHING):
            whole, reached = splits, worst_load(self.problem, splits)
        self.pool.add(whole)
        options = self.pool.options()
        return self._chosen(options, options.chosen(whole), whole, reached)

    def _chosen(self, options: Options, chosen: Integers, splits: Splits, load: float) -> SearchResult:
        rate = options.throughput_bps[chosen].sum() / self.pool.connection.rate_bps
        return SearchResult(splits, float(options.penalty[chosen].sum()), round(rate / PENALTY_STEP), load)

    def _offer(self, found: SearchResult, load: float) -> None:
        """Take splits that keep to the load if they are better. Below the load of the plan without loss, none may be as good as that plan."""
        if found.load > load * (1 + _NOTHING) or (found.penalty <= _NOTHING and self._free is not None):
            return
        self._show(found)
        if self.best is None or found.better(self.best):
            self.best = found

    def _show(self, found: SearchResult) -> None:
        """Report splits that keep to the load allowed, and have less penalty than those before, or as much and less load."""
        if found.load > self._allowed * (1 + _NOTHING):
            return
        before = self._reported
        if before is not None:
            saved = before.penalty - found.penalty
            if saved < -PENALTY_STEP / 2 or (saved <= PENALTY_STEP / 2 and found.load >= before.load - _NOTHING):
                return
        self._reported = found
        self.improved(found)

    def _local(self, load: float, hottest: float, start: Splits, moves: int, lower_load: bool = False) -> None:
        self.pool.add(start)
        options = self.pool.options()
        self._seed += 1
        search = core_search(self.problem, options, self._seed)
        search.choose(options.chosen(start))
        greatest = _NOTHING if lower_load else np.inf
        search.begin(load, greatest, lower_load, moves, hottest, 10.0 if hottest in (_WARM, _COOL) else 1.0)
        self._say(0.0)
        done = 0
        try:
            while search.advance(_CHUNK):
                done += _CHUNK
                self._say(done / moves)
                if self.left_s() <= 0:
                    raise OutOfTime
        finally:
            best = search.best()
            if best is not None:
                chosen, _, reached = best
                self._offer(self._chosen(options, chosen, options.splits(chosen), reached), load)
        self._done += 1
        if self.left_s() <= 0:
            raise OutOfTime

    def _say_bounds(self, lower: float, upper: float, what: str) -> None:
        self.report(f"least worst-case load: {lower:.4f} to {upper:.4f}; {what}", 0.0)

    def _say(self, done: float) -> None:
        """Report the share of the present search that is done."""
        what = f"{self._what}, search {self._done + 1} of at most {self._planned}"
        self.report(what, (self._done + done) / self._planned)


def core_search(problem: Problem, options: Options, seed: int) -> "_core.PlanSearch":
    """The local search over these options, in the core; rates in units of the problem's scale."""
    network, model, scale = problem.network, problem.model, problem.scale
    sources, targets = network.pair_sources, network.pair_targets
    bounds: tuple[Floats, Floats, Floats, Floats] | None = None
    matrices = np.zeros((0, network.pairs))
    if isinstance(model, Bounds):
        above = model.above
        bounds = (
            np.maximum(above.rows, 0.0) / scale,
            np.maximum(above.columns, 0.0) / scale,
            np.maximum(model.largest - model.lower, 0.0)[sources, targets] / scale,
            model.lower[sources, targets] / scale,
        )
    else:
        matrices = model.matrices[:, sources, targets] / scale
    start, links, shares = options.links
    listed = (
        options.first.astype(np.uint32),
        options.penalty,
        start.astype(np.uint32),
        links.astype(np.uint32),
        shares,
    )
    return _core.PlanSearch(bounds, matrices, sources, targets, network.capacity / scale, listed, seed)
