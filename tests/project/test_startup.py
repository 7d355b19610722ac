"""The imports of small commands: a package of this list takes longer to import than Python itself takes to start."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench import startup

HEAVY = {
    "altair", "cyclopts", "highspy", "jinja2", "networkx", "numpy", "pandas", "polars", "pyarrow", "pydantic", "rich", "rich.markdown", "tomlkit",
    "topohub",
}  # fmt: skip
NEEDED: dict[str, set[str]] = {
    "help": set(),
    "scenario": {"pydantic"},
    "check": {"cyclopts", "pydantic"},
    "run": {"cyclopts", "numpy", "polars", "pydantic"},
    "report": {"cyclopts", "jinja2", "numpy", "polars", "pydantic"},
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


def models_after(statement: str) -> dict[str, bool]:
    """The tables of scenarios that are models after a statement, and whether their validators are built."""
    code = f"""
{statement}
import json
from anabranch.scenario.table import Table
def derived(table):
    for each in table.__subclasses__():
        yield each
        yield from derived(each)
print(json.dumps({{each.__name__: each.__pydantic_complete__ for each in derived(Table)}}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found: dict[str, bool] = json.loads(done.stdout)
    return found


def test_no_validator_is_built_when_scenarios_are_imported() -> None:
    models = models_after("from anabranch import Scenario")
    assert {"Variant", "Stack", "NamedCongestion"} <= models.keys()
    assert not any(models.values())


def test_only_the_algorithms_that_a_scenario_names_become_models() -> None:
    text = startup.SCENARIO + 'stacks.only.preset = "cubic"\n'
    models = models_after(f"from anabranch import Scenario\nScenario.from_toml({text!r})")
    assert {"Cubic", "Classic", "DupAck", "Immediate", "DropTail"} <= models.keys()
    assert not {"Newreno", "Bbr", "FastRto", "Delayed", "Codel", "GilbertElliott", "FatTree"} & models.keys()
