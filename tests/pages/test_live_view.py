"""The drawing of `anabranch run --watch` while runs go on."""

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from anabranch.pages.live_view import COLUMNS, ROWS, chart
from anabranch.results.result import Result

SCENARIO = """
[topology]
nodes = [{ name = "a" }, { name = "b" }]
links = [{ source = "a", target = "b", capacity = "10Mbps", delay = "5ms" }]

[[traffic]]
from = "a"
to = "b"
bulk = true
stack = ["cubic", "newreno"]

[run]
duration = "20s"
sample = "100ms"
"""


def test_a_column_has_the_height_of_its_mean() -> None:
    """Goodput of 4, 8 and 2 Mbit/s in the first, second and fourth part of a run whose third has no sample."""
    count = 40
    rates = [4e6] * count + [8e6] * count + [2e6] * count
    times = [(part * count + step + 1) / (4 * count) * 10 for part in (0, 1, 3) for step in range(count)]
    lines = chart(pl.DataFrame({"time_s": times, "goodput_bps": rates}), 10.0)
    drawn = [line[15:].ljust(COLUMNS) for line in lines[:ROWS]]
    assert lines[0].startswith("      8 Mbit/s ")
    heights = ["".join(row[column] for row in drawn).count("█") for column in range(COLUMNS)]
    quarter = COLUMNS // 4
    assert heights == [ROWS // 2] * quarter + [ROWS] * quarter + [0] * quarter + [1] * quarter
    assert {row[-1] for row in drawn if row[-1] not in " █"} == {"▄"}, "a quarter of six rows is a row and a half"
    assert lines[-1].split() == ["0", "s", "10", "s"]


def test_without_goodput_nothing_is_drawn() -> None:
    lines = chart(pl.DataFrame({"time_s": [1.0, 2.0], "goodput_bps": [0.0, 0.0]}), 10.0)
    assert not any("█" in line for line in lines)


def command(folder: Path, *words: str) -> list[str]:
    path = folder / "scenario.toml"
    path.write_text(SCENARIO)
    return [sys.executable, "-m", "anabranch", "run", str(path), "--watch", "-o", str(folder / "run"), *words]


def started(words: list[str]) -> tuple[subprocess.Popen[bytes], int]:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        words, stderr=theirs, stdout=subprocess.DEVNULL, env=os.environ | {"COLUMNS": "120", "TERM": "xterm"}
    )
    os.close(theirs)
    return process, ours


def read(terminal: int) -> str:
    parts = []
    while True:
        try:
            parts.append(os.read(terminal, 65536))
        except OSError:  # the other end is closed
            break
    os.close(terminal)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", b"".join(parts).decode())


def test_a_terminal_shows_the_runs_that_have_ended(tmp_path: Path) -> None:
    process, terminal = started(command(tmp_path))
    shown = read(terminal)
    assert process.wait() == 0
    assert "2 of 2 runs ended, 100 % simulated" in shown
    flows = pl.read_parquet(tmp_path / "run" / "flows.parquet")
    for stack, goodput in flows.select("stack", "goodput_bps").iter_rows():
        assert re.search(rf"{stack} · seed 1 +{goodput / 1e6:.4g} Mbit/s", shown)


def test_goodput_is_that_of_the_summary(tmp_path: Path) -> None:
    """A flow of half of the measured time counts half. A transfer that lasts to the end counts, one that ends does not."""
    further = """
[[traffic]]
from = "a"
to = "b"
start = "12s"
bulk = true

[[traffic]]
from = "a"
to = "b"
size = "1 GB"

[[traffic]]
from = "a"
to = "b"
start = "5s"
size = "100 kB"
"""
    words = command(tmp_path, "--set", "traffic[0].stack=cubic", "--set", "run.warm_up=4s")
    path = tmp_path / "scenario.toml"
    path.write_text(path.read_text() + further)
    process, terminal = started(words)
    shown = read(terminal)
    assert process.wait() == 0
    result = Result.load(tmp_path / "run")
    bulk, late, long, short = result.flows["goodput_bps"]
    assert late > 0
    assert short > 0
    goodput = bulk + 0.5 * late + long
    assert result.summary["goodput_bps"].item() == pytest.approx(goodput)
    assert re.search(rf"seed 1 +{goodput / 1e6:.4g} Mbit/s", shown)


def test_ctrl_c_ends_the_view_and_keeps_what_there_is(tmp_path: Path) -> None:
    process, terminal = started(command(tmp_path, "--set", "run.duration=70000s", "--set", "run.sample=10s"))
    shown = b""
    while "█" not in shown.decode(errors="ignore"):
        shown += os.read(terminal, 65536)
    assert "Goodput of all flows together" in shown.decode(errors="ignore")
    process.send_signal(signal.SIGINT)
    rest = read(terminal)
    assert process.wait() == 130
    assert "Interrupted: 0 of 2 runs complete" in rest


def test_without_a_terminal_it_is_refused(tmp_path: Path) -> None:
    done = subprocess.run(command(tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--watch needs a terminal" in done.stderr
    assert not (tmp_path / "run").exists()
