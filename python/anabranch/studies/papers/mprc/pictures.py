"""Pictures like those of the thesis: throughput over time, a line for each stack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from anabranch.studies.papers import charts, measures
from anabranch.studies.papers.mprc.measure import STACKS

BIN_S = 1.0


def over_time(table: pl.DataFrame, names: Mapping[str, str] = STACKS, key: str = "stack") -> Any:
    """Means over seeds of ``mbps`` over ``time_s``, one line for each value of ``key``, with their intervals. A thin line is the first seed."""
    shown = table.filter(pl.col(key).is_in(list(names))).with_columns(pl.col(key).replace_strict(names))
    means = measures.summary(shown, [key, "time_s"], "mbps")
    first = shown.filter(pl.col("run") == pl.col("run").min().over(key))
    return charts.lines(
        means,
        thin=first.select("time_s", key, mean="mbps"),
        x="time_s",
        colour=key,
        x_title="time, s",
        y_title="throughput, Mbit/s",
        order=list(names.values()),
        least=0.0,
    )
