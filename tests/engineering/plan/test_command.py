"""The command line of plans, and the scenario that it writes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from anabranch.cli import status
from anabranch.compile.run import compile_run
from anabranch.engineering.plan.files import tolerant_pairs
from anabranch.engineering.robust import Network, RobustError
from anabranch.network.topologies import load
from anabranch.scenario import Scenario

NSFNET = ["plan", "nsfnet", "--hose", "130Mbps", "--pipe", "50Mbps", "--capacity", "500Mbps"]


def test_a_table_and_a_scenario_that_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "plans"
    assert status([*NSFNET, "--load", "1", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "182 of 182" in shown
    assert "lower bound   0.5025" in shown
    assert "HYBRID-HOP, X = " in shown
    text = (out / "plan.toml").read_text().replace('"20s"', '"1s"').replace('warm_up = "5s"', 'warm_up = "200ms"')
    flows = Scenario.from_toml(text, directory=out).run(seed=1).flows
    assert len(flows) == 182
    assert flows["reordered_segments"].sum() == 0


def test_a_reader_that_ends_early_costs_no_plan(tmp_path: Path) -> None:
    """As ``anabranch plan ... --out plans | head -1``, where the output is not buffered."""
    line = ["source,target,capacity,delay", "A,B,1Mbps,1ms", "B,C,1Mbps,1ms", "C,A,1Mbps,1ms"]
    (tmp_path / "ring.csv").write_text("\n".join(line))
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "anabranch", "plan", "ring.csv", "--hose", "100kbps", "--out", "plans"]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    subprocess.run(command, cwd=tmp_path, env=environment, stdout=writer, check=True)
    os.close(writer)
    assert {file.name for file in (tmp_path / "plans").iterdir()} == {"plan.json", "plan.toml"}


def test_links_of_a_csv_may_be_directed(tmp_path: Path) -> None:
    """The way back of A -> B has another capacity, and the scenario knows it too."""
    (tmp_path / "both.csv").write_text("source,target,capacity,delay\nA,B,10Mbps,1ms\nB,A,20Mbps,2ms\n")
    command = ["plan", str(tmp_path / "both.csv"), "--hose", "5Mbps", "--out", str(tmp_path / "plans"), "--directed"]
    assert status(command) == 0
    assert json.loads((tmp_path / "plans/plan.json").read_text())["worst_link"] == ["A", "B"]
    case = Scenario.load(tmp_path / "plans/plan.toml").cases[0]
    assert [(link["rate"], link["delay"]) for link in compile_run(case, 1)["links"]] == [
        (10**7, 10**9),
        (2 * 10**7, 2 * 10**9),
    ]


RING = "source,target,capacity,delay\nA,B,10Mbps,1ms\nB,C,10Mbps,2ms\nC,D,10Mbps,1ms\nD,E,10Mbps,1ms\nE,A,10Mbps,3ms\nA,C,10Mbps,2ms\n"
MATRIX = "source,target,rate\nA,B,3Mbps\nB,C,4Mbps\nC,E,2Mbps\n"


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    """A network of five nodes, with a matrix in which three of 20 pairs send."""
    (tmp_path / "ring.csv").write_text(RING)
    (tmp_path / "matrix.csv").write_text(MATRIX)
    return tmp_path


@pytest.mark.parametrize("option", ["--pipe", "--matrix"])
def test_the_scenario_carries_the_matrix_over_the_plan(
    option: str, ring: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the packet engine, all 9 Mbit/s arrive, over the plan's paths, where the directories are moved together, too."""
    given = [str(ring / "ring.csv"), option, str(ring / "matrix.csv")]
    assert status(["plan", *given, "--out", str(ring / "plans")]) == 0
    printed = capsys.readouterr().out
    assert "3 of 3" in printed
    assert "traffic       9 Mbit/s offered, 9 Mbit/s predicted" in printed
    moved = ring / "elsewhere"
    moved.mkdir()
    for name in ("ring.csv", "plans"):
        (ring / name).rename(moved / name)
    text = (moved / "plans/plan.toml").read_text()
    assert str(ring) not in text
    assert "stacks" not in text
    flows = Scenario.load(moved / "plans/plan.toml").run(seed=1).flows
    assert sorted(zip(flows["src"].to_list(), flows["dst"].to_list(), strict=True)) == [
        ("A", "B"),
        ("B", "C"),
        ("C", "E"),
    ]
    assert sum(flows["goodput_bps"].to_list()) == pytest.approx(9e6, rel=0.05)


