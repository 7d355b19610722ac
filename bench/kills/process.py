"""Commands and checks in forked processes, which have everything imported already.

The process that forks does not use polars itself: its threads do not survive a fork.
"""

import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

IMPORTED = (
    "anabranch.cli",
    "anabranch.cli.paper",
    "anabranch.studies.papers.lab",
    "anabranch.studies.papers.page",
    "anabranch.studies.papers.readme",
    "anabranch.cli.plan",
    "anabranch.engineering.plan.planning",
    "anabranch.pages.report.page",
    "anabranch.cli.robust",
    "anabranch.engineering.robust.lp",
    "anabranch.runs",
    "anabranch.network.topologies",
    "bench.kills.toy_paper",
    "vl_convert",
)


def prepare() -> None:
    """Import what commands need, once for all."""
    for name in IMPORTED:
        import_module(name)


CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link")
"""Events of the interpreter that change the file system, besides a file that is opened for writing."""


def run(
    arguments: Sequence[str], folder: Path, *, kill_after_s: float | None = None, kill_at_change: int | None = None
) -> int | None:
    """Run ``anabranch`` in a folder; its exit status, or ``None`` if it was killed.

    It is killed after a time, or before it changes the file system for that time, counted from 0. How often it does is in ``changes.txt``.
    """
    child = os.fork()
    if child == 0:
        _command(arguments, folder, kill_at_change)
    if kill_after_s is not None:
        time.sleep(kill_after_s)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call the function in a process of its own, and return its result."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            answer = pickle.dumps((function(*arguments), None))
        except BaseException as error:
            answer = pickle.dumps((None, f"{type(error).__name__}: {error}"))
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(answer)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer, problem = pickle.loads(pipe.read())
    os.waitpid(child, 0)
    if problem is not None:
        raise RuntimeError(problem)
    return answer


class KilledAtChange:
    """Counts changes of the file system, and kills this process before one of them."""

    def __init__(self, fatal: int | None) -> None:
        """Kill before the change with this number, counted from 0; without one, only count."""
        self.count = 0
        self._fatal = fatal

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """An audit hook of the interpreter."""
        opens = event == "open" and arguments[2] and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if not (opens or event in CHANGES):
            return
        if self.count == self._fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        self.count += 1


def _command(arguments: Sequence[str], folder: Path, kill_at_change: int | None) -> None:
    status = 70
    try:
        os.chdir(folder)
        messages = os.open(folder / "messages.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for stream in (1, 2):
            os.dup2(messages, stream)
        sys.argv = ["anabranch", *arguments]
        from anabranch import cli
        from bench.kills import toy_paper

        toy_paper.install()
        changes = KilledAtChange(kill_at_change)
        sys.addaudithook(changes)
        status = cli.status(list(arguments))
        (folder / "changes.txt").write_text(str(changes.count))
        sys.stdout.flush()
    finally:
        os._exit(status)
