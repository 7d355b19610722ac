"""Commands that are killed at random moments lose nothing: a short version of ``make kills``."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow("runs each command many times, to its end and killed")
def test_ten_kills_lose_nothing() -> None:
    """Two kills of each of run, paper, robust, plan and report. Each then continues to the result of a command that was not killed."""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-m", "bench.kills", "10"], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10 kills" in done.stdout.splitlines()[-1]
