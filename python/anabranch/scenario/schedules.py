"""Capacities and delays that change over time: tables of values in CSV, and mahimahi's traces of transmission opportunities."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, PrivateAttr, ValidationInfo, model_validator

from anabranch.foundation import input_files, units
from anabranch.foundation.suggest import suggest
from anabranch.scenario.table import PositiveDuration, Table

LARGEST_FILE = 16 * 2**20
"""Bytes of a table or a trace."""
MOST_ROWS = 100_000
MOST_OPPORTUNITIES = 4_000_000
OPPORTUNITY = 1500
"""Bytes of an opportunity in mahimahi's traces (Netravali et al., USENIX ATC 2015)."""
LEAST_RATE = 1000
"""bit/s, as of links without a schedule."""


def _capacity(cell: str) -> int:
    rate = units.rate(_with_unit(cell, "bps"))
    if 0 < rate < LEAST_RATE:
        raise ValueError(f'"{cell}" must be 0 or at least "1kbps"')
    return rate


def _delay(cell: str) -> int:
    delay = units.duration(_with_unit(cell, "s"))
    if delay == 0:
        raise ValueError(f'"{cell}" must be greater than zero')
    return delay


def _with_unit(cell: str, unit: str) -> str:
    """A number without a unit has the base unit, as in topologies."""
    return cell + unit if cell[-1:].isdigit() else cell


_COLUMNS: dict[str, Callable[[str], int]] = {
    "time": lambda cell: units.duration(_with_unit(cell, "s")),
    "capacity": _capacity,
    "delay": _delay,
}


class Schedule(Table):
    """A schedule of a capacity or a delay from a file, in the form of the core."""

    _compiled: dict[str, Any] = PrivateAttr()

    def compiled(self) -> dict[str, Any]:
        """The ``ScheduleSpec`` of the core."""
        return self._compiled


class ScheduleTable(Schedule):
    """The base of tables of capacities and of delays."""

    column: ClassVar[str]
    table: str = Field(description="A CSV file with a header: time, and capacity, delay or both.")
    repeat: PositiveDuration | None = Field(
        None, description="The table repeats after this time; without it the last row holds."
    )

    @model_validator(mode="after")
    def _read(self, info: ValidationInfo) -> "ScheduleTable":
        path = (info.context or {}).get("directory", Path()) / self.table
        at, values, lines = _columns(input_files.text(path, LARGEST_FILE), str(path), self.column)
        repeat = None if self.repeat is None else units.duration(self.repeat)
        if repeat is not None and repeat <= at[-1]:
            raise ValueError(f'repeat = "{self.repeat}": must be later than the last row ({path}:{lines[-1]})')
        if values[-1] == 0 and (repeat is None or not any(values)):
            raise ValueError(f"{path}:{lines[-1]}: capacity is 0 from the last row on; add a row, or repeat the table")
        self._compiled = {"kind": "steps", "at": at, "values": values, "repeat": repeat}
        return self


class CapacityTable(ScheduleTable):
    """A capacity from the column ``capacity`` of a CSV file; 0 is an outage in which packets wait."""

    column = "capacity"


class DelayTable(ScheduleTable):
    """A delay from the column ``delay`` of a CSV file: that of the packets that depart from its time on."""

    column = "delay"
    interpolate: bool = Field(
        False,
        description="Between rows the delay changes along straight lines; with repeat, also from the last row to the first.",
    )

    @model_validator(mode="after")
    def _connect_rows(self) -> "DelayTable":
        if self.interpolate:
            self._compiled["linear"] = True
        return self


class CapacityTrace(Schedule):
    """A capacity from a trace of mahimahi: a line for each millisecond at which 1500 bytes may depart; repeated for ever."""

    trace: str = Field(description="A file with one whole number a line: milliseconds, ascending.")

    @model_validator(mode="after")
    def _read(self, info: ValidationInfo) -> "CapacityTrace":
        path = (info.context or {}).get("directory", Path()) / self.trace
        self._compiled = _opportunities(input_files.text(path, LARGEST_FILE), str(path))
        return self


def kind_of_schedule(value: object) -> str | None:
    """The tag of a table that names a file; ``None`` for anything else."""
    keys = value if isinstance(value, dict) else ()
    if "trace" in keys or isinstance(value, CapacityTrace):
        return "<trace>"
    return "<schedule>" if "table" in keys or isinstance(value, ScheduleTable) else None


