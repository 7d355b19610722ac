"""The record of a finished run in one file: facts, and the columns of its tables as the core gives them.

The first line is the CRC-32 of all that follows. The second is JSON: the facts, and the columns of each table by name. A column of texts or
paths is listed there. Another one has its type and its number of values there, and the values follow the line, one column after another.
"""

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from anabranch.foundation.checksums import DamagedError
from anabranch.foundation.json_text import json_line

Tables = Mapping[str, Mapping[str, Any]]
"""The columns of tables as the core gives them, by the table's name."""
_SEAL = b"%08x\n"
_SEALED = len(_SEAL % 0)
_LEVEL = 1
"""The compression of zlib: many columns of a large run have equal values, and the fastest level finds that."""


def encoded(facts: Mapping[str, Any], tables: Tables) -> bytes:
    """The contents of the file."""
    described: dict[str, dict[str, Any]] = {}
    arrays = []
    for table, columns in tables.items():
        own = described[table] = {}
        for name, values in columns.items():
            if isinstance(values, np.ndarray):
                own[name] = {"type": values.dtype.str, "rows": len(values)}
                arrays.append(values.tobytes())
            else:
                own[name] = list(values)
    head = json_line({"facts": facts, "tables": described}) + b"\n"
    body = head + zlib.compress(b"".join(arrays), _LEVEL)
    return _SEAL % zlib.crc32(body) + body


def decoded(data: bytes) -> tuple[dict[str, Any], Tables]:
    """The facts and the tables of such contents.

    Raises:
        DamagedError: they are not as they were written.
        ValueError, KeyError, TypeError, zlib.error: somebody else has written them.
    """
    if data[:_SEALED] != _SEAL % zlib.crc32(memoryview(data)[_SEALED:]):
        raise DamagedError("is damaged")
    end = data.index(b"\n", _SEALED) + 1
    document = json.loads(data[_SEALED:end])
    values, position = zlib.decompress(memoryview(data)[end:]), 0
    tables: dict[str, dict[str, Any]] = {}
    for table, columns in document["tables"].items():
        own = tables[table] = {}
        for name, column in columns.items():
            if isinstance(column, list):
                own[name] = column
                continue
            own[name] = np.frombuffer(values, column["type"], column["rows"], position).copy()  # aligned
            position += own[name].nbytes
    return document["facts"], tables
