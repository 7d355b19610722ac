"""``anabranch weights``: the table, the document, the topology that other commands take, and clear errors."""

import json
from pathlib import Path
from typing import Any

import pytest

from anabranch.cli import status
from anabranch.engineering.robust.ecmp import RoutedTraffic
from anabranch.network import topologies

NSFNET = ["weights", "nsfnet", "--capacity", "500Mbps", "--matrix", "gravity=2Gbps"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    limit = [] if "--limit" in arguments else ["--limit", "0.3s"]
    code = status([*NSFNET, *limit, *arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_the_document_and_the_topology_hold_the_same_weights(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, _ = run(capsys, "--json", "--fail", "links", "--limit", "3s", "--out", str(tmp_path / "with.json"))
    document = json.loads(out)
    assert code == 0
    assert [one["routing"] for one in document["routings"]] == ["hop-count", "inverse-capacity", "found"]
    hop, _, found = document["routings"]
    optimal = document["optimal_flow"]
    assert optimal["lower_bound"] * (1 - 1e-9) <= optimal["load"] <= found["load"] <= hop["load"]
    assert len(found["failures"]) == 21
    costs = {(link.source, link.target): link.cost for link in topologies.load(str(tmp_path / "with.json")).links}
    assert costs == {(one["src"], one["dst"]): one["weight"] for one in document["weights"]}


def test_the_topology_goes_into_routes_and_frr(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = str(tmp_path / "with.json")
    assert run(capsys, "--out", file)[0] == 0
    assert status(["routes", file, "--metric", "cost", "--export", "frr", "--out", str(tmp_path / "frr")]) == 0
    assert "ip route" in (tmp_path / "frr" / "n1.conf").read_text()


def test_the_table_compares_with_hop_count_and_the_optimal_flow(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys)
    assert code == 0
    assert [line.split("  ")[0] for line in out.splitlines()[1:5]] == [
        "hop count",
        "inverse capacity",
        "weights found",
        "optimal flow",
    ]
    assert "lower bound" in out


def test_ctrl_c_keeps_the_best_weights_so_far(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = RoutedTraffic.change
    asked = []

    def change(self: RoutedTraffic, *arguments: Any) -> Any:
        asked.append(arguments)
        if len(asked) > 200:
            raise KeyboardInterrupt
        return before(self, *arguments)

    monkeypatch.setattr(RoutedTraffic, "change", change)
    code, out, error = run(capsys, "--json", "--out", str(tmp_path / "with.json"), "--limit", "60s")
    document = json.loads(out)
    assert code == 130
    assert "Interrupted" in error
    assert document["interrupted"]
    assert document["routings"][-1]["load"] < document["routings"][0]["load"]
    assert (tmp_path / "with.json").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--max-weight", "0"], 2, "--max-weight 0: must be from 1 to 65,535"),
        (["--limit", "0s"], 2, "--limit 0s: must be more than 0"),
        (["--limit", "soon"], 2, "--limit soon: "),
        (["--matrix", "nowhere.csv"], 1, "--matrix nowhere.csv: is neither a file nor a rate"),
        (["--matrix", "nowhere/*.csv"], 1, "--matrix nowhere/*.csv: there is no such file"),
        (["--matrix", "nowhere.txt#4..2"], 1, "the lower one first, such as nowhere.txt#1..288"),
        (["--fail", "cables"], 1, '--fail cables: must be "links", links=2, "nodes", or a file'),
        (["--fail", "links=9"], 1, "--fail links=9: must be links=1 to links=3"),
        (["--out", "weights.csv"], 2, "--out weights.csv: must end in .json"),
        (["--gap", "200%"], 2, "--gap 2: must be at least 0 and less than 1"),
        (["--seed", "-1"], 2, "--seed -1: must be at least 0"),
    ],
)
def test_wrong_input_is_named(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str
) -> None:
    got, out, error = run(capsys, *arguments)
    assert (got, out) == (code, "")
    assert message in error
