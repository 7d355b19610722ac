"""What notebooks show of scenarios and results: pages that need no network, and tables that people read."""

import re
from base64 import b64decode
from html import unescape
from pathlib import Path

import pytest

from anabranch import Result, Scenario
from anabranch.pages.notebook import NotebookError
from tests.browser import started

TEXT = """
title = "Two <senders>"
[topology]
links = [{ source = "A", target = "B", capacity = "10Mbps", delay = "5ms" }]
[[traffic]]
from = "A"
to = "B"
bulk = true
stack = ["newreno", "cubic"]
[run]
duration = "1s"
sample = "50ms"
"""


@pytest.fixture(scope="module")
def result() -> Result:
    return Scenario.from_toml(TEXT).run(seed=1)


def test_a_scenario_shows_its_network_and_its_matrix() -> None:
    scenario = Scenario.from_toml(TEXT)
    shown = scenario._repr_html_()
    assert "<strong>Two &lt;senders&gt;</strong>" in shown
    assert "<code>stack</code>: newreno, cubic" in shown
    (drawing,) = re.findall(r"base64,([^\"]+)", shown)
    assert ">A</text>" in b64decode(drawing).decode()
    assert repr(scenario) == "Two <senders>: 2 variants"


def test_a_result_shows_the_tables_of_the_command_line(result: Result) -> None:
    shown = result._repr_html_()
    assert '<th style="text-align: right">goodput</th>' in shown
    assert "Mbit/s" in shown
    assert "shape:" not in shown


def test_figures_the_report_and_the_film_are_pages_in_frames(result: Result, tmp_path: Path) -> None:
    for page in (result.plot(), result.plot("cwnd"), result.map(), result.report(), result.replay(for_s=0.1)):
        frame = page._repr_html_()
        assert frame.startswith("<iframe")
        assert unescape(frame).count(page.html) == 1
        assert not re.search(r"""(src|href)=["']?https?:""", page.html)
    window = result.plot("cwnd").specification
    assert window is not None
    assert len(window["data"]["values"]) == 2
    assert result.plot("cwnd").save(tmp_path / "cwnd.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_figure_that_is_not_there_is_named_with_a_close_one(result: Result) -> None:
    with pytest.raises(NotebookError, match='did you mean "cwnd"'):
        result.plot("cwd")
    bare = Scenario.from_toml(TEXT.replace('sample = "50ms"', "")).run(seed=1)
    with pytest.raises(NotebookError, match="need `\\[run\\] sample"):
        bare.plot("cwnd")


def test_a_frame_draws_its_chart_without_a_network(result: Result, tmp_path: Path) -> None:
    page = tmp_path / "notebook.html"
    page.write_text(f"<!doctype html><body>{result.plot('cwnd')._repr_html_()}</body>", encoding="utf-8")
    with started(tmp_path / "profile") as tab:
        tab.open(page)
        tab.wait("document.querySelector('iframe').contentDocument?.querySelector('#chart svg') !== null")
        assert tab.evaluate("document.querySelector('iframe').clientHeight") < 600
        assert [one for one in tab.requests if one.startswith("http")] == []
