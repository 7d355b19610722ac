"""The input of htsim, against the engine's own links, and its results. Runs are skipped where HTSIM names no built checkout."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from anabranch import _core
from bench import cases
from bench.peers import PeerMissing, htsim
from bench.peers.htsim.routes import Routes
from bench.program import EngineRun
from bench.reference import CASES

BY_KEY = {case.key: case for case in CASES}


def compiled(key: str, **changes: str) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(BY_KEY[key].compiled(short=True, changes=changes))
    return spec


def links_used(spec: dict[str, Any], pair: list[int]) -> set[int]:
    """The links that the engine uses for one flow."""
    spec["duration"] = 10**11
    spec["traffic"][0]["pairs"] = [pair]
    simulation = _core.Simulation(json.dumps(spec))
    while simulation.advance(1 << 20):
        pass
    return {link for link, packets in enumerate(simulation.links()["packets"]) if packets}


def test_a_run_is_described_as_htsim_reads_it() -> None:
    lines = htsim.describe(BY_KEY["B"].compiled(changes={"run.duration": "15ms"})).text.splitlines()
    assert lines[:5] == [
        "end 15000000000",
        "segment 960 40",
        "link 1000000000 3000000000 3000 0.001",
        "link 1000000000 3000000000 100000 0.0",
        "link 10000000000 1000000000 100000 0.0",
    ]
    assert lines[68:] == [
        "path 3 2 0 4",  # s1, left, right, d1
        "path 3 5 1 3",
        "path 3 6 0 8",
        "path 3 9 1 7",
        "flow 0 -1 1 0 1 1",
        "flow 10000000000 -1 1 2 1 3",
    ]


def test_what_arrived_in_the_engine_is_told_beside_it() -> None:
    compiled = BY_KEY["H"].compiled(short=True)
    description = htsim.describe(compiled)
    sizes = [int(line.split()[2]) for line in description.text.splitlines() if line.startswith("flow")]
    assert 0.8 * sum(sizes) < description.delivered_bytes <= sum(sizes)


@pytest.mark.parametrize("key", ["C", "D"])
def test_flows_take_the_links_that_they_take_in_the_engine(key: str) -> None:
    spec = compiled(key)
    routes = Routes(spec, spec["traffic"][0]["routing"])
    for src, dst in spec["traffic"][0]["pairs"][::37]:
        paths = [*routes.paths(src, dst), *routes.paths(dst, src)]
        assert {link for path in paths for link in path} == links_used(compiled(key), [src, dst])


@pytest.mark.parametrize(("key", "paths_of_a_flow"), [("H", 1), ("I", 4)])
def test_a_drawn_path_has_the_fewest_links_and_draws_differ(key: str, paths_of_a_flow: int) -> None:
    spec = compiled(key)
    routes = Routes(spec, 0)
    src, dst = min(routes.ends), max(routes.ends)  # in two pods, with four paths between them
    assert len(routes.paths(src, dst)) == paths_of_a_flow
    found = {path for _ in range(100) for path in routes.paths(src, dst)}
    assert len(found) == 4
    for path in found:
        ends = [(spec["links"][link]["src"], spec["links"][link]["dst"]) for link in path]
        assert [end for _, end in ends[:-1]] == [start for start, _ in ends[1:]]
        assert (ends[0][0], ends[-1][1], len(path)) == (src, dst, 6)


def test_without_a_built_checkout_the_message_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("HTSIM", raising=False)
    with pytest.raises(PeerMissing, match="HTSIM must name a checkout"):
        htsim.build()
    monkeypatch.setenv("HTSIM", str(tmp_path))
    with pytest.raises(PeerMissing, match="is no git checkout"):
        htsim.build()
    git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@y"]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run([*git, *words], check=True)
    with pytest.raises(PeerMissing, match=r"is at commit .*; figures are compared at 841d9e7"):
        htsim.build()
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    monkeypatch.setattr(htsim, "COMMIT", head)
    with pytest.raises(PeerMissing, match=r"has no sim/libhtsim\.a"):
        htsim.build()


def measured(key: str, delivered: int, hops: int) -> cases.Measured:
    """A case in which htsim delivers this per cent of the engine's bytes at 2 M hops a second."""
    each = cases.Measured(BY_KEY[key], described=cases.Described(Path(), 100))
    each.htsim_runs.append(htsim.HtsimRun(packet_hops=4_000_000, delivered_bytes=delivered, cpu_seconds=2.0))
    each.fast.append(EngineRun({"packet_hops": hops, "cpu_seconds": 1.0, "simulated_seconds": 1e-3}, 0))
    return each


@pytest.mark.parametrize(
    ("key", "delivered", "cell"),
    [
        ("B", 80, "2.00 (10.0x, 80 %)"),
        ("B", 70, "2.00 (not compared, 70 %)"),
        ("A", 100, "2.00 (not compared, 100 %)"),
    ],
)
def test_speeds_are_compared_only_of_the_same_work(key: str, delivered: int, cell: str) -> None:
    assert cases._beside_htsim(measured(key, delivered, 20_000_000)) == cell


def test_the_mean_is_of_cases_of_equal_work_only() -> None:
    equal = [measured("B", 100, 4_000_000), measured("H", 100, 16_000_000)]
    other = [measured("A", 100, 90_000_000), measured("D", 50, 90_000_000)]
    assert cases._mean_beside_htsim([*equal, *other]).startswith("On equal work (B, H) the engine is 4.0 times")
    assert cases._mean_beside_htsim(other) == ""


def program_or_skip() -> Path:
    try:
        return htsim.build()
    except PeerMissing as error:
        pytest.skip(str(error))


def run_text(text: str, folder: Path) -> htsim.HtsimRun:
    program = program_or_skip()
    file = folder / "run"
    file.write_text(text)
    return htsim.run(program, file)


def test_every_packet_counts_once_on_every_link_of_every_path(tmp_path: Path) -> None:
    # A SYN, 20 segments of which the last has a byte, and an ACK of each; in turn over one link and over two.
    links = "link 1000000000 1000000 100 0\n" * 6
    paths = "path 1 0\npath 2 1 2\npath 1 3\npath 2 4 5\n"
    text = f"end 1000000000000\nsegment 960 40\n{links}{paths}flow 5 {19 * 960 + 1} 2 0 1 2 2 3\n"
    outcome = run_text(text, tmp_path)
    assert outcome.delivered_bytes == 19 * 960 + 1
    assert outcome.packet_hops == 2 * (11 * 1 + 10 * 2)


def test_a_queue_holds_as_many_packets_as_it_says(tmp_path: Path) -> None:
    # The first window meets a link that sends 1 Mbit/s: one segment is being sent, four wait, five are lost and sent again.
    links = "link 1000000 1000000 4 0\nlink 1000000000 1000000 100 0\n"
    text = f"end 300000000000\nsegment 960 40\n{links}path 1 0\npath 1 1\nflow 0 {10 * 960} 1 0 1 1\n"
    # Until the first timeout, which is a second after the start, only the SYN and five segments cross, each with its ACK.
    assert run_text(text, tmp_path).packet_hops == 2 * (1 + 5)


@pytest.mark.parametrize(("key", "changes"), [("A", {"run.duration": "5s"}), ("H", {}), ("I", {})])
def test_htsim_delivers_about_what_the_engine_does(key: str, changes: dict[str, str], tmp_path: Path) -> None:
    description = htsim.describe(BY_KEY[key].compiled(short=True, changes=changes))
    outcome = run_text(description.text, tmp_path)
    assert outcome.delivered_bytes == pytest.approx(description.delivered_bytes, rel=cases.HTSIM_TOLERANCE)
