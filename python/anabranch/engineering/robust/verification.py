"""Check a robust routing without its solver: load, worst matrix and lower bound, each from first principles."""

from dataclasses import dataclass

import numpy as np

from anabranch.engineering.robust.errors import RobustError
from anabranch.engineering.robust.network import Network
from anabranch.engineering.robust.problem import prove
from anabranch.engineering.robust.separation import worst_loads
from anabranch.engineering.robust.solving import RobustRouting
from anabranch.engineering.robust.splits import Splits
from anabranch.engineering.robust.traffic import Bounds, TrafficModel
from anabranch.foundation.array_types import Floats

_ROUNDING = 1e-7
"""Relative rounding error of sums of bounds and loads."""


@dataclass(frozen=True)
class Verified:
    """The results of the check."""

    load: float
    """The worst-case load of the splits: the load that the worst matrix, which is within the model, puts on its link."""
    load_bound: float
    """No matrix of the model loads any link more, by the dual variables of the links' transportation problems."""
    lower_bound: float
    """The lower bound that the weighted matrices of the proof give."""


def verify(routing: RobustRouting) -> Verified:
    """Recompute everything that the routing claims.

    Raises:
        RobustError: a claim is not true.
    """
    network, model, splits = routing.problem.network, routing.problem.model, routing.splits
    check_splits(splits)
    loads = worst_loads(network, model, splits.crossings)
    place = int(np.argmax(loads.load))
    link = int(loads.links[place])
    matrix = np.zeros((network.nodes, network.nodes))
    pair, amount = loads.matrix(place)
    matrix[network.pair_sources[pair], network.pair_targets[pair]] = amount
    check_matrix(network, model, matrix, others_may_be_more=True)
    load = load_under(splits, matrix, link)
    bound = float(loads.bound.max())
    if load < bound * (1 - _ROUNDING):
        raise RobustError(f"the worst matrix puts {load:g} on its link, but the dual variables allow {bound:g}")
    proved = prove(routing.problem, routing.proof.weighted).bound
    if proved > load * (1 + _ROUNDING):
        raise RobustError(f"the lower bound of {proved:g} is above the worst-case load of {load:g}")
    for what, claimed, found in (
        ("worst-case load", routing.worst_case_load, load),
        ("lower bound", routing.lower_bound, min(proved, load)),
    ):
        if abs(claimed - found) > _ROUNDING * max(abs(claimed), abs(found)):
            raise RobustError(f"the routing claims a {what} of {claimed:g}, but it is {found:g}")
    return Verified(load, bound, proved)


def check_splits(splits: Splits) -> None:
    """Refuse shares that are negative or do not add up to 1, and paths that are none."""
    candidates, network = splits.candidates, splits.candidates.network
    if (splits.shares < 0).any():
        raise RobustError(f"path {' '.join(candidates.nodes_of(int(np.argmin(splits.shares))))} has a negative share")
    sums = np.bincount(candidates.pair, weights=splits.shares, minlength=network.pairs)
    wrong = np.flatnonzero(np.abs(sums - 1) > _ROUNDING)
    if len(wrong):
        raise RobustError(f"the shares of {network.pair_name(int(wrong[0]))} add up to {sums[wrong[0]]:g}, not 1")
    begins, ends = candidates.start[:-1], candidates.start[1:] - 1
    enters, leaves = network.sources[candidates.path_links], network.targets[candidates.path_links]
    joined = np.ones(len(enters), dtype=bool)
    joined[1:] = enters[1:] == leaves[:-1]
    joined[begins] = enters[begins] == network.pair_sources[candidates.pair]
    whole = np.logical_and.reduceat(joined, begins) & (leaves[ends] == network.pair_targets[candidates.pair])
    if not whole.all():
        raise RobustError(f"path {int(np.argmin(whole))} does not lead from its source to its destination")


def check_matrix(network: Network, model: TrafficModel, matrix: Floats, others_may_be_more: bool = False) -> None:
    """Refuse a matrix that the model does not contain.

    With ``others_may_be_more``, entries of 0 stand for any amount that the model requires of the pair.
    """
    if isinstance(model, Bounds):
        scale = _ROUNDING * float(model.largest.max())
        most = (matrix.sum(axis=1) <= model.rows + scale).all() and (matrix.sum(axis=0) <= model.columns + scale).all()
        least = (matrix >= model.lower - scale) | (others_may_be_more & (matrix == 0))
        holds = bool(most and least.all() and (matrix <= model.upper + scale).all())
    else:
        alike = np.isclose(model.matrices, matrix[None], rtol=_ROUNDING) | (others_may_be_more & (matrix == 0)[None])
        holds = bool(alike.all(axis=(1, 2)).any())
    if not holds:
        raise RobustError(f"{network.topology.name}: the worst traffic matrix is not within the traffic model")


def load_under(splits: Splits, matrix: Floats, link: int) -> float:
    """The load of a link if the traffic is this matrix (bit/s)."""
    candidates, network = splits.candidates, splits.candidates.network
    rate = matrix[network.pair_sources[candidates.pair], network.pair_targets[candidates.pair]] * splits.shares
    crosses = np.repeat(rate, candidates.hops)[candidates.path_links == link]
    return float(crosses.sum() / network.capacity[link])
