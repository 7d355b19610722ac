"""Reports, figures and tables of a sweep."""

import re
import shlex
from html import unescape
from pathlib import Path

import polars as pl
import pytest
from hypothesis import assume, example, given, reject
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from anabranch.cli import status
from anabranch.foundation import progress, units
from anabranch.results import statistics
from anabranch.results.run_directory import read as report_of
from anabranch.scenario import Scenario
from anabranch.studies.sweep import (
    Sweep,
    run_directory,
)
from tests.sweep_plans import plan, sweep

_WRITTEN = {
    "s": units.DURATIONS,
    "bit/s": units.RATES,
    "bytes": ("bytes", "B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"),
    "packets": ("packets", "packet"),
    "m": units.LENGTHS,
    "m/s": ("m/s", "km/s"),
    "a second": ("/s", "/ms", "/min"),
}
_UNITS = {written: quantity for quantity in units.QUANTITIES for written in _WRITTEN[quantity[2]]}
"""The quantity of every unit that a scenario takes."""


def test_a_report_has_the_numbers_of_one_of_a_run(tmp_path: Path) -> None:
    """The same matrix, swept and run: the same summary, and conditions that are numbers with their unit."""
    more = 'topology.links.0.delay = ["5ms", "10ms", "12.5ms"]'
    result = sweep(tmp_path, losses=(0.01,), links=True, more=more).execute(tmp_path / "out", jobs=1)
    run_directory.write(result, tmp_path / "swept" / "out")
    text = (tmp_path / "scenario.toml").read_text()
    matrix = text.replace('"newreno"', '["newreno", "cubic"]').replace('"5ms"', '["5ms", "10ms", "12.5ms"]')
    Scenario.from_toml(matrix).run(seeds=[1, 2], directory=tmp_path / "run")
    tables = []
    for folder in ("swept/out", "run"):
        runs = report_of([tmp_path / folder])
        assert runs.treatments - {"run directory"} == {"stack"}
        assert all(variant.units == {"delay": "s"} for variant in runs.variants)
        places = [(variant.values["stack"], variant.numbers["delay"]) for variant in runs.variants]
        head = pl.DataFrame(places, schema=["which", "delay"], orient="row").with_row_index("variant")
        tables.append(head.join(statistics.summary(runs.flows, ["variant"]), on="variant").drop("variant"))
        assert runs.links.height == 2 * 3 * 2 * 2
    assert_frame_equal(*(table.sort("which", "delay") for table in tables))


def test_sweeps_of_one_name_are_told_apart_by_their_folders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    swept = sweep(tmp_path, losses=(0.01,))
    for folder in ("before", "after"):
        swept.execute(tmp_path / folder / "out", jobs=1)
    assert status(["report", "before/out", "after/out", "-o", "both.html"]) == 0
    html = (tmp_path / "both.html").read_text(encoding="utf-8")
    assert '<h2 class="source">before/out</h2>' in html
    assert '<h2 class="source">after/out</h2>' in html
    assert "anabranch-" not in html[: html.index('<script type="module">')]
    capsys.readouterr()
    assert status(["report", "before/out", "before/../before/out", "-o", "both.html"]) == 1
    assert "before/../before/out: is given twice; name each run directory once" in capsys.readouterr().err


def test_a_sweep_and_a_run_by_one_engine_are_treatments(tmp_path: Path) -> None:
    result = sweep(tmp_path, losses=(0.01,)).execute(tmp_path / "out", jobs=1)
    run_directory.write(result, tmp_path / "swept" / "out")
    Scenario.from_toml((tmp_path / "scenario.toml").read_text()).run(seeds=[1], directory=tmp_path / "run")
    assert "run directory" in report_of([tmp_path / "swept" / "out", tmp_path / "run"]).treatments


def test_a_report_tells_values_of_many_digits_apart(tmp_path: Path) -> None:
    """A scenario takes each value as the report writes it, and means the same by it."""
    texts = ["1048576 B", "1048577 B", "1 MB"]
    plan(tmp_path, losses=(0.01,), more=f"traffic.0.size = {texts}")
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(scenario.read_text().replace("bulk = true", 'size = "1 MB"'))
    result = Sweep.load(tmp_path / "plan.toml").execute(tmp_path / "out", jobs=1)
    run_directory.write(result, tmp_path / "swept")
    written = {variant.values["size"] for variant in report_of([tmp_path / "swept"]).variants}
    assert {units.size(text) for text in written} == {units.size(text) for text in texts}


@given(st.sampled_from(sorted(_UNITS)), st.integers(0, 2**63) | st.integers(0, 9999), st.integers(-20, 20))
@example("s", 2000, 0)
def test_a_scenario_takes_every_quantity_as_a_report_writes_it(written_unit: str, digits: int, exponent: int) -> None:
    """Over all units and magnitudes: the text that a report writes has the value to the last digit."""
    parse, scale, base = _UNITS[written_unit]
    try:
        exact = parse(f"{digits}e{exponent} {written_unit}")
    except units.UnitError:
        reject()  # more than the core holds, or finer
    assume(exact <= units.LARGEST - 2**10)  # a double has 53 bits, and may be more than the most
    value = float(exact / scale)
    assert float(parse(run_directory.with_unit(value, base)) / scale) == value


