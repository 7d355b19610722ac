"""How long packets took, of the flows of runs that ask for delays."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

DELAYS = ("delay_mean_s", "delay_median_s", "delay_p95_s", "delay_p99_s", "delay_max_s")
"""The columns of the one-way delays of a flow's packets."""


def known(flows: pl.DataFrame) -> pl.DataFrame:
    """The flows whose delays are known; none in runs that do not ask for them."""
    if not set(DELAYS) <= set(flows.columns):
        return flows.clear().with_columns(pl.lit(None, pl.Float64).alias(name) for name in DELAYS)
    return flows.filter(pl.col("delay_mean_s").is_not_null())


def summary(flows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The delays by the columns ``by``: of each figure the mean over flows and seeds, but the greatest maximum. No rows without delays."""
    *figures, greatest = DELAYS
    return known(flows).group_by(by, maintain_order=True).agg(pl.col(figures).mean(), pl.col(greatest).max())
