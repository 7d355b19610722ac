"""Generated parts of docs are up to date, and examples in docs run."""

import ast
import doctest
import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anabranch.results.schema import SCHEMAS
from anabranch.scenario import Scenario
from tests.scenarios import LINE

DOCS = Path(__file__).parents[2] / "docs"
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


def shown_by(notebook: str) -> list[Any]:
    """The last value of each cell, with the cells run one by one as a kernel does it."""
    cells = json.loads((GUIDE / notebook).read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {}
    shown = []
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [], "outputs are not committed"
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, notebook, "exec"), names)
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), notebook, "eval"), names))
    return shown


def test_the_notebook_of_the_first_steps_shows_a_sawtooth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its teeth are those of its text: they end where path and queue are full, and a small queue costs NewReno more."""
    monkeypatch.chdir(GUIDE)
    result, head, drawing, smaller = shown_by("first-steps.ipynb")
    assert "<table" in result._repr_html_()
    assert head.height == 5
    assert drawing.title.startswith("Congestion window")
    window = result.series_flows.filter(pl.col("time_s") > 5, stack="newreno")["cwnd_segments"]
    assert 62 < window.max() < 66
    assert window.max() / 2 - 2 < window.min() < window.max() / 2 + 2
    goodput = dict(smaller.select("stack", "goodput_bps").iter_rows())
    assert goodput["newreno"] < goodput["cubic"] < 0.95 * 10e6


def test_the_notebook_on_spraying_shows_who_tolerates_reordering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GUIDE)
    flows, windows, swept, others = shown_by("spraying.ipynb")
    newreno, mprc = flows.to_dicts()
    assert newreno["spurious_retransmits"] == newreno["retransmits"] > 0
    assert mprc["goodput_bps"] > 3 * newreno["goodput_bps"]
    assert [row["stack"] for row in windows.specification["data"]["values"]] == ["newreno", "mprc"]
    assert swept.title.startswith("Goodput")
    goodput = dict(others.select("stack", "goodput_bps").iter_rows())
    assert goodput["linux-reno"] > 3 * goodput["newreno"]


def test_the_lesson_on_reordering_shows_what_its_text_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """From any folder: all it needs is in the package."""
    monkeypatch.chdir(tmp_path)
    lesson, result, film, window, flows, queue, longer, linux = shown_by("reordering.ipynb")
    assert "2 variants" in lesson._repr_html_()
    assert result.flows.height == 2
    assert film.title == "Replay: Spraying"
    assert window.title.startswith("Congestion window")
    assert queue.title.startswith("Queue")
    newreno, mprc = flows.to_dicts()
    assert newreno["spurious_retransmits"] == newreno["retransmits"] > 0
    assert mprc["goodput_bps"] > 3 * newreno["goodput_bps"]
    assert longer.title.startswith("Goodput")
    goodput = dict(linux.select("stack", "goodput_bps").iter_rows())
    assert goodput["linux-reno"] > 3 * goodput["newreno"]


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


def test_a_decision_s_file_is_named_by_its_title() -> None:
    pages = sorted((DOCS / "development" / "decisions").glob("[0-9]*.md"))
    for number, page in enumerate(pages, start=1):
        title = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        slug = re.sub(r"[^a-z0-9]+", "-", title.lower().replace("'", ""))
        assert page.name == f"{number:04}-{slug}.md"


def test_classes_of_predicted_flows_have_colours_of_their_own() -> None:
    picture = (DOCS / "images" / "predict.svg").read_text(encoding="utf-8")
    legend = re.findall(r'role-legend-symbol".*?fill="(#\w+)".*?role-legend-label".*?<text[^>]*>([^<]+)<', picture)
    colours, classes = {colour for colour, _ in legend}, {kind for _, kind in legend}
    assert len(classes) > 10
    assert len(classes) == len(colours) == len(legend)
    points = picture.partition("mark-symbol role-mark")[2].partition("</g>")[0]
    assert set(re.findall(r'fill="(#\w+)"', points)) == colours
