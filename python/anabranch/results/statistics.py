"""Statistics of results: means and intervals over seeds, fairness, completion times, distributions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial

import polars as pl

CONFIDENCE = 0.95
SIZE_CLASSES = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
"""Bytes at which a class of flow sizes ends and the next begins; the bound belongs to the upper one."""
LONG_STALL_S = 1.0
LONG_STALL_ROUND_TRIPS = 10
LARGE_REASSEMBLY_BYTES = 6 * 2**20
"""The size to which Linux lets a receive buffer grow without tuning (the third value of net.ipv4.tcp_rmem)."""
MOST_GROUPS = 9
"""Routings or traffic groups of more values than this make no rows of their own."""
LEAST_RATE_BPS = 1.0
"""A mean or interval of rates below this counts as zero: it is what rounding leaves of equal values."""

ROUNDING = 1e-12
"""Values that differ by less than this share of the greatest are equal: the order in which they were added up leaves as much."""


SEEDS_AGREE = "All seeds gave the same runs: chance had no part in them, and an interval of 0 says nothing."
_TELLING = ("variant", "flow", "goodput_bps", "segments_sent", "end_s", "srtt_s")
"""Columns of flows in which runs that differ would differ."""


@cache
def student_t(degrees: int, confidence: float = CONFIDENCE) -> float:
    """The t for which ``P(|T| <= t) = confidence`` under Student's distribution with ``degrees`` of freedom.

    Inverts the closed form for whole degrees of freedom (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4) by bisection
    over the angle ``atan(t / sqrt(degrees))``.

    Raises:
        ValueError: there is no degree of freedom.
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
    """Half the width of the 95 % confidence interval of the mean (Student's t), unknown for fewer than two values.

    It is zero for values whose relative difference is at most :data:`ROUNDING`.
    """
    count = len(values)
    if count < 2:
        return None
    if max(values) - min(values) <= ROUNDING * max(map(abs, values)):
        return 0.0
    mean = math.fsum(values) / count
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return student_t(count - 1) * math.sqrt(variance / count)


def ratio_of_means(first: Sequence[float], second: Sequence[float]) -> tuple[float | None, float | None]:
    """The ratio of the mean of ``second`` to that of ``first``, which are pairs, and half the width of its 95 % confidence interval.

    The interval is that of the ratio estimator (Cochran 1977, section 6.4): the residuals ``second - ratio first`` over the mean of ``first``, by
    Student's t. Both are unknown if the mean of ``first`` is zero, and the interval is for fewer than two pairs.
    """
    mean = math.fsum(first) / len(first)
    if mean == 0:
        return None, None
    ratio = math.fsum(second) / len(second) / mean
    return ratio, half_width([(y - ratio * x) / mean for x, y in zip(first, second, strict=True)])


def jain_index(goodput: pl.Expr) -> pl.Expr:
    """Jain's fairness index ``(sum x)^2 / (n sum x^2)`` (Jain, Chiu and Hawe 1984); unknown for a single flow."""
    index = goodput.sum() ** 2 / (goodput.count() * (goodput**2).sum())
    return pl.when((goodput.count() > 1) & index.is_finite()).then(index)


