"""A lock that keeps other processes away from a directory."""

import fcntl
import os
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from anabranch.foundation.folders import Folder, HeldError, claimed, is_open_at
from anabranch.foundation.output_files import FileError, unwritable


class Lock(AbstractContextManager["Lock"]):
    """A lock on a file, which names the process and its machine and is removed at the end. The system releases it when a process is killed."""

    def __init__(self, path: Path, *, of: Path | None = None, wait: bool = False) -> None:
        """Prepares a lock on this file, of the directory ``of`` (the file's by default). With ``wait`` it waits for a process that holds the file
        instead of refusing.
        """
        self._path = path
        self._directory = of or path.parent
        self._folder = Folder.at(path.parent, self._directory)
        self._wait = wait
        self._place = -1
        self._descriptor = -1

    def __enter__(self) -> "Lock":
        """Take it.

        Raises:
            FileError: another process has it, or the file cannot be written.
        """
        try:
            with self._folder.opened() as place:
                self._descriptor = claimed(place, self._path.name, self._path, wait=self._wait)
                self._place = os.dup(place)
        except HeldError as error:
            raise FileError(
                f"{self._directory}: in use by process {error.holder or 'unknown'}; wait until it has ended, or give another directory"
            ) from None
        except OSError as error:
            raise unwritable(Path(error.filename or self._path), error) from None
        with suppress(OSError):  # on a full disk the lock holds without saying whose it is
            # Machines may share the folder, and a process id says nothing on another one.
            os.write(self._descriptor, f"{os.getpid()} on {os.uname().nodename}\n".encode())
        return self

    def __exit__(self, *_: object) -> None:
        """Release it."""
        try:
            # Else its file was removed, and there may be one of another process.
            if is_open_at(self._descriptor, self._place, self._path.name):
                os.unlink(self._path.name, dir_fd=self._place)
        finally:
            os.close(self._descriptor)
            os.close(self._place)


def is_held(folder: Folder, name: str) -> bool:
    """Whether a process holds the lock on this file."""
    try:
        descriptor = folder.open(name)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
