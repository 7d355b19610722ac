"""Candidate paths within a bound on stretch: the length of a path over that of its pair's shortest path."""

import numpy as np

from anabranch.engineering.robust.candidates import By, Candidates, shortest
from anabranch.engineering.robust.errors import RobustError

_ROUNDING = 1e-9
"""Relative difference of lengths that are equal: sums of the same links in another order."""


def within_stretch(candidates: Candidates, most: float, by: By = "hop-count") -> Candidates:
    """The candidates that are at most ``most`` times as long as the shortest path of their pair.

    The length is the delay, or the number of hops. The shortest path need not be among the candidates.

    Raises:
        RobustError: ``most`` is below 1, no candidate of a pair is so short, or a link has no delay by which to compare.
    """
    if not 1 <= most < float("inf"):
        raise RobustError(f"a stretch of {most:g}: must be at least 1, such as 1.5")
    network = candidates.network

    def lengths(of: Candidates) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
        return of.delays if by == "delay" else of.hops.astype(float)

    least = lengths(shortest(network, 1, by))
    ratio = lengths(candidates) / np.maximum(least[candidates.pair], np.finfo(float).tiny)
    kept = ratio <= most * (1 + _ROUNDING)
    best = np.minimum.reduceat(ratio, candidates.first[:-1])
    without = np.flatnonzero(best > most * (1 + _ROUNDING))
    if len(without):
        worst = int(without[np.argmax(best[without])])
        more = f" (nor of {len(without) - 1} other pairs)" if len(without) > 1 else ""
        raise RobustError(
            f"a stretch of {most:g}: no candidate path of {network.pair_name(worst)}{more} is so short by {by}; "
            f"its shortest has {best[worst]:g}"
        )
    return candidates.keep(kept)
