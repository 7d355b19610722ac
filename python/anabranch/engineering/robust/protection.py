"""Splits that also bear failures: one program over the network as it is and after each failure.

When links fail, the pairs that lose paths keep their shares on the other paths, and spread the lost shares over these anew: a further
share for each failure and surviving path. The program minimises one ``t``, the worst-case load of the network as it is and
after each failure. So the answer is the least load that the operator must allow for to survive every failure.
Blocks are added for the links, of any failure, that separation finds overloaded, as in :mod:`anabranch.engineering.robust.blockwise`.

A lower bound needs no solver. Weighted matrices for links before and after failures give each path its prices. A path costs a pair its
price before failures, and its price after each failure that it survives. For each other failure, the price of the cheapest surviving
path is added.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anabranch.engineering.robust.blocks import Blocks, RoutingColumns, Weighted
from anabranch.engineering.robust.errors import RobustError
from anabranch.engineering.robust.failures import AfterFailure, Failure, lost_pairs, surviving
from anabranch.engineering.robust.lower_bounds import of_paths, prices
from anabranch.engineering.robust.lp import LinearProgram, Method
from anabranch.engineering.robust.problem import Problem, Report, relative_gap
from anabranch.engineering.robust.separation import worst_loads
from anabranch.engineering.robust.splits import SMALLEST_SHARE, Splits, crossings
from anabranch.foundation.array_types import Booleans, Floats, Integers

_FIRST_SHARE = 0.7
_OVERLOADED = 1e-9


@dataclass(frozen=True, eq=False)
class Protected:
    """Splits for the network without and after each failure."""

    problem: Problem
    splits: Splits
    restored: tuple[Splits, ...]
    """The splits after each failure; pairs that are lost have shares of 0."""
    after: tuple[AfterFailure, ...]
    load_before: float
    lower_bound: float
    interrupted: bool

    @property
    def load(self) -> float:
        """The worst-case load over the network as it is and after every failure."""
        return max([self.load_before, *(one.load for one in self.after)])

    @property
    def gap(self) -> float:
        """The relative gap between the bounds."""
        return relative_gap(self.lower_bound, self.load)


def protect(problem: Problem, failures: Sequence[Failure], gap: float, report: Report) -> Protected:
    """The splits of least worst-case load over all failures.

    Raises:
        RobustError: all paths are wanted; protection is for candidate paths.
    """
    if problem.all_paths:
        raise RobustError("protection is for candidate paths; give a number of them, as in --paths disjoint=3")
    problem.check()
    states = _States(problem, failures)
    lower, interrupted = 0.0, False
    shares = states.even()
    loads = states.loads(shares)
    highest = max(float(load.max()) for load in loads)
    links = [np.flatnonzero(load >= _FIRST_SHARE * highest) for load in loads]
    best = (highest, shares, loads)
    method: Method = "interior-point"
    report(lower, highest, "starting")
    try:
        while relative_gap(lower, best[0]) > gap:
            shares, objective, bound = states.solve(links, method)
            loads = states.loads(shares)
            lower = max(lower, bound)
            highest = max(float(load.max()) for load in loads)
            if highest < best[0]:
                best = (highest, shares, loads)
            report(lower, best[0], f"{sum(map(len, links))} links of {len(links)} states of the network")
            more = [
                np.union1d(known, np.flatnonzero(load > objective * (1 + _OVERLOADED)))
                for known, load in zip(links, loads, strict=True)
            ]
            if sum(map(len, more)) == sum(map(len, links)):
                if method == "simplex":
                    break
                method = "simplex"  # its dual values are exact; those of an interior point may leave a gap
            links = more
    except KeyboardInterrupt:
        interrupted = True
    _, shares, loads = best
    splits = [Splits(problem.candidates, one) for one in shares]
    found = tuple(
        AfterFailure(failure, float(load.max()), lost_pairs(problem.model, failure, lost, problem.network))
        for failure, load, lost in zip(failures, loads[1:], states.lost[1:], strict=True)
    )
    return Protected(problem, splits[0], tuple(splits[1:]), found, float(loads[0].max()), lower, interrupted)


class _States:
    """The network as it is (state 0) and after each failure."""

    def __init__(self, problem: Problem, failures: Sequence[Failure]) -> None:
        self.problem = problem
        candidates, pairs = problem.candidates, problem.network.pairs
        whole = Splits(candidates, np.ones(candidates.paths))
        self.left = [np.ones(candidates.paths, dtype=bool), *(surviving(whole, failure) for failure in failures)]
        """Whether each state has each path."""
        counts = [np.bincount(candidates.pair[left], minlength=pairs) for left in self.left]
        self.lost = [np.flatnonzero(count == 0) for count in counts]
        """The pairs that have no path."""
        self.affected = [(count > 0) & (count < counts[0]) for count in counts]

    def even(self) -> list[Floats]:
        """Even splits over the surviving paths."""
        shares = []
        for left in self.left:
            count = np.bincount(self.problem.candidates.pair[left], minlength=self.problem.network.pairs)
            shares.append(left / np.maximum(1, count)[self.problem.candidates.pair])
        return shares

    def loads(self, shares: list[Floats]) -> list[Floats]:
        """The worst-case load of each link in each state."""
        network, model = self.problem.network, self.problem.model
        return [worst_loads(network, model, crossings(self.problem.candidates, one)).load for one in shares]

    def solve(self, links: Sequence[Integers], method: Method) -> tuple[list[Floats], float, float]:
        """The shares in each state with blocks for these links, the program's load, and a lower bound."""
        problem, candidates = self.problem, self.problem.candidates
        program = LinearProgram()
        routing = RoutingColumns.new(program, candidates, problem.scale, problem.load_scale)
        further: list[tuple[Integers, Integers]] = []
        blocks = []
        for left, affected, chosen in zip(self.left, self.affected, links, strict=True):
            paths = np.flatnonzero(left & affected[candidates.pair])
            columns = program.add_columns(len(paths)) + np.arange(len(paths))
            further.append((paths, columns))
            pairs = np.flatnonzero(affected)
            row = np.full(problem.network.pairs, -1)
            row[pairs] = program.add_rows(np.ones(len(pairs)), np.ones(len(pairs))) + np.arange(len(pairs))
            program.add_entries(row[candidates.pair[paths]], columns, 1.0)
            program.add_entries(row[candidates.pair[paths]], routing.column[paths], 1.0)
            there = np.flatnonzero(left)
            both = candidates.keep(left).joined(candidates.keep(np.isin(np.arange(candidates.paths), paths)))
            column = np.concatenate((routing.column[there], columns))
            order = np.argsort(np.concatenate((candidates.pair[there], candidates.pair[paths])), kind="stable")
            state = RoutingColumns(program, both, routing.scale, routing.load, column[order], routing.load_scale)
            blocks.append(Blocks(state, problem.model, chosen))
        optimum = program.solve(method)
        shares = [
            self._restored(optimum.columns, routing.column, left, *extra)
            for left, extra in zip(self.left, further, strict=True)
        ]
        return shares, routing.least_load(optimum), self._bound([block.weighted(optimum) for block in blocks])

    def _restored(self, values: Floats, column: Integers, left: Booleans, paths: Integers, columns: Integers) -> Floats:
        """Shares that keep those of the undisturbed network, and add up to 1 but for lost pairs."""
        candidates, pairs = self.problem.candidates, self.problem.network.pairs
        before = Splits.rounded(candidates, values[column]).shares
        kept = np.where(left, before, 0.0)
        added = np.zeros(candidates.paths)
        added[paths] = np.where(values[columns] > SMALLEST_SHARE, values[columns], 0.0)
        missing = 1.0 - np.bincount(candidates.pair, weights=kept, minlength=pairs)
        sums = np.bincount(candidates.pair, weights=added, minlength=pairs)
        # Where nothing was to be added, rounding may leave a little: any surviving path takes it.
        some = left & (sums <= 0)[candidates.pair]
        added[some] = 1.0
        sums = np.bincount(candidates.pair, weights=added, minlength=pairs)
        scale = np.divide(np.maximum(0.0, missing), sums, out=np.zeros(pairs), where=sums > 0)
        total: Floats = kept + added * scale[candidates.pair]
        return total

    def _bound(self, weighted: list[Weighted]) -> float:
        candidates = self.problem.candidates
        cost = np.zeros(candidates.paths)
        weight = 0.0
        for left, one in zip(self.left, weighted, strict=True):
            priced = prices(self.problem.network, self.problem.model, one)
            weight += priced.paid
            of_path = of_paths(candidates, priced.parts(), priced.table)
            cheapest = np.minimum.reduceat(np.where(left, of_path, np.inf), candidates.first[:-1])
            cheapest[np.isinf(cheapest)] = 0.0  # lost pairs
            cost += np.where(left, of_path, cheapest[candidates.pair])
        total = float(np.minimum.reduceat(cost, candidates.first[:-1]).sum())
        return total / weight if weight > 0 else 0.0
