"""The commands of the guide run, and its Python."""

import re
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from anabranch.cli import status
from anabranch.engineering import robust
from anabranch.engineering.robust.files import own_demands
from anabranch.network import topologies
from anabranch.scenario import Scenario, connection_matrix
from anabranch.studies.fabrics import Fabric, answer

GUIDE = Path(__file__).parents[2] / "docs" / "guide"


def blocks(page: str, language: str) -> list[str]:
    """The page's code in a language."""
    return re.findall(rf"```{language}\n(.*?)```", (GUIDE / page).read_text(encoding="utf-8"), re.DOTALL)


def test_the_first_steps_lead_to_the_table_that_they_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command in order, and then those of the page on files; only the longest one is shortened."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (scenario,) = blocks("first-steps.md", "toml")
    Path("my.toml").write_text(scenario, encoding="utf-8")
    commands = [line for block in blocks("first-steps.md", "sh") for line in block.splitlines()]
    for command in commands:
        words = shlex.split(command)[1:]
        brief = ["--set", "run.duration=11s", "--seed", "1", "--no-report"] if "run.warm_up=10s" in words else []
        assert status([*words, *brief]) == 0, command
    (shown,) = blocks("first-steps.md", "text")
    out = capsys.readouterr().out
    assert shown in out
    assert "mathis        11.31 Mbit/s" in out
    (program,) = blocks("first-steps.md", "python")
    exec(program, {})
    assert "(6, 3)" in capsys.readouterr().out
    # The page on files uses this run.
    for command in (line for block in blocks("files.md", "sh") for line in block.splitlines()):
        assert status(shlex.split(command)[1:]) == 0, command
    assert Path("goodput.pdf").read_bytes().startswith(b"%PDF")
    for folder in ("runs/my/csv", "tables"):
        assert {"flows.csv", "links.csv", "summary.csv"} <= {file.name for file in Path(folder).iterdir()}


def test_the_stacks_of_the_page_on_transports_run(tmp_path: Path) -> None:
    stacks, split, messages, own = blocks("transports.md", "toml")
    (control,) = blocks("transports.md", "python")
    (tmp_path / "root.py").write_text(control, encoding="utf-8")
    stacks += own.removeprefix("[stacks]\n")
    names = re.findall(r"^(\S+) = {", stacks, re.MULTILINE)
    rest = f'[topology]\ngenerate = "line"\n[[traffic]]\nfrom = "n1"\nto = "n3"\nstack = {names}\n[run]\nduration = "100ms"\n'
    flows = Scenario.from_toml(stacks + rest.replace("'", '"'), directory=tmp_path).run(seed=1).flows
    assert flows["stack"].to_list() == names
    assert (flows["delivered_bytes"] > 0).all()
    one = rest.replace(f"{names}", '"credit-over-reps"\nsize = "1MB"').replace("'", '"')
    assert Scenario.from_toml(messages + one).run(seed=1).flows["delivered_bytes"].to_list() == [1_000_000]
    names = re.findall(r"^(\S+) = { preset", split, re.MULTILINE)
    backbone = (
        f'[topology]\nfrom = "nsfnet"\n[[traffic]]\nfrom = "1"\nto = "7"\nstack = {names}\n[run]\nduration = "100ms"\n'
    )
    flows = Scenario.from_toml(split + backbone.replace("'", '"')).run(seed=1).flows
    assert flows["stack"].to_list() == names
    assert (flows["delivered_bytes"] > 0).all()


def test_the_page_on_transports_names_every_preset_and_detector() -> None:
    page = (GUIDE / "transports.md").read_text(encoding="utf-8")
    reference = (GUIDE / "scenario.md").read_text(encoding="utf-8")
    for key in ("preset", "detection"):
        (kinds,) = re.findall(rf"^\| `{key}` \| (.*?) \|", reference, re.MULTILINE)
        for name in re.findall(r'"([\w+-]+)"', kinds):
            assert f"`{name}`" in page, name


def test_the_commands_of_the_models_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the search for plans, which takes seconds for each and runs in tests/engineering/plan."""
    monkeypatch.chdir(tmp_path)
    Path("my.csv").write_text(
        "source,target,capacity,delay,loss\nA,B,1Mbps,5ms,0.1%\nB,A,1Mbps,5ms,0.1%\n", encoding="utf-8"
    )
    pages = [page.read_text(encoding="utf-8") for page in sorted((GUIDE.parent / "models").glob("*.md"))]
    lines = [
        line for page in pages for line in re.findall(r"^anabranch (?!plan|run)(.*?)(?:\s+#.*)?$", page, re.MULTILINE)
    ]
    assert len(lines) >= 12
    for line in lines:
        assert status(shlex.split(line)) == 0, line


def write_files_of_tasks() -> None:
    """Into the current directory."""
    for block in [*blocks("tasks.md", "toml"), *blocks("tasks.md", "python")]:
        Path(block.partition("\n")[0].removeprefix("# ")).write_text(block, encoding="utf-8")
    for name, text in zip(("network.csv", "demands.csv"), blocks("tasks.md", "text"), strict=True):
        Path(name).write_text(text, encoding="utf-8")


def test_the_files_of_the_tasks_are_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All commands; what takes long is shortened."""
    monkeypatch.chdir(tmp_path)
    write_files_of_tasks()
    plan = Path("plan.toml").read_text(encoding="utf-8")
    Path("plan.toml").write_text(plan.replace("seeds = 20", "seeds = 2"), encoding="utf-8")
    small = Fabric(2, 2, 2, permutation_bytes=40_000, incast_bytes=40_000, incast_senders=2, ring_bytes=40_000)
    monkeypatch.setattr(answer, "Fabric", lambda: small)
    for command in (line for block in blocks("tasks.md", "sh") for line in block.splitlines()):
        words = shlex.split(command)[1:]
        brief = ["--set", "run.duration=200ms", "--set", "run.warm_up=0s", "--seed", "1", "--no-report"]
        assert status([*words, *(brief if words[1] in ("backbone.toml", "incast.toml", "call.toml") else [])]) == 0, (
            command
        )
    assert Path("loss.pdf").read_bytes().startswith(b"%PDF")
    assert Path("runs/slow-start/replay.html").exists()


