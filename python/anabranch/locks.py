"""A lock that keeps other processes away from a directory."""

import fcntl
import os
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from anabranch.output_files import FileError, is_open_at, unwritable

_LONGEST = 300
"""Bytes of a name of a process and its machine."""


class Lock(AbstractContextManager["Lock"]):
    """A lock on a file, which names the process and its machine and is removed at the end. The system releases it when a process is killed."""

    def __init__(self, path: Path, *, of: Path | None = None, wait: bool = False) -> None:
        """Prepares a lock on this file, of the directory ``of`` (the file's by default). With ``wait`` it waits for a process that holds the file
        instead of refusing.
        """
        self._path = path
        self._directory = of or path.parent
        self._operation = fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB
        self._descriptor = -1

    def __enter__(self) -> "Lock":
        """Take it.

        Raises:
            FileError: another process has it, or the file cannot be written.
        """
        while True:
            try:
                self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
                fcntl.flock(self._descriptor, self._operation)
            except BlockingIOError:
                holder = os.read(self._descriptor, _LONGEST).decode(errors="replace").strip()
                os.close(self._descriptor)
                raise FileError(
                    f"{self._directory}: in use by process {holder or 'unknown'}; wait until it has ended, or give another directory"
                ) from None
            except OSError as error:
                raise unwritable(self._path, error) from None
            if is_open_at(self._descriptor, self._path):
                break
            os.close(self._descriptor)  # its holder removed the file when it ended
        with suppress(OSError):  # on a full disk the lock holds without saying whose it is
            os.ftruncate(self._descriptor, 0)
            # Machines may share the folder, and a process id says nothing on another one.
            os.write(self._descriptor, f"{os.getpid()} on {os.uname().nodename}\n".encode())
        return self

    def __exit__(self, *_: object) -> None:
        """Release it."""
        try:
            if is_open_at(
                self._descriptor, self._path
            ):  # else its file was removed, and there may be one of another process
                self._path.unlink()
        finally:
            os.close(self._descriptor)


def is_held(path: Path) -> bool:
    """Whether a process holds the lock on this file."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
