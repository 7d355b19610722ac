"""The report and the replay of example scenarios in a browser: all is drawn, fits and requests nothing."""

from pathlib import Path

import pytest

from anabranch.pages import report
from anabranch.pages.replay import record
from anabranch.pages.replay import write as write_replay
from anabranch.scenario import Scenario
from tests.browser import Browser, assert_drawn, open_report
from tests.pages.test_packet_replay import READY
from tests.pages.test_report import Page

SCENARIOS = Path(__file__).parents[2] / "scenarios"
EXAMPLES = {"data-center": "60ms", "satellite": "2s", "cellular": "3s", "teaching/incast": "200ms"}
"""For how long each runs."""


@pytest.fixture(scope="module", params=list(EXAMPLES))
def directory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    shorter = {"run.duration": EXAMPLES[request.param], "run.seeds": "1"}
    scenario = Scenario.load(SCENARIOS / f"{request.param}.toml", shorter)
    folder = tmp_path_factory.mktemp("example") / "run"
    scenario.run(directory=folder)
    return folder


@pytest.mark.parametrize("width", [1400, 400])
def test_its_report_is_drawn_and_fits(browser: Browser, directory: Path, width: int) -> None:
    path = report.write([directory], directory / "report.html")
    open_report(browser, path, width)
    assert_drawn(browser, Page(path.read_text(encoding="utf-8")).charts)
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("width", [1400, 400])
def test_its_replay_plays_and_fits(browser: Browser, directory: Path, width: int) -> None:
    path = write_replay(record(directory, at_s=0.05, for_s=0.02), directory / "replay.html")
    browser.open(path, width, until=READY)
    browser.evaluate("document.getElementById('play').click()")
    browser.wait("Number(document.body.dataset.now) > 500")
    assert browser.evaluate("document.documentElement.dataset.errors") == ""
    assert browser.messages == []
    assert len(browser.requests) == 1
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