def summary(flows: pl.DataFrame, by: Sequence[str], runs: pl.DataFrame | None = None) -> pl.DataFrame:
    """A row for each combination of the columns ``by``: means over the runs, in the order of first appearance.

    ``runs`` has a row for each run, with the columns that identify it, those of ``by`` that all its flows share, and ``interrupted``. It counts
    runs without flows too; without it, the runs are those of the flows. ``flows`` has no flow of an interrupted run.

    Goodput is payload counted once, when it first arrives, within the measured time. ``goodput_bps`` adds up the flows
    that send to the end of the run: those without a size, and those of a traffic group of which no flow has finished. A
    flow counts with its share of the measured time, if the column ``active_share`` gives it. A flow that did not finish has its goodput over the
    time until the end of the run. Without such flows goodput
    is null; use :func:`completion_times` instead. ``flow_goodput_bps`` is the mean of these flows, and
    ``jain_index`` is over those of them that are TCP.

    ``goodput_interval_bps`` is half the width of the 95 % confidence interval of ``goodput_bps`` over the runs, null
    with a single run; rates below :data:`LEAST_RATE_BPS` are 0. It is null for predictions too, which do not depend on seeds.
    ``low_bps`` and ``high_bps``, columns of predicted runs only, are the ends of the interval of a single flow.
    Ratios are of the sums over all runs; ``timeouts`` is the mean of a run. ``interrupted`` is how many further runs were
    cut short: they enter no other column, neither ``runs``.
    ``longest_stall_s`` and ``reassembly_peak_bytes`` are the most of any flow.
    """
    means = ["goodput_bps", "flow_goodput_bps", "jain_index", "timeouts", "srtt_s", "reordering_extent_mean"]
    rows = per_run(flows, by)
    rows = rows.with_columns(interrupted=pl.lit(False)) if runs is None else _with_empty(rows, by, runs)
    grouped = rows.group_by(by, maintain_order=True)
    measured = pl.col("goodput_bps").filter(~pl.col("predicted"))
    sent, resent, spurious, reordered = (
        known_sum(pl.col(name).filter(~pl.col("interrupted")))
        for name in ("segments_sent", "retransmits", "spurious_retransmits", "reordered_segments")
    )
    table = grouped.agg(
        (~pl.col("interrupted")).sum().alias("runs"),
        pl.col("interrupted").sum(),
        pl.col("flows").mean(),
        measured.alias("_goodput_of_runs"),
        *(pl.col(name).mean() for name in means),
        pl.col("reordering_extent_max", "longest_stall_s", "reassembly_peak_bytes").max(),
        pl.col(["low_bps", "high_bps"] if "low_bps" in flows.columns else []).mean(),
        retransmit_ratio=resent / sent,
        # For segments in flight when the warm-up ends, only the arrival is counted.
        spurious_ratio=pl.when(resent > 0).then((spurious / resent).clip(upper_bound=1)),
        reordered_ratio=reordered / sent,
    )
    return (
        table.with_columns(
            half_widths("_goodput_of_runs").alias("goodput_interval_bps"),
            pl.col("retransmit_ratio", "spurious_ratio", "reordered_ratio").fill_nan(None),
        )
        .with_columns(
            pl.when(pl.col(name) < LEAST_RATE_BPS).then(0.0).otherwise(name).alias(name)
            for name in ("goodput_bps", "flow_goodput_bps", "goodput_interval_bps")
        )
        .drop("_goodput_of_runs")
    )


def lasting_goodput(by: Sequence[str]) -> pl.Expr:
    """``goodput_bps`` of the flows whose goodput :func:`summary` counts; null for the others."""
    finished = pl.col("size_bytes").is_not_null() & pl.col("fct_s").is_not_null()
    return pl.when(~finished.any().over([*dict.fromkeys([*by, "traffic"])])).then("goodput_bps")


def known_sum(values: pl.Expr) -> pl.Expr:
    """The sum of values; null if one of them is unknown."""
    return pl.when(values.is_not_null().all()).then(values.sum())


