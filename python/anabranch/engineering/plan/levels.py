"""Levels of load that depend on no network: multiples of 0.2, 0.5 and 1 % of a power of ten, from 0.1 to 0.25 % apart.

Any load of three digits is a level. Every tenth level is a coarse one: 0.5, 0.51, 0.52.
"""

from math import floor, log10

FINE = 10
"""Every level whose index is a multiple of this is coarse."""
_STEPS = ((1000, 2), (2000, 5), (5000, 10))
"""From which multiple of a thousandth of a power of ten a step of so many thousandths holds."""
_BEGINS = (0, 500, 1100)
_OF_DECADE = 1600


def load(index: int) -> float:
    """The load of a level."""
    decade, place = divmod(index, _OF_DECADE)
    (least, step), begin = max((_STEPS[part], _BEGINS[part]) for part in range(3) if _BEGINS[part] <= place)
    digits = least + step * (place - begin)
    return float(f"{digits}e{decade - 3}")


def index(most: float) -> int:
    """The greatest level of at most a load; levels are as good as equal within rounding."""
    decade = floor(log10(most * (1 + 1e-9)))
    digits = most * (1 + 1e-9) * 10.0 ** (3 - decade)
    (least, step), begin = max((_STEPS[part], _BEGINS[part]) for part in range(3) if _STEPS[part][0] <= digits)
    return decade * _OF_DECADE + begin + floor((digits - least) / step)