def write_recorded_matrices() -> None:
    """Files of the names and the form of SNDlib's, from the demands that TopoHub has for a backbone of 17 nodes, more in each month."""
    network = robust.Network.of(topologies.load("sndlib/nobel-germany"), 1e9)
    demands = own_demands(network)
    Path("matrices").mkdir()
    for number, month in enumerate(("200401", "200402")):
        lines = [
            f"  d{source}_{target} ( {network.names[source]} {network.names[target]} ) 1 {demands[source, target] / 2e5 * (2 - number)} UNLIMITED\n"
            for source, target in np.argwhere(demands > 0).tolist()
        ]
        head = "?SNDlib native format; type: network; version: 1.0\nMETA (\n  unit  = MBITPERSEC\n)\nDEMANDS (\n"
        name = f"matrices/demandMatrix-germany50-DFN-1month-{month}.txt"
        Path(name).write_text(f"{head}{''.join(lines)})\n", encoding="utf-8")


def test_the_commands_of_the_page_on_a_backbone_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In order, on a smaller network, with brief searches; what the page calls an improvement is one here. Real Linux is only checked."""
    pytest.importorskip("topohub")
    monkeypatch.chdir(tmp_path)
    write_recorded_matrices()
    for block in blocks("backbone.md", "toml"):
        text = block.replace("sndlib/germany50", "sndlib/nobel-germany")
        Path(block.partition("\n")[0].removeprefix("# ")).write_text(text, encoding="utf-8")
    for command in (line for block in blocks("backbone.md", "sh") for line in block.splitlines()):
        words = shlex.split(command.replace("sndlib/germany50", "sndlib/nobel-germany"))[1:]
        for option in ("--limit", "--time"):
            if option in words:
                words[words.index(option) + 1] = "0.5s"
        if words[0] == "run":
            words = ["check", words[1]] if "kernel" in words else [*words, "--set", "run.duration=300ms", "--no-report"]
            words += ["--set", "run.warm_up=0s", "--seed", "1"] if words[0] == "run" else []
        assert status(words) == 0, command
    said = capsys.readouterr()
    loads = {
        name: float(load)
        for load, name in re.findall(r"^worst-case load  (\S+)   of (\S+) as it is$", said.out, re.MULTILINE)
    }
    assert loads.keys() == {"hop-count", "frr", "splits", "single"}
    assert max(loads["frr"], loads["splits"]) < loads["hop-count"]
    for name in ("frr", "splits", "single", "lab"):
        assert f"Worst-case load, read back from {name}: " in said.err
    assert len(list(Path("frr").glob("n*.conf"))) == 2 * 17  # and the kernel's settings


@pytest.mark.slow("two scenarios of the guide in full")
def test_the_tables_of_the_tasks_have_the_results_of_their_scenarios(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goodput by load and routing, and slowdown by traffic and stack, to the digits that the page shows."""
    monkeypatch.chdir(tmp_path)
    write_files_of_tasks()
    page = (GUIDE / "tasks.md").read_text(encoding="utf-8")
    carried = Scenario.load("backbone.toml").run().flows.group_by("scale", "routing", "run").agg(pl.sum("goodput_bps"))
    means = carried.group_by("scale", "routing").agg(pl.mean("goodput_bps") / 1e6)
    rows = re.findall(r"^\| ([\d.]+) \| \d+ Mbit/s \| ([\d.]+) Mbit/s \| ([\d.]+) Mbit/s \|$", page, re.MULTILINE)
    assert len(rows) == 3
    for scale, *shown in rows:
        for routing, value in zip(("ospf", "spread"), shown, strict=True):
            exact = means.filter(scale=float(scale), routing=routing)["goodput_bps"].item()
            assert value == f"{exact:.1f}"
    slow = Scenario.load("incast.toml").run().flows
    assert slow["fct_s"].null_count() == 0
    rows = re.findall(r"^\| (web search|incast) \| (\d+) \| (.*) \|$", page, re.MULTILINE)
    assert len(rows) == 4
    for traffic, count, shown in rows:
        here = [
            slow.filter(traffic=traffic, count=int(count), preset=preset)["slowdown"] for preset in ("newreno", "dctcp")
        ]
        exact = [values.quantile(share, "linear") for values in here for share in (0.5, 0.95)]
        assert [float(value) for value in shown.split(" | ")] == pytest.approx(exact, rel=0.005)


def test_every_command_of_the_page_for_users_of_other_tools_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In order, in an empty directory; what is simulated is shortened. `doctor` may find optional parts missing."""
    monkeypatch.chdir(tmp_path)
    (matrix,) = blocks("coming-from.md", "text")
    flows, _ = connection_matrix.flows(matrix, "flows.cm")
    assert [(source, target) for _, source, target, _, _ in flows] == [("0", "5"), ("1", "5")]
    commands = [line for block in blocks("coming-from.md", "sh") for line in block.splitlines()]
    assert len(commands) >= 18
    for command in commands:
        words = shlex.split(command)[1:]
        if words[0] == "run":
            words += ["--set", "run.warm_up=0s", "--no-report"]
            words += [] if "data-center.toml" in words else ["--set", "run.duration=500ms"]
        assert status(words) == 0, command
