"""The same scenario and seed give the same bytes: with one thread and two, in two processes, saved and loaded."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from anabranch.results.result import Result
from anabranch.scenario import Scenario

EXAMPLE = Path(__file__).parents[2] / "scenarios" / "abilene.toml"
SHORTER = {"run.duration": "3s", "run.warm_up": "1s", "run.seeds": "2"}


def hashes(directory: Path) -> list[str]:
    """The result hash of every run."""
    return [run["result_hash"] for run in json.loads((directory / "manifest.json").read_text())["runs"]]


@pytest.mark.slow("runs 36 runs three times")
def test_every_run_is_the_same_with_one_thread_and_two_and_in_two_processes(tmp_path: Path) -> None:
    here = Scenario.load(EXAMPLE, SHORTER).run(jobs=1)
    settings = [word for key, value in SHORTER.items() for word in ("--set", f"{key}={value}")]
    for jobs in ("1", "2"):
        command = ["run", str(EXAMPLE), "--no-report", "--jobs", jobs, "--out", str(tmp_path / jobs), *settings]
        subprocess.run([sys.executable, "-m", "anabranch", *command], check=True, capture_output=True)
    expected = [run["result_hash"] for run in here.manifest["runs"]]
    assert len(expected) == 18 * 2
    assert len(set(expected)) > 18, "seeds and variants differ"
    assert hashes(tmp_path / "1") == expected
    assert hashes(tmp_path / "2") == expected


def test_what_is_loaded_is_what_was_saved(tmp_path: Path) -> None:
    result = Scenario.load(EXAMPLE, SHORTER | {"traffic[0].stack": "mprc"}).run(seed=1)
    result.save(tmp_path / "copy")
    again = Result.load(tmp_path / "copy")
    assert again.manifest == result.manifest
    for name in ("flows", "links", "series_flows", "series_links", "summary"):
        table = getattr(result, name)
        assert table.height > 0
        assert getattr(again, name).equals(table, null_equal=True), name
        assert getattr(again, name).schema == table.schema
    assert again.documents() == result.documents()
