"""The linear program with blocks for links: for all links (`compact`), or for the links that matter (`auto`).

A block bears every matrix of the traffic model on its link (:mod:`anabranch.engineering.robust.blocks`). With blocks for all links this
is the paper's single program (equations 9 to 14). `auto` begins with the links that an even split loads most. Separation of the
worst matrices then finds the links that the program's answer overloads, and `auto` adds these. The rows of other links would not bind.

When all paths are allowed, `auto` solves one program in shares of links (:mod:`anabranch.engineering.robust.arcs`). `compact` prices paths, and
so does `auto` for an explicit set of matrices. Each round looks for the cheapest path of every pair by the duals of the program. It
adds the path if it is cheaper than all candidates of the pair. The cheapest paths prove the lower bound for any candidates.
"""

import numpy as np

from anabranch.engineering.robust.arcs import all_paths
from anabranch.engineering.robust.blocks import Blocks, RoutingColumns
from anabranch.engineering.robust.candidates import Candidates
from anabranch.engineering.robust.lower_bounds import LinkPrices, over_all_paths, over_candidates, prices
from anabranch.engineering.robust.lp import LinearProgram, Method
from anabranch.engineering.robust.problem import Best, Problem
from anabranch.engineering.robust.splits import Splits
from anabranch.engineering.robust.traffic import Bounds
from anabranch.foundation.array_types import Integers

_FIRST_SHARE = 0.7
"""Links that an even split loads with this share of the greatest load have a block from the beginning."""
_OVERLOADED = 1e-9
"""The relative excess over the program's load from which on a link gets a block."""
_CHEAPER = 1e-9
"""The share of the bound by which a path must be cheaper than its pair's candidates, to become one."""


def compact(best: Best, gap: float) -> None:
    """Blocks for all links from the beginning."""
    _rounds(best, gap, np.arange(best.problem.network.links))


def auto(best: Best, gap: float) -> None:
    """Blocks for the links that need one; over all paths the program in shares of links."""
    if best.problem.all_paths and isinstance(best.problem.model, Bounds):
        all_paths(best, gap)
        return
    candidates = best.problem.candidates
    loads = best.offer(Splits.rounded(candidates, np.ones(candidates.paths)))
    _rounds(best, gap, np.flatnonzero(loads.load >= _FIRST_SHARE * loads.load.max()))


def _rounds(best: Best, gap: float, links: Integers) -> None:
    problem = best.problem
    candidates = problem.candidates
    method: Method = "interior-point"
    best.say("starting")
    while best.gap > gap:
        program = LinearProgram()
        routing = RoutingColumns.new(program, candidates, problem.scale, problem.load_scale)
        blocks = Blocks(routing, problem.model, links)
        optimum = program.solve(method, limit_s=best.left_s)
        loads = best.offer(Splits.rounded(candidates, routing.shares(optimum)))
        weighted = blocks.weighted(optimum)
        best.bound(weighted)
        best.say(f"{len(links)} of {problem.network.links} links, {candidates.paths} paths, {method}")
        overloaded = np.flatnonzero(loads.load > routing.least_load(optimum) * (1 + _OVERLOADED))
        more_links = np.union1d(links, overloaded)
        more_paths = priced_in(problem, candidates, prices(problem.network, problem.model, weighted))
        if len(more_links) == len(links) and more_paths.paths == candidates.paths:
            if method == "simplex":
                return
            method = "simplex"  # its dual values are exact; those of an interior point may leave a gap
        links, candidates = more_links, more_paths


def priced_in(problem: Problem, candidates: Candidates, priced: LinkPrices) -> Candidates:
    """The candidates, and the cheapest path of each pair for which none of them is as cheap."""
    if not problem.all_paths:
        return candidates
    bound, least, (pair, start, links) = over_all_paths(problem.network, priced)
    _, of_path = over_candidates(candidates, priced)
    known = np.minimum.reduceat(of_path, candidates.first[:-1])
    cheaper = known - least > _CHEAPER * max(bound, problem.load_scale) / problem.network.pairs
    fresh = Candidates(problem.network, pair, start, links).keep(cheaper[pair])
    return candidates.joined(fresh)
