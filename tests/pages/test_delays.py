"""The report's figures of delays: from columns that a run has only if it asks for them."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anabranch.pages.report import evaluation, figures
from anabranch.results import delays
from anabranch.results.delays import DELAYS
from tests.report_fixture import replace_table, write_run_directory


def with_delays(directory: Path, **options: Any) -> Path:
    """A run directory whose flow number n has delays of 10 + n ms, and percentiles of twice, three and four times that."""
    write_run_directory(directory, **options)
    flows = pl.read_parquet(directory / "flows.parquet")
    delay = (10 + pl.col("flow")) / 1000
    factors = dict(zip(DELAYS, (1.0, 1.0, 2.0, 3.0, 4.0), strict=True))
    replace_table(
        directory / "flows.parquet", flows.with_columns(**{name: delay * factor for name, factor in factors.items()})
    )
    return directory


def test_runs_with_delays_have_ranges_and_goodput_against_the_95th_percentile(tmp_path: Path) -> None:
    directory = with_delays(tmp_path / "run")
    drawn = {figure.name: figure for figure in figures.figures([directory])}
    rows = drawn["delay"].specification["data"]["values"]
    e = evaluation.read([directory])
    assert len(rows) == e.summary.height
    first = rows[0]
    numbers = e.runs.flows.filter(stack=first["stack"])["flow"]
    means = e.runs.flows.group_by(e.by).agg(pl.col("delay_median_s").mean() * 1e3)["delay_median_s"]
    assert numbers.len() > 0
    assert sorted(row["median"] for row in rows) == pytest.approx(sorted(means), rel=1e-3)
    assert all(row["p95"] == pytest.approx(2 * row["median"], rel=1e-3) for row in rows)
    assert all(row["p99"] == pytest.approx(3 * row["median"], rel=1e-3) for row in rows)
    points = drawn["pareto-goodput-delay"].specification["data"]["values"]
    assert {point["x"] for point in points} <= {row["p95"] for row in rows}


def test_runs_without_delays_have_no_such_figure(tmp_path: Path) -> None:
    directory = write_run_directory(tmp_path / "run")
    assert not [figure for figure in figures.figures([directory]) if "delay" in figure.name]
    assert delays.known(evaluation.read([directory]).runs.flows).is_empty()