def test_single_paths_are_a_share_of_the_pairs_that_send(ring: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = [str(ring / "ring.csv"), "--pipe", str(ring / "matrix.csv"), "--paths", "2", "--single", "67%"]
    assert status(["robust", *given]) == 0
    assert "pairs            3, 2 of them on a single path" in capsys.readouterr().out


def test_more_than_the_capacity_says_by_how_much_the_network_is_too_small(
    ring: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(ring / "ring.csv"), "--hose", "30Mbps", "--load", "9"]
    assert status(["plan", *given]) == 0
    assert "too small     links need " in capsys.readouterr().out


def test_the_time_ends_the_search_and_the_files_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status([*NSFNET, "--load", "0.65", "--time", "4s", "--out", str(tmp_path / "plans")]) == 0
    assert "Time is up: the search was cut short. The best plan so far has " in capsys.readouterr().err
    assert json.loads((tmp_path / "plans/plan.json").read_text())["out_of_time"]


def test_ctrl_c_ends_the_search_within_a_second_and_the_files_are_written(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "anabranch", *NSFNET, "--load", "0.65", "--out", "plans"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as search:
        assert search.stderr is not None
        assert any("best: " in line for line in search.stderr)
        search.send_signal(signal.SIGINT)
        asked_s = time.monotonic()
        _, said = search.communicate(timeout=60)
        taken_s = time.monotonic() - asked_s
    assert search.returncode == 130
    assert taken_s < 5  # a second, on a machine that does other work besides
    assert "Interrupted: the search was cut short. The best plan so far has " in said
    assert json.loads((tmp_path / "plans/plan.json").read_text())["interrupted"]


def test_json_says_path_transport_and_throughput_of_every_pair(capsys: pytest.CaptureFixture[str]) -> None:
    assert status([*NSFNET, "--load", "0.9", "--tolerant", "all", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["splits"]) == 182
    assert {split["transport"] for split in document["splits"]} == {"tolerant"}
    assert document["throughput_total_bps"] == pytest.approx(1820e6)
    # Pairs that tolerate reordering split as in robust routing, to the least load.
    assert document["worst_case_load"] == pytest.approx(document["lower_bound"], rel=1e-3)
    assert document["hybrid"]["single_percent"] >= 0


def test_tolerant_pairs_come_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pairs").write_text("1 2  # data centres\n\n2 1\n")
    assert status([*NSFNET, "--tolerant", str(tmp_path / "pairs"), "--json"]) == 0
    splits = json.loads(capsys.readouterr().out)["splits"]
    tolerant = [(split["src"], split["dst"]) for split in splits if split["transport"] == "tolerant"]
    assert tolerant == [("1", "2"), ("2", "1")]


def test_tolerant_pairs_may_have_names_with_blanks(tmp_path: Path) -> None:
    network = Network.of(load("topozoo/Abilene"), 1e9)
    file = tmp_path / "pairs"
    file.write_text('Denver "Kansas City"  # the first hop\n')
    tolerant = tolerant_pairs(str(file), network)
    denver, kansas_city = (network.names.index(name) for name in ("Denver", "Kansas City"))
    assert tolerant.nonzero()[0].tolist() == [network.pair(denver, kansas_city)]
    for line, message in (
        ("Denver Kansas City", "names with blanks need quotes"),
        ('Denver "Kansas', "No closing quot"),
    ):
        file.write_text(line)
        with pytest.raises(RobustError, match=message):
            tolerant_pairs(str(file), network)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["--load", "0.4"],
            1,
            "no routing over these candidates keeps to a load of 0.4: the worst case is at least 0.5025",
        ),
        (["--paths", "0"], 2, "--paths 0: must be from 1 to 1,000,000"),
        (["--paths", "1000001"], 2, "--paths 1000001: must be from 1 to 1,000,000"),
        (["--load", "-1"], 2, "--load -1: must be more than 0, such as 0.9"),
        (["--load", "inf"], 2, "--load inf: must be more than 0, such as 0.9; 1 is the whole capacity of a link"),
        (["--time", "soon"], 2, "--time soon"),
        (["--flow", "fast"], 2, "--flow fast"),
        (["--flow", "0bps"], 2, "--flow 0bps: must be more than 0"),
        (["--tolerant", "some"], 1, '--tolerant some: must be "none", "all" or a file of pairs'),
        (["--matrix", "demands"], 2, "--matrix is the whole traffic model"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status([*NSFNET, *arguments]) == code
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_directory_that_cannot_be_made_is_refused_before_the_search(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert status([*NSFNET, "--out", str(tmp_path / place)]) == 1
    printed = capsys.readouterr()
    assert f"{place}: cannot be written (Not a directory)" in printed.err
    assert not printed.out


def test_small_loads_have_their_digits(capsys: pytest.CaptureFixture[str]) -> None:
    """Two nodes at the left send 1 kbit/s each over a link of 1 Gbit/s."""
    assert status(["plan", "dumbbell", "--hose", "1kbps", "--capacity", "1Gbps"]) == 0
    printed = capsys.readouterr().out
    assert "lower bound   2e-06 " in printed
    assert "plan                 2e-06 " in printed


def test_an_unknown_node_is_named_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pairs").write_text("1 2\n1 99\n")
    assert status([*NSFNET, "--tolerant", str(tmp_path / "pairs")]) == 1
    assert "line 2: nsfnet has no node 99" in capsys.readouterr().err


def test_without_traffic_the_command_says_what_to_give(capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["plan", "nsfnet", "--capacity", "500Mbps"]) == 2
    assert "give --hose, --pipe, both, or --matrix" in capsys.readouterr().err


@pytest.fixture
def triangle(tmp_path: Path) -> list[str]:
    """From A to B: 10 ms directly, 2 ms over C. All links have 10 Mbit/s, and A sends 8 Mbit/s to B."""
    (tmp_path / "triangle.csv").write_text(
        "source,target,capacity,delay\nA,B,10Mbps,10ms\nA,C,10Mbps,1ms\nC,B,10Mbps,1ms\n"
    )
    (tmp_path / "matrix.csv").write_text("source,target,rate\nA,B,8Mbps\n")
    return [
        "plan",
        str(tmp_path / "triangle.csv"),
        "--pipe",
        str(tmp_path / "matrix.csv"),
        "--flow",
        "1Mbps",
        "--json",
    ]


@pytest.mark.parametrize(
    ("paths", "load", "used"),
    [
        (["--paths", "1"], "0.8", [["A", "B"]]),
        (["--paths", "1", "--by", "delay"], "0.8", [["A", "C", "B"]]),
        (["--paths", "disjoint=2"], "0.5", [["A", "B"], ["A", "C", "B"]]),
        (["--paths", "FILE"], "0.8", [["A", "C", "B"]]),
    ],
)
def test_candidates_are_by_delay_disjoint_or_from_a_file(
    triangle: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    paths: list[str],
    load: str,
    used: list[list[str]],
) -> None:
    """Half of a link's capacity carries 8 Mbit/s over two disjoint paths only."""
    ways = ["A C B", "B C A", "A C", "C A", "B C", "C B"]
    file = tmp_path / "paths.json"
    file.write_text(json.dumps([way.split() for way in ways]))
    assert status([*triangle, *(str(file) if one == "FILE" else one for one in paths), "--load", load]) == 0
    (split,) = json.loads(capsys.readouterr().out)["splits"]
    assert sorted(path["path"] for path in split["paths"]) == used


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["--paths", "all"], "--paths all: a plan chooses among candidates; give a number of them, as in --paths 4"),
        (["--paths", "none.txt"], "--paths none.txt: must be a number, disjoint=N, or a file of paths"),
        (
            ["--paths", "none.txt", "--by", "delay"],
            "--by goes with a number of --paths or disjoint=N, not with none.txt",
        ),
        (["--paths", "disjoint=0"], "must be from 1 to 1,000,000"),
    ],
)
def test_candidates_that_are_none_are_refused(
    triangle: list[str], capsys: pytest.CaptureFixture[str], given: list[str], expected: str
) -> None:
    assert status([*triangle, *given]) != 0
    assert expected in capsys.readouterr().err


TAIL = RING + "E,F,10Mbps,1ms\n"
"""The ring with a node behind a bridge."""


def test_failures_and_backups_are_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The bridge's node has no backup; the load after each failure that the file has is that of ``robust --judge``'s rules."""
    (tmp_path / "ring.csv").write_text(TAIL)
    given = ["plan", str(tmp_path / "ring.csv"), "--hose", "2Mbps", "--fail", "links", "--backup", "disjoint"]
    assert (
        status(
            [
                *given,
                "--load",
                "0.65",
                "--out",
                str(tmp_path / "plans"),
                "--export",
                "json",
                "--into",
                str(tmp_path / "json"),
            ]
        )
        == 0
    )
    shown = capsys.readouterr()
    assert "after failure load at most 0.6" in shown.out
    assert "throughput at least 200 Mbit/s, after E - F" in shown.out
    assert "E - F cuts A -> F, B -> F, C -> F and 7 more" in shown.out
    assert "backup paths  20 of 30 pairs on single paths have one" in shown.out
    assert "none      A -> F, " in shown.out
    assert "Backup paths: json files have none; plan.json (--out) and --json have them" in shown.err
    plan = json.loads((tmp_path / "plans/plan.json").read_text())
    assert len(plan["failures"]) == 7
    assert max(one["worst_case_load"] for one in plan["failures"]) == plan["worst_case_load_after_failures"] <= 0.65
    assert {one["failure"]: one["throughput_total_bps"] for one in plan["failures"]}["E - F"] == 200e6
    for split in plan["splits"]:
        assert (split["backup"] is None) == ("F" in (split["src"], split["dst"]))
    compile_run(Scenario.load(tmp_path / "plans/plan.toml").cases[0], 1)


def test_cut_pairs_on_single_paths_are_named_with_the_way_out(ring: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["plan", str(ring / "ring.csv"), "--matrix", str(ring / "matrix.csv"), "--fail", "nodes"]) == 0
    shown = capsys.readouterr().out
    assert "cuts C -> E" in shown
    assert "a pair on a single path needs a backup: --backup disjoint" in shown
    assert "HYBRID-HOP" not in shown


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--fail", "routers"], '--fail routers: must be "links", links=2, "nodes", or a file of groups of links'),
        (["--fail", "links", "--front"], "--front does not go with --fail"),
        (
            ["--stack", "linux-cubik"],
            '--stack linux-cubik: there is no stack of this name; did you mean "linux-cubic"?',
        ),
        (
            ["--stack", "linux-bbr"],
            "--stack linux-bbr: its congestion control bbr has no spray price; possible: newreno, cubic",
        ),
        (["--stack", "cubic", "--tolerant", "none"], "--stack cubic: no pair has it"),
    ],
)
def test_what_failures_and_stacks_cannot_be(
    options: list[str], said: str, ring: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(["plan", str(ring / "ring.csv"), "--hose", "2Mbps", *options]) != 0
    assert said in " ".join(capsys.readouterr().err.split())