@lru_cache(maxsize=16)
def _columns(text: str, source: str, column: str) -> tuple[list[int], list[int], list[int]]:
    """The times and the values of a table, and the lines that they stand in."""
    header: list[str] | None = None
    times: list[int] = []
    values: list[int] = []
    lines: list[int] = []
    for number, line in enumerate(text.splitlines(), start=1):
        cells = [cell.strip() for cell in line.partition("#")[0].split(",")]
        if cells == [""]:
            continue
        if header is None:
            header = _header(cells, f"{source}:{number}", column)
            continue
        if len(cells) != len(header):
            raise ValueError(f"{source}:{number}: has {len(cells)} cells, the header {len(header)}")
        row = dict(zip(header, cells, strict=True))
        for name in ("time", column):
            try:
                (times if name == "time" else values).append(_COLUMNS[name](row[name]))
            except ValueError as error:
                raise ValueError(f"{source}:{number}: {name}: {error}") from None
        expected = "be 0 in the first row" if len(times) == 1 else "be later than in the row before"
        if times[0] != 0 or (len(times) > 1 and times[-1] <= times[-2]):
            raise ValueError(f'{source}:{number}: time "{row["time"]}" must {expected}')
        lines.append(number)
        if len(lines) > MOST_ROWS:
            raise ValueError(f"{source}:{number}: has more than {MOST_ROWS} rows")
    if not lines:
        raise ValueError(f'{source}: needs a header such as "time,delay" and at least one row')
    return times, values, lines


def _header(cells: list[str], place: str, column: str) -> list[str]:
    unknown = [cell for cell in cells if cell not in _COLUMNS]
    if unknown:
        raise ValueError(f'{place}: no such column "{unknown[0][:60]}"; {suggest(unknown[0], _COLUMNS)}')
    for name in ("time", column):
        if cells.count(name) != 1:
            raise ValueError(f'{place}: needs the column {name} once; a header is "time,{column}"')
    return cells


@lru_cache(maxsize=16)
def _opportunities(text: str, source: str) -> dict[str, Any]:
    at: list[int] = []
    for number, line in enumerate(text.splitlines(), start=1):
        word = line.strip()
        if not word:
            continue
        if not (word.isascii() and word.isdigit() and len(word) <= 8):
            raise ValueError(f'{source}:{number}: "{word[:60]}" must be a whole number of milliseconds, such as "17"')
        at.append(int(word) * units.PICOSECONDS_PER_MILLISECOND)
        if len(at) > 1 and at[-1] < at[-2]:
            raise ValueError(f"{source}:{number}: {word} must not be earlier than the line before")
        if len(at) > MOST_OPPORTUNITIES:
            raise ValueError(f"{source}:{number}: has more than {MOST_OPPORTUNITIES} lines")
    if not at or not 0 < at[-1] <= units.LONGEST:
        raise ValueError(f"{source}: must end after 0 and within 20 hours: the trace repeats after its last line")
    return {"kind": "opportunities", "at": at, "bytes": OPPORTUNITY, "repeat": at[-1]}


def mean(schedule: dict[str, Any], duration: int) -> int:
    """The mean value of a schedule: over the run for steps, over a period for opportunities."""
    at, repeat = schedule["at"], schedule["repeat"]
    if schedule["kind"] == "opportunities":
        return max(LEAST_RATE, int(len(at) * OPPORTUNITY * 8 * units.PICOSECONDS_PER_SECOND // repeat))

    ends = [*at[1:], duration if repeat is None else repeat]
    values = schedule["values"]
    following = values[1:] + (values[-1:] if repeat is None else values[:1])
    pieces = list(zip(at, ends, values, following if schedule.get("linear") else values, strict=True))

    def integral(until: int) -> int:
        total = 0
        for begin, end, first, next_first in pieces:
            if begin < until:
                length = min(end, until) - begin
                last = first + (next_first - first) * length // (end - begin)
                total += length * (first + last)
        return total // 2

    if repeat is None:
        return int(integral(duration) // duration)
    periods, rest = divmod(duration, repeat)
    return int((periods * integral(repeat) + (integral(rest) if rest else 0)) // duration)
