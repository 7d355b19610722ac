"""A sweep that is killed or interrupted loses little, repeats nothing and tears nothing. SWEEP_KILLS says how many kills (default 3)."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sweep_plans import plan

from anabranch.sweep import Sweep, SweepResult

SWEEP = """
import sys
from anabranch import cli
from anabranch.sweep import execution, tasks, workers
execution.FLUSH_S, execution.CHUNK_S = 0.05, 0.02
def noted(chunk, *arguments):
    with open("executed.txt", "a") as file:
        file.writelines(f"{task.run_hash}\\n" for task in chunk.tasks)
    return tasks.execute(chunk, *arguments)
workers.execute = noted
sys.exit(cli.status(["sweep", "plan.toml", "--out", "out", *sys.argv[1:]]))
"""
"""The command with many writes, so that kills hit them. In one process it notes what it executes."""
RUNS = 2 * 40 * 4


def big(folder: Path) -> Sweep:
    """A plan of some seconds."""
    losses = '{ from = 1e-3, to = 1e-1, values = 40, scale = "log" }'
    return Sweep.load(plan(folder, seeds=4, losses=losses, links=True, more='run.duration = "2s"'))


def start(folder: Path, *options: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", SWEEP, *options]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def written(out: Path) -> pl.DataFrame:
    """The runs that a reader sees at this moment; each part is whole, and no run is there twice."""
    found = [pl.read_parquet(part) for part in sorted(out.glob("flows/*.parquet"))]
    for part in out.glob("links/*.parquet"):
        pl.read_parquet(part)
    table = (
        pl.concat(found).select("run", "run_hash")
        if found
        else pl.DataFrame(schema={"run": pl.UInt32, "run_hash": pl.String})
    )
    assert table["run"].is_unique().all()
    return table


@pytest.mark.slow("runs a sweep to its end, killed again and again")
def test_killed_sweeps_come_to_the_table_of_an_undisturbed_one(tmp_path: Path) -> None:
    whole = big(tmp_path).execute(tmp_path / "whole", jobs=1)
    moments = random.Random(3)
    longest = 3.0
    for number in range(int(os.environ.get("SWEEP_KILLS", "3"))):
        options = ["-j", str(1 + number % 2)]
        process = start(tmp_path, *options)
        time.sleep(moments.uniform(0.3, longest))
        process.kill()
        process.wait()
        before = written(tmp_path / "out")
        (tmp_path / "executed.txt").write_text("")
        if before.height >= RUNS - 40:  # begin anew: a kill at the end of a sweep hits little
            assert start(tmp_path, *options).wait() == 0
            assert_same(tmp_path, whole, before)
            (tmp_path / "out").rename(tmp_path / f"out-{number}")
    before = written(tmp_path / "out")
    (tmp_path / "executed.txt").write_text("")
    assert start(tmp_path, "-j", "1").wait() == 0
    assert_same(tmp_path, whole, before)


def assert_same(folder: Path, whole: SweepResult, before: pl.DataFrame) -> None:
    """The tables are those of the other sweep, and no run that was there before the last command was executed by it."""
    executed = (folder / "executed.txt").read_text().split()
    assert not set(executed) & set(before["run_hash"])
    assert len(executed) == len(set(executed))
    result = SweepResult.load(folder / "out")
    assert_frame_equal(result.flows, whole.flows)
    assert_frame_equal(result.links, whole.links)
    assert not [path for path in (folder / "out").rglob("*") if path.suffix == ".partial" or path.name == "new.parquet"]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupted_sweep_keeps_what_is_finished(tmp_path: Path, jobs: str) -> None:
    found = big(tmp_path)
    out = tmp_path / "out"
    process = start(tmp_path, "-j", jobs)
    while not list(out.glob("flows/*.parquet")):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    kept = written(out).height
    assert 0 < kept < RUNS
    assert not (out / ".anabranch").exists(), "the lock is released"
    assert found.execute(out, jobs=1).runs() == RUNS


def test_worker_processes_end_with_a_killed_command(tmp_path: Path) -> None:
    big(tmp_path)
    process = start(tmp_path, "-j", "2")
    mark = "anabranch.sweep.process"
    while len(children := processes_of(process.pid, mark)) < 2:
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.wait()
    end = time.monotonic() + 30
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < end, "still there"
        time.sleep(0.05)


def processes_of(parent: int, mark: str) -> list[int]:
    """The processes of a parent whose command has the mark."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            own = int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == parent
            if folder.name.isdigit() and own and mark in (folder / "cmdline").read_text():
                found.append(int(folder.name))
        except (OSError, ValueError):
            continue
    return found
