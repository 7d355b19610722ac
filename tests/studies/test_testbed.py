"""``anabranch testbed``: what it measures, refuses, continues and leaves behind."""

import json
import signal
import subprocess
import sys
import time
from math import sqrt
from pathlib import Path

import pytest

from anabranch.cli import status
from anabranch.compile.run import compile_run
from anabranch.engines.openflow.plan import LabPlan
from anabranch.network.topologies import Topology
from anabranch.studies.testbed import live
from anabranch.studies.testbed.network import LiveNetwork, MeasurementError
from anabranch.studies.testbed.tests import Log, each_path, pairs_of
from tests.linux_leftovers import assert_no_process_of, network_namespaces

TRIANGLE = """
title = "triangle"
[topology]
links = [
  { source = "A-1", target = "B", delay = "5ms", capacity = "10Mbps" },
  { source = "B", target = "C", delay = "5ms", capacity = "10Mbps" },
  { source = "A-1", target = "C", delay = "20ms", capacity = "10Mbps" },
]
[[impairments]]
link = ["B", "C"]
loss = 0.03
[[traffic]]
from = "A-1"
to = "C"
bulk = true
"""
"""From A-1 to C, delay goes over the lossy link, and TCPBP around it."""


@pytest.fixture
def triangle(tmp_path: Path) -> Path:
    file = tmp_path / "triangle.toml"
    file.write_text(TRIANGLE)
    return file


