"""Shares of traffic as whole-number weights, which is all that routers and switches take."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from anabranch.engineering.routes.export.errors import ExportError

_BISECTIONS = 48
_EQUAL = 1e-9
_TRIED_FIRST = 32


def up_to(shares: Sequence[float], largest: int) -> tuple[tuple[int, ...], float]:
    """The whole-number weights from 1 to ``largest`` that come closest to the shares, and by how much they miss.

    The error is the largest absolute difference between a share and its weight over the sum of weights. No weights
    within the bounds have a smaller error (to 1e-9). Of equally good weights the smallest are taken. ``shares`` are
    positive and add up to 1.
    """
    # beyond this sum the greatest share's weight is at its bound, and every further unit is an error
    last = min(len(shares) * largest, int(largest / max(shares)) + len(shares) + 1)
    return _quantise(tuple(shares), largest, tuple(range(len(shares), last + 1)))


def of_sums(shares: Sequence[float], sums: Sequence[int]) -> tuple[tuple[int, ...], float]:
    """The same for weights of at least 1 that add up to one of ``sums`` (ascending).

    Raises:
        ExportError: there are more shares than the greatest of the sums.
    """
    possible = tuple(total for total in sums if total >= len(shares))
    if not possible:
        raise ExportError(f"{len(shares)} shares: at most {max(sums)} can be told apart; keep fewer paths")
    return _quantise(tuple(shares), possible[-1], possible)


@lru_cache(maxsize=65_536)
def _quantise(shares: tuple[float, ...], largest: int, possible: tuple[int, ...]) -> tuple[tuple[int, ...], float]:
    wanted, sums = np.array(shares), np.array(possible)
    # what some of the greatest sums reach leaves few others that may be as good
    reached = float(_least_errors(wanted, sums[-_TRIED_FIRST:], largest).min()) + 2 * _EQUAL
    sums = sums[_fit(wanted, sums, np.full(len(sums), reached), largest)]
    best = _least_errors(wanted, sums, largest)
    chosen = int(np.argmax(best <= best.min() + _EQUAL))
    weights = _weights(wanted, int(sums[chosen]), float(best[chosen]), largest)
    error = float(np.abs(weights / weights.sum() - wanted).max())
    return tuple(int(weight) for weight in weights), error


def _bounds(
    wanted: NDArray[np.float64], sums: NDArray[np.int64], errors: NDArray[np.float64], largest: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each sum (rows) the least and greatest weight of each share that is within the row's error."""
    low = np.ceil((wanted[None, :] - errors[:, None]) * sums[:, None] - _EQUAL)
    high = np.floor((wanted[None, :] + errors[:, None]) * sums[:, None] + _EQUAL)
    return np.maximum(low, 1), np.minimum(high, largest)


def _fit(
    wanted: NDArray[np.float64], sums: NDArray[np.int64], errors: NDArray[np.float64], largest: int
) -> NDArray[np.bool_]:
    """For each sum of weights whether some weights of that sum are within the error."""
    low, high = _bounds(wanted, sums, errors, largest)
    fits: NDArray[np.bool_] = (low <= high).all(axis=1) & (low.sum(axis=1) <= sums) & (sums <= high.sum(axis=1))
    return fits


def _least_errors(wanted: NDArray[np.float64], sums: NDArray[np.int64], largest: int) -> NDArray[np.float64]:
    """For each sum of weights the least error that some weights of that sum have, by bisection."""
    impossible, possible = np.zeros(len(sums)), np.ones(len(sums))
    for _ in range(_BISECTIONS):
        middle = (impossible + possible) / 2
        fits = _fit(wanted, sums, middle, largest)
        possible = np.where(fits, middle, possible)
        impossible = np.where(fits, impossible, middle)
    return possible


def _weights(wanted: NDArray[np.float64], total: int, error: float, largest: int) -> NDArray[np.int64]:
    """Weights of that sum within that error: the least ones, then one more where most is missing."""
    low, high = (bound[0] for bound in _bounds(wanted, np.array([total]), np.array([error]), largest))
    weights: NDArray[np.int64] = low.astype(np.int64)
    for _ in range(total - int(weights.sum())):
        missing = np.where(weights < high, wanted * total - weights, -np.inf)
        weights[int(np.argmax(missing))] += 1
    return weights
