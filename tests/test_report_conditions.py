"""The report of a matrix with conditions: who is best under each, against the flows of the run directory."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browser import Browser, assert_drawn, open_report

from anabranch import report
from anabranch.scenario import Scenario

LOSSES, DELAYS, STACKS = [0.0001, 0.01, 0.05], ["2ms", "10ms", "40ms"], ["newreno", "bbr"]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    document = {
        "topology": {"generate": {"kind": "dumbbell", "pairs": 1, "bottleneck": "20Mbps", "bottleneck_delay": DELAYS}},
        "impairments": [{"link": ["left", "right"], "loss": LOSSES}],
        "traffic": [{"from": "s1", "to": "d1", "bulk": True, "stack": STACKS}],
        "run": {"duration": "2s", "seeds": 3},
    }
    path = tmp_path_factory.mktemp("runs") / "conditions"
    Scenario(document).run(directory=path)
    return path


@pytest.fixture(scope="module")
def html(directory: Path) -> str:
    return report.write([directory], directory / "report.html").read_text(encoding="utf-8")


def drawn(html: str, name: str) -> dict[str, Any]:
    found = re.search(rf'id="data-{name}">(.*?)</script>', html, re.S)
    assert found
    document: dict[str, Any] = json.loads(found[1])["specification"]
    return document


def goodput(directory: Path) -> pl.DataFrame:
    """Mbit/s for each stack, loss and delay, mean over the seeds."""
    flows = pl.read_parquet(directory / "flows.parquet")
    keys = {key for key in flows.columns if key in ("loss", "bottleneck_delay")}
    assert keys == {"loss", "bottleneck_delay"}
    return flows.group_by("stack", "loss", "bottleneck_delay").agg(pl.col("goodput_bps").mean() / 1e6)


def test_the_manifest_tells_treatments_from_conditions(directory: Path) -> None:
    manifest = json.loads((directory / "manifest.json").read_text())
    assert sorted(manifest["keys"]) == ["bottleneck_delay", "loss", "stack"]
    assert manifest["treatments"] == ["stack"]


def test_each_cell_has_the_best_stack_of_its_condition(directory: Path, html: str) -> None:
    cells = drawn(html, "best-goodput_bps")["data"]["values"]
    measured = goodput(directory)
    delay = dict(zip(DELAYS, [0.002, 0.01, 0.04], strict=True))
    assert len(cells) == len(LOSSES) * len(DELAYS)
    for cell in cells:
        values = {
            key: cell[axis]
            for axis in "xy"
            for key in ("loss", "bottleneck_delay")
            if (cell[axis] in delay) == (key != "loss")
        }
        here = measured.filter(loss=float(values["loss"]), bottleneck_delay=delay[values["bottleneck_delay"]])
        best = here["goodput_bps"].max()
        # Without a loss in any run both carry the same.
        assert here.filter(stack=cell["best"])["goodput_bps"].item() == pytest.approx(best)
        assert cell["mean"] == pytest.approx(best, rel=1e-4)


def test_a_line_goes_through_the_means_of_its_stack(directory: Path, html: str) -> None:
    points = drawn(html, "along-goodput_bps")["data"]["values"]
    measured = goodput(directory)
    assert len(points) == len(LOSSES) * len(DELAYS) * len(STACKS)
    means = sorted(point["mean"] for point in points)
    assert means == pytest.approx(sorted(measured["goodput_bps"]), rel=1e-4)


def test_the_sentence_counts_the_conditions_that_a_stack_wins(directory: Path, html: str) -> None:
    best = [cell["best"] for cell in drawn(html, "best-goodput_bps")["data"]["values"]]
    seen = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html[html.index("<main>") :]))
    for stack in set(best):
        won = best.count(stack)
        assert re.search(rf"{stack} carries the most under {won} of 9 conditions \(\d decided\)", seen)


def test_a_browser_draws_it(browser: Browser, directory: Path, html: str) -> None:
    open_report(browser, directory / "report.html")
    assert_drawn(browser, set(re.findall(r'data-chart="([^"]*)"', html)))