def test_a_duration_of_many_seconds_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["20s", "2000s", "1h"]
    plan(tmp_path, seeds=1, engines=["predict"], stacks=["newreno"], losses=(0.01,), more=f"run.duration = {texts}")
    out = str(tmp_path / "out")
    assert status(["sweep", str(tmp_path / "plan.toml"), "-o", out]) == 0
    assert [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()[2:5]] == ["20 s", "2000 s", "1 h"]
    assert status(["report", out, "-o", str(tmp_path / "report.html")]) == 0
    assert status(["export", out]) == 0


def test_a_message_about_a_sweep_names_its_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not the run directory that its results become for a moment."""
    sweep(tmp_path, seeds=1).execute(tmp_path / "out", jobs=1)
    assert status(["export", str(tmp_path / "out"), "--format", "htsim"]) == 1
    assert capsys.readouterr().err.startswith(f"{tmp_path / 'out'}: run 0 has flows without a size")
    assert not (tmp_path / "out" / "htsim").exists()


def test_a_report_shows_the_command_of_the_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last one, with its options; for a sweep in Python, one that does the same."""
    path, out = str(plan(tmp_path, seeds=1, stacks=["newreno"], losses=(0.01,))), str(tmp_path / "out")
    for more in ([], ["-j", "1"]):
        words = ["sweep", path, "-o", out, *more]
        monkeypatch.setattr("sys.argv", ["anabranch", *words])
        assert status(words) == 0
        assert shown_command(tmp_path) == shlex.join(["anabranch", *words])
    Sweep.load(path).execute(out, jobs=1)
    assert shown_command(tmp_path) == shlex.join(["anabranch", "sweep", path, "-o", out])


def shown_command(folder: Path) -> str:
    assert status(["report", str(folder / "out"), "-o", str(folder / "x.html")]) == 0
    found = re.search(r'<pre class="command"><code>(.*?)</code>', (folder / "x.html").read_text(encoding="utf-8"))
    assert found
    return unescape(found[1])


def test_a_report_takes_limits_of_several_units_as_they_are_written(tmp_path: Path) -> None:
    texts = ["50 packets", "1 bdp", "30 kB"]
    result = sweep(tmp_path, losses=(0.01,), more=f"topology.queue.limit = {texts}").execute(tmp_path / "out", jobs=1)
    run_directory.write(result, tmp_path / "swept")
    assert {variant.values["limit"] for variant in report_of([tmp_path / "swept"]).variants} == set(texts)


def test_a_report_keeps_the_unit_of_frequencies(tmp_path: Path) -> None:
    plan(tmp_path, losses=(0.01,), more='traffic.0.short.arrivals = ["100/s", "200/s", "1/ms"]')
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        scenario.read_text().replace("bulk = true", 'short = { arrivals = "1/s", sizes = [[1000, 0.0], [2000, 1.0]] }')
    )
    run_directory.write(Sweep.load(tmp_path / "plan.toml").execute(tmp_path / "out", jobs=1), tmp_path / "swept")
    variants = report_of([tmp_path / "swept"]).variants
    assert {variant.numbers["arrivals"] for variant in variants} == {100, 200, 1000}
    assert all(variant.units == {"arrivals": "a second"} for variant in variants)


def test_commands_write_a_report_figures_and_csv_of_a_sweep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without links, with failed runs, and with two engines."""
    found = sweep(tmp_path, engines=["packet", "predict"], more='traffic.0.start = ["0s", "200ms"]')
    found.execute(tmp_path / "out", jobs=1)
    page = tmp_path / "page.html"
    assert status(["report", str(tmp_path / "out"), "-o", str(page)]) == 0
    text = page.read_text()
    assert "Two stacks over a link that loses" in text
    assert "Goodput, ranked within each condition" in text
    assert "anabranch replay" not in text
    chart, csv = tmp_path / "along.svg", tmp_path / "csv"
    assert status(["figure", str(tmp_path / "out"), "-o", str(chart)]) == 0
    assert "newreno" in chart.read_text(encoding="utf-8")
    assert status(["export", str(tmp_path / "out"), "-o", str(csv)]) == 0
    assert pl.read_csv(csv / "flows.csv").height == found.execute(tmp_path / "out", jobs=1).flows["goodput_bps"].count()


def test_the_table_says_which_completion_times_are_lower_bounds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """10 kB take a moment of the 300 ms, and 10 MB take 8 s at 10 Mbit/s: with two seeds, two flows do not finish."""
    plan(tmp_path, stacks=["newreno"], losses=(0.01,), more='traffic.0.size = ["10kB", "10MB"]')
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(scenario.read_text().replace("bulk = true", 'size = "10kB"'))
    assert status(["sweep", str(tmp_path / "plan.toml"), "--out", str(tmp_path / "out"), "-j", "1"]) == 0
    _, head, small, large, *notes = capsys.readouterr().out.splitlines()
    assert head.split()[-1] == "finished"
    assert [row.split()[-3:] for row in (small, large)] == [["2", "of", "2"], ["0", "of", "2"]]
    assert "≥" not in small
    assert "≥ 8." in large, "it needs 8 s in an idle network"
    assert any("at least" in note for note in notes)


def test_a_long_report_says_that_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("QUIET_S", "LINE_INTERVAL_S", "STATUS_INTERVAL_S"):
        monkeypatch.setattr(progress, name, 0.01)
    sweep(tmp_path, losses=(0.01,)).execute(tmp_path / "out", jobs=1)
    assert status(["report", str(tmp_path / "out"), "-o", str(tmp_path / "page.html")]) == 0
    assert "computing the report" in capsys.readouterr().err
