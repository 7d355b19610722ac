"""HYBRID-HOP and HYBRID-DELAY: which pairs keep to their shortest path (section 5 of the paper)."""

from dataclasses import replace
from math import floor

import numpy as np

from anabranch.engineering.robust.candidates import Candidates
from anabranch.engineering.robust.errors import RobustError
from anabranch.engineering.robust.problem import Problem
from anabranch.foundation.array_types import Booleans, Integers

_SAME_S = 1e-12
"""Delays that differ by less are equal: sums of the same links in another order."""


def single_path_pairs(candidates: Candidates, percent: float, sending: Booleans) -> Integers:
    """The ``percent`` of the ``sending`` pairs whose longest candidate has the longest delay; of equal ones the pairs listed first.

    A pair's candidates are judged by propagation delay, whichever metric chose them (step 2). The number of pairs is
    rounded to the nearest. Pairs that send no traffic do not count.
    """
    if not 0 <= percent <= 100:
        raise RobustError(f"{percent:g} percent of the pairs on a single path: must be from 0 to 100")
    count = floor(int(sending.sum()) * percent / 100 + 0.5)
    if count == sending.sum():  # delays make no difference, and the topology may not say them
        return np.flatnonzero(sending)
    longest = np.rint(np.maximum.reduceat(candidates.delays, candidates.first[:-1]) / _SAME_S)
    order = np.argsort(-longest, kind="stable")
    return np.sort(order[sending[order]][:count])


def with_single_paths(problem: Problem, percent: float) -> Problem:
    """The problem in which those pairs keep only their first candidate."""
    if percent == 0:
        return problem
    if problem.all_paths:
        raise RobustError("single paths are chosen among candidates; give a number of them, as in --paths 2")
    candidates = problem.candidates
    single = np.zeros(problem.network.pairs, dtype=bool)
    single[single_path_pairs(candidates, percent, problem.sending)] = True
    kept = ~single[candidates.pair]
    kept[candidates.first[:-1]] = True
    return replace(problem, candidates=candidates.keep(kept))
