"""Files that a user names, as bytes, text or JSON: what cannot be one is refused at once, and never read without end."""

import json
import os
import select
import stat
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

LARGEST_FILE = 64 * 2**20
"""Bytes; fifty times the largest topology that TopoHub has."""
WRITER_WITHIN_S = 1.0
"""Seconds within which a process must begin to write into a named pipe that a command reads."""
STANDARD_INPUT = Path("/dev/stdin")
_DESCRIPTORS = (str(STANDARD_INPUT), "/dev/fd/", "/proc/self/fd/")


class InputError(ValueError):
    """A file that cannot be read: :attr:`reason` says why, the message also names the file."""

    def __init__(self, path: str | Path, reason: str) -> None:
        """``reason`` follows the name of the file."""
        self.reason = reason
        super().__init__(f"{path}: {reason}")


def shown(path: str | Path) -> str:
    """A path, or a word of the command line, as text: bytes that are no UTF-8 become escapes such as ``\\xff``."""
    return os.fsencode(path).decode(errors="backslashreplace")


def content(path: Path, largest: int = LARGEST_FILE) -> bytes:
    """The bytes of a regular file.

    Raises:
        InputError: there is no such file, it is a directory, a device or a pipe, or it has more than ``largest`` bytes.
    """
    try:
        _require_regular(path, path.stat())  # before it is opened, which has effects for some devices
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            _require_regular(path, status)
            if status.st_size > largest:
                raise InputError(path, f"is too large: {status.st_size} bytes; at most {largest} are read")
            return file.read(largest)
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})") from None
    except InputError:
        raise
    except ValueError:  # a null character
        raise InputError(path, "cannot be read (no file has such a name)") from None


def _require_regular(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise InputError(path, "cannot be read: it is a directory, a device or a pipe; name a file")


def text(path: Path, largest: int = LARGEST_FILE) -> str:
    """The text of a file in UTF-8, with or without a byte order mark.

    Raises:
        InputError: as :func:`content`, or the file is not UTF-8.
    """
    return _decoded(content(path, largest), path)


def is_stream(path: Path) -> bool:
    """Whether a path means standard input (``/dev/stdin``) or a pipe, such as the shell's ``<(command)``."""
    if str(path).startswith(_DESCRIPTORS):
        return True
    try:
        return stat.S_ISFIFO(path.stat().st_mode)
    except (OSError, ValueError):
        return False


class Document(NamedTuple):
    """A text that a command is about."""

    text: str
    source: str
    """Its name in messages."""
    directory: Path
    """Where relative file names in it start."""


def document(path: Path, largest: int = LARGEST_FILE) -> Document:
    """The text of a file, or of a stream (:func:`is_stream`), which is read to its end. Relative file names in a stream start in the current directory.

    Raises:
        InputError: as :func:`text`.
    """
    if not is_stream(path):
        return Document(text(path, largest), str(path), path.parent)
    name = "standard input" if path == STANDARD_INPUT else str(path)
    try:
        with _opened_stream(path) as stream:
            data = stream.read(largest + 1)
    except OSError as error:
        raise InputError(name, f"cannot be read ({error.strerror})") from None
    if len(data) > largest:
        raise InputError(name, f"is too large: at most {largest} bytes are read")
    return Document(_decoded(data, name), name, Path())


def _opened_stream(path: Path) -> BinaryIO:
    if path == STANDARD_INPUT:
        return open(0, "rb", closefd=False)
    if str(path).startswith(_DESCRIPTORS):
        return open(path, "rb")
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a blocking open waits for a writer, without end
    if not select.select([pipe], [], [], WRITER_WITHIN_S)[0]:
        os.close(pipe)
        raise InputError(path, "cannot be read: it is a pipe into which no process writes")
    os.set_blocking(pipe, True)
    return open(pipe, "rb")


def stem(path: Path) -> str:
    """The name of a file without its suffix, for the names of results; ``stdin`` for every stream."""
    return "stdin" if is_stream(path) else shown(path.stem)


def _decoded(data: bytes, source: str | Path) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(source, f"is not UTF-8 text (byte {error.start})") from None


def parse_json(written: str, source: str | Path) -> Any:
    """The value that a JSON text holds; ``source`` is where it is from.

    Raises:
        InputError: it is not JSON, it is nested too deep, or it has a number that is not finite or too long.
    """

    def refuse(constant: str) -> None:
        raise InputError(source, f"has the number '{constant}'; numbers must be finite")

    try:
        return json.loads(written, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise InputError(source, f"is not JSON (line {error.lineno}, column {error.colno}: {error.msg})") from None
    except RecursionError:
        raise InputError(source, "is nested too deep") from None
    except InputError:
        raise
    except ValueError as error:  # an integer of more digits than Python converts
        raise InputError(source, f"cannot be read ({error})") from None


def json_document(path: Path, largest: int = LARGEST_FILE) -> Any:
    """The value that a JSON file holds.

    Raises:
        InputError: as :func:`text` and :func:`parse_json`.
    """
    return parse_json(text(path, largest), path)
