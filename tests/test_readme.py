"""What the README shows is true: its scenario, its Python, its commands."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from anabranch.cli import status
from anabranch.scenario import Scenario

ROOT = Path(__file__).parents[1]
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
    assert goodput["mprc"] > goodput["cubic-over-rack"] > goodput["newreno"]


def test_the_python_runs_and_its_frames_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    exec(block("python"), names)
    result = names["result"]
    assert result.flows.height == 12
    assert result.series_flows.height > 0
    assert "<table" in result._repr_html_()


def test_the_scenario_that_make_demo_runs_has_no_problems(capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["check", str(ROOT / "scenarios" / "abilene.toml")]) == 0
    assert "12 variants (4 stack x 3 routing) x 5 seeds, no problems" in capsys.readouterr().out


def test_links_of_the_readme_lead_somewhere() -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    missing = [target for target in targets if not (ROOT / target).exists()]
    assert not missing


def test_every_example_scenario_has_no_problems() -> None:
    for path in sorted((ROOT / "scenarios").glob("*.toml")):
        assert status(["check", str(path)]) == 0, path


@pytest.mark.parametrize("command", ["run", "check", "report", "topology", "schema", "doctor"])
def test_every_command_of_the_readme_has_help(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "anabranch", command, "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "Usage" in done.stdout
