"""Jitter: bounds of delays and starts, and that a comparison with a prediction shows a spread which seeds alone hide."""

from pathlib import Path
from statistics import mean, stdev

import polars as pl
import pytest

from anabranch import Scenario
from anabranch.cli.engine_comparison import compare, picture
from anabranch.cli.entry import status
from anabranch.compile.jitter import jittered
from anabranch.compile.run import compile_run
from anabranch.pages.replay import record
from anabranch.results.result import Result
from anabranch.runs import execute

SCENARIO = """
[topology]
links = [
    { source = "a", target = "left", delay = "5ms", capacity = "1Gbps" },
    { source = "b", target = "left", delay = "8ms", capacity = "1Gbps" },
    { source = "left", target = "right", delay = "10ms", capacity = "5Mbps" },
]
queue = { limit = "20 packets" }
[[traffic]]
from = ["a", "b"]
to = "right"
start = "1s"
stack = "newreno"
[[traffic]]
from = "a"
to = "right"
short = { arrivals = "1/s", sizes = [[1000, 0.0], [2000, 1.0]] }
stack = "newreno"
[run]
duration = "20s"
warm_up = "5s"
"""


def test_delays_and_starts_stay_within_their_bounds() -> None:
    spec = compile_run(Scenario.from_toml(SCENARIO).cases[0], 1)
    before = repr(spec)
    others = [jittered(spec, seed, 0.1) for seed in range(50)]
    assert repr(spec) == before
    assert others[3] == jittered(spec, 3, 0.1)
    delays = {other["links"][0]["delay"] / spec["links"][0]["delay"] for other in others}
    assert len(delays) == 50
    assert 0.9 <= min(delays) < 0.92 < 1.08 < max(delays) <= 1.1
    starts = [other["traffic"][0]["start"] / 1e12 for other in others]
    # A twentieth of 20 s.
    assert 1 <= min(starts) < 1.1 < 1.9 < max(starts) <= 2
    many = Scenario.from_toml(SCENARIO.replace('start = "1s"', 'start = "1s"\nflows = 100'))
    groups = [jittered(compile_run(many.cases[0], 1), seed)["traffic"][0] for seed in range(50)]
    # The last of 200 flows: less than a tenth of 20 s after the scenario's start, and later than the first one may be.
    latest = [(group["start"] + 199 * group["stagger"]) / 1e12 - 1 for group in groups]
    assert 1.5 < max(latest) < 2
    assert {other["traffic"][1]["start"] for other in others} == {spec["traffic"][1]["start"]}
    assert [other["seed"] for other in others] == list(range(50))


@pytest.mark.parametrize("engines", ["packet,predict", "predict,packet"])
def test_a_comparison_with_a_prediction_shows_the_spread_of_one_run(
    engines: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "two.toml"
    path.write_text(SCENARIO)
    command = ["compare", str(path), "--engines", engines, "--out", str(tmp_path / "out")]
    assert status(command) == 0
    assert "spread of one run" in capsys.readouterr().out
    runs = pl.read_parquet(tmp_path / "out" / "packet-jitter-2" / "flows.parquet").filter(
        pl.col("size_bytes").is_null()
    )
    table = pl.read_csv(tmp_path / "out" / f"flows-{engines.split(',')[1]}.csv").filter(measure="goodput_bps")
    assert table.height == 2
    for row in table.to_dicts():
        goodputs = runs.filter(src=row["src"])["goodput_bps"].to_list()
        assert len(goodputs) == 5
        assert row["spread"] == pytest.approx(stdev(goodputs) / mean(goodputs))
        assert row["spread"] > 0
        assert row["low"] < row["high"]
    manifests = {engine: Result.load(tmp_path / "out" / engine).manifest for engine in ("packet-jitter-2", "predict")}
    assert [manifest.get("jitter") for manifest in manifests.values()] == [0.02, None]
    # Both name the scenario's own delays.
    assert manifests["packet-jitter-2"]["topology"] == manifests["predict"]["topology"]
    links = pl.read_parquet(tmp_path / "out" / "packet-jitter-2" / "links.parquet").filter(run=3)
    played = record(tmp_path / "out" / "packet-jitter-2", run=3, at_s=6, for_s=0.01).links
    assert [link["delay_s"] for link in played] == links["delay_s"].to_list()
    assert links["delay_s"][0] != 0.005
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("each seed varies delays by up to 2 %, and starts") == 1
    assert status([*command, "--jitter", "0"]) == 0
    plain = pl.read_csv(tmp_path / "out" / f"flows-{engines.split(',')[1]}.csv").filter(measure="goodput_bps")
    assert plain["seeds"].to_list() == [1, 1]
    assert plain["spread"].null_count() == 2


def test_the_picture_has_bars_of_both() -> None:
    scenario = Scenario.from_toml(SCENARIO)
    packet = execute(scenario, seeds=[1, 2], show_progress=False).runs
    predicted = execute(scenario, engine="predict", seeds=[1, 2], show_progress=False).runs
    goodput = picture(compare(("packet", "predict"), packet, predicted))["hconcat"][0]
    rules = [
        layer["encoding"]
        for layer in goodput["layer"]
        if isinstance(layer["mark"], dict) and layer["mark"]["type"] == "rule"
    ]
    # The packet engine's spread along its own axis, the interval along the prediction's.
    assert [("x2" in encoding, "y2" in encoding) for encoding in rules] == [(True, False), (False, True)]


def test_a_jitter_that_cannot_be_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "two.toml"
    path.write_text(SCENARIO)
    assert status(["compare", str(path), "--engines", "packet,predict", "--jitter", "80%"]) == 2
    assert "--jitter 80%: must be between 0% and 50%" in capsys.readouterr().err
