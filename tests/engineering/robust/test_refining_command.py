"""``anabranch robust`` with rules for splits, a bound on stretch, and a second objective."""

import json
from pathlib import Path

import pytest

from anabranch.cli import status
from anabranch.engineering.robust import lp


@pytest.fixture
def network(tmp_path: Path) -> list[str]:
    """1 Mbit/s from A to B: directly over 1 Mbit/s in 1 ms, or by C over 2 Mbit/s in 3 ms. Thirds load both by a third."""
    topology, traffic = tmp_path / "two.csv", tmp_path / "traffic.csv"
    topology.write_text("source,target,capacity,delay\nA,B,1Mbps,1ms\nA,C,2Mbps,1.5ms\nC,B,2Mbps,1.5ms\n")
    traffic.write_text("src,dst,rate\nA,B,1Mbps\n")
    return ["robust", str(topology), "--pipe", str(traffic)]


def test_eighths_are_printed_beside_any_shares_and_exported_as_planned(
    network: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Three eighths directly, five by C."""
    file = tmp_path / "splits.json"
    into = ["--export", "openflow13", "--into", str(tmp_path / "export")]
    assert status([*network, "--weights-in", "8", "-o", str(file), *into]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[:4] == [
        "worst-case load  0.375000",
        "                 0.333333 without --max-paths and --weights-in",
        "                 0.375000 by rounding to them",
        "lower bound      0.375000   gap 0",
    ]
    assert "0.375000 (planned 0.375000)" in printed.err
    document = json.loads(file.read_text())
    (split,) = [split for split in document["splits"] if (split["src"], split["dst"]) == ("A", "B")]
    assert [path["fraction"] for path in split["paths"]] == [0.625, 0.375]
    assert document["rules"] == {"max_paths": None, "weights_in": 8}
    assert document["second_objective"] is None
    assert status(["robust", network[1], *network[2:], "--judge", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["worst_case_load"] == pytest.approx(0.375)


@pytest.mark.parametrize(
    ("objective", "line", "value"),
    [
        ("splits", "split pairs      0   1 before, lower bound 0", 0),
        ("delay", "mean delay       1.66667 ms   2.33333 ms before, lower bound 1.66667 ms", 5e-3 / 3),
        ("spread", "mean spread      0 ms   2 ms before, lower bound 0 ms", 0),
    ],
)
def test_a_second_objective_is_printed_with_its_bound(
    network: list[str], capsys: pytest.CaptureFixture[str], objective: str, line: str, value: float
) -> None:
    """Twice the load is 2/3: that of all traffic by C is 1/2, and two thirds of it directly take 2/3 * 1 + 1/3 * 3 ms."""
    assert status([*network, "--then", objective, "--slack", "100%"]) == 0
    assert line in capsys.readouterr().out.splitlines()
    assert status([*network, "--then", objective, "--slack", "1", "--json"]) == 0
    second = json.loads(capsys.readouterr().out)["second_objective"]
    assert second["minimised"] == objective
    assert second["value"] == pytest.approx(value, abs=1e-9)
    assert second["allowed_load"] == pytest.approx(2 / 3, rel=1e-5)


def test_the_load_without_the_bound_on_stretch_is_beside_it(
    network: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert status([*network, "--stretch", "1.5"]) == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        "worst-case load  1.000000",
        "lower bound      1.000000   gap 0",
        "any stretch      0.333333",
    ]
    assert status([*network, "--stretch", "2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["worst_case_load"] == pytest.approx(1 / 3, rel=1e-5)
    assert document["load_without_stretch"] == pytest.approx(1 / 3, rel=1e-5)
    assert status([*network, "--stretch", "2", "--by", "delay"]) == 0
    assert capsys.readouterr().out.startswith("worst-case load  1.000000")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--stretch", "0.5"], "--stretch 0.5: must be at least 1, such as 1.5"),
        (["--stretch", "nan"], "--stretch nan: must be at least 1, such as 1.5"),
        (["--stretch", "2", "--paths", "all"], "--stretch goes with candidate paths, not with --paths all"),
        (["--max-paths", "0"], "--max-paths 0: must be from 1 to 1,000,000"),
        (["--weights-in", "0"], "--weights-in 0: must be from 1 to 4,096"),
        (["--weights-in", "5000"], "--weights-in 5000: must be from 1 to 4,096"),
        (["--slack", "1%"], "--slack goes with --then"),
        (["--slack", "150%", "--then", "delay"], "--slack 150%: must be from 0% to 100%"),
        (["--then", "delay", "--sweep"], "--then does not go with --sweep"),
        (["--max-paths", "2", "--protect", "--fail", "links"], "--max-paths does not go with --protect"),
        (["--weights-in", "2", "--judge", "ospf"], "--weights-in does not go with --judge"),
    ],
)
def test_options_out_of_range_or_without_effect_are_refused(
    network: list[str], capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert status([*network, *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(message)


def test_links_without_a_delay_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    topology = tmp_path / "plain.csv"
    topology.write_text("source,target,capacity\nA,B,1Mbps\n")
    assert status(["robust", str(topology), "--hose", "1Mbps", "--then", "spread"]) == 1
    assert "link A -> B has neither delay nor length" in capsys.readouterr().err
    assert status(["robust", str(topology), "--hose", "1Mbps", "--then", "splits"]) == 0


def test_ctrl_c_keeps_to_the_rules(
    network: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(lp, "_run", interrupt)
    assert status([*network, "--weights-in", "1", "--json"]) == 130
    document = json.loads(capsys.readouterr().out)
    assert document["interrupted"]
    assert {path["fraction"] for split in document["splits"] for path in split["paths"]} == {1.0}
