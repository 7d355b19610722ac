"""Which treatment is best under each condition, by paired differences over the seeds.

A *treatment* is what one chooses, such as a stack or a routing. A *condition* is what one is given, such as a loss or a delay. Runs with
the same seed have the same random numbers, so the difference of two treatments within a seed varies less than either of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from anabranch.statistics import half_width

RANKED: dict[str, type[pl.DataType]] = {
    "rank": pl.UInt32,
    "mean": pl.Float64,
    "half": pl.Float64,
    "behind": pl.Float64,
    "behind_half": pl.Float64,
    "decided": pl.Boolean,
}


def rank(values: pl.DataFrame, condition: Sequence[str], treatment: str, *, most_is_best: bool) -> pl.DataFrame:
    """The treatments of each condition, the best first.

    Args:
        values: a row for each run: the columns ``condition``, the column ``treatment``, ``seed``, and ``value`` (null where unknown).
        condition: columns that say under what was measured. Treatments are never compared across them.
        treatment: the column that names the treatment.
        most_is_best: whether the greatest mean is the best, rather than the least.

    Returns:
        A row for each condition and treatment with a known value, conditions in the order of their first row: ``condition``, ``treatment``,
        ``rank`` (from 1), ``mean`` over the seeds and ``half`` the width of its 95 % confidence interval (Student's t, null with one seed).
        ``behind`` is by how much the best is better, over the seeds that both have, and ``behind_half`` half the width of that difference's
        interval. ``decided`` says whether the interval excludes zero. These three are null for the best, and ``decided`` with a single seed.
    """
    known = values.drop_nulls("value")
    rows = []
    for key, group in known.group_by(condition, maintain_order=True) if condition else [((), known)]:
        measured = {
            str(name): dict(part.group_by("seed", maintain_order=True).agg(pl.col("value").mean()).iter_rows())
            for (name,), part in group.group_by([treatment], maintain_order=True)
        }
        means = {name: sum(of.values()) / len(of) for name, of in measured.items()}
        order = sorted(means, key=lambda name: -means[name] if most_is_best else means[name])
        for place, name in enumerate(order):
            behind = None if place == 0 else _behind(measured[order[0]], measured[name], most_is_best)
            rows.append(
                (*key, name, place + 1, means[name], half_width(list(measured[name].values())), *(behind or [None] * 3))
            )
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        **known.select(condition).schema,
        treatment: pl.String,
        **RANKED,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _behind(
    best: dict[int, float], other: dict[int, float], most_is_best: bool
) -> tuple[float, float | None, bool | None]:
    """The mean paired difference, half the width of its interval, and whether that excludes zero."""
    mean, half = paired(other, best) if most_is_best else paired(best, other)
    return mean, half, None if half is None else mean > half


def paired(first: Mapping[int, float], second: Mapping[int, float]) -> tuple[float, float | None]:
    """The mean of ``second - first`` over the seeds that both have, and half the width of its 95 % confidence interval.

    Values are by seed. The mean is NaN without a common seed, and the interval is unknown with fewer than two.
    """
    differences = [second[seed] - first[seed] for seed in first if seed in second]
    if not differences:
        return float("nan"), None
    return sum(differences) / len(differences), half_width(differences)


def is_on_front(costs: Sequence[float], gains: Sequence[float]) -> list[bool]:
    """Whether each point is on the Pareto front: no other has at most its cost and at least its gain, and is better in one."""
    points = list(zip(costs, gains, strict=True))
    return [not any(c <= cost and g >= gain and (c < cost or g > gain) for c, g in points) for cost, gain in points]
