"""The CSV files of a run directory have what its tables have."""

import math
from pathlib import Path

import polars as pl
import pytest

from anabranch.cli import status
from anabranch.results.result import Result
from anabranch.scenario import Scenario
from tests.scenarios import LINE


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two variants with samples."""
    text = LINE.replace("bulk = true", 'size = ["1 MB", "2 MB"]').replace('"2s"', '"2s"\nsample = "500ms"')
    directory = tmp_path_factory.mktemp("runs") / "line"
    Scenario.from_toml(text).run(seed=1).save(directory)
    return directory


def test_every_table_with_rows_reads_back_to_the_same_values(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["export", str(run)]) == 0
    files = {Path(line).stem: Path(line) for line in capsys.readouterr().out.splitlines()}
    assert list(files) == ["flows", "links", "series_flows", "series_links", "summary", "completion_times"]
    assert {file.parent for file in files.values()} == {run / "csv"}
    result = Result.load(run)
    for name, file in files.items():
        table: pl.DataFrame = getattr(result, name)
        assert pl.read_csv(file, schema=table.schema).equals(table), name


def test_numbers_are_exact_and_unknown_ones_are_empty(run: Path, tmp_path: Path) -> None:
    """Read as text by another program than polars: repr() of a number is the shortest that reads back to it."""
    assert status(["export", str(run), "-o", str(tmp_path / "new" / "csv")]) == 0
    head, *rows = (line.split(",") for line in (tmp_path / "new" / "csv" / "flows.csv").read_text().splitlines())
    flows = Result.load(run).flows
    for row, values in zip(rows, flows.to_dicts(), strict=True):
        for text, value in zip(row, (values[name] for name in head), strict=True):
            assert (text == "") == (value is None)
            if isinstance(value, float) and not math.isnan(value):
                assert float(text) == value


def test_no_table_of_an_earlier_result_stays(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second result has no samples and no flows that end. A file that is no table stays."""
    directory, output = tmp_path / "line", tmp_path / "csv"
    assert status(["export", str(run), "-o", str(output)]) == 0
    (output / "notes.csv").write_text("mine")
    Scenario.from_toml(LINE).run(seed=1).save(directory)
    capsys.readouterr()
    assert status(["export", str(directory), "-o", str(output)]) == 0
    printed = {Path(line) for line in capsys.readouterr().out.splitlines()}
    assert set(output.iterdir()) == printed | {output / "notes.csv"}


def test_what_is_no_run_directory_or_cannot_be_written_is_said(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(["export", str(tmp_path)]) == 1
    assert f"{tmp_path}/manifest.json: cannot be read" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert status(["export", str(run), "-o", str(tmp_path / "file")]) == 1
    assert f"{tmp_path}/file: cannot be written (File exists)" in capsys.readouterr().err
