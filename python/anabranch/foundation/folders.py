"""Directories whose contents others may have written: no link in them is followed, and only regular files are read or replaced.

A path that a user names may have links. Names below it are looked up part by part from the open directory, so that none leads out of it.
No existing file is written to: a new one is written beside it and renamed, so that its other names keep their bytes.
"""

import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

PARTIAL = ".partial"
"""The end of the name of a file that is not yet whole."""
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# O_NONBLOCK: a pipe without a writer is opened at once, and then refused.
_BELOW = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_HOLDER_BYTES = 300
"""Of a name of a process and its machine."""
_KINDS = (
    (stat.S_ISLNK, "a symbolic link, which is not followed"),
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISREG, "a file"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


class HeldError(BlockingIOError):
    """A file that another process has locked."""

    def __init__(self, holder: str) -> None:
        """``holder`` is the text of the file."""
        super().__init__(errno.EWOULDBLOCK, "is locked")
        self.holder = holder


def parts_of(name: str) -> list[str]:
    """The parts of a name such as ``series/flows-0.parquet``.

    Raises:
        OSError: it is absolute, or has an empty part, ``.``, ``..`` or a null character.
    """
    parts = name.split("/")
    if not all(part and part not in (".", "..") and "\0" not in part for part in parts):
        raise OSError(errno.EINVAL, "it does not name a file below its directory", name)
    return parts


@dataclass(frozen=True)
class Folder:
    """A directory below one that a user has named. All methods raise :class:`OSError`, which has the path and says why."""

    root: Path
    """The directory that the user has named."""
    below: str = ""
    """The name of this directory below it; empty for itself."""

    @classmethod
    def at(cls, path: Path, root: Path) -> "Folder":
        """The directory of this path, which is ``root`` or below it."""
        return cls(root, "/".join(path.relative_to(root).parts))

    @property
    def path(self) -> Path:
        """The whole path."""
        return self.root / self.below

    def inside(self, name: str) -> "Folder":
        """A directory below this one, which need not exist."""
        return Folder(self.root, f"{self.below}/{name}" if self.below else name)

    def make(self) -> None:
        """Make the directory, and those on the way to it below the root, where they are missing."""
        with self.opened(make=True):
            pass

    def entries(self) -> list[str]:
        """The names in the directory, sorted; none if it does not exist."""
        try:
            with self.opened() as descriptor:
                return sorted(os.listdir(descriptor))
        except FileNotFoundError:
            return []

    def files(self) -> list[str]:
        """The names of all files in the directory and in the directories in it, sorted. Anything else in them is an error."""
        found = []
        for name in self.entries():
            if self.is_folder(name):
                own = self.inside(name)
                found += [f"{name}/{file}" for file in own.entries() if own.file(file)]
            else:
                self.file(name)
                found.append(name)
        return sorted(found)

    def exists(self, name: str) -> bool:
        """Whether there is anything of this name, also a link that leads nowhere."""
        return self._mode(name) is not None

    def is_file(self, name: str) -> bool:
        """Whether it is a regular file, and no link to one."""
        return stat.S_ISREG(self._mode(name) or 0)

    def is_folder(self, name: str) -> bool:
        """Whether it is a directory, and no link to one."""
        return stat.S_ISDIR(self._mode(name) or 0)

    def file(self, name: str) -> Path:
        """The path of a regular file, for readers that take a path."""
        os.close(self.open(name))
        return self.path / name

    def open(self, name: str) -> int:
        """The descriptor of a regular file, for reading."""
        with self._holding(name) as (directory, last):
            return _opened(directory, last, os.O_RDONLY, self.path / name)

    def read(self, name: str, largest: int | None = None) -> bytes:
        """The contents of a regular file of at most ``largest`` bytes."""
        with open(self.open(name), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if largest is not None and size > largest:
                reason = f"it is too large: {size} bytes; at most {largest} are read"
                raise OSError(errno.EFBIG, reason, str(self.path / name))
            return file.read(-1 if largest is None else largest)

    def write(self, name: str, data: bytes) -> None:
        """Write a file as :meth:`writing` does."""
        with self.writing(name) as file:
            file.write(data)

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        """A file to write, beside: flushed to the disk and renamed at the end, or removed if that fails.

        Processes that write the same file wait for one another.
        """
        with self._holding(name) as (directory, last):
            mode = _mode_at(directory, last)
            if mode is not None and not stat.S_ISREG(mode):
                raise _irregular(mode, self.path / name)
            partial = last + PARTIAL
            descriptor = claimed(directory, partial, self.path / (name + PARTIAL))
            try:
                with open(descriptor, "wb", closefd=False) as file:
                    yield file
                    file.flush()
                    os.fsync(descriptor)
                os.replace(partial, last, src_dir_fd=directory, dst_dir_fd=directory)
            except BaseException:
                os.unlink(partial, dir_fd=directory)
                raise
            finally:
                os.close(descriptor)

    def move(self, name: str, target: "Folder", new: str) -> None:
        """Rename a file or directory; it takes the place of a file of the new name."""
        with self._holding(name) as (source, last), target._holding(new) as (directory, other):
            os.replace(last, other, src_dir_fd=source, dst_dir_fd=directory)

    def remove(self, name: str) -> None:
        """Remove a file or a link, if it exists."""
        with suppress(FileNotFoundError), self._holding(name) as (directory, last):
            os.unlink(last, dir_fd=directory)

    def remove_empty(self, name: str) -> None:
        """Remove a directory unless it has entries, or does not exist."""
        with suppress(OSError), self._holding(name) as (directory, last):
            os.rmdir(last, dir_fd=directory)

    def remove_tree(self, name: str) -> None:
        """Remove a directory with all that is in it, or a file or link, if it exists; of links, not what they lead to."""
        with suppress(FileNotFoundError), self._holding(name) as (directory, last):
            if stat.S_ISDIR(_mode_at(directory, last) or 0):
                shutil.rmtree(last, dir_fd=directory)
            else:
                os.unlink(last, dir_fd=directory)

    def _mode(self, name: str) -> int | None:
        try:
            with self._holding(name) as (directory, last):
                return _mode_at(directory, last)
        except FileNotFoundError:
            return None

    @contextmanager
    def _holding(self, name: str) -> Iterator[tuple[int, str]]:
        """The open directory that holds a file, and the file's name in it."""
        *parents, last = parts_of(name)
        with self.opened(parents) as directory:
            try:
                yield directory, last
            except OSError as error:
                if not isinstance(error.filename, str) or "/" not in error.filename:  # the name in its directory
                    error.filename = str(self.path / name)
                raise

    @contextmanager
    def opened(self, further: Sequence[str] = (), make: bool = False) -> Iterator[int]:
        """The descriptor of the directory, or of one below it."""
        own = parts_of(self.below) if self.below else []
        path = self.root
        directory = os.open(path, _DIRECTORY)
        try:
            for part in (*own, *further):
                path /= part
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=directory)
                below = _opened(directory, part, os.O_RDONLY | os.O_DIRECTORY, path)
                os.close(directory)
                directory = below
            yield directory
        finally:
            os.close(directory)


def claimed(directory: int, name: str, path: Path, *, wait: bool = True) -> int:
    """The descriptor of a new file of this name, locked for this process. A file that nobody has locked was left by a killed process.

    Raises:
        HeldError: another process has it locked, and this one is not to wait.
        OSError: it is not a regular file, or cannot be made.
    """
    while True:
        is_new = True
        try:
            descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | _BELOW, 0o666, dir_fd=directory)
        except FileExistsError:
            is_new = False
            try:
                descriptor = _opened(
                    directory, name, os.O_RDWR, path
                )  # a network file system locks no file opened to be read
            except FileNotFoundError:
                continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_own = is_open_at(descriptor, directory, name)
            if is_new and is_own:
                return descriptor
            if is_own:
                # Not written to: the file may have another name elsewhere.
                os.unlink(name, dir_fd=directory)
        except BlockingIOError:
            holder = os.read(descriptor, _HOLDER_BYTES).decode(errors="replace").strip()
            os.close(descriptor)
            raise HeldError(holder) from None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def is_open_at(descriptor: int, directory: int, name: str) -> bool:
    """Whether the name in a directory is still that of the open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(name, dir_fd=directory, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _opened(directory: int, name: str, flags: int, path: Path) -> int:
    """The descriptor of a regular file, or with ``O_DIRECTORY`` of a directory. A device is not even opened, which may have effects."""
    is_expected = stat.S_ISDIR if flags & os.O_DIRECTORY else stat.S_ISREG
    try:
        mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
        if not is_expected(mode):
            raise _irregular(mode, path)
        descriptor = os.open(name, flags | _BELOW, dir_fd=directory)
    except OSError as error:
        error.filename = str(path)
        raise
    mode = os.fstat(descriptor).st_mode
    if not is_expected(mode):  # exchanged meanwhile
        os.close(descriptor)
        raise _irregular(mode, path)
    return descriptor


def _mode_at(directory: int, name: str) -> int | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None


def _irregular(mode: int, path: Path) -> OSError:
    kind = next((text for is_kind, text in _KINDS if is_kind(mode)), "a device")
    return OSError(errno.EINVAL, f"it is {kind}", str(path))
