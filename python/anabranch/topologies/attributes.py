"""The attributes of a link as files and scenarios write them: ``delay``, ``length``, ``loss``, ``capacity``, ``cost``.

A number without a unit is in seconds, metres or bit/s; a loss may be a percentage. The same names hold in every format.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from anabranch.topologies.errors import TopologyError
from anabranch.topologies.model import RANGES
from anabranch.units import DURATIONS, LENGTHS, PERCENT, RATES

ATTRIBUTES = {
    "capacity": "capacity_bps",
    "delay": "delay_s",
    "length": "length_m",
    "loss": "loss",
    "cost": "cost",
}
"""The name in a file, and the field of :class:`~anabranch.topologies.model.Link`."""


class Attributes(NamedTuple):
    """The attributes of a link, in the order of :class:`~anabranch.topologies.model.Link`."""

    capacity_bps: int | None = None
    delay_s: float | None = None
    length_m: float | None = None
    loss: float | None = None
    cost: float | None = None


_SCALES = {"capacity": RATES, "delay": DURATIONS, "length": LENGTHS, "loss": PERCENT}
_QUANTITY = re.compile(r"([+-]?)(?=\.?\d)(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,3}))?\s*([A-Za-zµμ/%]+)")
_TEXTS = 2**16
"""Texts of numbers that are remembered: a large network repeats few."""


def link_attributes(values: Mapping[str, object], source: str, element: Callable[[], str]) -> Attributes:
    """The attributes of a link from those of an edge.

    An attribute that is absent, ``None`` or blank is unknown; other names are ignored. ``element`` returns the edge's name for errors.

    Raises:
        TopologyError: a value that is no number, has the wrong unit, or is out of range.
    """
    capacity, *others = [
        _attribute(name, values[name], source, element) if name in values else None for name in ATTRIBUTES
    ]
    return Attributes(None if capacity is None else round(capacity), *others)


def attribute_columns(values: Mapping[str, Sequence[object]], count: int) -> list[Sequence[float | None]] | None:
    """The attributes of ``count`` edges in the order of :class:`Attributes`, from columns; ``None`` if one cannot be used."""
    columns: list[Sequence[float | None]] = []
    for name in ATTRIBUTES:
        column = values.get(name, ())
        if not set(map(type, column)) <= {str, int, float, type(None)}:
            return None
        try:
            numbers = {value: _attribute(name, value, "", str) for value in set(column)}
        except TopologyError:
            return None
        if name == "capacity":
            numbers = {value: None if number is None else round(number) for value, number in numbers.items()}
        columns.append([numbers[value] for value in column] or [None] * count)
    return columns


def _attribute(name: str, value: object, source: str, element: Callable[[], str]) -> float | None:
    if value is None:
        return None
    if isinstance(value, str):
        known = _valid(name, value)
        if known is not None or not value.strip():
            return known
    number = _number(name, value)
    if number is None:
        units = ", ".join(_SCALES.get(name, {}))
        wanted = f"a number, or a number with one of the units {units}" if units else "a number"
        raise TopologyError(source, f"{element()}, {name}", value, f"must be {wanted}")
    limits = RANGES[ATTRIBUTES[name]]
    if not limits.holds(number):
        raise TopologyError(source, f"{element()}, {name}", value, limits.expectation)
    return number


@lru_cache(_TEXTS)
def _valid(name: str, text: str) -> float | None:
    """The number that a text means, if it is in the attribute's range."""
    number = _number(name, text)
    return number if number is not None and RANGES[ATTRIBUTES[name]].holds(number) else None


def plain_number(value: object) -> float | None:
    """The value as a number if it is one or the text of one (NaN and infinities included), else ``None``."""
    if type(value) is float:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    # float() also takes "1_000" and digits of other scripts, which no format here means
    strict = not isinstance(value, str) or (value.isascii() and "_" not in value)
    return number if strict else None


def _number(name: str, value: object) -> float | None:
    number = plain_number(value)
    if number is not None or not isinstance(value, str):
        return number
    return _with_unit(name, value.strip())


def _with_unit(name: str, text: str) -> float | None:
    match = _QUANTITY.fullmatch(text)
    if match is None or match[5] not in _SCALES.get(name, {}):
        return None
    sign, whole, fraction, exponent, unit = match.groups()
    scale, power = _SCALES[name][unit], int(exponent or 0) - len(fraction)
    try:
        numerator: int = int(f"{sign}{whole}{fraction}") * scale.numerator * 10 ** max(power, 0)
        denominator: int = scale.denominator * 10 ** max(-power, 0)
        return numerator / denominator  # of whole numbers: rounded once
    except (OverflowError, ValueError):  # too large, or of thousands of digits
        return None
