"""Requests to terminate: the first keeps what there is, signals that come together are one, and a later one interrupts at once."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from anabranch.foundation import interrupts
from anabranch.foundation.interrupts import Interruptible
from anabranch.results.result import Result
from tests.scenarios import LINE


@pytest.mark.parametrize("gap_s", [0.05, 0.3])
def test_two_signals_at_once_keep_the_tables_of_a_run(tmp_path: Path, gap_s: float) -> None:
    """``timeout`` sends two: the second comes while runs end, or while results are written and printed."""
    scenario, out = tmp_path / "line.toml", tmp_path / "out"
    scenario.write_text(LINE + "seeds = 2000\n", encoding="utf-8")
    command = [sys.executable, "-m", "anabranch", "run", str(scenario), "--out", str(out), "-j", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for_a_finished_run(out)
        process.send_signal(signal.SIGTERM)
        time.sleep(gap_s)
        process.send_signal(signal.SIGTERM)
        printed, said = process.communicate()
    assert process.returncode == 130
    assert "Goodput" in printed
    assert "Interrupted: " in said
    assert Result.load(out).flows.height > 0


def test_a_second_interrupted_command_counts_of_all_runs(tmp_path: Path) -> None:
    scenario, out = tmp_path / "line.toml", tmp_path / "out"
    scenario.write_text(LINE + "seeds = 5000\n", encoding="utf-8")
    command = [sys.executable, "-m", "anabranch", "run", str(scenario), "--out", str(out), "-j", "1"]
    for before in ("", r"\d+ runs? of 5000 had been finished before\."):
        had = size_of_finished_runs(out)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            while process.poll() is None and size_of_finished_runs(out) <= had:
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate()
        assert process.returncode == 130
        assert re.search(rf"{before}[^\0]*\d+ of 5000 runs complete", said), said


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_terminal_that_closes_keeps_the_tables_of_a_run(tmp_path: Path, jobs: str) -> None:
    """As where the connection to a server is lost; nothing can be printed from then on."""
    scenario, out = tmp_path / "line.toml", tmp_path / "out"
    scenario.write_text(LINE + "seeds = 2000\n", encoding="utf-8")
    assert status_without_terminal(scenario, out, jobs, signal.SIG_DFL, shown_s=0.0) == 130
    assert Result.load(out).flows.height > 0
    assert (out / "report.html").exists()


@pytest.mark.parametrize("shown_s", [0.0, 1.2], ids=["before progress", "in progress"])
def test_a_disowned_command_goes_on_when_its_terminal_closes(tmp_path: Path, shown_s: float) -> None:
    """As ``anabranch run ... & disown``: the signal is ignored, and what follows cannot be written to the terminal."""
    scenario, out = tmp_path / "line.toml", tmp_path / "out"
    scenario.write_text(LINE + "seeds = 200\n", encoding="utf-8")
    assert status_without_terminal(scenario, out, "1", signal.SIG_IGN, shown_s) == 0
    result = Result.load(out)
    assert not result.interrupted
    assert result.flows["seed"].n_unique() == 200
    assert (out / "report.html").exists()
    assert not (out / ".anabranch").exists()


def status_without_terminal(scenario: Path, out: Path, jobs: str, hangup: signal.Handlers, shown_s: float) -> int:
    """The status of a run whose terminal closes this time after it has finished its first run.

    A test suite under ``nohup`` ignores the signal, which its processes inherit: so the handling is set.
    """
    command = [sys.executable, "-m", "anabranch", "run", str(scenario), "--out", str(out), "-j", jobs]
    process, terminal = pty.fork()
    if process == 0:
        signal.signal(signal.SIGHUP, hangup)
        os.execv(sys.executable, command)
    wait_for_a_finished_run(out)
    time.sleep(shown_s)
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status)


def test_nohup_goes_on_without_a_terminal(tmp_path: Path) -> None:
    scenario, out = tmp_path / "line.toml", tmp_path / "out"
    scenario.write_text(LINE + "seeds = 200\n", encoding="utf-8")
    command = ["nohup", sys.executable, "-m", "anabranch", "run", str(scenario), "--out", str(out), "-j", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        wait_for_a_finished_run(out)
        process.send_signal(signal.SIGHUP)
        process.communicate()
    assert process.returncode == 0


def size_of_finished_runs(out: Path) -> int:
    return sum(one.stat().st_size for one in out.glob(".anabranch/finished/**/*") if one.is_file())


def wait_for_a_finished_run(out: Path) -> None:
    """Wait until a run has a file: one that goes on has a folder there, and may have no flow yet."""
    while all(one.suffix for one in out.glob(".anabranch/finished/*")):
        time.sleep(0.01)


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
