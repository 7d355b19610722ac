"""Plans for a load, and the front of plans over loads."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf

import numpy as np

from anabranch.engineering.plan.backups import with_backups
from anabranch.engineering.plan.model import Plan
from anabranch.engineering.plan.options import Pool
from anabranch.engineering.plan.search import MOVES_PER_PAIR, Report, Searcher, SearchResult
from anabranch.engineering.plan.states import States
from anabranch.engineering.plan.tcp_throughput import Connection
from anabranch.engineering.robust.candidates import By
from anabranch.engineering.robust.errors import RobustError
from anabranch.engineering.robust.failures import Failure
from anabranch.engineering.robust.hybrid import with_single_paths
from anabranch.engineering.robust.lp import OutOfTime
from anabranch.engineering.robust.problem import Problem
from anabranch.engineering.robust.solving import RobustRouting, best_found
from anabranch.engineering.robust.splits import Splits
from anabranch.foundation.array_types import Booleans, Integers

FRONT_POINTS = 6
"""Loads between the least that is possible and the least at which nothing is lost."""
HYBRID_PERCENTAGES = (100.0, 80.0, 60.0, 40.0, 20.0, 0.0)
_ROUNDING = 1e-6


def silent(what: str, done: float) -> None:
    """Report nothing."""


def nobody(problem: Problem) -> Booleans:
    """No pair tolerates reordering."""
    return np.zeros(problem.network.pairs, dtype=bool)


class Planner:
    """Finds plans of one problem. A search for one load starts from the results for earlier loads."""

    def __init__(
        self,
        problem: Problem,
        connection: Connection | None = None,
        tolerant: Booleans | None = None,
        report: Report = silent,
        moves_per_pair: int = MOVES_PER_PAIR,
        limit_s: float = inf,
        improved: Callable[[Plan], None] | None = None,
        failures: Sequence[Failure] = (),
        backup: By | None = None,
    ) -> None:
        """Takes the problem and solves its least load without failures. Pairs without traffic keep to their first candidate.

        Args:
            problem: over which candidates, and within which traffic.
            connection: the TCP connection of each pair.
            tolerant: for each pair, whether its hosts tolerate reordering; by default none do.
            report: takes what is being searched for, and the share of the most possible work that is done.
            moves_per_pair: moves of each local search.
            limit_s: seconds after which all searches end with the best so far.
            improved: takes each plan that is better than those before it, within the same load.
            failures: after each of these, the load must be within the limit, too.
            backup: gives each single path a backup path that shares no link with it, the shortest by this length beyond the candidates.

        Raises:
            RobustError: the topology does not say the delay of every link, or all paths are candidates.
        """
        if problem.all_paths:
            raise RobustError("a plan chooses among candidates; give a number of them, as in --paths 4")
        problem.check()
        problem = _of_sending_pairs(problem)
        backups: Integers | None = None
        if backup is not None:
            candidates, backups = with_backups(problem.candidates, problem.sending, backup)
            problem = replace(problem, candidates=candidates)
        self.states = States(problem, tuple(failures), backups)
        self.problem = problem
        self.connection = connection or Connection()
        self._improved = improved
        self._allowed = inf
        self.tolerant = nobody(problem) if tolerant is None else tolerant
        self._pool = Pool(problem.candidates, self.connection, self.tolerant)
        self._search = Searcher(self.states, self._pool, report, moves_per_pair, limit_s, self._improve)

    @property
    def least(self) -> RobustRouting:
        """The routing of least worst-case load, without regard to TCP and failures."""
        return self._search.least

    def plan(self, load: float) -> Plan:
        """The plan of most predicted throughput within a load; of equally good plans, the one of least load.

        Ctrl-C and the end of the time end the search with the best so far, which says so (``interrupted``, ``out_of_time``).

        Raises:
            RobustError: no routing over the candidates stays within the load, or none was found before the search ended.
        """
        if self._search.stopped and self.least.lower_bound <= load < self.least.worst_case_load * (1 - _ROUNDING):
            raise RobustError(
                f"{self.problem.network.topology.name}: the search ended before it found a routing within a load of {load:g}: "
                f"the least worst case lies between {self.least.lower_bound:.6f} and {self.least.worst_case_load:.6f}; "
                "allow more load or more time"
            )
        if not load >= self.least.worst_case_load * (1 - _ROUNDING):
            raise RobustError(
                f"{self.problem.network.topology.name}: no routing over these candidates keeps to a load of {load:g}: "
                f"the worst case is at least {self.least.lower_bound:.6f}, reached {self.least.worst_case_load:.6f}; "
                "allow more load, or give more paths"
            )
        return self._within(load, f"load {load:.3f}")

    def front(self, load: float) -> list[Plan]:
        """Plans from that load down to the least that is possible, none worse in load and throughput than another."""
        plans = [self.plan(load)]
        least = self.least.worst_case_load
        loads = np.linspace(plans[0].worst_case_load, least, FRONT_POINTS)[1:].tolist()
        for number, lower in enumerate(loads, start=2):
            if self._search.stopped:
                break
            plans.append(self._within(lower, f"plan {number} of {FRONT_POINTS}, load {lower:.3f}"))
        return undominated(plans)

    def judge(self, splits: Splits, load: float) -> Plan:
        """Splits of the same candidates, as a plan."""
        return self._plan(SearchResult(splits, 0.0, 0.0), load)

    def _within(self, load: float, what: str) -> Plan:
        self._allowed = load
        found = self._search.within(max(load, self.least.worst_case_load), what)
        if found is not None:
            return self._plan(found, load)
        name, failures = self.problem.network.topology.name, len(self.states.failures)
        raise RobustError(
            f"{name}: no plan was found that keeps to a load of {load:g} after each of {failures} failures: "
            f"the least found is {self._search.least_found:.6f}; allow more load or more time, or give more paths"
        )

    def _improve(self, found: SearchResult) -> None:
        if self._improved is not None:
            self._improved(self._plan(found, self._allowed))

    def _plan(self, found: SearchResult, load: float) -> Plan:
        return Plan(
            self.states,
            self._pool.predictor,
            load,
            found.splits,
            self._pool.throughput(found.splits),
            self.least.lower_bound,
            float(self._pool.predictor.most[self.problem.sending].sum()),
            self._search.interrupted,
            self._search.out_of_time,
        )


def _of_sending_pairs(problem: Problem) -> Problem:
    """The problem in which pairs without traffic keep only their first candidate."""
    candidates = problem.candidates
    kept = problem.sending[candidates.pair]
    kept[candidates.first[:-1]] = True
    return problem if kept.all() else replace(problem, candidates=candidates.keep(kept))


def undominated(plans: list[Plan]) -> list[Plan]:
    """The plans that no other dominates, by falling load. A plan dominates another if it has less load and no less throughput."""
    kept: list[Plan] = []
    most = -1.0
    for plan in sorted(plans, key=lambda plan: (round(plan.worst_case_load, 9), -plan.total_bps)):
        if plan.total_bps > most * (1 + _ROUNDING):
            kept.append(plan)
            most = plan.total_bps
    return kept[::-1]


def hybrid(
    two_paths: Problem, load: float, connection: Connection, tolerant: Booleans, limit_s: float = inf
) -> tuple[float, Plan] | None:
    """The paper's heuristic at that load: the greatest percentage of single-path pairs (of its six) that keeps to it.

    ``two_paths`` has the paper's candidates. None if not even 0 percent keeps to the load.

    Raises:
        KeyboardInterrupt: Ctrl-C, which leaves no routing to compare with.
        OutOfTime: the same after ``limit_s``.
    """
    ends = time.monotonic() + limit_s
    pool = Pool(two_paths.candidates, connection, tolerant)
    most = float(pool.predictor.most[two_paths.sending].sum())
    for percent in HYBRID_PERCENTAGES:
        problem = with_single_paths(two_paths, percent)
        routing = best_found(problem, limit_s=ends - time.monotonic())
        if routing.interrupted:
            raise KeyboardInterrupt
        if routing.out_of_time:
            raise OutOfTime
        if routing.worst_case_load <= load * (1 + _ROUNDING):
            whole = _spread(routing.splits, two_paths)
            rates = pool.throughput(whole)
            return percent, Plan(States(two_paths), pool.predictor, load, whole, rates, routing.lower_bound, most)
    return None


def _spread(splits: Splits, problem: Problem) -> Splits:
    """Splits of some candidates as splits of all of the problem's."""
    few, every = splits.candidates, problem.candidates
    place = {(int(every.pair[path]), every.links_of(path).tobytes()): path for path in range(every.paths)}
    shares = np.zeros(every.paths)
    for path in range(few.paths):
        shares[place[int(few.pair[path]), few.links_of(path).tobytes()]] = splits.shares[path]
    return Splits(every, shares)
