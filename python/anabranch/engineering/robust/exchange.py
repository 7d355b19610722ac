"""The exchange method (section 3.2 of the paper): a program over few traffic matrices, then the worst ones, and again.

1. Begin with the worst matrix of every link when all traffic takes first paths.
2. Solve the program in which every link bears every matrix so far (equations 4 and 5). Its load is a lower bound.
3. For each link find the worst matrix of that routing (equations 6 to 8). If none loads its link more than the program knew,
   the routing is optimal; else add these matrices and repeat.

With all paths allowed, step 2 prices paths until none is cheaper. That is the method that is known not to close there.
"""

import numpy as np

from anabranch.engineering.robust.blocks import RoutingColumns, Weighted
from anabranch.engineering.robust.blockwise import priced_in
from anabranch.engineering.robust.candidates import Candidates
from anabranch.engineering.robust.lower_bounds import prices
from anabranch.engineering.robust.lp import LinearProgram, Optimum
from anabranch.engineering.robust.problem import Best, Problem
from anabranch.engineering.robust.separation import Loads
from anabranch.engineering.robust.splits import Splits
from anabranch.engineering.robust.traffic import Bounds
from anabranch.foundation.array_types import Floats, Integers

_OVERLOADED = 1e-9


def exchange(best: Best, gap: float) -> None:
    """The three steps, until the bounds meet or the worst matrices are all known."""
    problem = best.problem
    candidates = problem.candidates
    matrices = _Matrices(problem)
    matrices.add(best.loads, np.flatnonzero(best.loads.load > 0))
    rounds = 0
    program = _Finite(problem, candidates, matrices)
    while best.gap > gap:
        optimum = program.solve(best.left_s)
        weighted = program.weighted(optimum)
        best.bound(weighted)
        more = priced_in(problem, candidates, prices(problem.network, problem.model, weighted))
        loads = best.offer(Splits.rounded(candidates, program.routing.shares(optimum)))
        rounds += 1
        best.say(f"round {rounds}, {len(matrices.known)} traffic matrices, {candidates.paths} paths")
        if more.paths > candidates.paths:
            candidates = more
            program = _Finite(problem, candidates, matrices)
            continue
        before = len(matrices.known)
        matrices.add(loads, np.flatnonzero(loads.load > program.routing.least_load(optimum) * (1 + _OVERLOADED)))
        if len(matrices.known) == before:
            return


class _Matrices:
    """The finite set of the paper, ``D'``."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.known: dict[bytes, Floats] = {}
        """The traffic of each pair, bit/s."""

    def add(self, loads: Loads, places: Integers) -> None:
        """The worst matrices of these links."""
        network, model = self.problem.network, self.problem.model
        least = np.zeros(network.pairs)
        if isinstance(model, Bounds):
            least = model.lower[network.pair_sources, network.pair_targets]
        for place in places:
            matrix = least.copy()
            pair, amount = loads.matrix(int(place))
            matrix[pair] = amount
            if not isinstance(model, Bounds):
                matrix = self._whole(pair, amount)
            self.known.setdefault(np.round(matrix / self.problem.scale, 9).tobytes(), matrix)

    def _whole(self, pair: Integers, amount: Floats) -> Floats:
        """The matrix of an explicit set that has these entries."""
        network, model = self.problem.network, self.problem.model
        assert not isinstance(model, Bounds)
        listed = model.matrices[:, network.pair_sources, network.pair_targets]
        found: Floats = listed[int(np.argmin(np.abs(listed[:, pair] - amount).sum(axis=1)))]
        return found


class _Finite:
    """The program in which every link bears every known matrix."""

    def __init__(self, problem: Problem, candidates: Candidates, matrices: _Matrices) -> None:
        self.problem = problem
        self.routing = RoutingColumns.new(LinearProgram(), candidates, problem.scale, problem.load_scale)
        self.matrices = matrices
        self._borne = 0
        self._rows: list[tuple[Integers, int]] = []
        """The links of a matrix's rows, and the first row."""

    def solve(self, limit_s: float) -> Optimum:
        """Solve the program with the matrices that have come since."""
        known = list(self.matrices.known.values())
        for matrix in known[self._borne :]:
            self._bear(matrix)
        self._borne = len(known)
        return self.routing.program.solve("simplex", limit_s=limit_s)

    def _bear(self, matrix: Floats) -> None:
        candidates, network, program = self.routing.candidates, self.problem.network, self.routing.program
        rate = np.repeat(matrix[candidates.pair] / self.routing.scale, candidates.hops)
        column = np.repeat(self.routing.column, candidates.hops)
        some = rate > 0
        links, place = np.unique(candidates.path_links[some], return_inverse=True)
        first = program.add_rows(np.full(len(links), -np.inf), np.zeros(len(links)))
        rows = first + np.arange(len(links))
        carried = network.capacity * self.routing.load_scale / self.routing.scale
        program.add_entries(rows, np.full(len(links), self.routing.load), -carried[links])
        program.add_entries(first + place, column[some], rate[some])
        self._rows.append((links, first))

    def weighted(self, optimum: Optimum) -> Weighted:
        """The matrices, weighted by the dual values of their rows."""
        network, model = self.problem.network, self.problem.model
        parts: list[tuple[Integers, Integers, Floats]] = []
        weight = np.zeros(network.links)
        for (links, first), matrix in zip(self._rows, self.matrices.known.values(), strict=True):
            duals = np.maximum(0.0, -optimum.row_duals[first : first + len(links)])
            some = np.flatnonzero(duals > 0)
            weight[links] += duals
            if isinstance(model, Bounds):
                above = matrix - model.lower[network.pair_sources, network.pair_targets]
                pairs = np.flatnonzero(above > 0)
                parts.append(
                    (
                        np.repeat(links[some], len(pairs)),
                        np.tile(pairs, len(some)),
                        np.outer(duals[some], above[pairs]).ravel(),
                    )
                )
            else:
                listed = model.matrices[:, network.pair_sources, network.pair_targets]
                index = int(np.argmin(np.abs(listed - matrix).sum(axis=1)))
                parts.append((links[some], np.full(len(some), index), duals[some]))
        link, pair, amount = (np.concatenate(part) for part in zip(*parts, strict=True))
        return Weighted(link.astype(np.int64), pair.astype(np.int64), amount, weight)
