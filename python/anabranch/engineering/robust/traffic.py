"""Traffic models: the sets of traffic matrices that a robust routing must bear.

Rates are bit/s, matrices have a row for each source and a column for each destination; the diagonal counts nothing.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from anabranch.engineering.robust.errors import RobustError
from anabranch.engineering.robust.network import Network
from anabranch.foundation.array_types import Floats

Rates = float | npt.ArrayLike


@dataclass(frozen=True, eq=False)
class Bounds:
    """All matrices whose row sums, column sums and entries stay within bounds (the paper's equations 1 to 3).

    Hose, pipe, both, and a box around a matrix are such sets.
    """

    rows: Floats
    """The most that each node may send in all (``R_i``), bit/s; shape (nodes,); may be infinite."""
    columns: Floats
    """The most that each node may receive in all (``C_j``), bit/s; shape (nodes,); may be infinite."""
    upper: Floats
    """The most that each pair may send (``w_ij``), bit/s; shape (nodes, nodes); may be infinite."""
    lower: Floats
    """The least that each pair sends, bit/s; shape (nodes, nodes)."""

    @cached_property
    def above(self) -> "Bounds":
        """The set of additions to ``lower``: the same without lower bounds."""
        zero = np.zeros_like(self.lower)
        return Bounds(
            self.rows - self.lower.sum(axis=1), self.columns - self.lower.sum(axis=0), self.upper - self.lower, zero
        )

    @property
    def largest(self) -> Floats:
        """The most that each pair alone may send, bit/s; shape (nodes, nodes)."""
        above = self.above
        most = np.minimum(above.upper, np.minimum(above.rows[:, None], above.columns[None, :])) + self.lower
        np.fill_diagonal(most, 0.0)
        return most


@dataclass(frozen=True, eq=False)
class Matrices:
    """Some traffic matrices, and so all between them."""

    matrices: Floats
    """Bit/s; shape (matrices, nodes, nodes), the source before the destination."""

    @property
    def largest(self) -> Floats:
        """The most that each pair sends in any of them, bit/s; shape (nodes, nodes)."""
        largest: Floats = self.matrices.max(axis=0)
        return largest


TrafficModel = Bounds | Matrices


def bounds(
    network: Network,
    sent: Rates | None = None,
    received: Rates | None = None,
    upper: Rates | None = None,
    lower: Rates | None = None,
) -> Bounds:
    """The set of matrices within these bounds (Fukushima et al. 2016, equations 1 to 3).

    Args:
        network: the nodes.
        sent: bit/s that each node sends at most: a number for all, or shape (nodes,); without it no bound.
        received: the same of what each node receives.
        upper: bit/s that each pair sends at most: a number for all, or shape (nodes, nodes); without it no bound.
        lower: bit/s that each pair sends at least; without it 0.

    Raises:
        RobustError: a bound is negative or not a number, pairs are unbounded, or no matrix is within the bounds.
    """
    nodes = network.nodes
    model = Bounds(
        _filled(np.inf if sent is None else sent, (nodes,), "what a node sends"),
        _filled(np.inf if received is None else received, (nodes,), "what a node receives"),
        _filled(np.inf if upper is None else upper, (nodes, nodes), "the traffic of a pair"),
        _filled(0.0 if lower is None else lower, (nodes, nodes), "the least traffic of a pair"),
    )
    _check(model, network)
    return model


def hose(network: Network, sent: Rates, received: Rates | None = None) -> Bounds:
    """The hose model: what each node sends and receives in all, bit/s; without ``received`` the same both ways.

    Raises:
        RobustError: as :func:`bounds`.
    """
    return bounds(network, sent, sent if received is None else received)


def pipe(network: Network, upper: Rates) -> Bounds:
    """The pipe model: what each pair sends, bit/s.

    Raises:
        RobustError: as :func:`bounds`.
    """
    return bounds(network, upper=upper)


def box(network: Network, matrix: Floats, least: float, most: float, within: Bounds | None = None) -> Bounds:
    """All matrices between ``least`` times and ``most`` times a matrix, and within other bounds if they are given.

    ``matrix`` is in bit/s and has the shape (nodes, nodes).

    Raises:
        RobustError: the factors are negative or not in order, or no matrix is within the bounds.
    """
    if not 0 <= least <= most < float("inf"):
        raise RobustError(f"a box from {least:g} to {most:g} times a matrix: needs 0 <= the first <= the second")
    upper = matrix * most if within is None else np.minimum(matrix * most, within.upper)
    sent, received = (None, None) if within is None else (within.rows, within.columns)
    return bounds(network, sent, received, upper, matrix * least)


def matrices(network: Network, given: list[Floats]) -> Matrices:
    """An explicit set of matrices: bit/s, each of shape (nodes, nodes).

    Raises:
        RobustError: there is none, or a rate is negative.
    """
    if not given:
        raise RobustError("an explicit set of traffic matrices needs at least one")
    shape = (network.nodes, network.nodes)
    return Matrices(np.stack([_filled(matrix, shape, "the traffic of a pair") for matrix in given]))


def _filled(value: Rates, shape: tuple[int, ...], what: str) -> Floats:
    filled = np.array(np.broadcast_to(np.asarray(value, dtype=float), shape))
    if len(shape) == 2:
        np.fill_diagonal(filled, 0.0)
    wrong = ~(filled >= 0)
    if wrong.any():
        raise RobustError(f"{what} is {filled[wrong][0]:g}; it must be a rate of at least 0")
    return filled


def _check(model: Bounds, network: Network) -> None:
    names = network.names
    above = model.above
    unlimited = ~np.isfinite(model.largest)
    if unlimited.any():
        source, target = np.argwhere(unlimited)[0]
        raise RobustError(
            f"the traffic from {names[source]} to {names[target]} has no bound, so no routing bears it: "
            "bound what nodes send (hose) or each pair (pipe)"
        )
    slack = -1e-9 * max(1.0, float(model.lower.max()))
    for what, rest in (("sends", above.rows), ("receives", above.columns)):
        if (rest < slack).any():
            node = names[int(np.argmin(rest))]
            raise RobustError(f"no traffic matrix is possible: the least that {node} {what} is more than it may")
    if (above.upper < slack).any():
        source, target = np.argwhere(above.upper < slack)[0]
        raise RobustError(
            f"no traffic matrix is possible: from {names[source]} to {names[target]} the least is more than the most"
        )
