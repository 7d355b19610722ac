"""Branch and bound: the best splits that keep to the rules of whole numbers, on networks small enough for it.

It solves the linear program with blocks for all links, with whole columns for the paths in use, the parts of a whole or the pairs that split.
"""

import numpy as np

from anabranch.engineering.robust.blocks import Blocks, RoutingColumns
from anabranch.engineering.robust.candidates import Candidates
from anabranch.engineering.robust.costed import LOAD_ROUNDING
from anabranch.engineering.robust.lp import LinearProgram
from anabranch.engineering.robust.objectives import Objective, weights
from anabranch.engineering.robust.problem import Problem
from anabranch.engineering.robust.rules import Rules
from anabranch.engineering.robust.splits import Splits
from anabranch.foundation.array_types import Floats, Integers

MOST_PATHS = 4_000
"""The most candidate paths of all pairs with which branch and bound is tried."""


def branch(
    problem: Problem, rules: Rules, objective: Objective | None, load: float, start: Splits, limit_s: float
) -> tuple[Splits | None, float]:
    """Splits of least load, or of least objective within ``load``, and a lower bound on it for all splits over the candidates.

    The bound is the solver's. ``start`` must keep to the rules, and with an objective to the load. The splits are None, and the bound
    is 0, if there are too many candidates or nothing is found in ``limit_s`` seconds.
    """
    candidates = problem.candidates
    if candidates.paths > MOST_PATHS:
        return None, 0.0
    program = LinearProgram()
    if objective is None:
        at_most = program.add_columns(1, cost=1.0)
    else:
        at_most = program.add_columns(1, upper=load * (1 + LOAD_ROUNDING / 2) / problem.load_scale)
    timed = objective in ("delay", "spread")
    weight = weights(problem) / weights(problem).max() if timed else np.zeros(problem.network.pairs)
    longest_s = float(candidates.delays.max()) if timed else 1.0
    delays = candidates.delays / longest_s if timed else np.zeros(candidates.paths)
    cost: Floats | float = weight[candidates.pair] * delays if objective == "delay" else 0.0
    column = program.add_columns(candidates.paths, cost=cost) + np.arange(candidates.paths)
    pairs = problem.network.pairs
    rows = program.add_rows(np.ones(pairs), np.ones(pairs))
    program.add_entries(rows + candidates.pair, column, 1.0)
    Blocks(
        RoutingColumns(program, candidates, problem.scale, at_most, column, problem.load_scale),
        problem.model,
        np.arange(problem.network.links),
    )
    values: list[Floats] = []
    if rules.weights_in is not None:
        parts = program.add_whole_columns(candidates.paths, rules.weights_in) + np.arange(candidates.paths)
        _equal(program, column, parts, 1.0 / rules.weights_in)
        values.append(np.rint(start.shares * rules.weights_in))
    used = np.add.reduceat((start.shares > 0).astype(int), candidates.first[:-1])
    counts = np.diff(candidates.first)
    if objective == "spread" or (rules.max_paths is not None and (counts > rules.max_paths).any()):
        uses = program.add_whole_columns(candidates.paths) + np.arange(candidates.paths)
        values.append((start.shares > 0).astype(float))
        _at_most(program, column, uses)
        if rules.max_paths is not None:
            rows = program.add_rows(np.full(pairs, -np.inf), np.full(pairs, float(rules.max_paths)))
            program.add_entries(rows + candidates.pair, uses, 1.0)
        if objective == "spread":
            _spread(program, candidates, uses, weight, delays)
    if objective == "splits":
        # A pair keeps one path alone, or it splits, at a cost of one.
        alone = program.add_whole_columns(candidates.paths) + np.arange(candidates.paths)
        several = program.add_whole_columns(pairs, cost=problem.sending.astype(float)) + np.arange(pairs)
        values += [((start.shares > 0) & (used == 1)[candidates.pair]).astype(float), (used > 1).astype(float)]
        rows = program.add_rows(np.ones(pairs), np.ones(pairs))
        program.add_entries(rows + candidates.pair, alone, 1.0)
        program.add_entries(rows + np.arange(pairs), several, 1.0)
        rows = program.add_rows(np.full(candidates.paths, -np.inf), np.zeros(candidates.paths))
        of_path = rows + np.arange(candidates.paths)
        program.add_entries(of_path, column, 1.0)
        program.add_entries(of_path, alone, -1.0)
        program.add_entries(of_path, several[candidates.pair], -1.0)
    whole = np.concatenate(values)
    found = program.solve_whole(whole, limit_s)
    unit = problem.load_scale if objective is None else 1.0
    if timed:
        unit = longest_s * float(weights(problem).max())
    bound = max(0.0, found.bound * unit)
    if found.columns is None:
        return None, bound
    shares = found.columns[column]
    if rules.weights_in is not None:
        return Splits(candidates, np.rint(shares * rules.weights_in) / rules.weights_in), bound
    return Splits.rounded(candidates, shares), bound


def _spread(program: LinearProgram, candidates: Candidates, uses: Integers, weight: Floats, delays: Floats) -> None:
    """For each pair a column of its longest delay in use and one of its shortest, whose difference costs."""
    pairs = candidates.network.pairs
    longest = np.maximum.reduceat(delays, candidates.first[:-1])
    greatest = program.add_columns(pairs, cost=weight) + np.arange(pairs)
    least = program.add_columns(pairs, cost=-weight) + np.arange(pairs)
    rows = program.add_rows(np.full(pairs, -np.inf), longest)
    program.add_entries(rows + np.arange(pairs), least, 1.0)
    # The delay of a path in use is at most the longest, and at least the shortest; paths not in use do not count.
    rows = program.add_rows(np.full(candidates.paths, -np.inf), np.zeros(candidates.paths))
    of_path = rows + np.arange(candidates.paths)
    program.add_entries(of_path, uses, delays)
    program.add_entries(of_path, greatest[candidates.pair], -1.0)
    beyond = longest[candidates.pair]
    rows = program.add_rows(np.full(candidates.paths, -np.inf), beyond)
    of_path = rows + np.arange(candidates.paths)
    program.add_entries(of_path, least[candidates.pair], 1.0)
    program.add_entries(of_path, uses, beyond - delays)


def _equal(program: LinearProgram, column: Integers, other: Integers, factor: float) -> None:
    rows = program.add_rows(np.zeros(len(column)), np.zeros(len(column))) + np.arange(len(column))
    program.add_entries(rows, column, 1.0)
    program.add_entries(rows, other, -factor)


def _at_most(program: LinearProgram, column: Integers, other: Integers) -> None:
    rows = program.add_rows(np.full(len(column), -np.inf), np.zeros(len(column))) + np.arange(len(column))
    program.add_entries(rows, column, 1.0)
    program.add_entries(rows, other, -1.0)
