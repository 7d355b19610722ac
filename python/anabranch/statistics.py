"""Means over seeds with their confidence intervals, and fairness."""

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, stdev

# Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom (NIST/SEMATECH e-Handbook, section 1.3.6.7.2).
_T95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


def student_t95(degrees: int) -> float:
    """The two-sided 95 % quantile of Student's t distribution."""
    if degrees <= len(_T95):
        return _T95[degrees - 1]
    # Abramowitz and Stegun 26.7.5, two terms: exact to 1e-4 beyond 30 degrees of freedom
    z = NormalDist().inv_cdf(0.975)
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)


def mean_and_half_width(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean, and half the width of its 95 % confidence interval (``None`` for a single value)."""
    if len(values) < 2:
        return fmean(values), None
    return fmean(values), student_t95(len(values) - 1) * stdev(values) / math.sqrt(len(values))


def jain_index(rates: Sequence[float]) -> float | None:
    """Jain's fairness index, (sum x)^2 / (n sum x^2): 1 if all are equal, 1/n if one has all; ``None`` if all are zero."""
    squares = math.fsum(rate * rate for rate in rates)
    return math.fsum(rates) ** 2 / (len(rates) * squares) if squares > 0 else None