def per_run(flows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The results of each group of flows in each run: a row for each run and each combination of the columns ``by``, with the run's columns.

    The goodput that counts depends on the flows of all runs, as in :func:`summary`.
    ``low_bps`` and ``high_bps`` are the predicted interval of the goodput of a group that has one such flow. The interval of a sum is
    not known.
    """
    share = pl.col("active_share") if "active_share" in flows.columns else pl.lit(1.0)
    goodput = pl.col("_goodput")
    lasting = flows.with_columns(_goodput=lasting_goodput(by))
    return lasting.group_by([*dict.fromkeys([*_run(flows), *by])], maintain_order=True).agg(
        *(known_sum(pl.col(name)).alias(name) for name in _COUNTS),
        pl.col("srtt_s", "reordering_extent_mean").mean(),
        pl.col("reordering_extent_max", "longest_stall_s", "reassembly_peak_bytes").max(),
        flows=pl.len(),
        goodput_bps=pl.when(goodput.count() > 0).then((goodput * share).sum()),
        flow_goodput_bps=goodput.mean(),
        jain_index=jain_index(goodput.filter(pl.col("stack").is_not_null())),
        predicted=is_predicted(flows),
        **{
            name: pl.when(goodput.count() == 1).then(pl.col(name).filter(goodput.is_not_null()).first())
            for name in ("low_bps", "high_bps")
            if name in flows.columns
        },
    )


_COUNTS = ("segments_sent", "retransmits", "spurious_retransmits", "timeouts", "reordered_segments")


def _with_empty(rows: pl.DataFrame, by: Sequence[str], runs: pl.DataFrame) -> pl.DataFrame:
    """The rows of :func:`per_run`, and one for each run that has no flow of a group of which another such run has some; each with ``interrupted``."""
    shared = [name for name in by if name in runs.columns]
    wanted = runs.select(*_run(rows), *shared, "interrupted")
    if len(shared) < len(by):
        groups = rows.select(by).unique(maintain_order=True)
        wanted = wanted.join(groups, on=shared, maintain_order="left_right")
    on = [*_run(rows), *by]
    every = wanted.join(rows, on=on, how="left", nulls_equal=True, maintain_order="left")
    # A run that was cut short says nothing of flows that it might have had.
    is_empty = pl.col("flows").is_null() & ~pl.col("interrupted")
    zeros = (pl.when(is_empty).then(0).otherwise(name).alias(name) for name in ("flows", *_COUNTS))
    return every.with_columns(*zeros, pl.col("predicted").fill_null(False))


def _run(rows: pl.DataFrame) -> list[str]:
    """The columns that say which run a row is of."""
    return [name for name in ("source", "run", "seed") if name in rows.columns]


def is_predicted(flows: pl.DataFrame) -> pl.Expr:
    """Whether the predict engine has predicted the flows of a group."""
    return (pl.col("limited_by").is_not_null() if "limited_by" in flows.columns else pl.lit(False)).any()


def seeds_agree(flows: pl.DataFrame) -> bool:
    """Whether several seeds gave the same flows in every variant. Of predictions, seeds say nothing anyway."""
    seeds = flows["seed"].n_unique()
    if seeds < 2 or flows.select(is_predicted(flows)).item():
        return False
    return flows.height == seeds * flows.select(_TELLING).unique().height


def completion_times(flows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Completion times of the flows with a size: for each combination of ``by`` a row for all sizes and one for each class.

    ``flows`` needs ``warm_up_s`` and ``simulated_s`` of its run, as :func:`anabranch.results.run_directory.read` gives
    them. A row for all sizes has ``size_from_bytes`` 0 and no ``size_below_bytes``; :data:`SIZE_CLASSES` are the bounds.

    ``flows`` counts the flows that started after the warm-up, and ``warm_up_flows`` the flows before, which do not count further.
    ``unfinished`` of them had not finished when the run ended (right-censored): their completion time is at least the time
    so far, and at least that in an idle network. A mean is unknown with such a flow. A quantile is known if every such
    flow ends beyond it, whatever time it takes. The columns ``..._at_least`` bound all figures from below; they are
    equal to what is known. Quantiles are over the flows of all runs, interpolated linearly
    (Hyndman and Fan 1996, type 7). Slowdown is the completion time over that in an idle network. ``fct_interval_s`` is
    half the width of the 95 % confidence interval over the means of the runs, null for predictions and where a mean is unknown.

    ``makespan_s`` is the time from the start of the first flow to the end of the last, on average over the runs; null if one has not
    finished. A flow that still waits for another when the run ends counts as unfinished.
    """
    so_far = pl.max_horizontal(pl.col("simulated_s") - pl.col("start_s"), "idle_fct_s")
    size, idle = pl.col("size_bytes"), pl.col("idle_fct_s")
    bounds = [0, *SIZE_CLASSES]
    waits = pl.col("start_s").is_null()
    sized = flows.filter(size.is_not_null(), waits | (pl.col("start_s") < pl.col("simulated_s"))).with_columns(
        time=pl.col("fct_s"),
        time_so_far=so_far,
        slow=pl.col("fct_s") / idle,
        slow_so_far=so_far / idle,
        counts=waits | (pl.col("start_s") >= pl.col("warm_up_s")),
        size_from_bytes=pl.max_horizontal(pl.when(size >= bound).then(bound) for bound in bounds).cast(pl.UInt64),
        first=pl.int_range(pl.len()),
    )
    classes = sized.with_columns(
        size_below_bytes=pl.col("size_from_bytes").replace_strict(bounds, [*SIZE_CLASSES, None], return_dtype=pl.UInt64)
    )
    whole = sized.with_columns(size_from_bytes=pl.lit(0, pl.UInt64), size_below_bytes=pl.lit(None, pl.UInt64))
    keys = [*by, "size_from_bytes", "size_below_bytes"]
    tables = [_completions(part, keys) for part in (whole, classes)]
    rows = pl.concat([part.with_columns(part=pl.lit(number)) for number, part in enumerate(tables)])
    return rows.sort("part", "size_from_bytes", "first").drop("first", "part")


ALL_SIZES = (pl.col("size_from_bytes") == 0) & pl.col("size_below_bytes").is_null()
"""The rows of :func:`completion_times` for all sizes."""
FIGURES = ("mean", "median", "p95", "p99")


def worth_showing(times: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The rows of :func:`completion_times` without the classes, if no group has flows of more than one."""
    classes = times.filter(~ALL_SIZES)
    return times if classes.select(by).is_duplicated().any() else times.filter(ALL_SIZES)


def _completions(flows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    mean, _ = _bounded("time", pl.Expr.mean)
    measured = pl.when(~is_predicted(flows)).then(mean)
    means = flows.filter("counts").group_by([*dict.fromkeys([*by, *_run(flows)])]).agg(measured.alias("time"))
    known = pl.col("time").is_not_null().all()
    span = (pl.col("start_s") + pl.col("fct_s")).max() - pl.col("start_s").min()
    spans = flows.filter("counts").group_by([*dict.fromkeys([*by, *_run(flows)])])
    spans = spans.agg(pl.when(pl.col("fct_s").is_not_null().all()).then(span).alias("time")).group_by(by)
    makespans = spans.agg(pl.when(known).then(pl.col("time").mean()).alias("makespan_s"))
    intervals = means.group_by(by).agg(pl.when(known).then(pl.col("time").implode()).alias("_means"))
    table = flows.group_by(by).agg(
        flows=pl.col("counts").sum(),
        unfinished=(pl.col("counts") & pl.col("fct_s").is_null()).sum(),
        warm_up_flows=(~pl.col("counts")).sum(),
        **_figures("time", "fct", "_s"),
        **_figures("slow", "slowdown", ""),
        first=pl.col("first").min(),
    )
    joined = table.join(intervals, on=by, how="left", nulls_equal=True)
    joined = joined.with_columns(half_widths("_means").alias("fct_interval_s")).drop("_means")
    return joined.join(makespans, on=by, how="left", nulls_equal=True)


def _figures(column: str, name: str, unit: str) -> dict[str, pl.Expr]:
    """:data:`FIGURES` of a column, and then their lower bounds."""
    shares = (0.5, 0.95, 0.99)
    found = [_bounded(column, pl.Expr.mean)]
    found += [_bounded(column, partial(pl.Expr.quantile, quantile=share, interpolation="linear")) for share in shares]
    exact, least = zip(*found, strict=True)
    columns = {f"{name}_{what}{unit}": one for what, one in zip(FIGURES, exact, strict=True)}
    return columns | {f"{name}_{what}_at_least{unit}": one for what, one in zip(FIGURES, least, strict=True)}


def _bounded(column: str, figure: Callable[[pl.Expr], pl.Expr]) -> tuple[pl.Expr, pl.Expr]:
    """A figure over the flows that count, null if unknown, and its lower bound.

    The figure must not fall if a value grows. So it lies between its values with the unfinished flows at their time so far,
    and with them at infinity. It is known if these are equal.
    """
    so_far = pl.col(f"{column}_so_far")
    least, most = (
        figure(pl.coalesce(column, pl.when(so_far.is_not_null()).then(rest)).filter("counts"))
        for rest in (so_far, pl.lit(math.inf))
    )
    return pl.when(least == most).then(least), least


def known_quantile(values: Sequence[float | None], at_least: Sequence[float], share: float) -> float | None:
    """A quantile of values, of which a null is known to be ``at_least`` so much; ``None`` if the quantile depends on the nulls' values.

    It is interpolated linearly, as in :func:`completion_times`.
    """
    least, most = (
        pl.Series(
            [rest if value is None else value for value, rest in zip(values, bounds, strict=True)], dtype=pl.Float64
        ).quantile(share, "linear")
        for bounds in (at_least, [math.inf] * len(values))
    )
    return least if least == most else None


def waits_long(flows: pl.DataFrame) -> bool:
    """Whether an application waited so long for a repair, or had so much data waiting, that tables should say so.

    That is a stall of more than :data:`LONG_STALL_S` or :data:`LONG_STALL_ROUND_TRIPS` smoothed RTTs of its flow, or
    more than :data:`LARGE_REASSEMBLY_BYTES` beyond a hole.
    """
    stall = pl.col("longest_stall_s")
    long = (stall > LONG_STALL_S) | (stall > LONG_STALL_ROUND_TRIPS * pl.col("srtt_s"))
    return flows.filter(long | (pl.col("reassembly_peak_bytes") > LARGE_REASSEMBLY_BYTES)).height > 0


def half_widths(name: str) -> pl.Expr:
    """:func:`half_width` of each list of a column, without its nulls."""
    return pl.col(name).map_elements(lambda values: half_width(values.drop_nulls().to_list()), return_dtype=pl.Float64)


def link_summary(links: pl.DataFrame) -> pl.DataFrame:
    """A row for each variant and directed link: means over the runs; the longest wait is the longest of any run."""
    return links.group_by(["source", "variant", "link", "src", "dst"], maintain_order=True).agg(
        pl.col("capacity_bps", "delay_s", "packets", "utilisation", "queue_drops", "losses", "marks").mean(),
        pl.col("^trimmed$").mean(),  # earlier versions lack it
        pl.col("queue_drop_ratio", "loss_ratio", "queue_delay_mean_s").mean(),
        pl.col("queue_delay_max_s").max(),
    )


def cumulative_distribution(values: pl.Series, points: int = 200) -> pl.DataFrame:
    """The empirical distribution function: a ``value``, and the ``share`` at or below it; at most ``points`` rows.

    A null is a value of which only a lower bound is known, such as that of an unfinished flow. It counts as greater than all others: with
    one, ``share`` is a lower bound, and ends below 1. ``low`` and ``high`` are the band of :func:`distribution_band`, within 0 and 1.
    The band has room for any value of the nulls.
    """
    ordered = values.drop_nulls().sort()
    count = len(ordered)
    if count == 0:
        return pl.DataFrame(schema=dict.fromkeys(("value", "share", "low", "high"), pl.Float64))
    wanted = min(points, count)
    ranks = [math.ceil(count * step / wanted) for step in range(1, wanted + 1)]
    shares = pl.Series([rank / len(values) for rank in ranks], dtype=pl.Float64)
    half = distribution_band(len(values))
    return pl.DataFrame(
        {
            "value": ordered.gather([rank - 1 for rank in ranks]),
            "share": shares,
            "low": (shares - half).clip(lower_bound=0),
            "high": (shares + values.null_count() / len(values) + half).clip(upper_bound=1),
        }
    )


def distribution_band(count: int, confidence: float = CONFIDENCE) -> float:
    """Half the height of a band that has the whole distribution function with at least this probability.

    It is ``sqrt(ln(2 / (1 - confidence)) / (2 count))`` around the empirical function of ``count`` independent values: the
    inequality of Dvoretzky, Kiefer and Wolfowitz (1956) with the constant of Massart (1990).
    """
    return math.sqrt(math.log(2 / (1 - confidence)) / (2 * count))
