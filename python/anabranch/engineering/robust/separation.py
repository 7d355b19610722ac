"""The worst-case load of a routing, from its splits alone: for each link the matrix that loads it most, and its proof.

A link's worst matrix is a transportation problem (the paper's equations 6 to 8), solved by successive shortest paths in
the Rust core, independently of the linear programs that found the splits. Its dual variables bound the load from above.
"""

from dataclasses import dataclass

import numpy as np

from anabranch import _core
from anabranch.engineering.robust.network import Network
from anabranch.engineering.robust.splits import Crossings
from anabranch.engineering.robust.traffic import Bounds, TrafficModel
from anabranch.foundation.array_types import Floats, Integers

_SAME_LOAD = 1e-6
"""A linear program loads many links up to its optimum, to within its tolerance."""


@dataclass(frozen=True, eq=False)
class Loads:
    """The worst case of each of some links."""

    links: Integers
    """Indexes of the links; shape (links,), as ``load`` and ``bound``."""
    load: Floats
    """Traffic over capacity under the link's worst matrix."""
    bound: Floats
    """No matrix of the model loads the link more, by the dual variables."""
    start: Integers
    """Where each link's entries of its worst matrix begin; shape (links + 1,)."""
    pair: Integers
    """The pair of each entry, as ``amount``; shape (entries,)."""
    amount: Floats
    """Bit/s; pairs that do not cross the link, and so count nothing, are left out."""

    @property
    def worst(self) -> int:
        """The place (in ``links``) of the link of the greatest load; of links within one millionth, the first."""
        return int(np.argmax(self.load >= self.load.max() * (1 - _SAME_LOAD)))

    def matrix(self, place: int) -> tuple[Integers, Floats]:
        """The pairs and amounts of the worst matrix of the link at that place."""
        span = slice(self.start[place], self.start[place + 1])
        return self.pair[span], self.amount[span]


def worst_loads(network: Network, model: TrafficModel, crossings: Crossings, links: Integers | None = None) -> Loads:
    """The worst case of each link, or of some."""
    if links is None:
        links = np.arange(network.links)
        start, pair, share = crossings.start, crossings.pair, crossings.share
    else:
        counts = crossings.start[links + 1] - crossings.start[links]
        start = np.concatenate(([0], np.cumsum(counts)))
        picked = np.repeat(crossings.start[links] - start[:-1], counts) + np.arange(start[-1])
        pair, share = crossings.pair[picked], crossings.share[picked]
    capacity = network.capacity[links]
    sources, targets = network.pair_sources[pair], network.pair_targets[pair]
    if isinstance(model, Bounds):
        above = model.above
        fixed = _sums(model.lower[sources, targets] * share, start)
        value, bound, amount, _, _ = _core.worst_matrices(
            np.maximum(above.rows, 0.0),
            np.maximum(above.columns, 0.0),
            start.astype(np.uint32),
            sources,
            targets,
            np.maximum(above.upper[sources, targets], 0.0),
            np.ascontiguousarray(share),
        )
        amount = amount + model.lower[sources, targets]
        return Loads(links, (value + fixed) / capacity, (bound + fixed) / capacity, start, pair, amount)
    sums = np.stack([_sums(matrix[sources, targets] * share, start) for matrix in model.matrices])
    worst = sums.argmax(axis=0)
    load = sums.max(axis=0) / capacity
    amount = model.matrices[np.repeat(worst, np.diff(start)), sources, targets]
    return Loads(links, load, load, start, pair, amount)


def _sums(values: Floats, start: Integers) -> Floats:
    total = np.concatenate(([0.0], np.cumsum(values)))
    sums: Floats = total[start[1:]] - total[start[:-1]]
    return sums
