"""Flows as the files of two data-center simulators have them: htsim's connection matrices (``.cm``), and HPCC's ``flow.txt``.

In both, nodes are numbers, which here are their names. HPCC counts starts in seconds; both count sizes in bytes. HPCC's priority groups and
ports do not count.
"""

import re
from collections.abc import Iterator

from anabranch.foundation import units
from anabranch.scenario import connection_matrix
from anabranch.scenario.connection_matrix import After, Flow, checked, number_in

_MATRIX = re.compile(r"\s*(#[^\n]*\n\s*)*Nodes\s+\d+\s*\n", re.IGNORECASE)
_FLOWS = re.compile(r"\s*\d+\s*\n\s*\d+ +\d+ +\d+ +\d+ +\d+ +[\d.eE+-]+\s*\n?")


def flows(text: str, source: str) -> tuple[list[Flow], list[After]] | None:
    """The flows of such a file, and which flow waits for which earlier one; ``None`` if it is none.

    Raises:
        ValueError: names the file, the line, its value and what would be right.
    """
    if _MATRIX.match(text):
        return connection_matrix.flows(text, source)
    return (list(_hpcc(text, source)), []) if _FLOWS.match(text) else None


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
        size = number_in(words[4], f"{where}, size", "bytes, at least 1", 1)
        yield checked(number, words[0], words[1], round(seconds * units.PICOSECONDS_PER_SECOND), size, where)
