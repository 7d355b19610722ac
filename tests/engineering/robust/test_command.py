"""The command line of robust routing: documents, tables, exit status and messages."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anabranch.cli import status
from anabranch.engineering import robust
from anabranch.engineering.robust import failures, lp, sweep
from anabranch.engineering.robust.lp import LinearProgram, Method, Optimum
from anabranch.engineering.robust.progress import BoundsProgress
from anabranch.engineering.robust.splits import Splits
from anabranch.foundation import progress

PAPER = ["robust", "nsfnet", "--hose", "130Mbps", "--pipe", "50Mbps", "--capacity", "500Mbps"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = status([*PAPER, *arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_the_document_has_the_certificate_and_the_splits(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, "--paths", "2", "--by", "delay", "--json", "--out", str(tmp_path / "splits.json"))
    document = json.loads(out)
    assert code == 0
    assert document == json.loads((tmp_path / "splits.json").read_text())
    assert document["worst_case_load"] == pytest.approx(1.04)
    assert document["gap"] <= 1e-6
    assert len(document["splits"]) == 182
    assert all(sum(path["fraction"] for path in split["paths"]) == pytest.approx(1) for split in document["splits"])
    source, target = document["worst_link"]
    by_pair = {(entry["src"], entry["dst"]): entry["rate_bps"] for entry in document["worst_matrix"]}
    over = sum(
        part["fraction"] * by_pair.get((split["src"], split["dst"]), 0.0)
        for split in document["splits"]
        for part in split["paths"]
        if (source, target) in zip(part["path"], part["path"][1:], strict=False)
    )
    assert over / 500e6 == pytest.approx(document["worst_case_load"])  # anyone can recompute it


@pytest.mark.parametrize(("place", "reason"), [("", "Is a directory"), ("file/below", "Not a directory")])
def test_a_file_that_cannot_be_written_is_refused_before_the_search(
    place: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    code, out, error = run(capsys, "--out", str(tmp_path / place))
    assert (code, out) == (1, "")
    assert f"cannot be written ({reason})" in error


@pytest.mark.parametrize("further", [[], ["--fail", "links", "--protect"], ["--json"]])
def test_a_reader_that_ends_early_costs_no_file(further: list[str], tmp_path: Path) -> None:
    """As ``anabranch robust ... -o splits.json | head -1``, where the output is not buffered."""
    line = ["source,target,capacity", "A,B,1Mbps", "B,C,1Mbps", "C,A,1Mbps"]
    (tmp_path / "ring.csv").write_text("\n".join(line))
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "anabranch", "robust", "ring.csv", "--hose", "1Mbps", "--paths", "2", *further]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    subprocess.run([*command, "-o", "splits.json"], cwd=tmp_path, env=environment, stdout=writer, check=True)
    os.close(writer)
    assert json.loads((tmp_path / "splits.json").read_text())["splits"]


def test_small_loads_are_printed_with_their_digits(capsys: pytest.CaptureFixture[str]) -> None:
    """Two nodes at the left send 1 kbit/s each over a link of 1 Gbit/s."""
    assert status(["robust", "dumbbell", "--hose", "1kbps", "--capacity", "1Gbps"]) == 0
    assert "worst-case load  2e-06\nlower bound      2e-06" in capsys.readouterr().out


def test_traffic_from_files_equals_traffic_from_flags(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    nodes = [str(number) for number in range(1, 15)]
    hose, pipe = tmp_path / "hose.csv", tmp_path / "pipe.csv"
    hose.write_text("node,sent,received\n" + "".join(f"{node},130Mbps,0.13Gbps\n" for node in nodes))
    pipe.write_text("src,dst,rate\n" + "".join(f"{a},{b},50Mbps\n" for a in nodes for b in nodes if a != b))
    toml = tmp_path / "pipe.toml"
    toml.write_text("".join(f'["{a}"]\n' + "".join(f'"{b}" = "50Mbps"\n' for b in nodes if a != b) for a in nodes))
    loads = []
    for hose_source, pipe_source in (("130Mbps", "50Mbps"), (str(hose), str(pipe)), (str(hose), str(toml))):
        assert (
            status([*PAPER[:2], "--hose", hose_source, "--pipe", pipe_source, *PAPER[6:], "--paths", "2", "--json"])
            == 0
        )
        loads.append(json.loads(capsys.readouterr().out)["worst_case_load"])
    assert loads == pytest.approx([loads[0]] * 3)


def test_a_wrong_total_of_gravity_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["robust", "nsfnet", "--capacity", "1Gbps", "--pipe", "gravity=10"]) == 1
    assert capsys.readouterr().err.startswith(
        "--pipe gravity=10: gravity = '10': must be a rate with its unit, such as \"10Mbps\""
    )


def test_own_demands_and_gravity(capsys: pytest.CaptureFixture[str]) -> None:
    common = ["--capacity", "10Gbps", "--json"]
    assert status(["robust", "sndlib/polska", "--matrix", "demands", *common]) == 0
    demands = json.loads(capsys.readouterr().out)
    assert demands["worst_case_load"] > 0
    assert status(["robust", "sndlib/polska", "--matrix", "demands", "--box", "1..1", *common]) == 0
    assert json.loads(capsys.readouterr().out)["worst_case_load"] == pytest.approx(demands["worst_case_load"], rel=1e-5)
    assert status(["robust", "nsfnet", "--matrix", "gravity=1Gbps", *common]) == 0


def test_the_user_s_own_paths(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "paths.json"
    assert status([*PAPER, "--paths", "2", "--out", str(file)]) == 0
    first = capsys.readouterr().out
    assert run(capsys, "--paths", str(file))[1].splitlines()[0] == first.splitlines()[0]
    file.write_text('[["1", "2"]]')
    code, _, error = run(capsys, "--paths", str(file))
    assert code == 1
    assert "1 -> 3 has no path (nor have 180 other pairs)" in error
    for text in (
        '{"splits": [{"paths": 5}]}',
        '{"splits": [{"paths": null}]}',
        '{"splits": [{"paths": [["1", "2"]]}]}',
    ):
        file.write_text(text)
        code, _, error = run(capsys, "--paths", str(file))
        assert code == 1
        assert 'must be a list of paths such as [["A", "B", "C"]], or routes as JSON' in error


def test_the_sweep_and_protection_print_tables(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, "--paths", "2", "--sweep", "--picture", str(tmp_path / "sweep.svg"))
    assert code == 0
    assert len(out.splitlines()) == 7
    assert (tmp_path / "sweep.svg").read_text().startswith("<svg")
    code, out, _ = run(capsys, "--paths", "disjoint=2", "--fail", "links", "--protect", "--json")
    document = json.loads(out)
    assert code == 0
    assert len(document["failures"]) == 21
    assert document["worst_case_load"] == pytest.approx(max(one["worst_case_load"] for one in document["failures"]))
    assert document["gap"] <= 1e-6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nsfnet", "--hose", "1Mbps"], "has no capacity; give one"),
        (["nsfnet", "--hose", "0bps", "--capacity", "1Mbps"], "has no traffic"),
        (["nsfnet", "--hose", "fast", "--capacity", "1Mbps"], "neither a file nor a rate"),
        (["nsfnet", "--pipe", "demands", "--capacity", "1Mbps"], "has no demands of its own"),
        (["nsfnet", "--hose", "1Mbps", "--capacity", "1Mbps", "--paths", "=3"], "--paths =3: must be a number"),
        (["nsfnet", "--hose", "1Mbps", "--capacity", "1Mbps", "--paths", "some"], '"all", disjoint=N'),
        (["nsfnet", "--hose", "1Mbps", "--capacity", "1Mbps", "--single", "5%", "--paths", "all"], "--paths 2"),
        (
            ["nsfnet", "--matrix", "9Mbps", "--box", "1..2", "--hose", "1Mbps", "--capacity", "1Mbps"],
            "no traffic matrix",
        ),
    ],
)
def test_what_cannot_be_is_said_clearly(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert status(["robust", *arguments]) == 1
    printed = capsys.readouterr()
    assert message in printed.err
    assert not printed.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no traffic model"),
        (["--hose", "1Mbps", "--capacity=0bps"], "--capacity 0bps: must be more than 0"),
        (
            ["--matrix", "1Mbps", "--box", "2..1"],
            "--box 2..1: must be two factors, the lower one first, such as 0.5..2",
        ),
        (["--matrix", "1Mbps", "--box", "2"], "--box 2: must be two factors"),
        (["--matrix", "1Mbps", "--hose", "1Mbps"], "--matrix is the whole traffic model"),
        (["--hose", "1Mbps", "--protect"], "--protect: say against which failures, as in --fail links"),
    ],
)
def test_what_no_network_could_make_right_is_wrong_usage(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    capacity = [] if "--capacity=0bps" in arguments else ["--capacity", "1Gbps"]
    assert status(["robust", "nsfnet", *capacity, *arguments]) == 2
    assert capsys.readouterr().err.startswith(message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sweep", "--out", "{}"], "--out does not go with --sweep"),
        (["--sweep", "--single", "40%"], "--single does not go with --sweep"),
        (["--sweep", "--fail", "links"], "--fail does not go with --sweep"),
        (["--sweep", "--limit", "60s"], "--limit does not go with --sweep"),
        (["--sweep", "--protect"], "--protect does not go with --sweep"),
        (["--protect", "--fail", "links", "--limit", "60s"], "--limit does not go with --protect"),
        (["--protect", "--fail", "links", "--method", "compact"], "--method does not go with --protect"),
        (["--draws", "5"], "--draws goes with --sweep"),
        (["--picture", "{}"], "--picture goes with --sweep"),
        (["--sweep", "--draws", "-1"], "--draws -1: must be at least 0"),
        (["--paths", "0"], "--paths 0: must be from 1 to 1,000,000"),
        (["--paths", "1000001"], "--paths 1000001: must be from 1 to 1,000,000"),
        (["--paths", "disjoint=0"], "--paths disjoint=0: must be from 1 to 1,000,000"),
        (["--single", "101%"], "--single 101%: must be from 0% to 100%"),
        (["--single", "40"], '--single 40: must be a share of at most 1, such as 0.05; write "40%" for per cent'),
        (["--single", "nan"], "--single nan%: must be from 0% to 100%"),
        (["--gap", "2"], "--gap 2: must be at least 0 and less than 1, such as 1e-6"),
        (["--paths", "all", "--ties", "delay"], "--ties goes with a number of --paths, not with all"),
        (["--paths", "disjoint=2", "--ties", "delay"], "--ties goes with a number of --paths, not with disjoint=2"),
        (["--paths", "all", "--by", "delay"], "--by goes with a number of --paths or disjoint=N, not with all"),
    ],
)
def test_options_out_of_range_or_without_effect_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], message: str
) -> None:
    code, out, error = run(capsys, *(word.format(tmp_path / "file") for word in arguments))
    assert (code, out) == (2, "")
    assert error.startswith(message)


def test_a_sweep_checks_the_certificates_of_its_steps(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A solver whose splits do not add up is found out before anything is printed."""

    def halved(*arguments: object) -> robust.RobustRouting:
        routing = robust.best_found(*arguments)
        return replace(routing, splits=Splits(routing.splits.candidates, routing.splits.shares / 2))

    monkeypatch.setattr(sweep, "best_found", halved)
    code, out, error = run(capsys, "--paths", "2", "--sweep")
    assert (code, out) == (1, "")
    assert "add up to 0.5, not 1" in error


