"""The processes and network namespaces of this machine, by /proc: to see whether a killed process left any behind."""

import os
import time
from pathlib import Path


def network_namespaces() -> set[str]:
    """All that a process is in, has open, or has mounted: nothing else keeps a namespace, but for its own sockets and devices."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        for link in (*_entries(process / "task", "*/ns/net"), *_entries(process / "fd", "*")):
            try:
                target = os.readlink(link)
            except OSError:
                continue  # it has ended
            if target.startswith("net:["):
                found.add(target)
    return found | {line for line in Path("/proc/self/mountinfo").read_text().splitlines() if " nsfs " in line}


def _entries(folder: Path, pattern: str) -> list[Path]:
    try:
        return list(folder.glob(pattern))
    except OSError:
        return []


def processes(marker: str) -> list[str]:
    """The command lines that have this word."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if marker in words:
            found.append(" ".join(words))
    return found


def assert_nothing_left(marker: str, namespaces_before: set[str]) -> None:
    """Linux ends namespaces in the background."""
    ends = time.monotonic() + 20
    while (left := processes(marker)) or (network_namespaces() - namespaces_before):
        assert time.monotonic() < ends, (left, network_namespaces() - namespaces_before)
        time.sleep(0.02)


def assert_no_process_of(temporary: Path) -> None:
    """No process has this folder for its temporary files, which all that a command starts inherits. A namespace ends with its last process, unless it is mounted."""
    ends = time.monotonic() + 20
    while left := [
        process for process in Path("/proc").glob("[0-9]*") if _temporary_files_of(process) == str(temporary)
    ]:
        assert time.monotonic() < ends, left
        time.sleep(0.02)


def _temporary_files_of(process: Path) -> str | None:
    try:
        variables = (process / "environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return None
    return next((variable.removeprefix("TMPDIR=") for variable in variables if variable.startswith("TMPDIR=")), None)
