"""The optimal flow: the least maximum link utilisation of one matrix over any routing, with a proof.

A linear program per matrix, with the flow of each link to each destination. No routing of any kind, so no OSPF weights, has a smaller
maximum (Fortz and Thorup, INFOCOM 2000, section II, with the maximum utilisation in place of their cost).
"""

from dataclasses import dataclass

import numpy as np

from anabranch.engineering.robust.ecmp import EqualCostPaths, LinkArrays
from anabranch.engineering.robust.lp import LinearProgram
from anabranch.foundation.array_types import Booleans, Floats


@dataclass(frozen=True, eq=False)
class OptimalFlow:
    """The optimum of one matrix."""

    load: float
    """The maximum link utilisation of the program's flow."""
    lower_bound: float
    """No routing has a smaller one. It follows from the prices alone: see :func:`bound_of`."""
    prices: Floats
    """A price of each link, shape (links,)."""


def optimal_flow(links: LinkArrays, rates: Floats, up: Booleans | None = None, limit_s: float = np.inf) -> OptimalFlow:
    """The least maximum utilisation for a matrix in bit/s, shape (nodes, nodes), if only the links ``up`` work.

    What a source has for a destination that it does not reach counts nothing.

    Raises:
        RobustError: HiGHS does not find it.
        OutOfTime: it is not found within ``limit_s``.
    """
    network = links.network
    up = np.ones(network.links, dtype=bool) if up is None else up
    rates = _reachable(links, rates, up)
    to = np.flatnonzero(rates.any(axis=0))
    some = np.flatnonzero(up)
    if not len(to):
        return OptimalFlow(0.0, 0.0, np.zeros(network.links))
    largest, total = float(network.capacity[some].max()), float(rates.sum())
    program = LinearProgram()
    flow = program.add_columns(len(some) * len(to))
    load = program.add_columns(1, 1.0)
    # A row for each node and destination: what leaves is what enters and what the node sends. The destination's own row says nothing.
    send = rates[:, to].T / total
    send[np.arange(len(to)), to] = -np.inf
    rows = program.add_rows(send.ravel(), np.where(np.isfinite(send), send, np.inf).ravel())
    columns = flow + np.arange(len(some) * len(to))
    first = np.repeat(np.arange(len(to)) * links.nodes, len(some))
    program.add_entries(rows + first + np.tile(links.sources[some], len(to)), columns, 1.0)
    program.add_entries(rows + first + np.tile(links.targets[some], len(to)), columns, -1.0)
    full = program.add_rows(np.full(len(some), -np.inf), np.zeros(len(some)))
    program.add_entries(full + np.tile(np.arange(len(some)), len(to)), columns, 1.0)
    program.add_entries(full + np.arange(len(some)), np.full(len(some), load), -network.capacity[some] / largest)
    optimum = program.solve("simplex", limit_s=limit_s)
    prices = np.zeros(network.links)
    prices[some] = np.maximum(0.0, -optimum.row_duals[full:])
    return OptimalFlow(float(optimum.columns[load]) * total / largest, bound_of(links, rates, prices, up), prices)


def bound_of(links: LinkArrays, rates: Floats, prices: Floats, up: Booleans) -> float:
    """The lower bound that prices of links prove, by weak duality: the price of all traffic on cheapest paths over that of all capacity.

    It holds for any prices of at least 0.
    """
    paid = float(links.network.capacity[up] @ prices[up])
    if paid <= 0:
        return 0.0
    to = np.arange(links.nodes)
    distance = EqualCostPaths.of(links, np.where(up, prices, np.inf), to).distance
    return float((rates * np.where(np.isfinite(distance), distance, 0.0)).sum()) / paid


def _reachable(links: LinkArrays, rates: Floats, up: Booleans) -> Floats:
    distance = EqualCostPaths.of(links, np.where(up, 1.0, np.inf), np.arange(links.nodes)).distance
    carried: Floats = np.where(np.isfinite(distance), rates, 0.0)
    np.fill_diagonal(carried, 0.0)
    return carried
