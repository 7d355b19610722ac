"""Every key of a scenario's matrix is a typed column of the result tables."""

from pathlib import Path

import polars as pl
import pytest

from anabranch.results.result import Result
from anabranch.runs import RunPlan, execute, execute_all
from anabranch.runs.kept import KeptRuns
from anabranch.scenario import Scenario
from tests.fake_simulation import FakeSimulation

MATRIX = """\
[topology]
links = [{ source = "A", target = "B", capacity = ["10Mbps", "1 Gbit/s"], delay = ["5ms", "0.2s"], loss = [0, 0.01] }]
queue = ["drop-tail", { discipline = "drop-tail", limit = "50 packets" }]

[stacks]
slow = { congestion = "newreno", min_rto = ["200ms"], sack = [true, false] }
fast = { congestion = "newreno" }

[[traffic]]
from = "A"
to = "B"
size = ["10 kB", "1 MB"]
flows = [1, 2]
stack = ["slow", "fast"]

[run]
duration = "2s"
sample = "1s"
"""
KEYS = {
    "capacity": (pl.Float64, {10e6, 1e9}),
    "delay": (pl.Float64, {0.005, 0.2}),
    "loss": (pl.Float64, {0.0, 0.01}),
    "queue": (pl.String, {"drop-tail", "drop-tail limit=50 packets"}),
    "min_rto": (pl.Float64, {0.2}),
    "sack": (pl.Boolean, {True, False}),
    "size": (pl.Float64, {10e3, 1e6}),
    "flows": (pl.Int64, {1, 2}),
}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    directory = tmp_path_factory.mktemp("matrix")
    return execute(Scenario.from_toml(MATRIX), directory=directory, make=FakeSimulation, show_progress=False)


@pytest.mark.slow("writes 512 runs")
@pytest.mark.parametrize("name", ["flows", "links", "series_flows", "series_links", "states", "routes", "link_state"])
def test_numbers_are_numbers_in_base_units_and_texts_are_texts(result: Result, name: str) -> None:
    table: pl.DataFrame = getattr(result, name)
    assert set(result.keys) == {*KEYS, "stack"}
    for key, (kind, values) in KEYS.items():
        assert table.schema[key] == kind, key
        assert set(table[key]) == (values if table.height else set()), key


def test_the_values_are_those_of_the_run(result: Result) -> None:
    variants = {run["run"]: run["variant"] for run in result.manifest["runs"]}
    texts = {"5ms": 0.005, "0.2s": 0.2}
    for table in (result.flows, result.links, result.series_flows, result.series_links):
        for run, delay, flows in table.select("run", "delay", "flows").unique().iter_rows():
            assert (delay, flows) == (texts[variants[run]["delay"]], variants[run]["flows"])


def test_a_key_with_the_name_of_a_column_gets_another_where_they_clash(result: Result) -> None:
    """A flow's own stack is the flow's; that of the matrix stands beside it."""
    assert result.flows["variant_stack"].equals(result.flows["stack"].rename("variant_stack"))
    assert set(result.links["stack"]) == {"slow", "fast"}
    assert set(result.series_flows["stack"]) == {"slow", "fast"}
    assert result.summary["flows"].dtype == pl.Float64
    assert result.summary["variant_flows"].dtype == pl.Int64


def test_the_files_have_the_columns_too(result: Result) -> None:
    for path in [result.directory / "links.parquet", *(result.directory / "series").glob("*.parquet")]:
        assert set(KEYS) <= set(pl.read_parquet_schema(path)), path


@pytest.mark.slow("writes and reads 512 runs twice")
def test_a_run_that_was_finished_before_has_the_keys_of_this_scenario(tmp_path: Path) -> None:
    """The same run is a variant of one key first, then of two."""
    kept = KeptRuns(tmp_path / "kept")
    texts = MATRIX.replace('["drop-tail", {', "{").replace('packets" }]', 'packets" }'), MATRIX
    plans = [RunPlan(Scenario.from_toml(text), tmp_path / str(number)) for number, text in enumerate(texts)]
    for plan in plans:
        (result,) = execute_all([plan], make=FakeSimulation, show_progress=False, kept=kept)
    assert set(result.series_links["queue"]) == KEYS["queue"][1]
    assert set(result.flows["queue"]) == KEYS["queue"][1]


def test_tables_become_frames_of_pandas(result: Result) -> None:
    table = result.flows.to_pandas()
    assert table.groupby("delay")["goodput_bps"].mean().to_dict() == {0.005: 1e6, 0.2: 1e6}
    assert table["fct_s"].isna().all()
    assert len(result.series_links.to_pandas()) == result.series_links.height
