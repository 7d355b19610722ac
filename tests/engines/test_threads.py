"""One run on several threads: the same results, to the bit, and a word to the user where a run cannot be divided."""

import json
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from anabranch.cli import status
from anabranch.cli.run import _say_of_threads
from anabranch.compile.run import compile_run
from anabranch.engines import packet
from anabranch.scenario import Scenario
from bench.fuzz.run import Samples
from bench.reference import SCENARIOS

MANY_FLOWS = """
title = "Enough flows for two batches"
topology = { generate = { kind = "random", nodes = 20 }, delay = "10ms", queue = { discipline = "drop-tail", limit = "1000 packets" } }
traffic = [{ flows = 11, stack = "newreno" }]
run = { duration = "10s" }
"""
BACKBONE = SCENARIOS / "backbone.toml"
SHORT = {"run.duration": "100ms", "run.sample": "5ms"}


def test_threads_change_nothing_but_who_does_it() -> None:
    one, two = (Scenario.load(BACKBONE, SHORT).run(threads=threads) for threads in (1, 2))
    (first,), (second,) = one.manifest["runs"], two.manifest["runs"]
    assert (first["threads"], second["threads"]) == (1, 2)
    assert first["packet_hops"] > 100_000, "long enough to mean something"
    assert first["result_hash"] == second["result_hash"]
    assert one.flows.equals(two.flows)
    assert one.links.equals(two.links)
    assert one.series_flows.height > 1000
    assert one.series_flows.equals(two.series_flows)
    assert one.series_links.equals(two.series_links)


def test_a_flow_that_retires_at_a_sample_is_sampled_alike_at_both_ends() -> None:
    """Flows retire at multiples of 100 ms, and so are they sampled. A panic of the core is no Exception."""
    short = {"gravity": {"total": "2Mbps"}, "short": {"sizes": [[200, 0.0], [9000, 1.0]]}}
    hosts = ["s1", "s2", "d1", "d2"]
    document: dict[str, Any] = {
        "topology": {"generate": {"kind": "parallel", "pairs": 2, "delay": "52891us", "difference": "30167us"}},
        "impairments": [{"link": "all", "loss": {"model": "gilbert-elliott", "good_to_bad": 0.02, "bad_to_good": 0.3}}],
        "stacks": {"plain": {"preset": "newreno"}},
        "traffic": [{"from": "d1", "to": "s2", "bulk": True}, {"from": hosts, "to": hosts} | short],
        "run": {"duration": "5s", "sample": "100ms", "seed": 4},
    }
    document["topology"]["generate"] |= {"paths": 2, "rate": "60Mbps", "access": "50Mbps"}
    spec = compile_run(Scenario(document).cases[0], 4)
    one, two = Samples(), Samples()
    packet.simulate(spec, one, Event())
    packet.simulate(spec, two, Event(), lambda spec: packet.new_simulation(spec, 2))
    first, second = one.whole()["flows"], two.whole()["flows"]
    assert {name: column.tolist() for name, column in first.items() if name in ("time_s", "flow", "goodput_bps")} == {
        name: second[name].tolist() for name in ("time_s", "flow", "goodput_bps")
    }


def test_threads_predict_the_same() -> None:
    one, two, three = (Scenario.from_toml(MANY_FLOWS).run(engine="predict", threads=threads) for threads in (1, 2, 3))
    assert [result.manifest["runs"][0]["threads"] for result in (one, two, three)] == [1, 2, 2]
    assert one.flows["goodput_bps"].n_unique() > 100
    for other in (two, three):
        assert one.flows.equals(other.flows)
        assert one.links.equals(other.links)


@pytest.mark.parametrize(
    ("engine", "seeds", "threads"), [("predict", [1], [2]), ("predict", [1, 2], [1, 1]), ("packet", [1], [1])]
)
def test_a_prediction_takes_the_cores_that_no_other_run_takes(
    engine: str, seeds: list[int], threads: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of two cores if it is alone. A packet run is slower on two threads in some networks, so it takes one."""
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    result = Scenario.from_toml(MANY_FLOWS.replace("10s", "20ms")).run(engine=engine, seeds=seeds)
    assert [run["threads"] for run in result.manifest["runs"]] == threads


def test_a_small_run_takes_one_thread_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--set", "run.duration=20ms", "--set", "topology.capacity=1Mbps"]
    command = ["run", str(BACKBONE), "--threads", "2", *small, "--no-report"]
    assert status([*command, "--out", str(tmp_path / "run")]) == 0
    assert "On 1 of 2 threads: a small run takes one" in capsys.readouterr().err
    (run,) = json.loads((tmp_path / "run" / "manifest.json").read_text(encoding="utf-8"))["runs"]
    assert run["threads"] == 1


def test_no_thread_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["run", str(BACKBONE), "--threads", "0"]) == 2
    assert "--threads 0: must be at least 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("gains", "said"),
    [
        ((), ""),
        ((1.8, 1.01), ""),
        ((0.72,), "The threads of 1 of 1 run together did the work of 0.72 cores"),
        ((1.5, 1.0, 0.9), "The threads of 2 of 3 runs together did the work of 0.90 cores"),
    ],
)
def test_a_run_says_when_threads_did_not_pay(
    gains: tuple[float, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _say_of_threads(gains)
    err = capsys.readouterr().err
    assert said in err if said else not err
