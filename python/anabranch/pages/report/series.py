"""Thins time series to what a page can show: a few hundred points a line, quantiles where there are many flows."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

# More lines than this in one panel cannot be told apart.
LINES = 8
# Points of all lines of one chart, so that the page stays below a few megabytes.
POINTS = 7000

_MOST_POINTS, _LEAST_POINTS = 240, 30


def flow_series(
    samples: pl.LazyFrame, flows: pl.DataFrame, measures: Sequence[str], by: Sequence[str] = ("variant",)
) -> pl.DataFrame:
    """Samples of flows over time, thinned.

    With few flows in a run, ``series`` is the flow, ``value`` its mean over the runs, ``low`` and ``high`` the least
    and the most of a run. With more than :data:`LINES`, ``series`` is the stack, ``value`` the median over flows and
    runs, ``low`` and ``high`` the 10 % and 90 % quantiles, interpolated linearly.

    Args:
        samples: the flow series, with the columns ``by``.
        flows: the ``flows`` table, for the names of stacks.
        measures: columns to keep.
        by: what makes a panel.

    Returns:
        One row for each panel, series, measure and time: ``by``, ``stack``, ``series``, ``measure``, ``time_s``,
        ``value``, ``low``, ``high``.
    """
    run = [name for name in ("source", "run") if name in flows.columns]
    lines = flows["flow"].n_unique()
    few = lines <= LINES
    drawn = flows.select(by).unique().height * (lines if few else flows["stack"].n_unique())
    samples = samples.join(flows.select(*run, "flow", "stack", "src", "dst").lazy(), on=[*run, "flow"], how="inner")
    binned = _binned(samples, drawn)
    name = pl.format("{} → {}, flow {}, {}", "src", "dst", "flow", "stack") if few else pl.col("stack")
    binned = binned.with_columns(series=name)
    group = [*by, "stack", "series", "bin"]
    if few:
        per_run = binned.group_by([*run, *group]).agg(pl.col("time_s", *measures).mean())
        thinned = per_run.group_by(group).agg(pl.col("time_s").mean(), *_spread(measures, None))
    else:
        thinned = binned.group_by(group).agg(pl.col("time_s").mean(), *_spread(measures, (0.1, 0.9)))
    return _long(thinned, [*by, "stack", "series"], measures)


def link_series(samples: pl.LazyFrame, names: pl.DataFrame, measure: str) -> pl.DataFrame:
    """Samples of some links over time, thinned: ``variant``, ``series``, ``measure``, ``time_s``, ``value``, ``low``,
    ``high`` (mean, least and most over the runs).

    Args:
        samples: the link series, with ``variant``.
        names: the wanted links, ``variant`` and ``link``, with their ``series`` (name).
        measure: the column to keep.
    """
    wanted = samples.join(names.lazy(), on=["variant", "link"], how="inner")
    variants = wanted.select("variant").unique().collect().height
    binned = _binned(wanted, variants * names["series"].n_unique())
    group = ["variant", "series", "bin"]
    per_run = binned.group_by(["source", "run", *group]).agg(pl.col("time_s", measure).mean())
    thinned = per_run.group_by(group).agg(pl.col("time_s").mean(), *_spread([measure], None))
    return _long(thinned, ["variant", "series"], [measure])


def _binned(samples: pl.LazyFrame, lines: int) -> pl.LazyFrame:
    """Number the intervals of time so that ``lines`` lines keep within the points of a chart."""
    points = min(max(POINTS // max(lines, 1), _LEAST_POINTS), _MOST_POINTS)
    times = samples.select(pl.col("time_s").unique().sort()).collect()["time_s"]
    steps = times.diff().drop_nulls()
    step = float(steps.median()) if len(steps) else 1.0  # type: ignore[arg-type]
    width = max(step, float(times.max() or 0) / points)  # type: ignore[arg-type]
    # Whole samples an interval, so that none of them is emptier than its neighbours.
    width = step * -(-width // step) if width > step * 1.001 else step
    # A sample stands for the interval that it ends.
    return samples.with_columns(bin=((pl.col("time_s") - step / 1000) / width).floor().cast(pl.Int32))


def _spread(measures: Sequence[str], quantiles: tuple[float, float] | None) -> list[pl.Expr]:
    expressions = []
    for measure in measures:
        column = pl.col(measure)
        if quantiles is None:
            value, low, high = column.mean(), column.min(), column.max()
        else:
            value, low, high = column.median(), *(column.quantile(share, "linear") for share in quantiles)
        expressions += [
            value.alias(f"{measure}:value"),
            low.alias(f"{measure}:low"),
            high.alias(f"{measure}:high"),
        ]
    return expressions


def _long(thinned: pl.LazyFrame, keep: Sequence[str], measures: Sequence[str]) -> pl.DataFrame:
    wide = thinned.sort([*keep, "bin"]).collect()
    return pl.concat(
        wide.select(
            *keep,
            pl.lit(measure).alias("measure"),
            "time_s",
            *(pl.col(f"{measure}:{part}").cast(pl.Float64).alias(part) for part in ("value", "low", "high")),
        ).drop_nulls("value")
        for measure in measures
    )
