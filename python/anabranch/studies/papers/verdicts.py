"""Verdicts from measurements: a comparison is true, false, or undecided.

A comparison of means is undecided if the 95 % confidence interval contains the threshold, or if there is no interval because there is one seed
only. Two means of the same seeds are compared seed by seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isinf, isnan
from typing import TYPE_CHECKING

from anabranch.studies.papers.measures import Mean

if TYPE_CHECKING:
    from anabranch.studies.papers.study import Verdict

Truth = bool | None
"""``None`` is undecided."""
Estimate = tuple[float, float | None]
"""A mean over seeds with half of its 95 % confidence interval."""


def above(estimate: Estimate, threshold: float) -> Truth:
    """Whether a mean is above a threshold."""
    value, half = estimate
    if isinf(value):
        return value > threshold
    if half is None or isnan(value) or abs(value - threshold) < half:
        return None
    return value >= threshold


def below(estimate: Estimate, threshold: float) -> Truth:
    """Whether a mean is below a threshold."""
    return negated(above(estimate, threshold))


def between(estimate: Estimate, low: float, high: float) -> Truth:
    """Whether a mean is between two thresholds."""
    return every(above(estimate, low), below(estimate, high))


def difference(ones: Sequence[float], others: Sequence[float]) -> Mean:
    """The mean of one less the other, over equal seeds."""
    return Mean.of([one - other for one, other in zip(ones, others, strict=True)])


def quotient(ones: Sequence[float], others: Sequence[float]) -> Mean:
    """The mean of one over the other, over equal seeds."""
    return Mean.of([one / other for one, other in zip(ones, others, strict=True)])


def negated(one: Truth) -> Truth:
    """True for false, false for true; what is undecided remains so."""
    return None if one is None else not one


def every(*parts: Truth) -> Truth:
    """Whether all parts are true: one false part decides."""
    return False if False in parts else None if None in parts else True


def some(*parts: Truth) -> Truth:
    """Whether a part is true: one true part decides."""
    return negated(every(*map(negated, parts)))


def graded(holds: Truth, partly: Truth) -> Verdict:
    """The verdict on a claim that holds, holds partly, or does not hold."""
    if holds is None or (not holds and partly is None):
        return "undecided"
    return "holds" if holds else "holds partly" if partly else "does not hold"


def by_parts(*parts: Truth) -> Verdict:
    """The verdict on a claim of several parts: it holds if all hold, and partly if some do."""
    return graded(every(*parts), some(*parts))


def judged(comparisons: Sequence[Truth]) -> Verdict:
    """The verdict on a claim of many comparisons: it holds if all are as claimed, and partly if at least half are."""
    at_least, at_most = comparisons.count(True), len(comparisons) - comparisons.count(False)
    half = True if 2 * at_least >= len(comparisons) else False if 2 * at_most < len(comparisons) else None
    return graded(every(*comparisons), half)


def share(comparisons: Iterable[Truth]) -> str:
    """The number of comparisons that are as claimed, as text."""
    found = list(comparisons)
    undecided = found.count(None)
    return f"{found.count(True)} of {len(found)} comparisons" + (f" ({undecided} undecided)" if undecided else "")
