"""What splits may minimise besides the load: the pairs that split, the mean delay, or the spread of delays."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from anabranch.engineering.robust.candidates import Candidates
from anabranch.engineering.robust.problem import Problem
from anabranch.engineering.robust.splits import Splits
from anabranch.foundation.array_types import Floats, Integers

Objective = Literal["splits", "delay", "spread"]
"""``splits`` counts the pairs that use several paths. ``delay`` is the mean over all traffic, seconds. ``spread`` is the mean
over all traffic of the greatest less the least delay among the paths that the pair uses, seconds."""
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)


@dataclass(frozen=True, eq=False)
class Chosen:
    """Some splits of single pairs, such as one of each pair, or all that a search may choose from."""

    candidates: Candidates
    pair: Integers
    """The pair of each."""
    start: Integers
    """Where the paths of each begin; one more entry than splits."""
    path: Integers
    """Indexes of candidate paths."""
    share: Floats
    """The share of the pair's traffic on each path, above 0."""


def of_splits(splits: Splits) -> Chosen:
    """The split of each pair."""
    candidates = splits.candidates
    used = np.flatnonzero(splits.shares > 0)
    pairs = candidates.network.pairs
    start = np.searchsorted(candidates.pair[used], np.arange(pairs + 1))
    return Chosen(candidates, np.arange(pairs), start, used, splits.shares[used])


def weights(problem: Problem) -> Floats:
    """The greatest traffic of each pair as a share of that of all pairs; shape (pairs,)."""
    network = problem.network
    largest = problem.model.largest[network.pair_sources, network.pair_targets]
    share: Floats = largest / largest.sum()
    return share


def costs(objective: Objective, problem: Problem, chosen: Chosen) -> Floats:
    """What each split adds to the objective. Pairs that do not send add nothing.

    Raises:
        RobustError: ``delay`` or ``spread``, and a link has no delay.
    """
    begins = chosen.start[:-1]
    if objective == "splits":
        several = (np.diff(chosen.start) > 1) & problem.sending[chosen.pair]
        counted: Floats = several.astype(float)
        return counted
    delays = chosen.candidates.delays[chosen.path]
    if objective == "delay":
        of_split = np.add.reduceat(chosen.share * delays, begins)
    else:
        of_split = np.maximum.reduceat(delays, begins) - np.minimum.reduceat(delays, begins)
    weighted: Floats = weights(problem)[chosen.pair] * of_split
    return weighted


def value(objective: Objective, problem: Problem, splits: Splits) -> float:
    """The objective of these splits.

    Raises:
        RobustError: as :func:`costs`.
    """
    return float(costs(objective, problem, of_splits(splits)).sum())
