"""``anabranch init`` and examples by name: a new user has something that runs, without a clone."""

from pathlib import Path

import pytest

from anabranch import Scenario, Sweep
from anabranch.cli import status
from anabranch.foundation import examples
from anabranch.scenario import starters

BRIEF = ["--set", "run.duration=200ms", "--set", "run.warm_up=0s", "--seed", "1"]


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", starters.NAMES)
def test_every_start_runs_without_a_warning(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["init", name]) == 0
    assert f"Run it: anabranch run {name}.toml" in capsys.readouterr().err
    assert status(["check", f"{name}.toml"]) == 0
    assert capsys.readouterr().err == ""
    assert status(["run", f"{name}.toml", *BRIEF, "--no-report"]) == 0
    assert all(len(line) <= 160 for line in Path(f"{name}.toml").read_text().splitlines())


def test_a_start_replaces_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("my-topology.csv").write_text("mine")
    assert status(["init", "my-topology"]) == 1
    assert "my-topology.csv: exists already" in capsys.readouterr().err
    assert not Path("my-topology.toml").exists()
    assert status(["init", "backbone", "-o", "new.toml"]) == 0
    assert status(["init", "backbone", "-o", "new.toml"]) == 1


def test_without_a_name_it_lists_starts_and_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["init"]) == 0
    out = capsys.readouterr().out
    for name in (*starters.NAMES, *examples.notebooks(), *examples.files("scenarios"), *examples.files("sweeps")):
        assert f"\n  {name} " in out
    assert "reordering.ipynb      A lesson on reordering" in out
    assert "abilene               What packet spraying does to TCP" in out
    assert status(["init", "spaying"]) == 2
    assert 'did you mean "spraying"?' in capsys.readouterr().err


def test_an_example_is_copied_with_the_files_that_it_names(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["init", "example:satellite"]) == 0
    assert capsys.readouterr().out.split() == ["satellite.toml", "traces/satellite.csv"]
    assert Scenario.load("satellite.toml").hash() == Scenario.load("example:satellite").hash()
    assert status(["init", "example:slow-start", "-o", "mine.toml"]) == 0
    assert Path("mine.toml").read_text() == examples.files("scenarios")["slow-start"].read_text()
    capsys.readouterr()
    assert status(["init", "slow-start"]) == 2
    assert "slow-start: is an example; write example:slow-start" in capsys.readouterr().err


def test_a_plan_is_copied_and_can_be_swept(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["init", "example:random-loss"]) == 0
    assert "Run it: anabranch sweep random-loss.toml" in capsys.readouterr().err
    assert status(["sweep", "random-loss.toml", "--dry-run"]) == 0


def test_a_notebook_is_copied_and_jupyter_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, path in examples.notebooks().items():
        assert status(["init", name]) == 0
        assert Path(name).read_text() == path.read_text()
    monkeypatch.setattr("anabranch.cli.init.missing", lambda extra: ["jupyterlab"])
    assert status(["init", "reordering.ipynb", "-o", "lesson.ipynb"]) == 0
    assert "pip install 'anabranch[notebook]'; jupyter lab lesson.ipynb" in capsys.readouterr().err


def test_commands_take_examples_by_name(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also those that read files beside them, such as a trace."""
    for name in ("satellite", "slow-start"):
        assert status(["run", f"example:{name}", *BRIEF, "--no-report"]) == 0
        assert (desk / "runs" / name / "manifest.json").is_file()
    assert status(["check", "example:lossy-link"]) == 0
    assert status(["sweep", "example:random-loss", "--dry-run"]) == 0
    capsys.readouterr()
    assert status(["check", "example:lossy-lnk"]) == 1
    assert 'example:lossy-lnk: is no example; did you mean "lossy-link"?' in capsys.readouterr().err


def test_python_takes_examples_by_name(desk: Path) -> None:
    assert Scenario.load("example:abilene").hash() == Scenario.load(examples.files("scenarios")["abilene"]).hash()
    (desk / "plan.toml").write_text('scenario = "example:lossy-link"\nseeds = 1\n')
    assert Sweep.load("plan.toml").planned == 6


def test_names_of_examples_are_distinct() -> None:
    for folder in examples.FOLDERS:
        home = examples.files(folder)
        root = Path(__file__).parents[2] / folder
        assert sorted(home.values()) == sorted(root.rglob("*.toml"))
    assert not examples.files("scenarios").keys() & examples.files("sweeps").keys()
