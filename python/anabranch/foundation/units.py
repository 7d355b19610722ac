"""Unit strings of scenarios (``"10ms"``, ``"1.5 Mbit/s"``, ``"100 packets"``) to exact numbers.

Nothing passes through floating point: ``"0.1ms"`` is 100,000,000 picoseconds, not the nearest double. Prefixes are
decimal (1 kB = 1000 bytes, 1 KiB = 1024), a ``b`` in a rate is a bit, a ``B`` is a byte.
"""

import re
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, wraps
from typing import Literal, TypeVar

PICOSECONDS_PER_SECOND = 10**12
PICOSECONDS_PER_MILLISECOND = 10**9
LONGEST = 2**56 - 1
"""The longest duration, picoseconds (20 hours): the packet engine keeps its flags above bit 56."""
LARGEST = 2**63 - 1
"""The largest rate and size that the core holds with room for a sum."""

_NUMBER = re.compile(r"\s*([+-]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*))(?:[eE]([+-]?\d{1,3}))?\s*(.*?)\s*", re.DOTALL)
_LARGEST_EXPONENT = 40
_SHOWN = 30
"""Characters of a wrong unit that a message repeats."""

_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}

DURATIONS = {
    "ps": Fraction(1, 10**12),
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "μs": Fraction(1, 10**6),
    "ms": Fraction(1, 10**3),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
}
RATES = {prefix + unit: Fraction(scale) for prefix, scale in _DECIMAL.items() for unit in ("bps", "bit/s", "b/s")} | {
    prefix + "B/s": Fraction(8 * scale) for prefix, scale in (_DECIMAL | _BINARY).items()
}
_BYTES = {prefix + "B": Fraction(scale) for prefix, scale in (_DECIMAL | _BINARY).items()} | {
    "byte": Fraction(1),
    "bytes": Fraction(1),
}
_PACKETS = {"packet": Fraction(1), "packets": Fraction(1)}
_BDP = {"bdp": Fraction(1)}
_SPEEDS = {"m/s": Fraction(1), "km/s": Fraction(1000)}
LENGTHS = {"m": Fraction(1), "km": Fraction(1000)}
"""Units in seconds (DURATIONS), bit/s (RATES) and metres (LENGTHS)."""
PERCENT = {"%": Fraction(1, 100)}
_FREQUENCIES = {"/s": Fraction(1), "/ms": Fraction(1000), "/min": Fraction(1, 60)}


class UnitError(ValueError):
    """A text that is not a number with the right unit; the message says what would be right."""


_Value = TypeVar("_Value")


def _remembered(parse: Callable[[str], _Value]) -> Callable[[str], _Value]:
    """Read each text once: a network may have the same rate at a hundred thousand links."""
    remembered = lru_cache(maxsize=1024)(parse)

    @wraps(parse)
    def of(text: str) -> _Value:
        # The parser refuses a value that cannot be a key.
        return remembered(text) if isinstance(text, str) else parse(text)

    return of


@dataclass(frozen=True)
class QueueLimit:
    """How much a queue holds: an amount of ``packets``, ``bytes``, or bandwidth-delay products (``bdp``)."""

    amount: Fraction
    unit: Literal["packets", "bytes", "bdp"]


@_remembered
def duration(text: str) -> int:
    """A duration such as ``"10ms"`` in whole picoseconds, at most 20 hours."""
    value = _parse(text, DURATIONS, "a duration", "10ms") * PICOSECONDS_PER_SECOND
    return _whole(value, text, "a duration", LONGEST, "picoseconds", "20 hours")


@_remembered
def rate(text: str) -> int:
    """A rate such as ``"1.5 Mbit/s"`` or ``"10Gbps"`` in whole bits per second."""
    return _whole(_parse(text, RATES, "a rate", "10Mbps"), text, "a rate", LARGEST, "bits per second", "9 Ebit/s")


@_remembered
def size(text: str) -> int:
    """A size such as ``"3 MB"`` in whole bytes."""
    return _whole(_parse(text, _BYTES, "a size", "3 MB"), text, "a size", LARGEST, "bytes", "9 EB")


@_remembered
def packets(text: str) -> int:
    """A number of packets such as ``"10 packets"``."""
    value = _parse(text, _PACKETS, "a number of packets", "10 packets")
    return _whole(value, text, "a number of packets", 2**32 - 1, "packets", "4294967295 packets")


@_remembered
def queue_limit(text: str) -> QueueLimit:
    """A queue's limit: ``"100 packets"``, ``"3 MB"`` or ``"1 bdp"``."""
    what, example = "a queue limit", '100 packets", "3 MB" or "1 bdp'
    _, unit = split(text, what, example)
    amount = _parse(text, _PACKETS | _BYTES | _BDP, what, example)
    if unit in _BDP:
        return QueueLimit(amount, "bdp")
    if unit in _PACKETS:
        return QueueLimit(Fraction(packets(text)), "packets")
    return QueueLimit(Fraction(size(text)), "bytes")


@_remembered
def speed(text: str) -> Fraction:
    """A speed such as ``"2e8 m/s"`` in metres per second."""
    return _parse(text, _SPEEDS, "a speed", "2e8 m/s")


