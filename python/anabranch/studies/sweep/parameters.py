"""The parameters of a sweep: lists, ranges, values that vary together, and random samples, as axes of values.

Every axis is varied with every other one. Within an axis the keys vary together: those of a ``zip`` and of a ``random`` group.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from anabranch.foundation.suggest import suggest
from anabranch.foundation.toml_text import Path
from anabranch.foundation.units import QUANTITIES, UnitError
from anabranch.foundation.units import split as split_unit
from anabranch.scenario.problems import MISSING, Problem
from anabranch.scenario.walk import meaning, require_distinct

ZIP, RANDOM = "zip", "random"
RANGE_KEYS = ("from", "to", "values", "scale")
_GROUP_KEYS = ("samples", "seed")
MOST_VALUES = 1_000_000
DIGITS = 6
"""Significant digits of the values between the ends of a range: readable, and the same on every machine."""


@dataclass(frozen=True)
class Axis:
    """Keys that vary together: ``rows`` has a value for each key."""

    keys: tuple[str, ...]
    """Keys of the scenario, as ``--set`` takes them."""
    rows: tuple[tuple[Any, ...], ...]
    is_treatment: bool
    places: tuple[Path, ...]
    """The places of the keys in the plan; for lists of the scenario, in the scenario."""
    corners: tuple[tuple[Any, ...], ...]
    """Rows to be checked before the sweep begins: the ends of ranges, and all rows of lists."""


class ParameterError(ValueError):
    """Values that are none: says what would be right."""

    def __init__(self, message: str, path: Path = (), value: object = MISSING) -> None:
        """``path`` is inside the group."""
        super().__init__(message)
        self.path, self.value = path, value


@dataclass(frozen=True)
class SweptRange:
    """Values from one number to another, all with the same unit."""

    low: float
    high: float
    unit: str
    scale: Literal["linear", "log"]
    is_whole: bool
    """Whether both ends are whole numbers; then values are, where they can be."""

    def at(self, share: float) -> Any:
        """The value at a share of the way, from 0 to 1; a text with the unit, or a number without one."""
        if self.scale == "log":
            value = math.exp(math.log(self.low) + share * (math.log(self.high) - math.log(self.low)))
        else:
            value = self.low + share * (self.high - self.low)
        if self.unit:
            return _text(value, self.unit)
        rounded = float(f"{value:.{DIGITS}g}")
        return int(rounded) if self.is_whole and rounded.is_integer() else rounded


def axes(table: Mapping[str, Any], section: str) -> tuple[list[Axis], list[Problem]]:
    """The axes of a section of the plan (``treatments`` or ``conditions``), and what is wrong with it."""
    found: list[Axis] = []
    problems: list[Problem] = []
    is_treatment = section == "treatments"
    for key, value, place in _flat({k: v for k, v in table.items() if k not in (ZIP, RANDOM)}, "", (section,)):
        try:
            values = _values(value)
            require_distinct(values)
        except ValueError as error:
            problems.append(Problem(place, str(error), value))
        else:
            rows = tuple((one,) for one in values)
            corners = (rows[0], rows[-1]) if _is_range(value) else rows
            found.append(Axis((key,), rows, is_treatment, (place,), corners))
    for kind, read in ((ZIP, _zip), (RANDOM, _random)):
        groups = table.get(kind, [])
        if not isinstance(groups, list) or not all(isinstance(group, Mapping) for group in groups):
            message = f"must be tables: [[{section}.{kind}]] before the keys that vary together"
            problems.append(Problem((section, kind), message, groups))
            continue
        for index, group in enumerate(groups):
            try:
                found.append(read(group, (section, kind, index), is_treatment))
            except ParameterError as error:
                problems.append(Problem((section, kind, index, *error.path), str(error), error.value))
    return found, problems


def _flat(table: Mapping[str, Any], prefix: str, place: Path) -> Iterator[tuple[str, Any, Path]]:
    """The keys of a table: ``run.duration`` without quotes is a table in a table for TOML."""
    for key, value in table.items():
        full = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(value, Mapping) and not _is_range(value):
            yield from _flat(value, full, (*place, key))
        else:
            yield full, value, (*place, key)


def _is_range(value: object) -> bool:
    if not isinstance(value, Mapping) or not {"from", "to"} <= value.keys():
        return False
    return not any(isinstance(value[end], list | Mapping) for end in ("from", "to"))


def _values(value: Any) -> Sequence[Any]:
    """The values of a key in their order: a list, a range with a number of values, or a single value."""
    if isinstance(value, list):
        if not value:
            raise ParameterError("needs at least one value")
        return value
    if not _is_range(value):
        return [value]
    count = value.get("values")
    if not isinstance(count, int) or isinstance(count, bool) or not 2 <= count <= MOST_VALUES:
        raise ParameterError(f"values must say how many, from 2 to {MOST_VALUES}, such as values = 5")
    chosen = _range(value)
    return [chosen.at(index / (count - 1)) for index in range(count)]


def _range(value: Mapping[str, Any]) -> SweptRange:
    unknown = [key for key in value if key not in RANGE_KEYS]
    if unknown:
        raise ParameterError(f"unknown key {unknown[0]}; {suggest(unknown[0], RANGE_KEYS)}")
    scale = value.get("scale", "linear")
    if scale not in ("linear", "log"):
        raise ParameterError('scale must be "linear" or "log"')
    low, unit = _number(value["from"])
    high, other = _number(value["to"])
    if unit != other:
        raise ParameterError('from and to must have the same unit, such as from = "5ms", to = "100ms"')
    if not low < high:
        raise ParameterError("from must be less than to")
    if scale == "log" and low <= 0:
        raise ParameterError("from must be greater than 0 on a log scale")
    return SweptRange(low, high, unit, scale, all(isinstance(value[end], int) for end in ("from", "to")))


def _number(value: object) -> tuple[float, str]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value), ""
    try:
        number, unit = split_unit(value, "a number", "10ms")
    except UnitError as error:
        raise ParameterError(f"from and to must be numbers, or texts with a unit ({error})") from None
    return float(number), unit


def _text(value: float, unit: str) -> str:
    """A number with its unit and the most digits that the unit allows: ``1234.57 bps`` is finer than a bit."""
    parse = next((parse for parse, *_ in QUANTITIES if _parses(parse, f"1 {unit}")), None)
    text = ""
    for digits in range(DIGITS, 0, -1):
        rounded = float(f"{value:.{digits}g}")
        text = f"{int(rounded) if rounded.is_integer() else rounded} {unit}"
        if parse is None or _parses(parse, text):
            break
    return text


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except UnitError:
        return False
    return True


def _zip(group: Mapping[str, Any], place: Path, is_treatment: bool) -> Axis:
    flat = list(_flat(group, "", place))
    columns = []
    for _, value, own in flat:
        try:
            columns.append(_values(value))
        except ParameterError as error:
            raise ParameterError(str(error), own[len(place) :], value) from None
    if len(flat) < 2:
        raise ParameterError("needs two keys or more, which vary together")
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        shown = ", ".join(f"{key} has {length}" for (key, *_), length in zip(flat, lengths, strict=True))
        raise ParameterError(f"all keys need the same number of values; {shown}")
    rows = tuple(zip(*columns, strict=True))
    try:
        require_distinct(rows)
    except ValueError as error:
        raise ParameterError(str(error)) from None
    return Axis(tuple(key for key, *_ in flat), rows, is_treatment, tuple(own for *_, own in flat), rows)


def _random(group: Mapping[str, Any], place: Path, is_treatment: bool) -> Axis:
    samples, seed = group.get("samples"), group.get("seed", 1)
    if not isinstance(samples, int) or isinstance(samples, bool) or not 1 <= samples <= MOST_VALUES:
        raise ParameterError(f"samples must say how many, from 1 to {MOST_VALUES}, such as samples = 100")
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise ParameterError("must be a whole number", ("seed",), seed)
    flat = list(_flat({key: value for key, value in group.items() if key not in _GROUP_KEYS}, "", place))
    if not flat:
        raise ParameterError('needs a key to draw, such as run.duration = { from = "1s", to = "9s" }')
    columns, ends = [], []
    for key, value, own in flat:
        # A draw is addressed by its seed, key and index, so that more samples leave the earlier ones as they are.
        draws = [Random(f"{seed} {key} {index}").random() for index in range(samples)]
        try:
            if isinstance(value, list) and value:
                columns.append([value[int(draw * len(value))] for draw in draws])
                ends.append([value[0], value[-1]])
            elif _is_range(value) and "values" not in value:
                chosen = _range(value)
                columns.append([chosen.at(draw) for draw in draws])
                ends.append([chosen.at(0), chosen.at(1)])
            else:
                raise ParameterError("must be a range { from, to } without values, or a list to draw from")
        except ParameterError as error:
            raise ParameterError(str(error), own[len(place) :], value) from None
    drawn, corners = (tuple(zip(*lists, strict=True)) for lists in (columns, ends))
    rows = tuple({meaning(row): row for row in drawn}.values())  # lists may give a row again
    return Axis(tuple(key for key, *_ in flat), rows, is_treatment, tuple(own for *_, own in flat), corners)
