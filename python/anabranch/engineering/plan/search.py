"""The search for a plan: linear programs for what must split, a local search for who need not."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from math import inf

import numpy as np

from anabranch import _core
from anabranch.engineering.plan import levels
from anabranch.engineering.plan.options import Options, Pool
from anabranch.engineering.plan.sparse import ROUNDS, sparse, worst_load
from anabranch.engineering.plan.ties import MARGIN, PENALTY_STEP, on_grid, rounded
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
_CHUNK = 5_000
_HOT, _WARM = 0.03, 0.05
"""First temperatures: of a search from any choice, and of a search from a good one."""
_LOOSE = 1.0
"""First temperature of a search for less load, as a share of the greatest traffic of a pair: nothing is lost by any move."""
_NOTHING = 1e-9
_CLOSE = 1e-3
"""Loads that differ by less are as good, relative."""


@dataclass(frozen=True)
class _Effort:
    """How thoroughly a level of load is searched."""

    starts: int
    """How often the local search starts from shortest paths, with other draws."""
    rounds: int
    """How often at most linear programs and local searches take turns."""
    programs: int
    """How many linear programs there are at most in a turn."""
    share: float
    """Moves of each local search, as a share of those of the search for the plan without loss."""

    @property
    def searches(self) -> int:
        """The most local searches."""
        return self.starts + 2 * self.rounds


_LEAST = _Effort(starts=4, rounds=2, programs=ROUNDS, share=1 / 2)
"""At the least load, where all other levels begin."""
_LEVEL = _Effort(starts=0, rounds=1, programs=3, share=1 / 8)
"""At a level, which begins with the plan of the level below."""


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Splits within a load, with their penalty."""

    splits: Splits
    penalty: float
    throughput: float
    """Predicted throughput of all pairs, as a multiple of the application's rate."""
    load: float

    def cheaper(self, other: "SearchResult") -> bool:
        """Whether this one has less penalty, or the same penalty and less load."""
        if abs(self.penalty - other.penalty) > PENALTY_STEP / 2:
            return self.penalty < other.penalty
        return self.load < other.load - _NOTHING

    def improves(self, other: "SearchResult") -> bool:
        """Whether this one has more throughput and less penalty, or no less throughput, no more penalty, no more load, and less of one of these.

        Of a sequence in which each improves the one before, none has less throughput than an earlier one. At equal throughput,
        none has more load or fewer single paths.
        """
        gained, saved = self.throughput - other.throughput, other.penalty - self.penalty
        if abs(gained) > PENALTY_STEP / 2:
            return gained > 0 and saved > PENALTY_STEP / 2
        if self.load > other.load + _NOTHING or saved < -PENALTY_STEP / 2:
            return False
        return self.load < other.load - _NOTHING or saved > PENALTY_STEP / 2


Improved = Callable[[SearchResult], None]
"""Takes the best splits for the present load, each time that better ones are found."""


def unseen(found: SearchResult) -> None:
    """Take no notice."""