@_remembered
def length(text: str) -> Fraction:
    """A length such as ``"1000km"`` in metres."""
    return _parse(text, LENGTHS, "a length", "1000km")


@_remembered
def frequency(text: str) -> Fraction:
    """A frequency such as ``"100/s"`` in events per second."""
    return _parse(text, _FREQUENCIES, "a frequency", "100/s")


QUANTITIES: tuple[tuple[Callable[[str], int | Fraction], int, str], ...] = (
    (duration, PICOSECONDS_PER_SECOND, "s"),
    (rate, 1, "bit/s"),
    (size, 1, "bytes"),
    (packets, 1, "packets"),
    (length, 1, "m"),
    (speed, 1, "m/s"),
    (frequency, 1, "a second"),
)
"""For each quantity: the parser of a text with its unit, the number of its results that make one base unit, and the base unit."""


def meaning(text: str) -> Hashable:
    """A key that is the same for texts of the same meaning: a share as a number, a quantity in its base unit, any other text itself."""
    with suppress(UnitError):
        return percentage(text)
    for parse, scale, base in QUANTITIES:
        with suppress(UnitError):
            return base, Fraction(parse(text)) / scale
    return text


def percentage(text: str) -> float:
    """A share written in per cent: ``"1%"`` is 0.01."""
    return float(_parse(text, PERCENT, "a share", "1%"))


def share(text: str) -> float:
    """A share as a number or in per cent, as on the command line: ``"0.01"``, ``"1%"``.

    Raises:
        UnitError: it is neither, or a number above 1, which may be meant as per cent.
    """
    try:
        return percentage(text) if text.endswith("%") else at_most_one(float(text), text)
    except UnitError:
        raise
    except ValueError:
        raise UnitError('must be a share such as "0.01" or "1%"') from None


def at_most_one(number: float, written: object) -> float:
    """A share without a unit.

    Raises:
        UnitError: it is above 1.
    """
    if number > 1:
        raise UnitError(f'must be a share of at most 1, such as 0.05; write "{written}%" for per cent')
    return number


def format_duration(picoseconds: int) -> str:
    """The shortest unit string of a duration: 1,500,000,000 gives ``"1.5ms"``; :func:`duration` undoes it."""
    for unit in ("s", "ms", "us", "ns"):
        scale = int(DURATIONS[unit] * PICOSECONDS_PER_SECOND)
        if picoseconds % (scale // 1000) == 0 and (picoseconds >= scale or picoseconds == 0):
            whole, thousandths = divmod(picoseconds * 1000 // scale, 1000)
            return f"{whole}.{thousandths:03d}".rstrip("0").rstrip(".") + unit
    return f"{picoseconds}ps"


def format_size(count: int) -> str:
    """A unit string of a number of bytes: 64,000,000 gives ``"64 MB"``; :func:`size` undoes it."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= scale and count % scale == 0:
            return f"{count // scale} {unit}"
    return f"{count} bytes"


def format_packets(count: int) -> str:
    """A unit string of a number of packets; :func:`packets` undoes it."""
    return f"{count} packets"


def split(text: object, what: str, example: str) -> tuple[Fraction, str]:
    """The number and the unit of a text; :class:`UnitError` says that it must be ``what``, as in the example."""
    if not isinstance(text, str):
        raise UnitError(f'must be {what} with its unit, as a text such as "{example}"')
    match = _NUMBER.fullmatch(text)
    if match is None or not text.isprintable():
        raise UnitError(f'must be {what}: a number and a unit, such as "{example}"')
    digits, exponent, unit = match.groups()
    if (exponent and abs(int(exponent)) > _LARGEST_EXPONENT) or len(digits) > _LARGEST_EXPONENT:
        raise UnitError(f'must be {what} of a sensible size, such as "{example}"')
    number = Fraction(digits.replace("_", "")) * Fraction(10) ** int(exponent or 0)
    return number, unit


def _parse(text: str, units: dict[str, Fraction], what: str, example: str) -> Fraction:
    number, unit = split(text, what, example)
    if unit not in units:
        shown = re.match(r"\s*[^\sA-Za-zµμ/]*", text)
        plain = shown.group().strip() if shown else ""
        if not unit:
            raise UnitError(f'must be {what} with its unit, such as "{example}"')
        bits = f"{unit[:-3]}bps"
        if unit.endswith("Bps") and bits in units:
            raise UnitError(
                f'"{unit[:_SHOWN]}" means bytes, and rates are in bits: write "{float(8 * number):.12g} {bits}"'
            )
        for right in units:
            if right.lower() == unit.lower():
                raise UnitError(f'"{unit[:_SHOWN]}" is not a unit of {what[2:]}; did you mean "{plain} {right}"?')
        raise UnitError(f'"{unit[:_SHOWN]}" is not a unit of {what[2:]}; write it as in "{example}"')
    if number < 0:
        raise UnitError(f'must be {what} that is not negative, such as "{example}"')
    return number * units[unit]


def _whole(value: Fraction, text: str, what: str, most: int, least: str, limit: str) -> int:
    if value > most:
        raise UnitError(f"must be {what} of at most {limit}")
    if value.denominator != 1:
        raise UnitError(f'must be {what} in whole {least}; "{text.strip()}" is finer')
    return int(value)
