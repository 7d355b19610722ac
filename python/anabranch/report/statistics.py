"""The numbers of a report: means and intervals over seeds, fairness, and what each group of flows did."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

CONFIDENCE = 0.95
LEAST_RATE_BPS = 1.0
"""A mean or interval of rates below this counts as zero: it is what rounding leaves of equal values."""


def student_t(degrees: int, confidence: float = CONFIDENCE) -> float:
    """The t for which ``P(|T| <= t) = confidence`` under Student's distribution with ``degrees`` of freedom.

    Inverts the closed form for whole degrees of freedom (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4) by bisection
    over the angle ``atan(t / sqrt(degrees))``.
    """
    if degrees < 1:
        raise ValueError(f"degrees of freedom are {degrees}; an interval needs at least two values, hence 1")
    low, high = 0.0, math.pi / 2
    for _ in range(80):
        angle = (low + high) / 2
        if _two_sided(angle, degrees) < confidence:
            low = angle
        else:
            high = angle
    return math.sqrt(degrees) * math.tan(low)


def _two_sided(angle: float, degrees: int) -> float:
    """``P(|T| <= sqrt(degrees) tan(angle))``."""
    odd = degrees % 2
    squared = math.cos(angle) ** 2
    term = math.cos(angle) if odd else 1.0
    total = term if degrees > 1 else 0.0
    for power in range(2 + odd, degrees - 1, 2):
        term *= squared * (power - 1) / power
        total += term
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total


def half_width(values: Sequence[float]) -> float | None:
    """Half the width of the 95 % confidence interval of the mean (Student's t), unknown for fewer than two values."""
    count = len(values)
    if count < 2:
        return None
    mean = math.fsum(values) / count
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return student_t(count - 1) * math.sqrt(variance / count)


def jain_index(goodput: pl.Expr) -> pl.Expr:
    """Jain's fairness index ``(sum x)^2 / (n sum x^2)`` (Jain, Chiu and Hawe 1984); unknown for a single flow."""
    index = goodput.sum() ** 2 / (goodput.count() * (goodput**2).sum())
    return pl.when((goodput.count() > 1) & index.is_finite()).then(index)


def per_run(flows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """What each group of flows did in each run: a row for each run and each combination of the columns ``by``.

    ``goodput_bps`` is that of all the group's flows together, ``jain_index`` that of its TCP flows. A flow that was
    active only for a share of the measured time counts with that share, if the column ``active_share`` gives it.
    """
    share = pl.col("active_share") if "active_share" in flows.columns else pl.lit(1.0)
    run = ["source", "run"] if "source" in flows.columns else ["run"]
    grouped = flows.group_by([*dict.fromkeys([*run, *by])], maintain_order=True)
    return grouped.agg(
        flows=pl.len(),
        completed=pl.col("fct_s").count(),
        fct_s=pl.col("fct_s").mean(),
        goodput_bps=pl.when(pl.col("goodput_bps").count() > 0).then((pl.col("goodput_bps") * share).sum()),
        flow_goodput_bps=pl.col("goodput_bps").mean(),
        jain_index=jain_index(pl.col("goodput_bps").filter(pl.col("stack").is_not_null())),
        segments_sent=pl.col("segments_sent").sum(),
        retransmits=pl.col("retransmits").sum(),
        spurious_retransmits=pl.col("spurious_retransmits").sum(),
        timeouts=pl.col("timeouts").sum(),
        srtt_s=pl.col("srtt_s").mean(),
        reordered_segments=pl.col("reordered_segments").sum(),
        reordering_extent_max=pl.col("reordering_extent_max").max(),
        reordering_extent_mean=pl.col("reordering_extent_mean").mean(),
    )


def summary(flows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """A row for each combination of the columns ``by``: means over the runs, in the order of first appearance.

    ``goodput_interval_bps`` is half the width of the 95 % confidence interval of ``goodput_bps`` over the runs, null
    with a single run; rates below :data:`LEAST_RATE_BPS` are 0. Ratios are of the sums over all runs; ``timeouts`` is
    the mean of a run.
    """
    means = ["goodput_bps", "flow_goodput_bps", "jain_index", "fct_s", "timeouts", "srtt_s", "reordering_extent_mean"]
    grouped = per_run(flows, by).group_by(by, maintain_order=True)
    sent = pl.col("segments_sent").sum()
    table = grouped.agg(
        pl.len().alias("runs"),
        pl.col("flows").mean(),
        pl.col("completed").mean(),
        pl.col("goodput_bps").alias("_goodput_of_runs"),
        *(pl.col(name).mean() for name in means),
        pl.col("reordering_extent_max").max(),
        retransmit_ratio=pl.col("retransmits").sum() / sent,
        spurious_ratio=pl.col("spurious_retransmits").sum() / pl.col("retransmits").sum(),
        reordered_ratio=pl.col("reordered_segments").sum() / sent,
    )
    intervals = [
        half_width([value for value in values if value is not None]) for values in table["_goodput_of_runs"].to_list()
    ]
    return (
        table.with_columns(
            pl.Series("goodput_interval_bps", intervals, dtype=pl.Float64),
            pl.col("retransmit_ratio", "spurious_ratio", "reordered_ratio").fill_nan(None),
        )
        .with_columns(
            pl.when(pl.col(name) < LEAST_RATE_BPS).then(0.0).otherwise(name).alias(name)
            for name in ("goodput_bps", "flow_goodput_bps", "goodput_interval_bps")
        )
        .drop("_goodput_of_runs")
    )


def link_summary(links: pl.DataFrame) -> pl.DataFrame:
    """A row for each variant and directed link: means over the runs; the longest wait is the longest of any run."""
    return links.group_by(["source", "variant", "link", "src", "dst"], maintain_order=True).agg(
        pl.col("capacity_bps", "delay_s", "packets", "utilisation", "queue_drops", "losses", "marks").mean(),
        pl.col("queue_drop_ratio", "loss_ratio", "queue_delay_mean_s").mean(),
        pl.col("queue_delay_max_s").max(),
    )


def cumulative_distribution(values: pl.Series, points: int = 200) -> pl.DataFrame:
    """The empirical distribution function: a ``value``, and the ``share`` at or below it; at most ``points`` rows."""
    ordered = values.drop_nulls().sort()
    count = len(ordered)
    if count == 0:
        return pl.DataFrame(schema={"value": pl.Float64, "share": pl.Float64})
    wanted = min(points, count)
    ranks = [math.ceil(count * step / wanted) for step in range(1, wanted + 1)]
    return pl.DataFrame(
        {"value": ordered.gather([rank - 1 for rank in ranks]), "share": [rank / count for rank in ranks]}
    )
