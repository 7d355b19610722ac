"""Files that are written whole: another process, or the next command after a kill, never sees half of one."""

import errno
import fcntl
import os
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

PARTIAL = ".partial"
"""The end of the name of a file that is not yet whole."""


class FileError(ValueError):
    """A file or directory that cannot be written, locked or replaced: says which one and why."""


def write_bytes(path: Path, data: bytes) -> None:
    """Write beside the file, flush to the disk, rename. A special file (a pipe, a terminal) is written to directly.

    Processes that write the same file wait for one another; the last one wins.

    Raises:
        FileError: it cannot be written; a former file is unchanged.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            _replace(path.resolve(), data)
    except OSError as error:
        raise unwritable(path, error) from None


def require_writable(path: Path) -> None:
    """To be called before a long computation whose result goes into this file.

    Raises:
        FileError: it could not be written.
    """
    if path.is_dir():
        raise _refused(path, errno.EISDIR)
    place = path if path.exists() else path.parent
    if not place.exists():
        raise _refused(path, errno.ENOENT)
    if place is not path and not place.is_dir():
        raise _refused(path, errno.ENOTDIR)
    if not os.access(place, os.W_OK):
        raise _refused(path, errno.EACCES)


def require_directory(path: Path) -> None:
    """To be called before a long computation whose results go into this directory, which need not exist.

    Raises:
        FileError: it could not be made or written to.
    """
    place = next(place for place in (path, *path.absolute().parents) if place.exists())
    if not place.is_dir():
        raise _refused(path, errno.ENOTDIR)
    if not os.access(place, os.W_OK):
        raise _refused(path, errno.EACCES)


def _refused(path: Path, error: int) -> FileError:
    return FileError(f"{path}: cannot be written ({os.strerror(error)})")


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 as :func:`write_bytes` does."""
    write_bytes(path, text.encode())


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document as :func:`write_bytes` does."""
    write_bytes(path, _json(document))


def write_new_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document into a folder that gets its name once it is complete; the file may be there by half if this fails.

    Raises:
        FileError: it cannot be written.
    """
    try:
        path.write_bytes(_json(document))
    except OSError as error:
        raise unwritable(path, error) from None


def write_new_table(path: Path, table: "pl.DataFrame") -> None:
    """Write Parquet as :func:`write_new_json` does.

    Raises:
        FileError: it cannot be written.
    """
    try:
        path.write_bytes(parquet(table))
    except OSError as error:
        raise unwritable(path, error) from None


def parquet(table: "pl.DataFrame") -> bytes:
    """The contents of a Parquet file. Polars itself would not always say why it cannot write one."""
    buffer = BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


def unwritable(path: Path, error: OSError) -> FileError:
    """The error that names the file and the system's reason."""
    return FileError(f"{path}: cannot be written ({error.strerror or error})")


def _json(document: Mapping[str, Any]) -> bytes:
    from pydantic_core import to_json

    # The standard library takes five times as long for indented text, a quarter of a second more for 60,000 links.
    return to_json(document, indent=1, inf_nan_mode="constants", fallback=str) + b"\n"


def is_open_at(descriptor: int, path: Path) -> bool:
    """Whether the path still names the open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _replace(path: Path, data: bytes) -> None:
    partial = path.with_name(path.name + PARTIAL)
    descriptor = os.open(partial, os.O_RDWR | os.O_CREAT, 0o666)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    while not is_open_at(descriptor, partial):  # another process has renamed it while this one waited
        os.close(descriptor)
        descriptor = os.open(partial, os.O_RDWR | os.O_CREAT, 0o666)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.truncate()
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
