"""Refine a routing of least load: rules for the split of each pair, and a second objective at that load.

Without rules, the least mean delay is a linear program with its proof. All else is about whole numbers: a local search finds splits, linear
programs choose the shares on their paths anew, and branch and bound improves and proves them where the network is small.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from anabranch.engineering.robust.branching import branch
from anabranch.engineering.robust.candidates import Candidates, shortest
from anabranch.engineering.robust.costed import LOAD_ROUNDING, cheapest, priced
from anabranch.engineering.robust.errors import RobustError
from anabranch.engineering.robust.local_search import search
from anabranch.engineering.robust.lp import OutOfTime
from anabranch.engineering.robust.objectives import OBJECTIVES, Objective, value, weights
from anabranch.engineering.robust.problem import Report, relative_gap
from anabranch.engineering.robust.rules import Rules
from anabranch.engineering.robust.separation import Loads, worst_loads
from anabranch.engineering.robust.solving import RobustRouting, best_found, silent
from anabranch.engineering.robust.splits import Splits
from anabranch.foundation.array_types import Booleans, Floats, Integers

PROOF_S = 10.0
"""For how long branch and bound is tried unless a time limit is given, seconds."""
_MOVES_PER_PAIR = 400
_LEAST_PAIRS = 64
_MOST_ROUNDS = 8
_MOST_STALE = 2
"""After this many searches in a row that improve nothing, with other draws each, there is no further one."""
_SPARSE_ROUNDS = 5
_SMALL_SHARE = 0.05
_FIRST_SHARE = 0.7
"""Links of this share of the greatest load are in the first linear program."""
_ROOM = 3e-4
"""How far above the load a search may go whose shares are rounded; a linear program then keeps to the load."""
_BETTER = 1e-6


@dataclass(frozen=True, eq=False)
class Second:
    """The result for a second objective."""

    objective: Objective
    before: float
    """Its value for the routing of least load before."""
    value: float
    bound: float
    """No splits within the load have a smaller value."""


@dataclass(frozen=True, eq=False)
class Refined:
    """Splits that keep to rules, and the routing without rules beside them."""

    routing: RobustRouting
    """The splits. Its lower bound is that of any splits over the candidates."""
    unrestricted: RobustRouting
    rules: Rules
    rounded_load: float | None
    """The worst-case load of the nearest splits that keep to the rules; None without rules."""
    load_bound: float
    """No splits that keep to the rules have a smaller worst-case load."""
    allowed_load: float
    """The load that the second objective may use."""
    second: Second | None

    @property
    def load_gap(self) -> float:
        """The gap between the worst-case load and its bound, relative to the load."""
        return relative_gap(self.load_bound, self.routing.worst_case_load)


def refine(
    routing: RobustRouting,
    rules: Rules = Rules(),
    then: Objective | None = None,
    slack: float = 0.0,
    limit_s: float = inf,
    report: Report = silent,
) -> Refined:
    """The least load of splits that keep to rules, then the least second objective at that load.

    Args:
        routing: the routing of least load over the same candidates.
        rules: the most paths of a pair, and the parts in which shares are.
        then: the second objective.
        slack: by what share of the least load the load may be greater for the second objective.
        limit_s: the time limit, seconds. Without it, branch and bound ends after :data:`PROOF_S` for each objective.
        report: takes the progress.

    Ctrl-C and the time limit end the search with the best splits so far.

    Raises:
        RobustError: the slack is negative, or the second objective needs delays that the topology lacks.
    """
    if not 0 <= slack < inf:
        raise RobustError(f"a slack of {slack:g}: must be at least 0, such as 0.01")
    if then is not None and then not in OBJECTIVES:
        raise RobustError(f"then {then!r}: must be one of {', '.join(OBJECTIVES)}")
    return _Search(routing, rules, limit_s, report).refined(then, slack)


class _Search:
    def __init__(self, routing: RobustRouting, rules: Rules, limit_s: float, report: Report) -> None:
        self.unrestricted, self.given, self.report = routing, rules, report
        self.ends = time.monotonic() + limit_s
        self.limited = limit_s < inf
        candidates, shares = _to_choose_from(routing)
        self.problem = replace(routing.problem, candidates=candidates)
        binding = rules.max_paths is not None and rules.max_paths < np.diff(candidates.first).max()
        self.rules = rules if binding else replace(rules, max_paths=None)
        self.start = Splits(candidates, shares)
        self.best = self.start
        self.bound = routing.lower_bound
        self.interrupted = self.out_of_time = False
        self.seed = 0
        loads = self.loads(self.start).load
        self.links: Integers = np.flatnonzero(loads >= _FIRST_SHARE * loads.max())
        """The links that linear programs begin with."""

    def refined(self, then: Objective | None, slack: float) -> Refined:
        """Both steps."""
        rounded: float | None = None
        second: Second | None = None
        if then is not None:
            value(then, self.problem, self.best)  # refuses delays that are missing, before the search
        if self.rules.any:
            self.best = self.rules.rounded(self.start)
            self._guarded(self._least_load)
        if self.given.any:
            rounded = self.load(self.rules.rounded(self.start) if self.rules.any else self.start)
        allowed = self.load(self.best) * (1 + slack)
        if then is not None:
            before = self.best
            self.objective_bound = 0.0
            self._guarded(lambda: self._least(then, allowed))
            first, last = value(then, self.problem, before), value(then, self.problem, self.best)
            second = Second(then, first, last, min(self.objective_bound, last))
        routing = replace(
            self.unrestricted,
            splits=self.best,
            loads=self.loads(self.best),
            interrupted=self.unrestricted.interrupted or self.interrupted,
            out_of_time=self.unrestricted.out_of_time or self.out_of_time,
        )
        bound = min(self.bound, routing.worst_case_load)
        return Refined(routing, self.unrestricted, self.given, rounded, bound, allowed, second)

    def loads(self, splits: Splits) -> Loads:
        return worst_loads(self.problem.network, self.problem.model, splits.crossings)

    def load(self, splits: Splits) -> float:
        return float(self.loads(splits).load.max())

    def left_s(self) -> float:
        return self.ends - time.monotonic()

    def _guarded(self, work: Callable[[], None]) -> None:
        """Do it unless Ctrl-C or the time has ended the search before."""
        if self.interrupted or self.out_of_time:
            return
        try:
            work()
        except KeyboardInterrupt:
            self.interrupted = True
        except OutOfTime:
            self.out_of_time = True

    def _branch_s(self) -> float:
        return self.left_s() if self.limited else PROOF_S

    # The least load by the rules.

    def _least_load(self) -> None:
        free = self.rules.weights_in is None
        if free:
            self._offer_load(self._least_loaded(self.best.shares > 0))
        present = self.best
        for number in range(_MOST_ROUNDS):
            if self.load(self.best) <= self.bound * (1 + _BETTER):
                return
            what = f"{self._named()}, search {number + 1} of at most {_MOST_ROUNDS}"
            self.report(self.bound, self.load(self.best), what)
            found = self._local(present, None, inf)
            if free:
                found = self._least_loaded(found.shares > 0)
                self._offer_load(found)
            stuck = self.load(found) > self.load(present) * (1 - _BETTER)
            present = self.start if stuck else found  # other draws lead elsewhere
        if not self.problem.all_paths:
            self.report(self.bound, self.load(self.best), f"{self._named()}, branch and bound")
            splits, bound = branch(self.problem, self.rules, None, inf, self.best, self._branch_s())
            if splits is not None:
                self._offer_load(splits)
            self.bound = max(self.bound, min(bound, self.load(self.best)))

    def _named(self) -> str:
        paths, parts = self.rules.max_paths, self.rules.weights_in
        return ", ".join(
            text
            for text in (
                "" if paths is None else f"at most {paths} paths",
                "" if parts is None else f"weights in {parts} parts",
            )
            if text
        )

    def _offer_load(self, splits: Splits) -> None:
        if self.load(splits) < self.load(self.best):
            self.best = splits

    def _least_loaded(self, allowed: Booleans) -> Splits:
        """The splits of least load over these paths alone."""
        few = best_found(
            replace(self.problem, candidates=self.problem.candidates.keep(allowed), all_paths=False),
            limit_s=self.left_s(),
        )
        if few.interrupted:
            raise KeyboardInterrupt
        shares = np.zeros(self.problem.candidates.paths)
        shares[allowed] = few.splits.shares
        return Splits(self.problem.candidates, shares)

    def _local(
        self, present: Splits, objective: Objective | None, load: float, known: tuple[Splits, ...] = ()
    ) -> Splits:
        self.seed += 1
        moves = _MOVES_PER_PAIR * max(_LEAST_PAIRS, int(self.problem.sending.sum()))
        start = self.rules.rounded(present)
        room = load * (1 + _ROOM) if self.rules.weights_in is None else load
        found, interrupted = search(
            self.problem, self.rules, start, objective, room, moves, self.seed, self.left_s, known
        )
        if objective is None:
            self._offer_load(found)
        else:
            self._offer(objective, load, found)
        if interrupted:
            raise KeyboardInterrupt
        if self.left_s() <= 0:
            raise OutOfTime
        return found

    # The least second objective within a load.

    def _least(self, objective: Objective, load: float) -> None:
        free = self.rules.weights_in is None
        cost = self._delay_cost() if objective == "delay" else None
        if cost is not None:
            self.report(self.bound, load, "least delay")
            start = self.start if self.rules.any else self.best
            found, self.objective_bound = cheapest(self.problem, cost, load, start, self.left_s)
            if not self.rules.any:
                self.best = found
                return
        known: list[Splits] = []
        stale = 0
        for number in range(_MOST_ROUNDS):
            before = value(objective, self.problem, self.best)
            if before <= self.objective_bound * (1 + _BETTER):
                return
            if free and objective != "delay":
                known = self._sparse(objective, load)
                for splits in known:
                    self._offer(objective, load, splits)
            self.report(self.bound, load, f"{objective}: {before:g}, search {number + 1} of at most {_MOST_ROUNDS}")
            found = self._local(self.best, objective, load, tuple(map(self.rules.rounded, known)))
            if free:
                self._offer(objective, load, self._within(objective, found, load))
            stale = stale + 1 if value(objective, self.problem, self.best) > before * (1 - _BETTER) else 0
            if stale == _MOST_STALE:
                break
        if not self.problem.all_paths:
            self.report(
                self.bound, load, f"{objective}: {value(objective, self.problem, self.best):g}, branch and bound"
            )
            exact, bound = branch(self.problem, self.rules, objective, load, self.best, self._branch_s())
            if exact is not None:
                self._offer(objective, load, exact)
            if objective == "splits":
                bound = float(np.ceil(bound - 1e-3))
            self.objective_bound = max(self.objective_bound, bound)

    def _offer(self, objective: Objective, load: float, splits: Splits) -> None:
        """Splits that may be better; of equally good ones those of less load."""
        reached = self.load(splits)
        if reached > load * (1 + LOAD_ROUNDING):
            return
        now, then = value(objective, self.problem, splits), value(objective, self.problem, self.best)
        if now < then - 1e-12 or (now <= then + 1e-12 and reached < self.load(self.best)):
            self.best = splits

    def _delay_cost(self) -> Floats:
        network = self.problem.network
        cost: Floats = weights(self.problem)[:, None] * network.delays[None, :]
        return cost

    def _within(self, objective: Objective, found: Splits, load: float) -> Splits:
        """Splits within the load whose objective is that of ``found``, or near it."""
        allowed = self._as_good(objective, found)
        least = self._least_loaded(allowed)
        if self.load(least) <= load * (1 + LOAD_ROUNDING) or self.rules.any:
            return least
        outside = np.where(allowed, 0.0, 1.0)
        return self._priced(outside, load)

    def _as_good(self, objective: Objective, splits: Splits) -> Booleans:
        """The paths that a pair may use besides without a greater objective."""
        candidates, used = splits.candidates, splits.shares > 0
        if self.rules.any or objective == "delay":
            return used
        if objective == "splits":
            several = np.add.reduceat(used.astype(int), candidates.first[:-1]) > 1
            return used | several[candidates.pair]
        first = candidates.first[:-1]
        least = np.minimum.reduceat(np.where(used, candidates.delays, inf), first)[candidates.pair]
        most = np.maximum.reduceat(np.where(used, candidates.delays, -inf), first)[candidates.pair]
        return (candidates.delays >= least) & (candidates.delays <= most)

    def _priced(self, price: Floats, load: float) -> Splits:
        """The splits within the load whose paths cost least at these prices."""
        found, self.links = priced(self.problem, price, load, self.links, self.left_s)
        return found

    def _sparse(self, objective: Objective, load: float) -> list[Splits]:
        """Splits of fewer and fewer paths within the load: each program prices a path by one over its share before (Candes, Wakin, Boyd 2008)."""
        candidates = self.problem.candidates
        weight = self.problem.sending.astype(float) if objective == "splits" else weights(self.problem)
        weight = weight / weight.max()
        found = [self.best]
        for number in range(_SPARSE_ROUNDS):
            self.report(self.bound, load, f"{objective}, program {number + 1} of {_SPARSE_ROUNDS}")
            price = weight[candidates.pair] * (1 / (found[-1].shares + _SMALL_SHARE) - 1 / (1 + _SMALL_SHARE))
            found.append(self._priced(price, load))
        return found


def _to_choose_from(routing: RobustRouting) -> tuple[Candidates, Floats]:
    """The candidates of pairs that send, one path of each other pair, and the shares of the routing on them.

    Over all paths the candidates are the paths in use, and two shortest ones of each pair.
    """
    problem, splits = routing.problem, routing.splits
    candidates, shares = splits.candidates, splits.shares
    if problem.all_paths:
        candidates = candidates.keep(shares > 0)
        shares = shares[shares > 0]
        known = {tuple(candidates.links_of(path)) for path in range(candidates.paths)}
        others = shortest(problem.network, 2)
        fresh = np.array([tuple(others.links_of(path)) not in known for path in range(others.paths)])
        others = others.keep(fresh)
        pairs = np.concatenate((candidates.pair, others.pair))
        candidates = candidates.joined(others)
        shares = np.concatenate((shares, np.zeros(others.paths)))[np.argsort(pairs, kind="stable")]
    kept = problem.sending[candidates.pair]
    first = candidates.first[:-1]
    kept[first] = True
    shares = np.where(problem.sending[candidates.pair], shares, 0.0)
    shares[first[~problem.sending]] = 1.0
    return candidates.keep(kept), shares[kept]
