"""Files that are written whole: another process, or the next command after a kill, never sees half of one."""

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from anabranch.foundation.folders import Folder

if TYPE_CHECKING:
    import polars as pl


class FileError(ValueError):
    """A file or directory that cannot be written, locked or replaced: says which one and why."""


def write_bytes(path: Path, data: bytes, *, named: bool = True) -> None:
    """Write a file as :func:`writing` does.

    Raises:
        FileError: it cannot be written; a former file is unchanged.
    """
    with writing(path, named=named) as file:
        file.write(data)


def write_new_texts(texts: Mapping[Path, str]) -> None:
    """Write files that do not exist yet; if one of them does, none is written.

    Raises:
        FileError: a file exists already, or cannot be written.
    """
    for path in texts:
        if os.path.lexists(path):
            raise FileError(f"{path}: exists already; give another name with --output")
    for path, text in texts.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise unwritable(path, error) from None


@contextmanager
def writing(path: Path, *, named: bool = True) -> Iterator[BinaryIO]:
    """A file to write, beside: at the end flushed to the disk and renamed, or removed after an error or an interrupt.

    A file that the user has ``named`` may be a link, which is followed, or special (a pipe, a terminal), and is then written to directly.
    Any other place, such as a file in a directory that the user has named, must be a regular file or free.

    Processes that write the same file wait for one another; the last one wins.

    Raises:
        FileError: it cannot be written; a former file is unchanged.
    """
    try:
        if named and path.exists() and not path.is_file():
            with path.open("wb") as special:
                yield special
        else:
            place = path.resolve() if named else path
            with Folder(place.parent).writing(place.name) as file:
                yield file
    except OSError as error:
        raise unwritable(path, error) from None


def require_writable(path: Path, *, named: bool = True) -> None:
    """To be called before a long computation whose result goes into this file, which the user has ``named`` or not.

    Raises:
        FileError: it could not be written.
    """
    if not named and path.parent.is_dir():
        folder = Folder(path.parent)
        try:
            if folder.exists(path.name):
                folder.file(path.name)
        except OSError as error:
            raise FileError(f"{unwritable(path, error)}; name another file by --output") from None
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


def write_text(path: Path, text: str, *, named: bool = True) -> None:
    """Write UTF-8 as :func:`write_bytes` does."""
    write_bytes(path, text.encode(), named=named)


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document into a directory that the user has named, as :func:`write_bytes` does."""
    write_bytes(path, json_bytes(document), named=False)


def write_new(path: Path, data: bytes) -> None:
    """Write a new file into a folder that gets its name once it is complete; the file may be there by half if this fails.

    Raises:
        FileError: it cannot be written, or exists.
    """
    try:
        with path.open("xb") as file:
            file.write(data)
    except OSError as error:
        raise unwritable(path, error) from None


def write_new_table(path: Path, table: "pl.DataFrame") -> None:
    """Write Parquet as :func:`write_new` does."""
    write_new(path, parquet(table))


def parquet(table: "pl.DataFrame") -> bytes:
    """The contents of a Parquet file. Polars itself would not always say why it cannot write one."""
    buffer = BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


def unwritable(path: Path, error: OSError) -> FileError:
    """The error that names the file and the system's reason."""
    return FileError(f"{path}: cannot be written ({error.strerror or error})")


def unwritable_below(folder: Folder, error: OSError) -> FileError:
    """The error of one of the methods of :class:`Folder`, which names the file."""
    return unwritable(Path(error.filename or folder.path), error)


def json_bytes(document: Mapping[str, Any]) -> bytes:
    """A document as indented JSON; NaN and infinite numbers have the names that Python reads."""
    from pydantic_core import to_json

    # The standard library takes five times as long for indented text, a quarter of a second more for 60,000 links.
    return to_json(document, indent=1, inf_nan_mode="constants", fallback=str) + b"\n"
