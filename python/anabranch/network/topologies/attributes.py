"""The attributes of links as files write them: ``delay``, ``length``, ``loss``, ``capacity``, ``cost`` and their other names.

A number without a unit is in seconds, metres or bit/s, unless its name or its format says otherwise; a loss may be a percentage.
The same names hold in every format (:mod:`~anabranch.network.topologies.words`).
"""

import math
import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from anabranch.foundation.units import DURATIONS, LENGTHS, PERCENT, RATES
from anabranch.network.topologies.errors import TopologyError
from anabranch.network.topologies.links import Link
from anabranch.network.topologies.model import RANGES
from anabranch.network.topologies.words import NAMES, Word, resembled, word_of

ATTRIBUTES = {
    "capacity": "capacity_bps",
    "delay": "delay_s",
    "length": "length_m",
    "loss": "loss",
    "cost": "cost",
}
"""The name in a file, and the field of :class:`~anabranch.network.topologies.model.Link`."""

LEAST_DELAY_S = 1e-6
"""The delay of a link between two nodes in one place."""


class Attributes(NamedTuple):
    """The attributes of a link, in the order of :class:`~anabranch.network.topologies.model.Link`."""

    capacity_bps: int | None = None
    delay_s: float | None = None
    length_m: float | None = None
    loss: float | None = None
    cost: float | None = None


class Coded(NamedTuple):
    """A column of texts by the place of each among the distinct ones."""

    distinct: list[str]
    places: "array[int]"


_SCALES = {"capacity": RATES, "delay": DURATIONS, "length": LENGTHS, "loss": PERCENT}
_BASES = {"capacity": "bps", "delay": "s", "length": "m"}
_OTHER_UNITS = {
    "capacity": {
        f"{written}{unit}": f"{prefix}bps"
        for prefix in "kMGT"
        for written in {prefix, prefix.lower(), prefix.upper()}
        for unit in ("bit", "bps", "bit/s", "b/s", "bits/s")
        if f"{written}{unit}" not in RATES
    }
    | {"bit": "bps", "bits/s": "bps", "k": "kbps", "K": "kbps", "M": "Mbps", "G": "Gbps", "T": "Tbps"},
    "delay": {"sec": "s", "msec": "ms", "usec": "us", "nsec": "ns"},
}
"""Units that other tools write, such as the 10mbit of Linux's tc, and those of scenarios that they mean."""
_QUANTITY = re.compile(r"([+-]?)(?=\.?\d)(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,3}))?\s*([A-Za-zµμ/%]+)")
_TEXTS = 2**16
"""Texts of numbers that are remembered: a large network repeats few."""
_SHOWN = 5
_LONGEST = 30
"""Characters of a value that are shown."""
_SLOW_BPS, _FAR_S = 100_000, 0.3
"""A number without a unit that is at most as fast, or at least as far, probably counts another unit: 100 Gbit/s in Mbit/s, or milliseconds."""
_DEFAULTS = {
    "capacity": "the capacity that the scenario or command gives (in a scenario 100 Mbit/s)",
    "delay": "the delay of their length, or the scenario's (of 1000 km)",
    "length": "the distance of their nodes on the map, or none",
    "loss": "no loss",
    "cost": "cost 1",
}


