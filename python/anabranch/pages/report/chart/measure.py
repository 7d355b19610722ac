"""How numbers are shown: units, digits and intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """The display of a column: its title, the factor from its unit to the unit shown, the name of that unit, and the axis."""

    column: str
    title: str
    unit: str
    factor: float = 1.0
    from_zero: bool = True

    @property
    def axis(self) -> str:
        """The title of an axis."""
        return f"{self.title}, {self.unit}" if self.unit else self.title


def rate(column: str, title: str, largest_bps: float | None) -> Measure:
    """A rate in the largest of bit/s, kbit/s, Mbit/s and Gbit/s that leaves ``largest_bps`` at 1 or more."""
    for unit, factor in (("Gbit/s", 1e-9), ("Mbit/s", 1e-6), ("kbit/s", 1e-3)):
        if (largest_bps or 0) * factor >= 1:
            return Measure(column, title, unit, factor)
    return Measure(column, title, "bit/s")


def seconds(column: str, title: str, largest_s: float | None) -> Measure:
    """A time in seconds, or in milliseconds below one second."""
    return Measure(column, title, "s") if (largest_s or 0) >= 1 else Measure(column, title, "ms", 1e3)


def three_digits(value: float | None) -> str:
    """A number with three significant digits, or a dash for an unknown one."""
    return digits(value, 3)


def digits(value: float | None, significant: int) -> str:
    """A number with this number of significant digits and all whole digits; a dash for an unknown one."""
    if value is None or value != value:
        return "–"
    if value == 0:
        return "0"
    decimals = max(significant - 1 - math.floor(math.log10(abs(value))), 0)
    return f"{value:,.{decimals}f}" if decimals <= 6 else f"{value:.1e}"


def interval(value: float | None, half: float | None) -> str:
    """The half width of an interval to the last decimal that :func:`three_digits` shows of its value; less than that is named as such."""
    if value is None or half is None:
        return "–"
    if half == 0:
        return "0"
    text = three_digits(value)
    if "e" in text or value == 0:
        return digits(half, 2)
    decimals = len(text.partition(".")[2])
    shown = f"{half:,.{decimals}f}"
    return f"< {10.0**-decimals:.{decimals}f}" if not float(shown.replace(",", "")) else shown


def with_interval(value: float, half: float | None) -> str:
    """A value of three significant digits, and the half width of its interval to the same decimal.

    A decimal behind the second significant digit of the half width is left out, because the interval leaves it open.
    """
    text = three_digits(value)
    if half is None or "e" in text:
        return text if half is None else f"{text} ± {three_digits(half)}"
    decimals = len(text.partition(".")[2])
    if half >= 1 / 10**decimals:
        decimals = min(decimals, max(1 - math.floor(math.log10(half)), 0))
    return f"{value:,.{decimals}f} ± {half:,.{decimals}f}"
