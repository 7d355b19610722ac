"""Results for other tools: iperf3's JSON, and connection matrices that our reader of htsim's files reads back."""

import json
from pathlib import Path

import pytest

from anabranch import Result, Scenario
from anabranch.cli import status
from anabranch.scenario.connection_matrix import flows as read_flows

TEXT = """
[topology]
links = [{ source = "A", target = "B", capacity = "10Mbps", delay = "5ms" }]
[[traffic]]
from = "A"
to = "B"
flows = 2
stagger = "100ms"
[run]
duration = "2s"
warm_up = "500ms"
sample = "250ms"
"""


def test_the_json_of_iperf3_has_the_numbers_of_the_tables(tmp_path: Path) -> None:
    """The keys are a part of those of iperf3's --json."""
    Scenario.from_toml(TEXT).run(seed=1, directory=tmp_path / "run")
    assert status(["export", str(tmp_path / "run"), "--format", "iperf3"]) == 0
    found = json.loads((tmp_path / "run" / "iperf3" / "iperf3-0.json").read_text())
    flows = Result.load(tmp_path / "run").flows
    assert found["end"]["sum_received"]["bits_per_second"] == pytest.approx(flows["goodput_bps"].sum())
    assert [one["receiver"]["bytes"] for one in found["end"]["streams"]] == flows["delivered_bytes"].to_list()
    assert found["start"]["test_start"]["num_streams"] == 2
    intervals = found["intervals"]
    assert [one["sum"]["end"] for one in intervals] == [0.75, 1.0, 1.25, 1.5, 1.75, 2.0]
    mean = sum(one["sum"]["bits_per_second"] for one in intervals) / len(intervals)
    assert mean == pytest.approx(flows["goodput_bps"].sum(), rel=0.01)


def test_htsims_reader_finds_the_flows_that_ran(tmp_path: Path) -> None:
    Scenario.from_toml(TEXT.replace("flows = 2", 'flows = 2\nsize = "100 kB"')).run(seed=1, directory=tmp_path / "run")
    assert status(["export", str(tmp_path / "run"), "--format", "htsim", "-o", str(tmp_path / "out")]) == 0
    found, after = read_flows((tmp_path / "out" / "flows-0.cm").read_text(), "flows-0.cm")
    flows = Result.load(tmp_path / "run").flows.sort("start_s")
    assert [(source, target, size) for _, source, target, _, size in found] == [("0", "1", 100_000)] * 2
    assert [start / 1e12 for _, _, _, start, _ in found] == pytest.approx(flows["start_s"].to_list())
    assert after == []


def test_flows_without_a_size_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Scenario.from_toml(TEXT).run(seed=1, directory=tmp_path / "run")
    assert status(["export", str(tmp_path / "run"), "--format", "htsim"]) == 1
    assert "run 0 has flows without a size, which htsim does not know" in capsys.readouterr().err
    assert not (tmp_path / "run" / "htsim").exists()


@pytest.mark.parametrize("form", ["htsim", "iperf3"])
def test_runs_without_tcp_are_refused(tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    probe = TEXT.replace("flows = 2", 'transport = "udp"\nconstant = "8kbps"').replace('stagger = "100ms"', "")
    Scenario.from_toml(probe).run(seed=1, directory=tmp_path / "run")
    assert status(["export", str(tmp_path / "run"), "--format", form]) == 1
    assert f"has no TCP flow; there is nothing to write as {form}" in capsys.readouterr().err
    assert not (tmp_path / "run" / form).exists()
