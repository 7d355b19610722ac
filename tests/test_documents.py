"""What is generated in docs is up to date, and what is executable there runs."""

import ast
import doctest
import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anabranch.result_tables import SCHEMAS
from anabranch.scenario import Scenario
from scenarios import LINE

DOCS = Path(__file__).parents[1] / "docs"
GUIDE = DOCS / "guide"


@pytest.mark.parametrize("page", ["scenario", "results"])
def test_a_page_is_what_the_declarations_in_the_code_say(page: str) -> None:
    spec = importlib.util.spec_from_file_location(f"{page}_page", GUIDE / f"{page}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = (GUIDE / f"{page}.md").read_text(encoding="utf-8")
    assert written == module.text(), f"run: python docs/guide/{page}.py"


def test_the_notebook_runs_and_its_cells_show_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cell by cell as a kernel does it: the last expression of a cell is what it shows."""
    monkeypatch.chdir(GUIDE)
    cells = json.loads((GUIDE / "first-steps.ipynb").read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {}
    shown = []
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [], "outputs are not committed"
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "first-steps.ipynb", "exec"), names)
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), "first-steps.ipynb", "eval"), names))
    result, flows, drawing, smaller = shown
    assert "<table" in result._repr_html_()
    assert flows.height == 5
    assert drawing.to_dict()["layer"]
    assert smaller.height == 12


def test_the_examples_of_the_page_on_prediction_are_what_python_says() -> None:
    failed, attempted = doctest.testfile(str(DOCS / "models" / "prediction.md"), module_relative=False)
    assert attempted
    assert not failed


def test_the_page_on_results_names_exactly_the_columns_of_a_run() -> None:
    """In their order, with their types."""
    text = LINE.replace("bulk = true", 'size = "1 MB"').replace('duration = "2s"', 'duration = "2s"\nsample = "1s"')
    result = Scenario.from_toml(text).run(seed=1)
    pages = re.split(r"^## ", (GUIDE / "results.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    described = {
        page.partition("\n")[0]: dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", page, re.MULTILINE)) for page in pages
    }
    for name in (*SCHEMAS, "summary", "completion_times"):
        found: pl.DataFrame = getattr(result, name)
        assert list(described[name].items()) == [(column, str(kind)) for column, kind in found.schema.items()], name
