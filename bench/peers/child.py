"""Run a simulator as a child process and measure what it costs."""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

POLL_SECONDS = 0.02


class PeerError(RuntimeError):
    """A peer simulator is missing, or its run failed."""


class PeerMissing(PeerError):
    """A peer has not been built, which takes long enough to be asked for."""


class PeerCrash(PeerError):
    """A peer simulator was ended by a signal, such as a segmentation fault."""


@dataclass(frozen=True)
class ChildRun:
    """The JSON object the child printed, and the child's cost."""

    values: dict[str, Any]
    cpu_seconds: float
    peak_rss_bytes: int


def run_child(command: Sequence[str], cpu: int | None = None) -> ChildRun:
    """Run a command that prints a JSON object to its end, on one CPU if `cpu` is given; raise PeerError if it fails."""
    output, cpu_seconds, peak_rss_bytes = measure_child(command, cpu)
    return ChildRun(_last_json(output), cpu_seconds, peak_rss_bytes)


def measure_child(command: Sequence[str], cpu: int | None = None, *, cwd: Path | None = None) -> tuple[str, float, int]:
    """Run a command to its end, as `run_child`; return its output, its CPU seconds and its peak resident bytes."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, cwd=cwd)
        try:
            if cpu is not None:
                os.sched_setaffinity(child.pid, {cpu})
            status, usage, peak_rss_bytes = _wait(child.pid)
        except BaseException:
            child.kill()
            child.wait()
            raise
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            error = PeerCrash if child.returncode < 0 else PeerError
            raise error(f"{command[0]} ended with status {child.returncode}: {_text(errors).strip()[-2000:]}")
        return _text(output), usage.ru_utime + usage.ru_stime, peak_rss_bytes


def _wait(pid: int) -> tuple[int, Any, int]:
    """Wait for a child; return its exit status, its resource usage and its peak resident bytes.

    The peak is read from the live process. The figure in the resource usage starts from the memory of the parent at the time of the fork,
    so it would report a large parent instead of a small child.
    """
    peak_rss_bytes = 0
    while True:
        ended, status, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            return status, usage, peak_rss_bytes or usage.ru_maxrss * 1024
        peak_rss_bytes = max(peak_rss_bytes, _peak_rss_bytes(pid))
        time.sleep(POLL_SECONDS)


def _peak_rss_bytes(pid: int) -> int:
    """Return the peak resident bytes of a live process so far, 0 where the system does not tell."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _last_json(output: str) -> dict[str, Any]:
    """Return the last JSON object that has a line to itself; a simulator may print other lines around it."""
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            values: dict[str, Any] = json.loads(line)
            return values
    raise PeerError(f"no JSON object in the output: {output[-500:]!r}")
