"""What a command imports: start-up is most of the time of a small run, and imports are most of start-up.

A package of this list takes longer to import than Python itself to start. Which of them a command needs does not depend on the machine.
"""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "altair",
    "highspy",
    "jinja2",
    "networkx",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "pydantic",
    "tomlkit",
    "topohub",
}
TINY = """\
topology.from = "dumbbell"
traffic = [{ from = "s1", to = "d1", bulk = true }]
run.duration = "1ms"
"""


def imported(folder: Path, code: str, *arguments: str) -> set[str]:
    """The heavy packages that Python has loaded after some code."""
    (folder / "tiny.toml").write_text(TINY, encoding="utf-8")
    program = f"import atexit, sys\natexit.register(lambda: print(*sys.modules, file=sys.stderr))\n{code}"
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    return HEAVY & set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        ("--help", set()),
        ("run --help", set()),
        ("check tiny.toml", {"pydantic"}),
        ("run tiny.toml", {"jinja2", "numpy", "polars", "pydantic", "tomlkit"}),
        ("run tiny.toml --no-report", {"numpy", "polars", "pydantic"}),
    ],
)
def test_a_command_imports_no_heavy_package_that_it_does_not_need(
    arguments: str, needed: set[str], tmp_path: Path
) -> None:
    assert imported(tmp_path, "from anabranch.__main__ import main\nmain()", *arguments.split()) == needed


def test_python_imports_what_validates_a_scenario_and_no_tables(tmp_path: Path) -> None:
    assert imported(tmp_path, "from anabranch import Scenario\nScenario.load('tiny.toml')") == {"pydantic"}
