"""Flows as the files of two data-center simulators have them: htsim's connection matrices (``.cm``), and HPCC's ``flow.txt``.

In both, nodes are numbers, which here are their names. htsim counts starts in picoseconds (csg-htsim, ``connection_matrix.cpp``), HPCC in
seconds; both count sizes in bytes. HPCC's priority groups and ports do not count.
"""

import re
from collections.abc import Iterator

from anabranch.foundation import units

Flow = tuple[int, str, str, int, int]
"""Line, source, destination, start in picoseconds and size in bytes."""

_CONNECTIONS = re.compile(r"\s*(#[^\n]*\n\s*)*Nodes\s+\d+\s*\n", re.IGNORECASE)
_FLOWS = re.compile(r"\s*\d+\s*\n\s*\d+ +\d+ +\d+ +\d+ +\d+ +[\d.eE+-]+\s*\n?")
_CONNECTION = re.compile(r"(\d+)->(\d+)((?:\s+\w+\s+[^\s]+)*)")
_HEADS = ("nodes", "connections", "triggers", "failures")


def flows(text: str, source: str) -> Iterator[Flow] | None:
    """The flows of such a file; ``None`` if it is none.

    Raises:
        ValueError: names the file, the line, its value and what would be right.
    """
    if _CONNECTIONS.match(text):
        return _connections(text, source)
    return _hpcc(text, source) if _FLOWS.match(text) else None


def _connections(text: str, source: str) -> Iterator[Flow]:
    for number, raw in enumerate(text.splitlines(), 1):
        line, where = raw.strip(), f"{source}: line {number}"
        head = line.split()[:1]
        if not head or line.startswith("#") or head[0].lower() in _HEADS[:2]:
            continue
        if head[0].lower() in _HEADS[2:] and line.split()[1:] == ["0"]:
            continue
        match = _CONNECTION.fullmatch(line)
        if match is None:
            raise ValueError(
                f'{where} "{line[:60]}" must be a connection such as 3->5 start 0 size 2000000; triggers and failures are not read'
            )
        words = match[3].split()
        values = dict(zip(words[::2], words[1::2], strict=True))
        start = _number(
            values.get("start"), f"{where}, start", "picoseconds from 0; flows that a trigger starts are not read"
        )
        size = _number(
            values.get("size"),
            f"{where}, size",
            "bytes, at least 1; a flow without end is bulk = true of a traffic group",
            1,
        )
        yield _checked(number, match[1], match[2], start, size, where)


def _hpcc(text: str, source: str) -> Iterator[Flow]:
    lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    count = int(lines[0][1][0][:9])
    if len(lines) - 1 < count:
        raise ValueError(f"{source}: line 1 says {count} flows, and {len(lines) - 1} follow")
    for number, words in lines[1 : 1 + count]:  # the simulator reads no more either
        where = f"{source}: line {number}"
        if len(words) != 6:
            raise ValueError(f"{where} must have six numbers: source, destination, group, port, size, start")
        seconds = float(words[5]) if re.fullmatch(r"[\d.]+([eE][+-]?\d+)?", words[5]) and words[5] != "." else -1.0
        if not 0 <= seconds * units.PICOSECONDS_PER_SECOND <= units.LARGEST:
            raise ValueError(f'{where}, start "{words[5][:60]}" must be seconds from 0')
        size = _number(words[4], f"{where}, size", "bytes, at least 1", 1)
        yield _checked(number, words[0], words[1], round(seconds * units.PICOSECONDS_PER_SECOND), size, where)


def _checked(number: int, source: str, target: str, start: int, size: int, where: str) -> Flow:
    if source == target:
        raise ValueError(f"{where}: {source} cannot send to itself")
    return number, source, target, start, size


def _number(written: str | None, where: str, expectation: str, least: int = 0) -> int:
    if written is not None and re.fullmatch(r"\d{1,19}(\.0*)?", written, re.ASCII):
        value = int(written.partition(".")[0])
        if least <= value <= units.LARGEST:
            return value
    raise ValueError(f'{where} "{(written or "")[:60]}" must be {expectation}')
