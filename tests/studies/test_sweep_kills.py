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

from anabranch.studies.sweep import Sweep, SweepResult
from tests.sweep_plans import plan

SWEEP = """
import sys
from anabranch import cli
from anabranch.studies.sweep import execution, tasks, workers
from bench.kills.process import KilledAtChange
execution.FLUSH_S, execution.CHUNK_S = 0.05, 0.02
def noted(chunk, *arguments):
    with open("executed.txt", "a") as file:
        file.writelines(f"{task.run_hash}\\n" for task in chunk.tasks)
    return tasks.execute(chunk, *arguments)
workers.execute = noted
plan, jobs, change = sys.argv[1:]
if change != "none":
    sys.addaudithook(KilledAtChange(int(change)))
sys.exit(cli.status(["sweep", plan, "--out", "out", "-j", jobs]))
"""
"""The command with many writes, so that kills hit them. In one process it notes what it executes."""
LOSSES = '{ from = 1e-3, to = 1e-1, values = 24, scale = "log" }'
RUNS = 2 * 24 * 4
CHANGES = 160
"""Changes of the file system by the command, about."""


def big(folder: Path) -> Sweep:
    """A plan of some seconds, and another one that wants half of its runs."""
    plan(folder, seeds=4, losses=LOSSES, links=True, more='run.duration = "2s"', stacks=["cubic"], name="other")
    return Sweep.load(plan(folder, seeds=4, losses=LOSSES, links=True, more='run.duration = "2s"'))


def start(folder: Path, name: str = "plan", jobs: int = 1, change: object = "none") -> "subprocess.Popen[bytes]":
    """The command; with a change, it is killed before that change of the file system."""
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", SWEEP, f"{name}.toml", str(jobs), str(change)],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": path},
    )


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


def known(out: Path) -> set[str]:
    """The runs whose results are there, for either plan."""
    kept = [pl.read_parquet(path) for path in out.glob(".anabranch/kept/flows-*.parquet")]
    return set(written(out)["run_hash"]).union(*(table["run_hash"] for table in kept))


@pytest.mark.slow("runs a sweep to its end, killed again and again")
def test_killed_sweeps_come_to_the_table_of_an_undisturbed_one(tmp_path: Path) -> None:
    """Half of the kills come after some time, half before a change of the file system. Plan and number of processes (one or two) vary."""
    whole = big(tmp_path).execute(tmp_path / "whole", jobs=1)
    out, log = tmp_path / "out", tmp_path / "executed.txt"
    draw = random.Random(3)
    before: set[str] = set()
    for number in range(int(os.environ.get("SWEEP_KILLS", "3"))):
        log.write_text("")
        name, jobs = draw.choice(["plan", "plan", "other"]), 1 + number % 2
        if jobs == 1:
            start(tmp_path, name, jobs, change=draw.randrange(CHANGES)).wait()
        else:
            process = start(tmp_path, name, jobs)
            time.sleep(draw.uniform(0.3, 3.0))
            process.kill()
            process.wait()
        executed = log.read_text().split()
        assert not set(executed) & before
        assert len(executed) == len(set(executed))
        after = known(out)
        assert after >= before
        before = after
        if len(before) >= RUNS - 24:  # begin anew: a kill at the end of a sweep hits little
            assert_same(tmp_path, whole)
            out.rename(tmp_path / f"out-{number}")
            before = set()
    assert_same(tmp_path, whole)


def test_a_sweep_killed_while_it_writes_its_first_file_goes_on(tmp_path: Path) -> None:
    sweep = Sweep.load(plan(tmp_path))
    out = tmp_path / "out"
    out.mkdir()
    (out / "sweep.json.partial").write_text("{", encoding="utf-8")
    assert sweep.execute(out, jobs=1).runs() == sweep.planned
    assert not (out / "sweep.json.partial").exists()


def assert_same(folder: Path, whole: SweepResult) -> None:
    """The command continues to the tables of the other sweep, without repeating finished runs."""
    before = known(folder / "out")
    (folder / "executed.txt").write_text("")
    assert start(folder).wait() == 0
    assert not set((folder / "executed.txt").read_text().split()) & before
    result = SweepResult.load(folder / "out")
    assert_frame_equal(result.flows, whole.flows)
    assert_frame_equal(result.links, whole.links)
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["flows", "links", "sweep.json"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupted_sweep_keeps_what_is_finished(tmp_path: Path, jobs: int) -> None:
    found = big(tmp_path)
    out = tmp_path / "out"
    process = start(tmp_path, jobs=jobs)
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
    process = start(tmp_path, jobs=2)
    mark = "anabranch.studies.sweep.process"
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
