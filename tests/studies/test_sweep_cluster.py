"""A sweep on the workers of a dask cluster, one of which is killed. SWEEP_CLUSTER_RUNS says how many runs (default 24)."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from anabranch.cli import status
from anabranch.studies.sweep import Sweep, SweepError, execution, store
from anabranch.studies.sweep.cluster import Cluster
from tests.sweep_plans import plan, sweep

Client = pytest.importorskip("distributed", reason="pip install 'anabranch[cluster]'").Client


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """The address of a scheduler without workers, and its process."""
    contact = tmp_path / "scheduler.json"
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(contact)]
    process = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", *options],
        stderr=subprocess.DEVNULL,
        env=os.environ | {"DASK_TEMPORARY_DIRECTORY": str(tmp_path)},
    )
    while not contact.exists() or not contact.read_text():
        assert process.poll() is None
        time.sleep(0.05)
    yield json.loads(contact.read_text())["address"], process
    process.kill()
    process.wait()


def worker(address: str, folder: Path) -> "subprocess.Popen[bytes]":
    """A worker with one thread."""
    options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(folder)]
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, *options]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.mark.slow("starts a scheduler and two workers, each of which imports everything")
def test_a_killed_worker_changes_nothing(
    tmp_path: Path, scheduler: tuple[str, "subprocess.Popen[bytes]"], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed once half of the runs are there, while it is at another one: all rows are those of one process."""
    runs = int(os.environ.get("SWEEP_CLUSTER_RUNS", "24"))
    losses = f'{{ from = 1e-3, to = 1e-1, values = {max(2, runs // 4)}, scale = "log" }}'
    found = sweep(tmp_path, losses=losses, more='run.duration = "4s"', links=True)
    alone = found.execute(tmp_path / "alone", jobs=1)
    monkeypatch.setattr(execution, "CHUNK_S", 1e-9)  # a run for each chunk
    both = [worker(scheduler[0], tmp_path) for _ in range(2)]
    collect = Cluster.collect
    ended = 0

    def killing(self: Cluster, timeout_s: float) -> list[object]:
        nonlocal ended
        answers = collect(self, timeout_s)
        ended += len(answers)
        if ended >= found.planned // 2 and both[0].poll() is None:
            both[0].kill()
            both[0].wait()
        return answers  # type: ignore[return-value]

    monkeypatch.setattr(Cluster, "collect", killing)
    try:
        together = found.execute(tmp_path / "together", cluster=scheduler[0])
    finally:
        for one in both:
            one.kill()
            one.wait()
    assert both[0].returncode == -9
    assert ended >= found.planned
    assert_frame_equal(together.flows, alone.flows)
    assert_frame_equal(together.links, alone.links)


@pytest.mark.slow("starts a scheduler and a worker")
def test_a_scheduler_that_dies_ends_the_command_which_then_goes_on(
    tmp_path: Path, scheduler: tuple[str, "subprocess.Popen[bytes]"], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, process = scheduler
    found = sweep(tmp_path, losses='{ from = 1e-3, to = 1e-1, values = 40, scale = "log" }')
    monkeypatch.setattr(execution, "CHUNK_S", 1e-9)
    collect = Cluster.collect

    def killing(self: Cluster, timeout_s: float) -> list[object]:
        answers = collect(self, timeout_s)
        if answers:
            process.kill()
        return answers  # type: ignore[return-value]

    monkeypatch.setattr(Cluster, "collect", killing)
    one = worker(address, tmp_path)
    try:
        with pytest.raises(SweepError, match="the scheduler has gone"):
            found.execute(tmp_path / "out", cluster=address)
    finally:
        one.kill()
        one.wait()
    with store.Store(tmp_path / "out", found) as opened:
        assert 0 < len(opened.finished) < found.planned
    assert_frame_equal(found.execute(tmp_path / "out", jobs=1).flows, found.execute(tmp_path / "alone", jobs=1).flows)


def test_a_cluster_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("anabranch.studies.sweep.cluster.CONNECT_S", 1)
    assert status(["sweep", str(plan(tmp_path)), "--out", str(tmp_path / "out"), "--cluster", "tcp://127.0.0.1:9"]) == 1
    assert "cluster tcp://127.0.0.1:9: no scheduler answers" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        (b"", "no connection or no answer of dask within 1 s"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n" * 9, "what answers is no server of dask"),
    ],
)
def test_a_server_that_is_none_of_dask_is_refused(
    says: bytes, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such as the scheduler's dashboard: it takes the connection, and says nothing or something else."""
    monkeypatch.setattr("anabranch.studies.sweep.cluster.CONNECT_S", 1)
    monkeypatch.setattr("anabranch.studies.sweep.cluster.ASK_S", 0.1)
    for name in ("QUIET_S", "STATUS_INTERVAL_S"):
        monkeypatch.setattr(f"anabranch.foundation.progress.{name}", 0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        taken = []

        def answer() -> None:
            with suppress(OSError):  # the server has closed
                while True:
                    taken.append(server.accept()[0])
                    taken[-1].sendall(says)

        threading.Thread(target=answer, daemon=True).start()
        assert status(["sweep", str(plan(tmp_path)), "--out", str(tmp_path / "out"), "--cluster", address]) == 1
    for connection in taken:
        connection.close()
    said = capsys.readouterr().err
    assert f"cluster {address}: no scheduler answers ({reason}" in said
    waits = f"cluster {address}: waiting for an answer of the scheduler, 1 s at most" in said
    assert waits or says


@pytest.mark.slow("starts a scheduler")
def test_progress_says_that_a_cluster_has_no_worker(
    tmp_path: Path,
    scheduler: tuple[str, "subprocess.Popen[bytes]"],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("anabranch.foundation.progress.QUIET_S", 0)
    monkeypatch.setattr("anabranch.foundation.progress.LINE_INTERVAL_S", 0)
    found = sweep(tmp_path)
    collect = Cluster.collect
    looks = 0

    def ending(self: Cluster, timeout_s: float) -> list[object]:
        nonlocal looks
        looks += 1
        if looks > 5:
            scheduler[1].kill()
        return collect(self, timeout_s)  # type: ignore[return-value]

    monkeypatch.setattr(Cluster, "collect", ending)
    with pytest.raises(SweepError, match="the scheduler has gone"):
        found.execute(tmp_path / "out", cluster=scheduler[0], show_progress=True)
    assert f"0 of {found.planned} runs, waiting for a worker, 0%" in capsys.readouterr().err


@pytest.mark.slow("starts a scheduler and a worker")
def test_a_worker_is_no_scheduler(tmp_path: Path, scheduler: tuple[str, "subprocess.Popen[bytes]"]) -> None:
    found = sweep(tmp_path)
    one = worker(scheduler[0], tmp_path)
    try:
        with Client(scheduler[0], set_as_default=False) as client:
            client.wait_for_workers(1, timeout=30)
            (address,) = client.nthreads()
        with pytest.raises(SweepError, match=rf"{address}: no scheduler answers \(a Worker of dask does\)"):
            found.execute(tmp_path / "out", cluster=address)
    finally:
        one.kill()
        one.wait()


def test_an_engine_in_real_time_needs_a_machine_for_itself(tmp_path: Path) -> None:
    found = Sweep.load(plan(tmp_path, engines=["kernel"]))
    with pytest.raises(SweepError, match="kernel runs in real time"):
        found.execute(tmp_path / "out", cluster="tcp://127.0.0.1:9")
