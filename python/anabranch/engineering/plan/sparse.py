"""Splits within an allowed load that leave as many pairs as possible on few paths, by a sequence of linear programs.

The number of paths in use is no linear cost. So each program prices a path by about one over its share in the previous answer
(Candes, Wakin, Boyd 2008). Small shares become dearer until they vanish. The splits that remain are necessary.
"""

from collections.abc import Callable, Iterator
from math import inf

import numpy as np

from anabranch.engineering.plan.ties import SHARE_STEP, rounded
from anabranch.engineering.robust.blocks import Blocks, RoutingColumns
from anabranch.engineering.robust.lp import LinearProgram
from anabranch.engineering.robust.problem import Problem
from anabranch.engineering.robust.separation import worst_loads
from anabranch.engineering.robust.splits import Splits
from anabranch.foundation.array_types import Floats

ROUNDS = 8
_OFFSET = 0.05
"""Added to shares: what share counts as little."""
_LOAD_COST = 1e-3
"""Cost of the load beside the prices of shares: of equally dear splits, the program chooses one of less load."""


def sparse(
    problem: Problem, load: float, splits: Splits, weight: Floats, left_s: Callable[[], float] = lambda: inf
) -> Iterator[Splits]:
    """Splits of fewer and fewer paths, each of a worst-case load of at most ``load``; begins from such splits.

    ``weight`` has the cost of splitting each pair; 0 where a split costs nothing. ``left_s`` returns the time that is left.

    Raises:
        OutOfTime: none is left.
    """
    candidates = problem.candidates
    shares = splits.shares
    for _ in range(ROUNDS):
        program = LinearProgram()
        price = weight[candidates.pair] * (1 / (shares + _OFFSET) - 1 / (1 + _OFFSET))
        column = program.add_columns(1, cost=_LOAD_COST, upper=load)
        paths = program.add_columns(candidates.paths, cost=price) + np.arange(candidates.paths)
        pairs = problem.network.pairs
        rows = program.add_rows(np.ones(pairs), np.ones(pairs))
        program.add_entries(rows + candidates.pair, paths, 1.0)
        routing = RoutingColumns(program, candidates, problem.scale, column, paths)
        Blocks(routing, problem.model, np.arange(problem.network.links))
        found = Splits.rounded(candidates, routing.shares(program.solve("interior-point", limit_s=left_s())))
        if worst_load(problem, found) > load * (1 + 1e-6):
            return
        before, shares = shares, rounded(found).shares
        if np.abs(shares - before).max() <= 1.5 * SHARE_STEP:
            return
        yield found


def worst_load(problem: Problem, splits: Splits) -> float:
    """The worst-case load of splits."""
    return float(worst_loads(problem.network, problem.model, splits.crossings).load.max())
