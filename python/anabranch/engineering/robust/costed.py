"""The cheapest splits within a load: a linear program with lazy constraints, and its proof.

Weights of links and traffic matrices, as in :mod:`anabranch.engineering.robust.lower_bounds`, also bound a cost from below. Let weights ``v_l``
and matrices ``T_l`` be given. Splits within the load ``L`` have ``sum_l v_l (traffic of T_l over l) <= L sum_l c_l v_l``. So they cost at
least what the cheapest paths of all pairs cost, each path at its cost plus its price, less the right-hand side.
"""

from collections.abc import Callable

import numpy as np

from anabranch.engineering.robust import lower_bounds
from anabranch.engineering.robust.blocks import Blocks, RoutingColumns, Weighted
from anabranch.engineering.robust.blockwise import priced_in
from anabranch.engineering.robust.candidates import Candidates
from anabranch.engineering.robust.lower_bounds import Costs
from anabranch.engineering.robust.lp import LinearProgram, Method
from anabranch.engineering.robust.problem import Problem
from anabranch.engineering.robust.separation import worst_loads
from anabranch.engineering.robust.splits import Splits
from anabranch.foundation.array_types import Floats, Integers

LOAD_ROUNDING = 1e-6
"""The relative excess over a load that counts as none: programs keep to a load to within their tolerance."""
_GAP = 1e-6
_FIRST_SHARE = 0.7
_MOST_ROUNDS = 50


def cheapest(
    problem: Problem, cost: Floats, load: float, start: Splits, left_s: Callable[[], float]
) -> tuple[Splits, float]:
    """Splits of least cost with a worst-case load of at most ``load``, and a lower bound on the cost of all such splits.

    Args:
        problem: over which paths to split.
        cost: the cost of the whole traffic of a pair on a link; shape (pairs, links).
        load: must be at least the least load, to within :data:`LOAD_ROUNDING`.
        start: splits within the load.
        left_s: the time that is left, seconds.

    Raises:
        OutOfTime: none is left.
    """
    network, model, candidates = problem.network, problem.model, start.candidates
    loads = worst_loads(network, model, start.crossings).load
    links = np.flatnonzero(loads >= _FIRST_SHARE * loads.max())
    best, best_cost, bound = start, cost_of(start, cost), 0.0
    method: Method = "interior-point"
    for _ in range(_MOST_ROUNDS):
        each = lower_bounds.over_candidates(candidates, Costs(cost))[1]
        program, routing = program_within(problem, candidates, each, load)
        blocks = Blocks(routing, model, links)
        optimum = program.solve(method, limit_s=left_s())
        found = Splits.rounded(candidates, routing.shares(optimum))
        loads = worst_loads(network, model, found.crossings).load
        if loads.max() <= load * (1 + LOAD_ROUNDING) and cost_of(found, cost) < best_cost:
            best, best_cost = found, cost_of(found, cost)
        weighted = blocks.weighted(optimum)
        bound = max(bound, cost_bound(problem, cost, load, weighted))
        if best_cost - bound <= _GAP * best_cost:
            break
        more_links = np.union1d(links, np.flatnonzero(loads > load * (1 + LOAD_ROUNDING)))
        more_paths = priced_in(problem, candidates, _priced(problem, cost, weighted)[0])
        if len(more_links) == len(links) and more_paths.paths == candidates.paths:
            if method == "simplex":
                break
            method = "simplex"  # its dual values are exact
        links, candidates = more_links, more_paths
    return best, min(bound, best_cost)


def priced(
    problem: Problem, price: Floats, load: float, links: Integers, left_s: Callable[[], float]
) -> tuple[Splits, Integers]:
    """Splits within the load whose paths cost least, and the links that the program needed; without proof.

    Args:
        problem: over which candidates to split.
        price: the price of the whole traffic of a pair on a path; shape (paths,).
        load: as for :func:`cheapest`.
        links: links to begin with, at least one.
        left_s: the time that is left, seconds.

    Raises:
        OutOfTime: none is left.
    """
    while True:
        program, routing = program_within(problem, problem.candidates, price, load)
        Blocks(routing, problem.model, links)
        optimum = program.solve("interior-point", limit_s=left_s())
        found = Splits.rounded(problem.candidates, routing.shares(optimum))
        loads = worst_loads(problem.network, problem.model, found.crossings).load
        more = np.union1d(links, np.flatnonzero(loads > load * (1 + LOAD_ROUNDING)))
        if len(more) == len(links):
            return found, links
        links = more


def program_within(
    problem: Problem, candidates: Candidates, cost: Floats, load: float
) -> tuple[LinearProgram, RoutingColumns]:
    """A program of the shares of paths, each at its cost, with a load of at most ``load``."""
    program = LinearProgram()
    at_most = program.add_columns(1, upper=load * (1 + LOAD_ROUNDING / 2) / problem.load_scale)
    column = program.add_columns(candidates.paths, cost=cost) + np.arange(candidates.paths)
    pairs = problem.network.pairs
    rows = program.add_rows(np.ones(pairs), np.ones(pairs))
    program.add_entries(rows + candidates.pair, column, 1.0)
    return program, RoutingColumns(program, candidates, problem.scale, at_most, column, problem.load_scale)


def cost_of(splits: Splits, cost: Floats) -> float:
    """The cost of splits; ``cost`` has the shape (pairs, links)."""
    return float(lower_bounds.over_candidates(splits.candidates, Costs(cost))[1] @ splits.shares)


def cost_bound(problem: Problem, cost: Floats, load: float, weighted: Weighted) -> float:
    """A lower bound on the cost of splits within the load, from weighted traffic alone."""
    priced, paid = _priced(problem, cost, weighted)
    if problem.all_paths:
        return lower_bounds.over_all_paths(problem.network, priced)[0] - load * paid
    return lower_bounds.over_candidates(problem.candidates, priced)[0] - load * paid


def _priced(problem: Problem, cost: Floats, weighted: Weighted) -> tuple[Costs, float]:
    prices = lower_bounds.prices(problem.network, problem.model, weighted)
    return Costs(cost, prices, problem.scale), prices.paid / problem.scale
