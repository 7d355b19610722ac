"""A user's ``mypy --strict`` sees the types of the public API: the package says so (``py.typed``), and no name of it is ``Any``."""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

import anabranch

pytestmark = pytest.mark.slow("mypy reads all packages")
PROGRAM = """
from anabranch import Control, Result, Scenario, Sweep, SweepResult, run, topologies
from anabranch.control import Ack, Congestion, Flow
from anabranch.routes import Search


class Cautious(Control):
    def __init__(self, flow: Flow) -> None:
        super().__init__(flow)
        self.acks = 0

    def avoid_congestion(self, ack: Ack, growth: int) -> None:
        self.acks += 1
        self.cwnd += growth / self.cwnd**1.5

    def on_congestion(self, event: Congestion) -> None:
        if event.kind != "timeout":
            super().on_congestion(event)


def goodput(result: Result) -> float:
    return float(result.flows["goodput_bps"].sum())


scenario = Scenario.load("example:spraying", {"run.duration": "1s"})
longer = scenario.with_values({"topology.generate.difference": ["0ms", "5ms"], "run.seeds": 2})
reveal_type(longer.run(seed=1, jobs=2))
reveal_type(run(longer).flows)
reveal_type(longer.run().plot("cwnd"))
reveal_type(Sweep.load("plan.toml").execute("runs/plan", jobs=2))
reveal_type(SweepResult.load("runs/plan").summary)
reveal_type(Search(topologies.load("nsfnet")).routes("delay"))
print(goodput(longer.run()))
scenario.run(seed="one")
"""
REVEALED = [
    "anabranch.results.result.Result", "polars.dataframe.frame.DataFrame", "anabranch.pages.notebook.Page",
    "anabranch.studies.sweep.result.SweepResult", "polars.dataframe.frame.DataFrame", "anabranch.engineering.routes.model.Routes",
]  # fmt: skip


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """A Python whose packages are those of the tests, and this Anabranch among them: mypy takes it for an installed package."""
    venv.create(tmp_path / "env")
    (packages,) = (tmp_path / "env").glob("lib/python*/site-packages")
    home = Path(anabranch.__file__).parents[1]
    (packages / "all.pth").write_text(f"{home}\n{sysconfig.get_path('purelib')}\n")
    return tmp_path / "env" / "bin" / "python"


def test_the_types_of_the_public_api_are_seen(python: Path, tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="pip install -r requirements/dev.txt")
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-pretty",
        "--python-executable",
        str(python),
        "program.py",
    ]
    done = subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, text=True, check=False)
    notes = [line for line in done.stdout.splitlines() if ": note: " in line]
    assert [note.split('"')[1] for note in notes] == REVEALED, done.stdout
    (error,) = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert 'Argument "seed" to "run" of "Scenario" has incompatible type "str"' in error


def test_every_short_name_of_a_module_has_its_types() -> None:
    folder = Path(anabranch.__file__).parent
    written = {path.stem: path.read_text() for path in folder.glob("*.pyi") if not path.stem.startswith("_")}
    assert written == {name: f"from {home} import *\n" for name, home in anabranch._MODULES.items()}
