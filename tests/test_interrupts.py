"""Requests to terminate: the first keeps what there is, signals that come together are one, and a later one interrupts at once."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from anabranch import interrupts
from anabranch.interrupts import Interruptible
from anabranch.results import Result
from scenarios import LINE


@pytest.mark.parametrize("gap_s", [0.05, 0.3])
def test_two_signals_at_once_keep_the_tables_of_a_run(tmp_path: Path, gap_s: float) -> None:
    """``timeout`` sends two: the second comes while runs end, or while results are written and printed."""
    scenario, out = tmp_path / "line.toml", tmp_path / "out"
    scenario.write_text(LINE + "seeds = 2000\n", encoding="utf-8")
    command = [sys.executable, "-m", "anabranch", "run", str(scenario), "--out", str(out), "-j", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        # A run under way has a folder there, too, but may have no flow yet.
        while process.poll() is None and all(one.suffix for one in out.glob(".anabranch/finished/*")):
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        time.sleep(gap_s)
        process.send_signal(signal.SIGTERM)
        printed, said = process.communicate()
    assert process.returncode == 130
    assert "Goodput" in printed
    assert "Interrupted: " in said
    assert Result.load(out).flows.height > 0


@pytest.fixture
def python_handles_interrupts() -> Iterator[None]:
    """As in a shell's foreground; a command that a script runs in the background ignores them."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


@pytest.mark.usefixtures("python_handles_interrupts")
def test_a_later_second_signal_interrupts_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = Event()
    with Interruptible(stop):
        for _ in range(2):
            signal.raise_signal(signal.SIGINT)
        assert stop.is_set()
        monkeypatch.setattr(interrupts, "TOGETHER_S", 0.0)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
