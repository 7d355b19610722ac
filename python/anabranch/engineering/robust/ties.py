"""Equally short paths: no rule says which of them are candidates, so the load is a range, not a number."""

from dataclasses import dataclass, replace

import numpy as np

from anabranch.engineering.robust.candidates import By, Candidates, shortest_with_ties
from anabranch.engineering.robust.hybrid import with_single_paths
from anabranch.engineering.robust.incremental import Flow, WorstLoads
from anabranch.engineering.robust.problem import Problem
from anabranch.engineering.robust.separation import worst_loads
from anabranch.engineering.robust.solving import solve
from anabranch.engineering.robust.splits import Crossings, Splits
from anabranch.foundation.array_types import Floats, Integers

_PICOSECONDS = 1e12


@dataclass(frozen=True)
class LoadRange:
    """The worst-case loads that tie-breaks lead to."""

    least: float
    """The least that was found."""
    greatest: float
    """The greatest that was found; if all pairs keep to one path, no tie-break leads to more."""
    bound: float | None
    """No tie-break leads to less, if all pairs keep to one path; else not known."""

    def with_load(self, load: float) -> "LoadRange":
        """The range with the load of one more tie-break."""
        return replace(self, least=min(self.least, load), greatest=max(self.greatest, load))


def lengths(candidates: Candidates, by: By) -> Integers:
    """The length of each path in whole numbers: hops, or picoseconds."""
    if by == "hop-count":
        return candidates.hops
    return candidates.sums(np.rint(candidates.network.delays * _PICOSECONDS).astype(np.int64))


def draw(tied: Candidates, count: int, by: By, random: np.random.Generator) -> Candidates:
    """The ``count`` shortest paths of every pair, equally short ones in random order."""
    order = np.lexsort((random.random(tied.paths), lengths(tied, by), tied.pair))
    rank = np.arange(tied.paths) - tied.first[tied.pair[order]]
    chosen = order[rank < count]
    hops = tied.hops[chosen]
    start = np.concatenate(([0], np.cumsum(hops)))
    picked = np.repeat(tied.start[chosen].astype(np.int64) - start[:-1], hops) + np.arange(start[-1])
    return Candidates(tied.network, tied.pair[chosen], start.astype(np.uint32), tied.path_links[picked])


def over_draws(problem: Problem, count: int, by: By, percent: float, draws: int, seed: int = 1) -> LoadRange:
    """The loads of the problem with ``count`` shortest paths a pair, over random tie-breaks.

    With all pairs on single paths the greatest load is exact, and the least is searched for.
    """
    if count == 1 or percent == 100:
        return of_single_paths(problem, by, restarts=draws, seed=seed)
    tied = shortest_with_ties(problem.network, count, by)
    random = np.random.default_rng(seed)
    loads = [
        solve(with_single_paths(replace(problem, candidates=draw(tied, count, by, random)), percent)).worst_case_load
        for _ in range(draws)
    ]
    return LoadRange(min(loads), max(loads), None)


def of_single_paths(problem: Problem, by: By, restarts: int = 20, seed: int = 1) -> LoadRange:
    """The loads when each pair takes one of its shortest paths: the most exactly, the least by local search."""
    network, model = problem.network, problem.model
    tied = shortest_with_ties(network, 1, by)
    # The load of a single link is greatest if every pair that can cross it does.
    every = Splits(tied, np.ones(tied.paths)).crossings
    possible = Crossings(every.start, every.pair, np.minimum(1.0, every.share))
    greatest = float(worst_loads(network, model, possible).load.max())
    bound = solve(replace(problem, candidates=tied, all_paths=False)).lower_bound
    random = np.random.default_rng(seed)
    least = min(_descend(problem, tied, draw(tied, 1, by, random), random) for _ in range(max(1, restarts)))
    return LoadRange(least, greatest, bound)


def _descend(problem: Problem, tied: Candidates, start: Candidates, random: np.random.Generator) -> float:
    """The load after changing one pair's path at a time as long as that lowers the highest loads."""
    loads = WorstLoads(problem.network, problem.model, Splits.first_paths(start))
    choices = [pair for pair in range(problem.network.pairs) if tied.first[pair + 1] - tied.first[pair] > 1]
    better = True
    while better:
        better = False
        for pair in random.permutation(np.array(choices, dtype=int)):
            for path in range(tied.first[pair], tied.first[pair + 1]):
                flow: Flow = {int(link): 1.0 for link in tied.links_of(path)}
                if flow != loads.flow(int(pair)):
                    changed = loads.if_changed([(int(pair), flow)])
                    if _highest(changed) < _highest(loads.loads):
                        loads.change([(int(pair), flow)])
                        better = True
    return loads.load


def _highest(loads: Floats) -> list[float]:
    """The loads from the highest down, to compare; rounded, lest the search goes in circles."""
    highest: list[float] = np.round(np.sort(loads)[::-1], 9).tolist()
    return highest
