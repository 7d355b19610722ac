"""The user's cache: keeps between reports what takes long to make and depends on the installed versions only."""

import os
from contextlib import suppress
from pathlib import Path

from anabranch.foundation.output_files import FileError, write_bytes


def read(name: str) -> bytes | None:
    """A kept file, or nothing."""
    try:
        return (_folder() / name).read_bytes()
    except OSError:
        return None


def keep(name: str, data: bytes) -> None:
    """Keep a file. A cache that cannot be written is no cache, and no error."""
    with suppress(OSError, FileError):
        _folder().mkdir(parents=True, exist_ok=True)
        write_bytes(_folder() / name, data)


def _folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "anabranch"