class AttributeReader:
    """Reads the attributes of the edges of one file, and remembers what deserves a warning.

    ``words`` are names with another meaning in this format.
    """

    def __init__(self, source: str, words: Mapping[str, Word] = MappingProxyType({})) -> None:
        """``source`` is the file, for errors."""
        self._source = source
        self._own = words
        self._unread: dict[str, _Unread] = {}
        self._plain: dict[tuple[str, str], tuple[float, float]] = {}
        self._changed: dict[str, int] = {}

    def reads(self, name: str) -> bool:
        """Whether a value of this name is read, or deserves a warning."""
        return bool(self._word(name) or resembled(name) or _is_label(name))

    def of_edge(self, values: Mapping[str, object], element: Callable[[], str]) -> Attributes:
        """The attributes of a link from those of an edge.

        An attribute that is absent, ``None`` or blank is unknown. ``element`` returns the edge's name for errors.

        Raises:
            TopologyError: a value that is no number, has the wrong unit, or is out of range.
        """
        found: dict[str, float] = {}
        others: list[tuple[str, str]] = []
        for name, word in sorted(self._words(values), key=_preference):
            value = values[name]
            if _is_blank(value):
                continue
            if word.attribute in found or (word.needs_unit and plain_number(value) is not None):
                others.append((name, word.attribute))
                continue
            found[word.attribute] = self._number(name, word, value, element)
        for name, value in values.items():
            like = None if self._word(name) else resembled(name) or _quantity_of_label(name, value)
            if like is not None and like not in found and not _is_blank(value):
                others.append((name, like))
        for name, attribute in others:
            known = self._unread.setdefault(name, _Unread(attribute, 0, values[name]))
            self._unread[name] = known._replace(edges=known.edges + 1)
        capacity = found.get("capacity")
        return Attributes(None if capacity is None else round(capacity), *map(found.get, list(ATTRIBUTES)[1:]))

    def columns(self, values: Mapping[str, Coded | Sequence[object]]) -> "dict[str, array[float] | None] | None":
        """The attributes of all edges as :class:`~anabranch.network.topologies.links.Links` has them, from columns; ``None`` if one cannot be used.

        A column may hold ``None`` for an edge without the attribute. Columns of other names are ignored, but not of names that look
        like an attribute.
        """
        words = self._words(values)
        if len({word.attribute for _, word in words}) < len(words):
            return None
        known = {name for name, _ in words}
        distinct = {name: column.distinct if isinstance(column, Coded) else column for name, column in values.items()}
        for name, of_edges in distinct.items():
            if name not in known and (resembled(name) or any(_quantity_of_label(name, value) for value in of_edges)):
                return None
        columns: dict[str, array[float] | None] = dict.fromkeys(Attributes._fields)
        for name, word in words:
            column = values[name]
            if word.needs_unit or not set(map(type, distinct[name])) <= {str, int, float, type(None)}:
                return None
            try:
                numbers = {
                    value: math.nan if _is_blank(value) else self._number(name, word, value, str)
                    for value in set(distinct[name])
                }
            except TopologyError:
                return None
            if word.attribute == "capacity":
                numbers = {value: number if math.isnan(number) else round(number) for value, number in numbers.items()}
            if not all(map(math.isnan, numbers.values())):
                if isinstance(column, Coded):
                    of_places = [numbers[text] for text in column.distinct]
                    read = array("d", map(of_places.__getitem__, column.places))
                else:
                    read = array("d", map(numbers.__getitem__, column))
                columns[ATTRIBUTES[word.attribute]] = read
        if self._changed:
            return None  # which are counted by edge
        return columns

    def warnings(self, links: Sequence[Link]) -> list[str]:
        """Warnings about values that were not read, and numbers that may count another unit."""
        found = []
        if self._unread:
            listed = ", ".join(
                f"{name} (of {one.edges}, such as {_quoted(one.example)})"
                for name, one in list(self._unread.items())[:_SHOWN]
            ) + (", ..." if len(self._unread) > _SHOWN else "")
            missing = [
                attribute
                for attribute in ATTRIBUTES
                if any(attribute == one.attribute for one in self._unread.values())
                and any(getattr(link, ATTRIBUTES[attribute]) is None for link in links)
            ]
            instead = "; ".join(f"links without a {attribute} have {_DEFAULTS[attribute]}" for attribute in missing)
            ending = f"; {instead}" if instead else ", as other attributes say the same"
            found.append(f"these attributes of edges are not read: {listed}{ending}")
        for (name, attribute), (least, most) in self._plain.items():
            example = {"capacity": "10Mbps", "delay": "5ms"}.get(attribute)
            if attribute == "capacity" and least <= _SLOW_BPS:
                found.append(
                    f'{name} without a unit is in bit/s: the least is {least:g} bit/s; write units, such as "{example}"'
                )
            elif attribute == "delay" and most >= _FAR_S:
                found.append(
                    f'{name} without a unit is in seconds: the longest is {most:g} s; write units, such as "{example}"'
                )
        found += [what.format(count) for what, count in self._changed.items()]
        return found

    def _word(self, name: str) -> Word | None:
        return self._own.get(name) or word_of(name)

    def _words(self, values: Mapping[str, object]) -> list[tuple[str, Word]]:
        return [(name, word) for name in values if (word := self._word(name)) is not None]

    def _number(self, name: str, word: Word, value: object, element: Callable[[], str]) -> float:
        attribute, unit = word.attribute, word.unit or _BASES.get(word.attribute, "")
        number = _valid(attribute, unit, value) if isinstance(value, str) else _in_unit(attribute, unit, value)
        if number is None:
            units = ", ".join(_SCALES.get(attribute, {}))
            wanted = f"a number, or a number with one of the units {units}" if units else "a number"
            raise TopologyError(self._source, f"{element()}, {name}", value, f"must be {wanted}")
        if number == 0 and attribute == "delay":
            self._change("{} edges of delay 0 have a delay of 1 us: their nodes are in one place")
            number = LEAST_DELAY_S
        if 0 < number < 1 and attribute == "capacity":
            self._change(
                '{} edges have a capacity of less than 1 bit/s, which became 1 bit/s; write units, such as "10Mbps"'
            )
            number = 1.0
        limits = RANGES[ATTRIBUTES[attribute]]
        if not limits.holds(number):
            raise TopologyError(self._source, f"{element()}, {name}", value, limits.expectation)
        if not word.unit and attribute in ("capacity", "delay") and plain_number(value) is not None:
            least, most = self._plain.get((name, attribute), (number, number))
            self._plain[name, attribute] = min(least, number), max(most, number)
        return number

    def _change(self, what: str) -> None:
        self._changed[what] = self._changed.get(what, 0) + 1


