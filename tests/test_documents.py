"""What is generated in docs is up to date, and what is executable there runs."""

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def test_the_reference_of_the_scenario_file_is_what_the_schema_says() -> None:
    spec = importlib.util.spec_from_file_location("scenario_reference", DOCS / "scenario.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (DOCS / "scenario.md").read_text(encoding="utf-8") == module.text(), "run: python docs/scenario.py"
