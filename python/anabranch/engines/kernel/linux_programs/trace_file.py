"""Files of recorded calls: what ``anabranch congestion-control trace`` writes.

A file is compressed by gzip. Its first line is JSON, an object with

- ``format``: 1;
- ``control``: the name of the congestion control;
- ``linux``: the release of the kernel;
- ``hz``: ticks of its clock a second;
- ``layout_sha256``: of ``anabranch/programs/layout.btf``, whose structs the records have;
- ``functions``: names of members of ``tcp_congestion_ops``, such as ``cong_avoid``; records have indexes of this list;
- ``programs``: the name of each one's program in the object, in the same order;
- ``record``: a list of [name, type] or [name, type, [length]], as ``numpy.dtype`` takes it;
- ``record_bytes``: of a record.

Records follow without padding, little-endian, in the order in which the calls began:

- ``function`` (u4) and ``flow`` (u4): index of the function, and number of the flow, from 0 in the order of first calls;
- ``arguments`` (u8 x 4): those behind the socket, as registers; a pointer counts as 0;
- ``result`` (u8): the function's return value, 0 if it returns nothing;
- ``entry_time_ns``, ``exit_time_ns`` (u8): bpf_ktime_get_ns just before and after the call;
- ``entry_jiffies``, ``exit_jiffies`` (u8): bpf_jiffies64 there;
- ``sample`` (72 bytes): the struct that the pointer argument points to. For pkts_acked it is struct ack_sample, for cong_control struct
  rate_sample, in the simulator's layout. Zeros follow a shorter struct;
- ``entry``, ``exit`` (536 bytes each): struct tcp_sock in the simulator's layout before and after the call; pointers are 0.
  Linux counts ``segs_in`` without the socket's lock: it may differ although no program wrote it.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

FORMAT = 1
SAMPLE_BYTES, SOCKET_BYTES = 72, 536
CONTENT: list[tuple[str, str] | tuple[str, str, tuple[int]]] = [
    ("arguments", "<u8", (4,)),
    ("result", "<u8"),
    ("entry_time_ns", "<u8"),
    ("exit_time_ns", "<u8"),
    ("entry_jiffies", "<u8"),
    ("exit_jiffies", "<u8"),
    ("sample", "u1", (SAMPLE_BYTES,)),
    ("entry", "u1", (SOCKET_BYTES,)),
    ("exit", "u1", (SOCKET_BYTES,)),
]
"""Fields that a record has from ``struct call`` of programs/trace.bpf.h."""
RECORD = [("function", "<u4"), ("flow", "<u4"), *CONTENT]

HEADER = {"control": str, "hz": int, "layout_sha256": str, "functions": list, "record": list}
"""The keys that a replay needs, and the types of their values."""
LONGEST_HEADER = 1 << 20
"""Most bytes of a first line: a damaged file may have none."""

Records = npt.NDArray[np.void]


def read_header(path: Path) -> dict[str, Any]:
    """The first line of a file.

    Raises :class:`ValueError` if it has another format, or is none.
    """
    with gzip.open(path) as file:
        header = json.loads(file.readline(LONGEST_HEADER))
    if not isinstance(header, dict):
        raise ValueError("its first line is no JSON object")
    if header.get("format") == FORMAT:
        wrong = [key for key, kind in HEADER.items() if type(header.get(key)) is not kind]
        if not wrong and not all(isinstance(name, str) for name in header["functions"]):
            wrong = ["functions"]
        if wrong:
            raise ValueError(f"its first line has no valid {', '.join(wrong)}")
    return header


def read_records(path: Path, count: int = 10_000) -> Iterator[Records]:
    """All records, in arrays of ``count``; the last one is shorter."""
    with gzip.open(path) as file:
        header = json.loads(file.readline())
        dtype = np.dtype([(name, kind, *map(tuple, length)) for name, kind, *length in header["record"]])
        while data := file.read(count * dtype.itemsize):
            yield np.frombuffer(data, dtype)