class Searcher:
    """Searches plans of one problem for one load after another. What was searched before makes no difference."""

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
        shortest = Splits.first_paths(problem.candidates)
        self._starts = self._judged(self.least.splits, self.least.worst_case_load), self._judged(shortest, inf)
        """The routing of least load, and shortest paths."""
        self._free: SearchResult | None = None
        """The plan of least load without regard to the load allowed."""
        self._of_least: SearchResult | None = None
        self._descended: dict[int, SearchResult] | None = None
        """What was found at coarse levels from the plan without loss downwards."""
        self._coarse: list[SearchResult] = []
        """The plans for the base and for the coarse levels from there up: each improves the one before, or is the same."""
        self.best: SearchResult | None = None
        """The best splits found for the present level."""
        self._allowed = inf
        self._shown: SearchResult | None = None
        """The best splits found for the present load."""
        self._seed = SEED
        self._what = ""
        self._searches, self._most_searches = 0, 1
        """How many local searches for the present load have begun, and how many there are at most."""

    def within(self, load: float, what: str) -> SearchResult:
        """The best splits found within a load.

        The load must be at least that of :attr:`least`. A more generous load never has a worse result.
        Interrupted or out of time, it is the best so far. Reports name the search ``what``.
        """
        self._allowed, self._what, self._shown = load, what, None
        self._searches = 0
        for known in (*self._starts, *self._coarse, self._free):
            if known is not None:
                self._show(known)
        if not self.stopped:
            try:
                return self._search(load)
            except KeyboardInterrupt:
                self.interrupted = True
            except OutOfTime:
                self.out_of_time = True
        assert self._shown is not None
        return self._shown

    @property
    def stopped(self) -> bool:
        """Whether Ctrl-C or the end of the time has ended the search."""
        return self.interrupted or self.out_of_time

    def left_s(self) -> float:
        """How much time is left, seconds."""
        return self._ends - time.monotonic()

    def _search(self, load: float) -> SearchResult:
        """The plan without loss if it keeps to the load, or else that of the levels up to the load."""
        free = self._without_limit()
        if free.load <= load * (1 + _NOTHING):
            return free
        if self._ends < inf:  # A search that is cut short has something for this load
            with self._apart():
                self.best, self._seed = None, SEED
                self._local(load, _WARM, free.splits, self.moves)
                self._level(load, self.best or self._starts[0], 0, None)
        base = self._base
        first, last, top = (levels.index(one) for one in (base, load, free.load))
        first += 1
        below = last - last % levels.FINE
        begin = first + -first % levels.FINE
        coarse, between = range(begin, last + 1, levels.FINE), range(max(first, below + 1), last + 1)
        self._most_searches = self._searches + _LEAST.searches + (top - begin) // levels.FINE + 1
        self._most_searches += _LEVEL.searches * (len(coarse) + 2) + (1 + _LEVEL.searches) * len(between)
        if load < base * (1 - _NOTHING):
            return self._plan_of_least()
        self._descend(range(begin, top + 1, levels.FINE), free)
        best = self._plan_of_coarse(len(coarse), begin)
        if not between:
            return best
        above = free if free.load <= levels.load(below + levels.FINE) else self._plan_of_coarse(len(coarse) + 1, begin)
        with self._apart():
            for index in between:
                if above.load <= levels.load(index) * (1 + _NOTHING):
                    return above
                load = levels.load(index)
                found = self._level(load, self._rounded(best, load), index, self._lowered(index, above))
                if found.improves(best) and above.improves(found):
                    best = found
        return best

    @property
    def _base(self) -> float:
        """Where the levels begin: so near the least load that splits of a linear program, rounded, keep to it."""
        return self.least.worst_case_load * (1 + 2 * MARGIN)

    def _plan_of_least(self) -> SearchResult:
        """The plan for the least load, where shares of linear programs are not rounded."""
        if self._of_least is None:
            with self._apart():
                self._of_least = self._level(self.least.worst_case_load, self._starts[0], 0, None, _LEAST)
        return self._of_least

    def _descend(self, coarse: range, free: SearchResult) -> None:
        """Lower the load of the plan without loss from level to level: many plans for much load are near it."""
        if self._descended is None:
            found, plan = {}, free
            for index in reversed(coarse):
                lowered = self._lowered(index, plan)
                if lowered is not None:
                    found[index] = plan = lowered
            self._descended = found

    def _lowered(self, index: int, above: SearchResult) -> SearchResult | None:
        """The cheapest splits within a level that are found from splits of more load."""
        self.best, self._seed = None, SEED + _LEAST.searches * abs(index)
        self._local(levels.load(index), _WARM, above.splits, round(self.moves * _LEVEL.share))
        return self.best

    def _plan_of_coarse(self, number: int, begin: int) -> SearchResult:
        """The plan for the base, if the number is 0, or for that coarse level above it; ``begin`` is the index of the first."""
        assert self._descended is not None
        while len(self._coarse) <= number:
            if not self._coarse:
                before = self._plan_of_least()
                found = self._level(self._base, self._rounded(before, self._base), 1, None)
            else:
                index, before = begin + levels.FINE * (len(self._coarse) - 1), self._coarse[-1]
                load = levels.load(index)
                found = self._level(load, self._rounded(before, load), index, self._descended.get(index))
            self._coarse.append(found if found.improves(before) else before)
        return self._coarse[number]

    def _rounded(self, found: SearchResult, load: float) -> SearchResult:
        """What a search for more load begins with: the plan for the least load has shares that may depend on the machine."""
        whole = self._judged(found.splits, load)
        return whole if whole.load <= load * (1 + _NOTHING) else found

    @contextmanager
    def _apart(self) -> Iterator[None]:
        """What is found leaves no options for later searches, so that those do not depend on it."""
        pool, self.pool = self.pool, self.pool.copy()
        try:
            yield
        finally:
            self.pool = pool

    def _without_limit(self) -> SearchResult:
        """The plan of least load in which no pair loses throughput, whatever the load allowed."""
        if self._free is None:
            self._most_searches = 1 + _ROUNDS
            self._seed = SEED
            self.best = self._starts[1]
            if self.best.penalty > _NOTHING:
                self._local(inf, _HOT, self.best.splits, self.moves)
            if self.best.penalty <= _NOTHING:
                self._lower()
            self._offer(self._starts[0], inf)  # where splits cost nothing, no routing has less load
            self._free = self.best
        return self._free

    def _level(
        self, load: float, start: SearchResult, seed: int, other: SearchResult | None, effort: _Effort = _LEVEL
    ) -> SearchResult:
        """The cheapest splits found within a load, from some within it, and from others if there are. ``seed`` is another one for each load."""
        self.best, self._seed = start, SEED + _LEAST.searches * abs(seed)
        if other is not None:
            self._offer(other, load)
        moves = round(self.moves * effort.share)
        room = load * (1 - MARGIN)
        within = room if self.least.worst_case_load <= room else load
        weight = self._weight()
        for _ in range(effort.starts):
            self._local(load, _HOT, self._starts[1].splits, moves)
        for _ in range(effort.rounds):
            before = self.best
            for splits in islice(sparse(self.problem, within, before.splits, weight, self.left_s), effort.programs):
                self._offer(self._judged(splits, load), load)
            self._local(load, _WARM, self.best.splits, moves)
            self._polish(load)
            self._local(load, _WARM, self.best.splits, moves)
            if not self.best.cheaper(before):
                break
        return self.best

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
        """The splits of a linear program, rounded; but not if they exceed the load then and it is the least."""
        whole = rounded(splits)
        reached = worst_load(self.problem, whole)
        if load * (1 + _NOTHING) < reached and load < self._base:
            whole, reached = splits, worst_load(self.problem, splits)
        self.pool.add(whole)
        options = self.pool.options()
        chosen = options.chosen(whole)
        return self._result(options, chosen, float(options.penalty[chosen].sum()), reached)

    def _result(self, options: Options, chosen: Integers, penalty: float, load: float) -> SearchResult:
        rates = on_grid(options.throughput_bps[chosen] / self.pool.connection.rate_bps, PENALTY_STEP)
        return SearchResult(options.splits(chosen), penalty, float(rates[self.problem.sending].sum()), load)

    def _offer(self, found: SearchResult, load: float) -> None:
        if found.load <= load * (1 + _NOTHING) and (self.best is None or found.cheaper(self.best)):
            self.best = found
            self._show(found)

    def _show(self, found: SearchResult) -> None:
        """Keep it for the present load if it is the cheapest so far."""
        if found.load <= self._allowed * (1 + _NOTHING) and (self._shown is None or found.cheaper(self._shown)):
            self._shown = found
            self.improved(found)

    def _local(self, load: float, hottest: float, start: Splits, moves: int, lower_load: bool = False) -> None:
        self.pool.add(start)
        options = self.pool.options()
        self._seed += 1
        search = core_search(self.problem, options, self._seed)
        search.choose(options.chosen(start))
        greatest = _NOTHING if lower_load else np.inf
        search.begin(load, greatest, lower_load, moves, hottest, 10.0 if hottest == _WARM else 1.0)
        self._searches += 1
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
                chosen, penalty, reached = best
                self._offer(self._result(options, chosen, penalty, reached), load)

    def _say_bounds(self, lower: float, upper: float, what: str) -> None:
        self.report(f"least worst-case load: {lower:.4f} to {upper:.4f}; {what}", 0.0)

    def _say(self, done: float) -> None:
        """Report the share of the present search that is done."""
        what = f"{self._what}, search {self._searches} of at most {self._most_searches}"
        self.report(what, min(1.0, (self._searches - 1 + done) / self._most_searches))


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
