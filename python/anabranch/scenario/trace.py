"""Traces of flows: who sends how much to whom, and when. A CSV file, CSV text in the scenario, or from Python."""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, InstanceOf, ValidationInfo, WithJsonSchema

from anabranch.foundation import csv_text, ends, input_files, units
from anabranch.scenario import foreign_flows

COLUMNS = ("src", "dst", "start", "size")
_ALSO = {"source": "src", "target": "dst", "start_s": "start", "size_bytes": "size"}
"""The columns by the names of the ends (:mod:`anabranch.foundation.ends`), and of the table that ``anabranch export`` writes."""
_EXAMPLE = "h1,h2,0.5ms,30kB"


@dataclass(frozen=True)
class FlowTrace:
    """The flows in the order of the trace, by column; starts in picoseconds, sizes in bytes."""

    lines: tuple[int, ...]
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    source: str
    """The file, or ``trace``."""
    after: tuple[tuple[int, int], ...] = ()
    """Pairs of a flow and an earlier one that it waits for, by their places."""

    def place(self, number: int) -> str:
        """Where a flow stands, for messages."""
        return f"{self.source}: line {self.lines[number]}"


def flow_trace(flows: Iterable[tuple[str, str, float | str, int | str]]) -> str:
    """The trace of flows (source, destination, start, size) for ``trace`` in a traffic group, as CSV text.

    A start is a number of seconds or a text such as ``"2ms"``, a size a number of bytes or a text such as ``"30kB"``.

    >>> print(flow_trace([("h1", "h2", 0.5, 1000)]), end="")
    src,dst,start,size
    h1,h2,0.5,1000
    """
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows(flows)
    return written.getvalue()


def _read(value: Any, info: ValidationInfo) -> Any:
    if not isinstance(value, str):
        raise ValueError(f'must be a CSV file such as "flows.csv", or CSV text with the header {",".join(COLUMNS)}')
    if "\n" in value:
        return parse(value.lstrip("\n"), "trace")
    path = (info.context or {}).get("directory", Path()) / value
    return parse(input_files.text(path), str(path))


def parse(text: str, source: str) -> FlowTrace:
    """The flows of CSV text with a header; other columns than :data:`COLUMNS` do not count. Or of another simulator's file.

    A guard against formulas before a name (:mod:`anabranch.foundation.csv_text`) is removed.

    Raises:
        ValueError: names the file, the line, its value and what would be right.
    """
    rows = csv_text.rows(text)
    try:
        flows, after = foreign_flows.flows(text, source) or (list(_flows(rows, source)), [])
    except csv.Error as error:
        raise ValueError(f"{source}: line {rows.line_num} is not CSV ({error})") from None
    if not flows:
        raise ValueError(f"{source}: has no flows below its header; write lines such as {_EXAMPLE}")
    lines, sources, targets, starts, sizes = zip(*flows, strict=True)
    return FlowTrace(lines, sources, targets, starts, sizes, source, tuple(after))


def _flows(rows: Any, source: str) -> Iterator[tuple[int, str, str, int, int]]:
    written = [name.strip() for name in next(rows, [])]
    header = [_ALSO.get(name, name) for name in map(ends.canonical, written)]
    missing = [name for name in COLUMNS if header.count(name) != 1]
    if missing:
        raise ValueError(
            f'{source}: the header is "{",".join(written)[:80]}"; it must have {",".join(COLUMNS)} once each, and lacks '
            f"or repeats {', '.join(missing)}"
        )
    src, dst, start, size = map(header.index, COLUMNS)
    run = header.index("run") if "run" in header else None
    runs: set[str] = set()
    for row in rows:
        if not any(row):
            continue
        line = rows.line_num
        if len(row) != len(header):
            raise ValueError(f"{source}: line {line} has {len(row)} values; the header has {len(header)}")
        if run is not None:
            runs.add(row[run])
            if len(runs) > 1:
                raise ValueError(
                    f'{source}: line {line}: run "{row[run]}" differs from the run of the lines above; keep the flows of one run'
                )
        sender, receiver = csv_text.unguarded(row[src].strip()), csv_text.unguarded(row[dst].strip())
        if sender == receiver:
            raise ValueError(f"{source}: line {line}: {sender} cannot send to itself")
        try:
            yield line, sender, receiver, _start(row[start]), _size(row[size])
        except ValueError as error:
            raise ValueError(f"{source}: line {line}: {error}") from None


def _start(text: str) -> int:
    """Picoseconds; a number without a unit counts seconds."""
    try:
        seconds = float(text)
    except ValueError:
        try:
            return units.duration(text)
        except units.UnitError:
            pass
    else:
        if 0 <= seconds * units.PICOSECONDS_PER_SECOND <= units.LARGEST:
            return round(seconds * units.PICOSECONDS_PER_SECOND)
    raise ValueError(f'start "{text[:60]}" must be seconds or a duration of at least 0, such as 0.5 or 500ms')


def _size(text: str) -> int:
    """Bytes; a number without a unit counts bytes."""
    try:
        size = int(text) if text.strip().isdecimal() else units.size(text)
    except ValueError:  # no size, or of more digits than Python converts
        size = 0
    if 0 < size <= units.LARGEST:
        return size
    raise ValueError(f'size "{text[:60]}" must be bytes, at least 1, such as 30000 or 30kB')


Trace = Annotated[
    InstanceOf[FlowTrace], BeforeValidator(_read), WithJsonSchema({"type": "string", "examples": ["flows.csv"]})
]
