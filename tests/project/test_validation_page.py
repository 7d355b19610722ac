"""The page of comparisons: short tables in full, long ones as a summary with a CSV file."""

import csv
import re
from pathlib import Path

import pytest

from anabranch import version
from bench.table import Table
from validation import __main__ as validate
from validation.section import LONG, Section


def section(rows: list[list[str]], cells: Table | None = None) -> Section:
    return Section(
        key="toy",
        title="A toy",
        model="arithmetic",
        how="By hand.",
        columns=("stack", "loss", "goodput", "deviation"),
        rows=rows,
        passed=True,
        verdict="equal",
        notes=["A note."],
        cells=cells,
    )


def many() -> list[list[str]]:
    """Deviations from -9 % to +2 % of one stack and from +1 % to +12 % of another; the first is not judged."""
    ours = [["reno", str(i), "1", f"{i - 9:+} % ± 0.1"] for i in range(12)]
    ours[0][-1] = "(-50.0 %)"
    return ours + [["cubic", str(i), "1", f"{i + 1:+} %"] for i in range(12)]


def test_a_short_table_stands_on_the_page() -> None:
    short = section([["reno", "0", "1", "+0.0 %"]])
    assert "| reno | 0 | 1 | +0.0 % |" in short.markdown()
    assert short.file is None


def test_a_long_table_is_summed_up_by_its_first_column() -> None:
    assert Table(("stack", "loss", "goodput", "deviation"), many()).summary() == Table(
        ["stack", "rows", "deviation"], [["reno", "12", "-8 to +2 %"], ["cubic", "12", "+1 to +12 %"]]
    )


def test_a_long_table_goes_into_a_file_that_the_page_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(many()) > LONG
    page = tmp_path / "page.md"
    monkeypatch.setattr(validate, "PAGE", page)
    monkeypatch.setattr(validate, "COMPARISONS", (validate.Comparison("toy", lambda quick: section(many())),))
    assert validate.main([]) == 0
    text = page.read_text()
    assert "| reno | 0 |" not in text
    assert "All 24 rows: [toy.csv](toy.csv)." in text
    assert f"Anabranch {version()}" in text
    assert list(csv.reader((tmp_path / "toy.csv").open()))[1:] == many()


def test_a_quick_run_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validate, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(validate, "COMPARISONS", (validate.Comparison("toy", lambda quick: section(many())),))
    assert validate.main(["--quick"]) == 0
    assert list(tmp_path.iterdir()) == []


def test_a_table_that_sums_up_cells_stands_on_the_page_and_the_cells_in_the_file() -> None:
    summed = section([["reno", "0", "1", "+0.0 %"]], cells=Table(("stack", "deviation"), [["reno", "+0.0 %"]]))
    assert "| reno | 0 | 1 | +0.0 % |" in summed.markdown()
    assert summed.file == ("toy.csv", summed.cells)


def test_every_file_of_the_pages_has_as_many_rows_as_its_page_says() -> None:
    folder = Path(__file__).parents[2] / "docs" / "validation"
    found = [
        match
        for page in folder.glob("*.md")
        for match in re.findall(r"All (\d+) rows: \[.*?\]\((.*?)\)", page.read_text(encoding="utf-8"))
    ]
    assert {name for _, name in found} == {path.name for path in folder.glob("*.csv")}
    for count, name in found:
        with (folder / name).open(encoding="utf-8") as file:
            assert len(list(csv.DictReader(file))) == int(count), name
