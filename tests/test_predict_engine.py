"""``--engine predict``: the packet engine's tables and report, in its vicinity where chance has no part, and refusals by name."""

from pathlib import Path

import polars as pl
import pytest

from anabranch import Scenario
from anabranch.cli.entry import status
from anabranch.results import Result
from anabranch.runs import execute
from anabranch.runs.errors import RunError

SCENARIO = """
title = "Two limits"
[topology]
nodes = [{ name = "a" }, { name = "b" }]
links = [{ source = "a", target = "b" }]
capacity = "10Mbps"
delay = "10ms"
[[traffic]]
name = "free"
from = "a"
to = "b"
stack = ["newreno", "linux-cubic"]
[[traffic]]
name = "steady"
from = "a"
to = "b"
constant = "2Mbps"
stack = "newreno"
[run]
duration = "60s"
warm_up = "10s"
"""


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    scenario = Scenario.from_toml(SCENARIO)
    return {engine: execute(scenario, engine=engine, show_progress=False) for engine in ("packet", "predict")}


def test_a_flow_that_shares_with_a_steady_one_gets_the_rest(results: dict[str, Result]) -> None:
    packet, predicted = (results[engine].flows for engine in ("packet", "predict"))
    keys = ["run", "flow", "traffic", "src", "dst", "stack", "routing", "start_s"]
    assert predicted.select(keys).equals(packet.select(keys))
    ratios = predicted["goodput_bps"] / packet["goodput_bps"]
    assert ratios.is_between(0.95, 1.05).all(), ratios
    assert predicted.filter(traffic="steady")["limited_by"].to_list() == ["limit"] * 2
    assert (predicted["low_bps"] <= predicted["goodput_bps"]).all()
    assert (predicted["goodput_bps"] <= predicted["high_bps"]).all()


def test_links_are_as_busy_as_in_the_packet_engine(results: dict[str, Result]) -> None:
    packet, predicted = (results[engine].links for engine in ("packet", "predict"))
    assert (predicted["utilisation"] - packet["utilisation"]).abs().max() < 0.05
    carried = predicted["bytes"] * 8 / (50 * predicted["capacity_bps"])
    assert (carried - predicted["utilisation"]).abs().max() < 1e-6


def test_what_the_model_does_not_say_is_unknown(results: dict[str, Result]) -> None:
    predicted = results["predict"].flows
    for column in ("segments_sent", "retransmits", "timeouts", "reordered_segments", "longest_stall_s", "end_s"):
        assert predicted[column].null_count() == predicted.height, column
    assert results["predict"].manifest["runs"][0]["converged"]
    assert results["predict"].links["queue_delay_max_s"].null_count() == results["predict"].links.height


def test_the_report_and_the_comparison_take_a_prediction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "limits.toml"
    path.write_text(SCENARIO)
    out = tmp_path / "out"
    assert status(["run", str(path), "--engine", "predict", "--out", str(out)]) == 0
    page = (out / "report.html").read_text()
    assert "Two limits" in page
    assert "Predicted goodput with intervals" in page
    flows = pl.read_parquet(out / "flows.parquet")
    assert {"low_bps", "high_bps", "limited_by"} <= set(flows.columns)
    arguments = ["compare", str(path), "--engines", "packet,predict", "--within", "10", "--out", str(tmp_path / "both")]
    assert status(arguments) == 0
    assert "predict / packet" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ('stack = ["newreno", "linux-cubic"]|stack = "bbr"', "stack bbr: its congestion control has no law"),
        ('capacity = "10Mbps"|capacity = "10Mbps"\nqueue = { discipline = "codel" }', "the queue of link a -> b: only drop-tail"),
        ('constant = "2Mbps"|size = "1MB"', "traffic steady: flows that end"),
        ('warm_up = "10s"|warm_up = "10s"\n[[events]]\nat = "5s"\nfail = ["a", "b"]', "events during the run"),
    ],
)  # fmt: skip
def test_what_the_model_does_not_know_is_refused_by_name(change: str, expected: str) -> None:
    before, after = change.split("|")
    assert before in SCENARIO
    scenario = Scenario.from_toml(SCENARIO.replace(before, after))
    with pytest.raises(RunError, match=f"the predict engine cannot predict .*{expected}.*--engine packet"):
        execute(scenario, engine="predict", show_progress=False)