@pytest.mark.parametrize("mode", [["--sweep"], ["--protect", "--fail", "links"]])
def test_a_gap_that_stays_open_is_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, mode: list[str]
) -> None:
    """Without simplex, an interior point leaves a gap above zero."""

    def without_simplex(
        program: LinearProgram, method: Method, tolerance: float = 1e-8, limit_s: float = np.inf
    ) -> Optimum:
        return solve(program, "interior-point", tolerance, limit_s)

    solve = LinearProgram.solve
    monkeypatch.setattr(LinearProgram, "solve", without_simplex)
    code, out, error = run(capsys, "--paths", "2", "--gap", "0", *mode)
    assert code == 1
    assert "worst-case load" in out
    assert "above the 0 wanted" in error


def test_one_way_networks_name_the_pair_without_a_path(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "oneway.csv"
    file.write_text("source,target,capacity\nA,B,1Mbps\nB,C,1Mbps\n")
    assert status(["robust", str(file), "--hose", "1Mbps"]) == 0  # undirected
    capsys.readouterr()
    assert status(["robust", str(file), "--directed", "--hose", "1Mbps"]) == 1
    assert "B -> A has no path" in capsys.readouterr().err


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_ctrl_c_prints_the_best_routing_so_far(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lp, "_run", _interrupt)
    code, out, error = run(capsys, "--json")
    document = json.loads(out)
    assert code == 130
    assert document["interrupted"]
    assert 0 < document["lower_bound"] < document["worst_case_load"]
    assert "Interrupted" in error


def test_ctrl_c_says_so_for_protection_and_for_the_steps_of_a_sweep(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lp, "_run", _interrupt)
    code, out, error = run(capsys, "--paths", "2", "--sweep")
    assert code == 130
    assert "0 %" in out
    assert "Interrupted: 0 of 6 steps are complete." in error
    code, _, error = run(capsys, "--paths", "2", "--protect", "--fail", "links")
    assert code == 130
    assert "Interrupted: the best splits so far, with a gap of 100.00%." in error


def test_the_bounds_are_shown_again_while_a_program_takes_its_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "QUIET_S", 0.0)
    monkeypatch.setattr(progress, "STATUS_INTERVAL_S", 0.0)
    shown = BoundsProgress()
    shown._interval_s = 0.001
    lines: list[str] = []
    with shown:
        shown(0.5, 1.0, "a long program")
        for _ in range(5000):
            lines += capsys.readouterr().err.splitlines()
            if sum("a long program" in line for line in lines) >= 2:
                break
            time.sleep(0.001)
    assert lines[-1] == "worst-case load 0.500000 to 1.000000, gap 50.00%, 0 s; a long program"


