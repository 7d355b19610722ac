"""Which treatment is best under each condition, by paired differences over the seeds.

A *treatment* is what one chooses, such as a stack or a routing. A *condition* is what one is given, such as a loss or a delay. Runs with
the same seed have the same random numbers, so the difference of two treatments within a seed varies less than either of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, isnan
from typing import Any

import polars as pl

from anabranch.results.statistics import ROUNDING, half_width

RANKED: dict[str, type[pl.DataType]] = {
    "rank": pl.UInt32,
    "mean": pl.Float64,
    "half": pl.Float64,
    "behind": pl.Float64,
    "behind_half": pl.Float64,
    "decided": pl.Boolean,
    "predicted": pl.Boolean,
}


def rank(values: pl.DataFrame, condition: Sequence[str], treatment: str, *, most_is_best: bool) -> pl.DataFrame:
    """The treatments of each condition, the best first.

    Args:
        values: a row for each run: the columns ``condition``, the column ``treatment``, ``seed``, and ``value`` (null where unknown). Values
            of which some may be predictions have the columns ``predicted``, and ``low`` and ``high``, its interval (null where unknown).
        condition: columns that say under what was measured. Treatments are never compared across them.
        treatment: the column that names the treatment.
        most_is_best: whether the greatest mean is the best, rather than the least.

    Returns:
        A row for each condition and treatment with a known value. The conditions keep the order of their first row.
        ``rank`` counts from 1. ``mean`` is over the seeds, and ``half`` is half the width of its 95 % confidence interval (Student's t;
        null with one seed). ``behind`` is the difference to the best over the seeds that both have. ``behind_half`` is half the width
        of that difference's interval. ``decided`` says whether the interval excludes zero. These three are null for the best and without
        a common seed, and ``decided`` with a single one.
        A ``predicted`` value does not depend on the seed: its ``half`` and ``behind_half`` are null. ``decided`` then says whether the
        predicted intervals of the two do not overlap; it is null where they are not known.
    """
    known = values.drop_nulls("value")
    if "predicted" not in known.columns:
        known = known.with_columns(predicted=pl.lit(False), low=None, high=None)
    conditions: dict[tuple[Any, ...], dict[str, _Treatment]] = {}
    columns = known.select(*condition, treatment, "seed", "value", "predicted", "low", "high")
    for *key, name, seed, value, is_predicted, low, high in columns.iter_rows():
        found = conditions.setdefault(tuple(key), {}).setdefault(str(name), _Treatment())
        found.values.setdefault(seed, []).append(value)
        found.is_predicted |= is_predicted
        found.lows += [] if low is None else [low]
        found.highs += [] if high is None else [high]
    rows = []
    for condition_key, treatments in conditions.items():
        measured = {name: {seed: _mean(of) for seed, of in one.values.items()} for name, one in treatments.items()}
        predicted = {name: one.interval for name, one in treatments.items() if one.is_predicted}
        means = {name: sum(of.values()) / len(of) for name, of in measured.items()}
        order = sorted(means, key=lambda name: -means[name] if most_is_best else means[name])
        best = order[0]
        for place, name in enumerate(order):
            half = None if name in predicted else half_width(list(measured[name].values()))
            behind: tuple[float | None, float | None, bool | None] = None, None, None
            if place > 0:
                behind = _behind(measured[best], measured[name], most_is_best)
            if place > 0 and not predicted.keys().isdisjoint((best, name)):
                behind = behind[0], None, _are_apart(predicted.get(best), predicted.get(name))
            rows.append((*condition_key, name, place + 1, means[name], half, *behind, name in predicted))
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        **known.select(condition).schema,
        treatment: pl.String,
        **RANKED,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


@dataclass
class _Treatment:
    """The known values of a treatment under a condition by seed, and the ends of their predicted intervals."""

    values: dict[int, list[float]] = field(default_factory=dict)
    lows: list[float] = field(default_factory=list)
    highs: list[float] = field(default_factory=list)
    is_predicted: bool = False

    @property
    def interval(self) -> tuple[float, float] | None:
        """The mean predicted interval, if one is known."""
        return (_mean(self.lows), _mean(self.highs)) if self.lows and self.highs else None


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)


def _behind(
    best: dict[int, float], other: dict[int, float], most_is_best: bool
) -> tuple[float | None, float | None, bool | None]:
    """The mean paired difference, half the width of its interval, and whether that excludes zero; unknown without a common seed."""
    mean, half = paired(other, best) if most_is_best else paired(best, other)
    if isnan(mean):
        return None, None, None
    return mean, half, None if half is None else mean > half


def _are_apart(first: tuple[float, float] | None, second: tuple[float, float] | None) -> bool | None:
    """Whether two predicted intervals do not overlap; unknown if one of them is."""
    if first is None or second is None:
        return None
    return first[0] > second[1] or second[0] > first[1]


def paired(first: Mapping[int, float], second: Mapping[int, float]) -> tuple[float, float | None]:
    """The mean of ``second - first`` over the seeds that both have, and half the width of its 95 % confidence interval.

    Values are by seed. Values that differ by rounding only are equal. The mean is NaN without a common seed.
    The interval is unknown with fewer than two.
    """
    pairs = [(first[seed], second[seed]) for seed in first if seed in second]
    if not pairs:
        return float("nan"), None
    differences = [0.0 if abs(y - x) <= ROUNDING * max(abs(x), abs(y)) else y - x for x, y in pairs]
    return sum(differences) / len(differences), half_width(differences)


def is_on_front(costs: Sequence[float], gains: Sequence[float]) -> list[bool]:
    """Whether each point is on the Pareto front: no other has at most its cost and at least its gain, and is better in one."""
    points = list(zip(costs, gains, strict=True))
    return [not any(c <= cost and g >= gain and (c < cost or g > gain) for c, g in points) for cost, gain in points]
