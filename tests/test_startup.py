"""What small commands import: a package of this list takes longer to import than Python itself takes to start."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench import startup

HEAVY = {
    "altair", "highspy", "jinja2", "networkx", "numpy", "pandas", "polars", "pyarrow", "pydantic", "rich.markdown", "tomlkit", "topohub",
}  # fmt: skip
NEEDED: dict[str, set[str]] = {
    "help": set(),
    "scenario": {"pydantic"},
    "check": {"pydantic"},
    "run": {"numpy", "polars", "pydantic"},
    "report": {"jinja2", "numpy", "polars", "pydantic", "tomlkit"},
}


@pytest.mark.parametrize("case", startup.CASES)
def test_no_heavy_package_is_imported_where_it_is_not_needed(case: str) -> None:
    assert HEAVY & startup.imported(case) == NEEDED[case]


def test_more_imports_than_recorded_need_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(startup, "RECORD", tmp_path / "startup.toml")
    monkeypatch.setattr(startup, "imported", lambda case: range(100))
    assert startup.main(["--record", 'A "test"']) == 0
    monkeypatch.setattr(startup, "imported", lambda case: range(103 if case == "check" else 102))
    assert startup.main([]) == 1
    assert capsys.readouterr().err.startswith("startup: check: imports have grown by more than 2%")


def test_no_validator_is_built_when_scenarios_are_imported() -> None:
    code = """
from anabranch import Scenario
from anabranch.scenario.table import Table
def derived(table):
    for each in table.__subclasses__():
        yield each
        yield from derived(each)
tables = list(derived(Table))
print(len(tables) > 50, [each.__name__ for each in tables if each.__pydantic_complete__])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True []\n"
