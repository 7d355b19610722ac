"""The comparison with the consortium's simulator: its input, its output, and the figures of the verdict; without the simulator."""

from pathlib import Path

import pytest

from anabranch.network.topologies.loading import load
from bench.peers import uet_htsim
from bench.peers.child import PeerError, PeerMissing
from validation import fabrics

FABRICS = (fabrics.SMALL, fabrics.MEDIUM, fabrics.TALL, fabrics.LARGE)
LINKS = {fabrics.SMALL: 32 + 4 * 8, fabrics.MEDIUM: 128 + 8 * 16, fabrics.TALL: 3 * 128, fabrics.LARGE: 3 * 1024}


@pytest.mark.parametrize("fabric", FABRICS, ids=lambda fabric: fabric.name)
def test_a_fabric_has_as_many_links_above_each_tier_as_hosts(fabric: fabrics.Fabric, tmp_path: Path) -> None:
    (tmp_path / "x.topo").write_text(fabric.topo())
    topology = load(tmp_path / "x.topo")
    assert len(topology.links) == 2 * LINKS[fabric]
    ends = {(link.source, link.target) for link in topology.links}
    slow = list(fabric.slow_links(2))
    assert slow
    assert {(first, second) for first, second, _ in slow} <= ends


def test_queues_are_those_that_htsim_prints() -> None:
    cell = fabrics.Cell(fabrics.SMALL, "", [], "nscc", "mixed")
    queue = cell.queue()
    assert queue["limit"] == "120350 bytes"
    assert [round(120_350 * queue[mark]) for mark in ("mark_from", "mark_to")] == [24_900, 99_600]
    drops = fabrics.Cell(fabrics.TALL, "", [], "nscc", "mixed", trims=False).queue()
    assert drops["limit"] == f"{5 * 178_450} bytes"
    assert [round(5 * 178_450 * drops[mark]) for mark in ("mark_from", "mark_to")] == [37_350, 145_250]


def stands_for(program: Path, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that keeps its arguments and its matrix, and says this."""
    program.write_text(f'#!/bin/sh\necho "$@" > {program}.arguments\ncp x.cm {program}.cm\ncat <<END\n{says}\nEND\n')
    program.chmod(0o755)
    monkeypatch.setenv("HTSIM_UEC", str(program))


FLOWS = [(3, 1, 0, 1000), (2, 1, 7, 2000)]
SAYS = """Flow Uec_2_1 flowId 2 uecSrc 1 starting at 7
Flow Uec_3_1 flowId 1 uecSrc 0 starting at 0
Flow Uec_2_1 flowId 2 uecSrc 1 finished at 19.5 total messages 1
Flow Uec_3_1 flowId 1 uecSrc 0 finished at 10.25 total messages 1"""


def test_completion_times_are_in_the_order_of_the_flows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stands_for(tmp_path / "htsim", SAYS, monkeypatch)
    ran = uet_htsim.run("", FLOWS, 4, control="both", selector="reps", seed=5, end_us=99, trims=False, slow=1)
    assert ran.completions_s == pytest.approx([10.25e-6, 12.5e-6])
    assert (tmp_path / "htsim.cm").read_text() == (
        "Nodes 4\nConnections 2\n3->1 id 1 start 0 size 1000\n2->1 id 2 start 7 size 2000\n"
    )
    arguments = (tmp_path / "htsim.arguments").read_text()
    assert "-sender_cc -receiver_cc -load_balancing_algo reps -paths 64 -seed 5 -end 99" in arguments
    assert arguments.strip().endswith("-disable_trim -failed 1")


def test_a_flow_that_does_not_finish_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stands_for(tmp_path / "htsim", SAYS.rpartition("\n")[0], monkeypatch)
    with pytest.raises(PeerError, match="flow 1 and 0 others did not finish in 99 us"):
        uet_htsim.run("", FLOWS, 4, control="nscc", selector="mixed", seed=1, end_us=99)


def test_the_program_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HTSIM_UEC", raising=False)
    with pytest.raises(PeerMissing, match="HTSIM_UEC must name htsim_uec"):
        fabrics.run(True)


@pytest.mark.parametrize(("factor", "holds"), [(1.015, True), (1.03, False)])
def test_the_verdict_is_that_of_the_deviations(factor: float, holds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = fabrics.Outcome(100e-6, 200e-6, 1.0)
    monkeypatch.setattr(uet_htsim, "program", lambda: Path())
    monkeypatch.setattr(fabrics, "there", lambda cell, seeds: outcome)
    monkeypatch.setattr(fabrics, "here", lambda cell, seeds: fabrics.Outcome(factor * 100e-6, 200e-6, 1.0))
    section = fabrics.run(True)
    assert section.passed == holds
    assert f"median cell within {100 * (factor - 1):.1f} %" in section.verdict
    assert section.cells is not None
    assert section.cells.rows[0][1:] == [
        "100.0",
        f"{100 * factor:.1f}",
        f"{100 * (factor - 1):+.1f} %",
        "200.0",
        "200.0",
        "+0.0 %",
    ]


def test_ten_of_a_hundred_cells_may_deviate() -> None:
    assert fabrics._most([0.01] * 90 + [0.5] * 10) == 0.01
    assert fabrics._most([0.01] * 89 + [0.5] * 11) == 0.5
