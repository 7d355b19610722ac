"""Records of finished runs, one after another in a file: facts, and the columns of the tables as the core gives them.

A record begins with a line: ``run``, the run's name, the number of bytes after the line, and the CRC-32 of the name and these bytes. The second
line is JSON: the facts, and the columns of each table by name. A column of texts or paths is listed there. Another one has its type and its
number of values there, and the values follow the line, one column after another, compressed.

A reader looks for the next such line after bytes that are no whole record. So a record that is damaged, or was cut off by a kill, costs no other.
"""

import json
import re
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from anabranch.foundation.json_text import json_line

Tables = Mapping[str, Mapping[str, Any]]
"""The columns of tables as the core gives them, by the table's name."""
_HEAD = re.compile(rb"run ([0-9a-f]{64}) ([0-9]{1,15}) ([0-9a-f]{8})\n")
_LEVEL = 1
"""The compression of zlib: many columns of a large run have equal values, and the fastest level finds that."""


def encoded(key: str, facts: Mapping[str, Any], tables: Tables) -> tuple[bytes, bytes]:
    """The first line of a record, and the bytes after it."""
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
    line = json_line({"facts": facts, "tables": described}) + b"\n"
    body = line + zlib.compress(b"".join(arrays), _LEVEL)
    return b"run %s %d %08x\n" % (key.encode(), len(body), zlib.crc32(body, zlib.crc32(key.encode()))), body


def places(data: bytes) -> dict[str, tuple[int, int]]:
    """Where the bytes after the first line of each whole record begin, and how many they are, by the run's name."""
    found, position = {}, 0
    while head := _HEAD.search(data, position):
        key, begin, length = head[1], head.end(), int(head[2])
        body = memoryview(data)[begin : begin + length]
        if len(body) == length and zlib.crc32(body, zlib.crc32(key)) == int(head[3], 16):
            found[key.decode()] = begin, length
            position = begin + length
        else:
            position = head.start() + 1
    return found


def decoded(body: bytes) -> tuple[dict[str, Any], Tables]:
    """The facts and the tables of the bytes after the first line of a record.

    Raises:
        ValueError, KeyError, TypeError, AttributeError, zlib.error: this module has not written them.
    """
    end = body.index(b"\n") + 1
    document = json.loads(body[:end])
    values, position = zlib.decompress(memoryview(body)[end:]), 0
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