def start(*arguments: object) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "anabranch", "testbed", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.slow("two tests of six seconds, and six of probes, in real time")
@pytest.mark.usefixtures("switches")
def test_paths_are_measured_beside_the_packet_engine_and_continued_after_an_interrupt(
    triangle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The controller measures the links within binomial bounds, and each metric gets its path. A real flow gets what the packet engine says, within a factor of 2:
    the machine may be busy."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    out = tmp_path / "out"
    command = (triangle, "--pairs", "A-1-C", "--metrics", "tcpbp,delay")
    command += ("--repetitions", 1, "--flows", 3, "--out", out)
    first = start(*command, "--minutes", 0.4)
    while not (out / live.TABLE).exists():
        assert first.poll() is None, first.communicate()
        time.sleep(0.1)
    first.send_signal(signal.SIGINT)
    said, _ = first.communicate(timeout=60)
    assert first.returncode == 130
    assert b"A-1 > C " in said
    assert_no_process_of(temporary)
    second = start(*command, "--json", "--minutes", 0.22)
    said, error = second.communicate(timeout=120)
    assert second.returncode == 0, error
    document = json.loads(said)
    assert {row["path"]: row["metrics"] for row in document["paths"]} == {
        "A-1 > C": "tcpbp",
        "A-1 > B > C": "delay",
    }
    for row in document["paths"]:
        assert row["tests"] + row["busy"] == 1
        assert 0.5 < Log(out / live.TABLE).table.row(0, named=True)["jain"] <= 1
        assert row["goodput_bps"] is None or 0.5 < row["goodput_bps"] / row["packet_bps"] < 2
    for link in document["links"]:
        packets = 200 * 6 / 4 * 3
        assert abs(link["measured_loss"] - link["loss"]) < 5 * sqrt(link["loss"] / packets) + 10 / packets
        assert abs(link["measured_delay_s"] - link["delay_s"]) < 5e-3
    assert_no_process_of(temporary)
    assert list(temporary.iterdir()) == []


@pytest.mark.usefixtures("switches")
@pytest.mark.parametrize("after_s", [1.5, 4.0])
def test_a_killed_measurement_leaves_nothing_behind(
    triangle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after_s: float
) -> None:
    """No process, no namespace (and so no device), and no file but its own results: while switches start, and while links are probed."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    before = network_namespaces()
    process = start(triangle, "--pairs", "A-1-C", "--minutes", 5, "--out", tmp_path / "out")
    while process.poll() is None and network_namespaces() == before:
        time.sleep(0.02)
    time.sleep(after_s)
    assert process.poll() is None
    process.kill()
    process.wait()
    assert_no_process_of(temporary)
    end = time.monotonic() + 20
    while list(temporary.iterdir()):
        assert time.monotonic() < end, list(temporary.iterdir())
        time.sleep(0.02)


def test_pairs_of_nodes_with_hyphens_and_commas() -> None:
    nodes = ["A-1", "B", "Washington, DC"]
    assert pairs_of(["A-1-B,B-A-1"], nodes) == [("A-1", "B"), ("B", "A-1")]
    assert pairs_of(["B-Washington, DC", "A-1-B", "A-1-B"], nodes) == [("B", "Washington, DC"), ("A-1", "B")]
    for wrong in ("A-B", "B", "B-B", ""):
        with pytest.raises(MeasurementError, match="must be two nodes with a hyphen, such as A-1-Washington, DC"):
            pairs_of([wrong], nodes)


def test_metrics_of_one_path_share_a_test_and_repetitions_come_in_turn() -> None:
    there, around = ("a", "c"), ("a", "b", "c")
    chosen = {
        "tcpbp": {("a", "c"): around, ("c", "a"): around[::-1]},
        "delay": {("a", "c"): there, ("c", "a"): there[::-1]},
        "hop-count": {("a", "c"): there, ("c", "a"): there[::-1]},
    }
    found = [(test.path, test.metrics, test.repetition) for test in each_path(chosen, [("a", "c")], 5, 2)]
    assert found == [
        (around, ("tcpbp",), 1),
        (there, ("delay", "hop-count"), 1),
        (around, ("tcpbp",), 2),
        (there, ("delay", "hop-count"), 2),
    ]
    with pytest.raises(MeasurementError, match="no path joins"):
        list(each_path(chosen, [("a", "b")], 5, 2))


def values(network: LiveNetwork) -> Topology:
    return LabPlan(network.cables(), ()).topology


def test_drawn_values_are_within_five_per_cent_the_same_both_ways_and_by_the_seed(triangle: Path) -> None:
    printed, drawn, again, other = (
        values(LiveNetwork.of(str(triangle), None, seed, is_drawn=is_drawn))
        for seed, is_drawn in ((1, False), (1, True), (1, True), (2, True))
    )
    assert drawn == again != other
    by_ends = {(link.source, link.target): link for link in drawn.links}
    for own, link in zip(printed.links, drawn.links, strict=True):
        assert own.delay_s
        assert link.delay_s
        assert 0.95 <= link.delay_s / own.delay_s <= 1.05
        assert link.delay_s != own.delay_s
        assert (link.loss == 0) if own.loss == 0 else 0.95 <= (link.loss or 0) / (own.loss or 1) <= 1.05
        back = by_ends[link.target, link.source]
        assert (link.delay_s, link.loss) == (back.delay_s, back.loss)


def test_the_rate_is_that_of_all_links_and_losses_of_a_scenario_stay(triangle: Path) -> None:
    network = LiveNetwork.of(str(triangle), "2Mbps", 1)
    assert {link.capacity_bps for link in values(network).links} == {2_000_000}
    assert max(link.loss or 0 for link in values(network).links) == pytest.approx(0.03)
    run = compile_run(network.cables().cases[0], 1)
    assert len(run["traffic"][0]["pairs"]) == 6


@pytest.mark.parametrize(
    ("changed", "options", "said"),
    [
        (('"10Mbps" },\n]', '"10Gbps" },\n]'), (), "triangle: has a link of 10 Gbit/s"),
        (('loss = 0.03', 'loss = [0.01, 0.03]'), (), "has 2 variants of its network"),
        (("loss = 0.03", 'loss = { model = "list", packets = [1] }'), ("--losses", "drawn"), "use the printed values"),
        (('delay = "20ms",', 'delay = "20ms", directed = true,'), (), "A-1 to C has none back"),
        (("[topology]", '[topology]\nqueue = { limit = "1 bdp" }'), (), "give its limit in packets"),
        ((), ("--minutes", "0.2"), "up to 9 tests take at least 1.6 minutes"),
        ((), ("--minutes", "0"), "--minutes 0: must be more than 0"),
        ((), ("--flows", "129"), "--flows 129: must be from 1 to 128"),
        ((), ("--metrics", "speed"), '"speed" is not a metric'),
        ((), ("--metrics", "delay,delay"), "listed twice"),
        ((), ("--rate", "fast"), "--rate fast"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_refused_before_anything_is_built(
    triangle: Path, changed: tuple[str, str], options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    triangle.write_text(TRIANGLE.replace(*changed) if changed else TRIANGLE)
    own = ["testbed", str(triangle), "--pairs", "A-1-C", "--out", str(triangle.parent / "out")]
    code = status([*own, *([] if "--minutes" in options else ["--minutes", "5"]), *options])
    assert code in (1, 2)
    assert said in capsys.readouterr().err


def test_a_directory_of_another_network_is_refused(triangle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = triangle.parent / "out"
    out.mkdir()
    (out / "cables.toml").write_text("another")
    assert status(["testbed", str(triangle), "--pairs", "A-1-C", "--minutes", "5", "--out", str(out)]) == 1
    assert "has measurements of another network, seed or metrics" in capsys.readouterr().err
