"""The attributes of a link as files and scenarios write them: ``delay``, ``length``, ``loss``, ``capacity``, ``cost``.

A number without a unit is in seconds, metres or bit/s; a loss may be a percentage. The same names hold in every format.
"""

import re
from collections.abc import Mapping
from fractions import Fraction

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

_SCALES = {"capacity": RATES, "delay": DURATIONS, "length": LENGTHS, "loss": PERCENT}
_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*([A-Za-zµμ/%]+)")


def link_attributes(values: Mapping[str, object], source: str, element: str) -> dict[str, float]:
    """The fields of a link from an edge's attributes.

    What is absent, ``None`` or blank is unknown; other names are passed over.

    Raises:
        TopologyError: a value that is no number, has the wrong unit, or is out of range.
    """
    known: dict[str, float] = {}
    for name, attribute in ATTRIBUTES.items():
        value = values.get(name)
        if value is None or (isinstance(value, str) and not value.strip()):
            continue
        number = _number(name, value)
        limits = RANGES[attribute]
        if number is None:
            units = ", ".join(_SCALES.get(name, {}))
            wanted = f"a number, or a number with one of the units {units}" if units else "a number"
            raise TopologyError(source, f"{element}, {name}", value, f"must be {wanted}")
        if not limits.holds(number):
            raise TopologyError(source, f"{element}, {name}", value, limits.expectation)
        known[attribute] = round(number) if attribute == "capacity_bps" else number
    return known


def plain_number(value: object) -> float | None:
    """The value as a number if it is one or the text of one (NaN and infinities included), else ``None``."""
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
    if match is None or match[2] not in _SCALES.get(name, {}):
        return None
    try:
        return float(Fraction(match[1]) * _SCALES[name][match[2]])
    except OverflowError:
        return None