def test_ctrl_c_during_failures_costs_neither_the_routing_nor_the_failures_before(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls = []
    one_failure = failures.load_of

    def load_of(*arguments: Any) -> float:
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return one_failure(*arguments)

    monkeypatch.setattr(failures, "load_of", load_of)
    code, out, error = run(capsys, "--paths", "2", "--fail", "links", "--out", str(tmp_path / "splits.json"))
    assert code == 130
    assert "worst-case load  0.70" in out
    assert "Interrupted: loads after 2 of 21 failures" in error
    document = json.loads((tmp_path / "splits.json").read_text())
    assert document["interrupted"]
    assert len(document["failures"]) == 2
    assert len(document["splits"]) == 182


def test_the_document_of_protection_has_the_pairs_whose_splits_change(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--paths", "2", "--protect", "--fail", "links", "--json")
    document = json.loads(out)
    assert code == 0
    before = {(split["src"], split["dst"]): split["paths"] for split in document["splits"]}
    for failure in document["failures"]:
        fails = {tuple(link) for link in failure["links"]}
        hit = {ends for ends, paths in before.items() if any(fails & set(pairwise(part["path"])) for part in paths)}
        lost = set(map(tuple, failure["lost_pairs"]))
        changed = {(split["src"], split["dst"]): split["paths"] for split in failure["splits"]}
        assert hit - lost <= changed.keys()
        assert all(paths and paths != before[ends] for ends, paths in changed.items())


def test_all_pairs_on_a_single_path_need_no_delays(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A triangle whose file has no delays: every pair has its own link, of ten times the traffic of a node."""
    file = tmp_path / "triangle.csv"
    file.write_text("source,target,capacity\nA,B,10Mbps\nB,C,10Mbps\nA,C,10Mbps\n")
    command = ["robust", str(file), "--hose", "1Mbps", "--paths", "2", "--json"]
    assert status([*command, "--single", "100%"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["worst_case_load"] == pytest.approx(0.1)
    assert [len(split["paths"]) for split in document["splits"]] == [1] * 6
    assert status([*command, "--single", "50%"]) != 0
    assert "delay" in capsys.readouterr().err
