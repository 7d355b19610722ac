"""Checksums of the files of results: a damaged file is found before it is parsed, for which some Parquet readers end the process.

JSON and Parquet files carry their own CRC-32 (ISO-HDLC, as in PNG and zip), so that a file and its checksum are replaced in one step.
"""

import json
import os
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from anabranch.foundation.folders import Folder

LARGEST_DOCUMENT = 2**30
"""Bytes; some million links or runs."""
_LAST_LINE = b' "checksum": "%08x"\n}\n'
_SEALED = re.compile(rb',\n "checksum": "([0-9a-f]{8})"\n}\n\Z')
_MARK = b"anabranch CRC-32 %08x"
_PIECE = 2**20
"""Bytes that are read at a time."""
_FOOT = 8
"""Bytes at the end of a Parquet file: the length of its metadata, and ``PAR1``."""


class DamagedError(ValueError):
    """A file that is not as it was written: says which."""


def of_file(folder: Folder, name: str) -> int:
    """The CRC-32 of a regular file."""
    with open(folder.open(name), "rb") as file:
        return _continued(file, 0, os.fstat(file.fileno()).st_size)


def _continued(file: BinaryIO, value: int, length: int) -> int:
    """The CRC-32 of what ``value`` is of, followed by ``length`` bytes from the file's position on."""
    while piece := file.read(min(length, _PIECE)):
        value = zlib.crc32(piece, value)
        length -= len(piece)
    return value


def sealed_json(document: Mapping[str, Any]) -> bytes:
    """A document as JSON, with the checksum of the bytes before it as its last entry."""
    from anabranch.foundation.output_files import json_bytes

    body = json_bytes(document).removesuffix(b"\n}\n") + b",\n"
    return body + _LAST_LINE % zlib.crc32(body)


def read_json(folder: Folder, name: str, format: int | None = None) -> dict[str, Any]:
    """A document that :func:`sealed_json` has written, without its checksum; its entry ``format`` must have the given value, if any.

    Raises:
        OSError: the file cannot be read.
        DamagedError: it was not written so, is damaged, or has another format.
    """
    path = folder.path / name
    data = folder.read(name, LARGEST_DOCUMENT)
    seal = _SEALED.search(data[-64:])
    body = data[: -len(_LAST_LINE % 0)]
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{path}: is not JSON ({error})") from None
    found = document.get("format") if isinstance(document, dict) else None
    if found != format:
        raise DamagedError(f"{path}: format is {found!r}, this version of Anabranch reads format {format}")
    if seal is None or int(seal[1], 16) != zlib.crc32(body):
        raise DamagedError(f"{path}: is damaged or was edited: its checksum is not that of its contents")
    return {key: value for key, value in document.items() if key != "checksum"}


def sealed_parquet(data: bytes) -> bytes:
    """The bytes of a Parquet file with their checksum before its metadata, where readers, who begin at the end of the file, do not look."""
    place = len(data) - _FOOT - int.from_bytes(data[-_FOOT:-4], "little")
    return data[:place] + _MARK % zlib.crc32(data) + data[place:]


def parquet_file(folder: Folder, name: str) -> Path:
    """The path of a file that :func:`sealed_parquet` has written.

    Raises:
        OSError: the file cannot be read.
        DamagedError: it was not written so, or is damaged.
    """
    with open(folder.open(name), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - _FOOT))
        place = max(0, size - _FOOT - int.from_bytes(file.read(4), "little"))
        head = max(0, place - len(_MARK % 0))
        file.seek(head)
        mark = file.read(place - head)
        is_whole = False
        if mark.startswith(_MARK[:-4]):  # else a file of any size is refused at once
            file.seek(0)
            value = _continued(file, 0, head)
            file.seek(place)
            is_whole = mark == _MARK % _continued(file, value, size - place)
    if not is_whole:
        raise DamagedError(f"{folder.path / name}: is damaged: its checksum is not that of its contents")
    return folder.path / name


def of_folder(folder: Folder) -> dict[str, int]:
    """The checksums of all files of a directory, by name."""
    return {name: of_file(folder, name) for name in folder.files()}