class _Unread(NamedTuple):
    """A name that was not read: the attribute that it looks like, of how many edges, and a value."""

    attribute: str
    edges: int
    example: object


def _quoted(value: object) -> str:
    text = " ".join(str(value)[:_LONGEST].split()) if isinstance(value, str | int | float) else type(value).__name__
    return f'"{text}"'


def _preference(named: tuple[str, Word]) -> tuple[bool, int, str]:
    """An attribute's own name before others, those in the order of their table."""
    name, word = named
    plain = re.sub(r"[\W_]+", "", name).lower()
    names = NAMES[word.attribute]
    return (
        name != word.attribute,
        next((place for place, known in enumerate(names) if plain.startswith(known)), 0),
        name,
    )


def _is_label(name: str) -> bool:
    return name.lower() in ("label", "linklabel", "edgelabel")


def _quantity_of_label(name: str, value: object) -> str | None:
    """The attribute that the label of an edge gives, such as ``10 Gbit/s``."""
    if not _is_label(name) or not isinstance(value, str):
        return None
    return next((attribute for attribute in _BASES if _with_unit(attribute, value.strip()) is not None), None)


def _is_blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


@lru_cache(_TEXTS)
def _valid(attribute: str, unit: str, text: str) -> float | None:
    return _in_unit(attribute, unit, text)


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


def _in_unit(attribute: str, unit: str, value: object) -> float | None:
    """The value in SI units, from a number of the given unit, or a text with its own."""
    number = plain_number(value)
    if number is not None:
        if unit in ("", _BASES.get(attribute)) or not math.isfinite(number):
            return number
        scaled = _with_unit(attribute, f"{value!s}".strip() + unit)
        return math.copysign(math.inf, number) if scaled is None else scaled
    return _with_unit(attribute, value.strip()) if isinstance(value, str) else None


def _with_unit(attribute: str, text: str) -> float | None:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    sign, whole, fraction, exponent, written = match.groups()
    unit = _OTHER_UNITS.get(attribute, {}).get(written, written)
    if unit not in _SCALES.get(attribute, {}):
        return None
    scale, power = _SCALES[attribute][unit], int(exponent or 0) - len(fraction)
    try:
        numerator: int = int(f"{sign}{whole}{fraction}") * scale.numerator * 10 ** max(power, 0)
        denominator: int = scale.denominator * 10 ** max(-power, 0)
        return numerator / denominator  # of whole numbers: rounded once
    except (OverflowError, ValueError):  # too large, or of thousands of digits
        return None
