"""Nothing that a run says depends on how long an unfinished flow had run, or on a run that was interrupted."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from anabranch.pages.report import page
from anabranch.results.result import Result
from anabranch.results.run_directory import read
from anabranch.results.summary import tables
from tests.report_fixture import change_manifest, replace_table, write_run_directory

DURATION_S = 30.0


def everything(directory: Path) -> str:
    """All tables, and the whole report: text, cells' keys and the data of charts. Lower bounds, which say that they are, are left out."""
    result = Result.load(directory)
    shown = [str(row) for table in tables(read([directory])) for row in (table.head, *table.rows)]
    computed = [
        table.drop([name for name in table.columns if "_at_least" in name]).write_json()
        for table in (result.summary, result.completion_times)
    ]
    html = re.sub(r"<td[^>]*>≥[^<]*</td>", "", page.render([directory], Path("run")))
    return "\n".join([*computed, *(re.sub(r"≥ [^']*", "", text) for text in shown), html])


def changed(directory: Path, name: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    path = directory / f"{name}.parquet"
    replace_table(path, change(pl.read_parquet(path)))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Two stacks with three seeds. The slowest flows of each run are unfinished, and the last run is interrupted."""
    found = write_run_directory(
        tmp_path / "run", stacks=["cubic", "bbr"], routings=["ospf"], seeds=3, flows=40, sized=True, interrupted=True, sample_s=1.0
    )  # fmt: skip
    slow = pl.col("fct_s").rank("ordinal", descending=True).over("run") <= 2
    sizes = pl.when(pl.col("flow") % 2 == 0).then(5_000).otherwise(500_000).cast(pl.UInt64)
    changed(
        found,
        "flows",
        lambda flows: flows.with_columns(
            pl.when(~slow).then("fct_s").alias("fct_s"),
            pl.when(~slow).then("end_s").alias("end_s"),
            start_s=pl.when(slow).then(5.0).otherwise("start_s"),
            size_bytes=sizes,
        ),
    )
    return found


def test_the_time_that_unfinished_flows_have_run_enters_no_figure(directory: Path, tmp_path: Path) -> None:
    """Two worlds, in which they have run for 25 s and for 22 s, longer than any other flow takes."""
    other = tmp_path / "other" / "run"
    shutil.copytree(directory, other)
    later = pl.when(pl.col("fct_s").is_null()).then(8.0).otherwise("start_s")
    changed(other, "flows", lambda flows: flows.with_columns(start_s=later))
    flows = pl.read_parquet(directory / "flows.parquet")
    assert flows["fct_s"].null_count() == 12
    assert flows["fct_s"].max() < 22  # type: ignore[operator]
    assert everything(directory) == everything(other)
    times = Result.load(directory).completion_times
    assert times["unfinished"].sum() > 0
    assert times["fct_median_s"].null_count() == 0
    assert times["fct_mean_s"].null_count() == times.height


@pytest.mark.parametrize("table", ["flows", "links"])
def test_an_interrupted_run_enters_no_figure(directory: Path, tmp_path: Path, table: str) -> None:
    """All that the interrupted run measured is three times as much in the other world."""
    other = tmp_path / "other" / "run"
    shutil.copytree(directory, other)
    last = pl.col("run") == 5
    kept = ("run", "seed", "flow", "link")
    more = pl.when(last).then(pl.selectors.numeric().exclude(kept) * 3).otherwise(pl.selectors.numeric().exclude(kept))
    changed(other, table, lambda rows: rows.with_columns(more))
    assert not pl.read_parquet(directory / f"{table}.parquet").equals(pl.read_parquet(other / f"{table}.parquet"))
    assert everything(directory) == everything(other)
    summary = Result.load(directory).summary
    assert summary.select("runs", "interrupted").rows() == [(3, 0), (2, 1)]


def test_samples_of_an_interrupted_run_enter_no_figure(directory: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "run"
    shutil.copytree(directory, other)
    for name in ("flows", "links"):
        for path in (other / "series").glob(f"{name}-5-*.parquet"):
            samples = pl.read_parquet(path)
            replace_table(path, samples.with_columns(pl.col(pl.Float64).exclude("time_s") / 2))
    assert everything(directory) == everything(other)


def test_a_result_of_interrupted_runs_only_has_no_figures_and_says_why(directory: Path) -> None:
    runs = Result.load(directory).manifest["runs"]
    change_manifest(directory, runs=[run | {"status": "interrupted"} for run in runs])
    table, *others = tables(read([directory]))
    assert not others
    assert [row[2] for row in table.rows] == ["0 of 3"] * 2
    assert {cell for row in table.rows for cell in row[3:]} == {"-"}
    assert any("6 of 6 runs, which were interrupted" in note for note in table.notes)
    html = page.render([directory])
    assert "6 of 6 runs were interrupted" in html
    assert "no figure or table of this page includes them" in html
    assert Result.load(directory).completion_times.is_empty()
    assert Result.load(directory).flows.height == 240


def test_a_table_of_completion_times_without_flows_is_a_note(tmp_path: Path) -> None:
    """Every flow starts during the warm-up, so none has a completion time that counts."""
    found = write_run_directory(tmp_path / "run", stacks=["cubic"], routings=["ospf"], seeds=2, flows=4, sized=True)
    changed(found, "flows", lambda flows: flows.with_columns(start_s=pl.lit(-1.0)))
    summary, *others = tables(read([found]))
    assert others == []
    assert "No completion times: all flows with a size started during the warm-up." in summary.notes
    assert "Completion, mean" not in page.render([found], Path("run"))
