"""The examples of the README are true: its scenario, its Python, its commands."""

import re
import shlex
from pathlib import Path

import pytest

from anabranch.cli import status
from anabranch.scenario import Scenario
from anabranch.studies.papers.registry import PAPERS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def block(language: str) -> str:
    """The first block of the README in a language."""
    found = re.search(rf"```{language}\n(.*?)```", README, re.DOTALL)
    assert found
    return found[1]


def test_the_scenario_runs_in_every_variant(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text(block("toml"))
    result = Scenario.load(path).run(seed=1)
    assert result.flows.height == 3 * 2
    spray = result.flows.filter(routing="spray")
    goodput = dict(zip(spray["stack"], spray["goodput_bps"], strict=True))
    assert min(goodput["linux-cubic"], goodput["cubic-fast-rto"]) > 4 * goodput["cubic-dup-ack"]


def test_the_python_runs_and_its_frames_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    exec(block("python"), names)
    result = names["result"]
    assert result.flows.height == 18
    assert result.series_flows.height > 0
    assert "<table" in result._repr_html_()


def test_the_caption_of_the_picture_says_what_five_seeds_have() -> None:
    """Two paths carry 19.5 Mbit/s of payload. "Nearly fill" is 95 % in the mean over seeds and over both ways to spray."""
    result = Scenario.load("example:abilene", {"traffic[0].routing": ["spray-random", "spray-round-robin"]}).run()
    for (stack,), flows in result.flows.group_by("stack", maintain_order=True):
        share = float(flows["goodput_bps"].mean()) / 19.5e6
        assert share < 0.7 if str(stack).endswith("-dup-ack") else share > 0.95, stack


def test_the_scenario_that_make_demo_runs_has_no_problems(capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["check", str(ROOT / "scenarios" / "abilene.toml")]) == 0
    assert "18 variants (6 stack x 3 routing) x 5 seeds, no problems" in capsys.readouterr().out


def test_every_example_scenario_has_no_problems() -> None:
    for path in sorted((ROOT / "scenarios").rglob("*.toml")):
        assert status(["check", str(path)]) == 0, path


def commands(section: str) -> list[str]:
    """The commands of the README's section, without their comments."""
    text = README.split(f"\n## {section}\n")[1].split("\n## ")[0]
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    lines = (re.sub(r"\s+#.*", "", line) for block in blocks for line in block.splitlines())
    return [command.strip() for line in lines for command in line.split(";")]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with what the commands of the README name: the reader's scenario and topology, and the repository's."""
    (tmp_path / "my.toml").write_text(block("toml"))
    (tmp_path / "my.csv").write_text(block("text"))
    for folder in ("scenarios", "sweeps", "tests"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    return tmp_path


BRIEF = ["--set", "run.duration=100ms", "--set", "run.warm_up=0s", "--no-report"]


def perform(command: str) -> None:
    """Run it as a shell does, a simulation for a moment only."""
    words = shlex.split(command.partition(" > ")[0])
    assert words.pop(0) == "anabranch"
    words = [name for word in words for name in (sorted(map(str, Path().glob(word))) if "*" in word else [word])]
    assert status(words + (BRIEF if words[0] == "run" else [])) == 0, command


def test_the_tasks_can_be_done(desk: Path) -> None:
    """Papers take a minute each; tests/studies/test_papers.py runs them."""
    compare, delay, topology, ask, plan, paper = commands("Six tasks")
    for command in (compare, delay, topology, ask.replace("--time 15s", "--time 2s"), plan):
        perform(command)
    assert paper == "anabranch paper mprc --quick"
    assert "mprc" in PAPERS


def test_the_first_minute_works(desk: Path) -> None:
    """Those of the package; `make demo` and `make wheel` are tried by themselves."""
    own = [command for command in commands("The first minute") if command.startswith("anabranch ")]
    assert len(own) == 5
    for command in own:
        perform(command.replace(" --run 3", " --run 3 --for 50ms"))
    assert (desk / "runs" / "spraying" / "replay.html").is_file()


@pytest.mark.slow("simulates 130 runs and draws a report")
def test_the_commands_of_the_tour_run(desk: Path) -> None:
    for name in ("a", "b"):
        assert status(["run", "my.toml", "--out", f"runs/{name}", "--seed", "1", *BRIEF]) == 0
    for command in commands("Commands"):
        perform(command)
    assert (desk / "both.html").exists()
