"""``--export`` of ``robust``, ``plan``, ``weights`` and ``advise``: what is written has the load that is said, or the command says why not."""

import json
import re
import shlex
from pathlib import Path

import pytest

from anabranch import programs
from anabranch.cli import status
from anabranch.engineering.routes.export import read_back
from anabranch.network import topologies
from anabranch.studies.advise import Question, advise
from anabranch.studies.advise.files import sysctl, write

ROBUST = ["robust", "nsfnet", "--hose", "130Mbps", "--capacity", "500Mbps", "--paths", "3"]
SQUARE = "source,target,capacity,delay\na,b,1Gbps,2ms\nb,c,1Gbps,2ms\nc,d,1Gbps,2ms\nd,a,1Gbps,2ms\n"
MATRIX = "source,target,rate\na,c,1.2Gbps\nb,d,300Mbps\n"


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("square.csv").write_text(SQUARE, encoding="utf-8")
    Path("matrix.csv").write_text(MATRIX, encoding="utf-8")


def test_robust_says_the_load_of_the_weights_that_it_wrote(capsys: pytest.CaptureFixture[str]) -> None:
    """It is that of --judge, and not that of the splits, which no whole numbers have."""
    assert status([*ROBUST, "--export", "srv6", "--json"]) == 0
    printed = capsys.readouterr()
    planned = json.loads(printed.out)["worst_case_load"]
    assert "Wrote 45 files into nsfnet-srv6" in printed.err
    (error,) = re.findall(r"they miss the shares by at most (\S+)", printed.err)
    assert 0 < float(error) < 1 / 512
    ((load, said),) = re.findall(r"read back from nsfnet-srv6: (\S+) \(planned (\S+)\)", printed.err)
    assert float(said) == pytest.approx(planned, abs=1e-6)
    assert float(load) > planned
    assert status([*ROBUST, "--judge", "nsfnet-srv6", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["worst_case_load"] == pytest.approx(float(load), abs=1e-6)


def test_the_page_has_the_load_that_its_command_says(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "guide" / "export.md").read_text(encoding="utf-8")
    commands = re.findall(r"^anabranch ((?:robust|weights) .*--into .*)$", page, re.MULTILINE)
    assert len(commands) == 3
    assert all(status(shlex.split(command, comments=True)) == 0 for command in commands)
    loads = re.findall(r"read back from split: (\S+) \(planned (\S+)\)", capsys.readouterr().err)
    assert [(load, planned) for load, planned in loads] == re.findall(r"that is (\S+) instead of (\S+)\.\n", page)


def test_protected_splits_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["robust", "square.csv", "--matrix", "matrix.csv", "--fail", "links", "--protect"]
    assert status([*given, "--export", "json", "--into", "out", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    written = json.loads(Path("out/routes.json").read_text(encoding="utf-8"))["routes"]
    paths = [len(one.get("paths", [one])) for one in written]
    assert paths == [len(one["paths"]) for one in found["splits"]]


def test_a_plan_is_written_beside_its_other_files(capsys: pytest.CaptureFixture[str]) -> None:
    """a to c needs both ways round, and the switch of a has them."""
    given = ["plan", "square.csv", "--matrix", "matrix.csv", "--load", "1", "--out", "plan"]
    assert status([*given, "--export", "openflow13", "--into", "plan/switches"]) == 0
    assert "Worst-case load, read back from plan/switches" in capsys.readouterr().err
    back = read_back(Path("plan/switches"), topologies.load("square.csv")).paths
    shares = dict(back["a", "c"])
    assert shares.keys() == {("a", "b", "c"), ("a", "d", "c")}
    assert all(share <= 1 / 1.2 + 1 / 256 for share in shares.values())


@pytest.mark.parametrize("format", ["frr-ospf", "frr-isis", "ip-route"])
def test_weights_are_written_as_costs_and_as_routes(format: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["weights", "square.csv", "--matrix", "matrix.csv", "--limit", "0.3s", "--json"]
    assert status([*given, "--export", format, "--into", "out"]) == 0
    printed = capsys.readouterr()
    load = json.loads(printed.out)["routings"][-1]["load"]
    ((read, planned),) = re.findall(r"read back from out: (\S+) \(planned (\S+)\)", printed.err)
    assert (float(read), float(planned)) == pytest.approx((load, load), abs=1e-6)
    costs = {(one["src"], one["dst"]): one["weight"] for one in json.loads(printed.out)["weights"]}
    assert read_back(Path("out"), topologies.load("square.csv")).costs == (None if format == "ip-route" else costs)


def test_interfaces_of_a_file_are_in_the_export_of_every_command() -> None:
    rows = ["node,neighbour,interface,address"]
    for number, (one, other) in enumerate([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]):
        rows += [f"{one},{other},eth1,192.0.2.{2 * number}/31", f"{other},{one},eth2,192.0.2.{2 * number + 1}/31"]
    Path("interfaces.csv").write_text("\n".join(rows), encoding="utf-8")
    shared = ["--interfaces", "interfaces.csv"]
    for command in (
        ["routes", "square.csv", "--metric", "delay", "--from", "a", "--to", "b", "--export", "ip-route", "--out", "x"],
        ["robust", "square.csv", "--matrix", "matrix.csv", "--export", "srv6", "--into", "x"],
        ["plan", "square.csv", "--matrix", "matrix.csv", "--load", "1", "--export", "srv6", "--into", "x"],
        ["weights", "square.csv", "--matrix", "matrix.csv", "--limit", "0.2s", "--export", "ip-route", "--into", "x"],
    ):
        assert status([*command, *shared]) == 0
        assert "dev eth1" in Path("x/n1.routes.batch").read_text(encoding="utf-8"), command


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*ROBUST, "--export", "cisco"], "--export cisco: is no format; possible: ip-route, srv6, frr"),
        ([*ROBUST, "--into", "x"], "--into goes with --export"),
        ([*ROBUST, "--interfaces", "x"], "--interfaces goes with --export"),
        ([*ROBUST, "--export", "srv6", "--interfaces", "none.csv"], "none.csv: cannot be read"),
        ([*ROBUST, "--export", "srv6", "--into", "."], "holds 'matrix.csv', which is of no earlier export"),
        ([*ROBUST, "--sweep", "--export", "srv6"], "--export does not go with --sweep"),
        ([*ROBUST, "--judge", "ospf", "--export", "srv6"], "--export does not go with --judge"),
        ([*ROBUST, "--export", "frr-segment-routing"], "an SR policy of FRR has one. openflow13, openflow15, srv6"),
        ([*ROBUST, "--export", "ip-route"], "routers that look at nothing but the destination cannot do both. openflow13"),
        ([*ROBUST, "--export", "frr-ospf"], "has no cost, and OSPF routes by the costs of links. anabranch weights finds costs"),
        (["advise", "nsfnet", "--pair", "1,2", "--export", "cisco"], "--export cisco: is no format"),
        (["advise", "nsfnet", "--pair", "1,2", "--into", "x"], "--into goes with --export"),
        (["routes", "nsfnet", "--interfaces", "x"], "--interfaces goes with --export"),
    ],
)  # fmt: skip
def test_what_cannot_be_exported_is_said(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(arguments) in (1, 2)
    assert message in " ".join(capsys.readouterr().err.split())


def test_advice_is_written_there_and_back_with_what_routers_cannot_do(capsys: pytest.CaptureFixture[str]) -> None:
    """Beside its routes file; routers keep a flow on one path, and the answer may not."""
    given = ["advise", "square.csv", "--pair", "a,c", "--stack", "linux-bbr", "--time", "2s", "--out", "advice"]
    assert status([*given, "--export", "ip-route", "--json"]) == 0
    printed = capsys.readouterr()
    best = json.loads(printed.out)["answers"][0]["best"]
    back = read_back(Path("advice/ip-route"), topologies.load("square.csv")).paths
    assert {("a", "c"), ("c", "a")} <= back.keys()
    assert len(back["a", "c"]) == len(back["c", "a"])
    sprayed = len(back["a", "c"]) > 1
    assert ("these routers choose one for each flow" in printed.err) == sprayed, best
    assert "tcp_congestion_control = bbr" in Path("advice/sysctl.conf").read_text(encoding="utf-8")


def test_the_program_of_an_own_congestion_control_is_written_with_its_settings() -> None:
    question = Question.of_network("square.csv", pairs=[("a", "c")])
    written = write(advise(question, stacks=["mprc"], time_s=1), Path("advice"))
    assert {file.name for file in written} == {
        "advice.toml",
        "advice.html",
        "routes.json",
        "sysctl.conf",
        "anabranch_mprc.bpf.o",
    }
    own = programs.find("anabranch_mprc")
    assert own is not None
    assert Path("advice/anabranch_mprc.bpf.o").read_bytes() == own.read_bytes()
    assert sysctl("mprc").endswith("net.ipv4.tcp_congestion_control = mprc\n")
    assert "load anabranch_mprc.bpf.o --persist" in sysctl("mprc")
