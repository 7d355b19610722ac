"""The names that files give to the attributes of a link, and the one attribute and unit that each means.

Case and signs such as ``_`` do not count: ``packet_loss`` and ``PacketLoss`` are one name. A name may end in its unit, such as
``delay_ms`` or ``capacity_in_gbps``.
"""

import re
from functools import lru_cache
from typing import NamedTuple


class Word(NamedTuple):
    """What a name means."""

    attribute: str
    """One of ``capacity``, ``delay``, ``length``, ``loss``, ``cost``."""
    unit: str = ""
    """The unit of a value without its own; by default bit/s, seconds, metres, or a ratio."""
    needs_unit: bool = False
    """Whether a value without a unit means nothing: files count a distance in metres, kilometres or miles."""


NAMES = {
    "capacity": ("capacity", "bandwidth", "bw", "rate", "speed", "datarate", "bitrate", "linkcapacity", "linkrate"),
    "delay": ("delay", "latency", "propagationdelay", "propdelay", "linkdelay", "linklatency"),
    "length": ("length", "distance", "dist", "linklength"),
    "loss": ("loss", "packetloss", "lossrate", "lossratio", "lossprobability", "packetlossrate", "plr", "linkloss"),
    "cost": (
        "cost", "weight", "metric", "igpcost", "igpmetric", "igpweight", "ospfcost", "ospfweight", "isismetric", "linkcost",
        "linkweight",
    ),
}  # fmt: skip
"""By attribute: its own name, then others, the preferred first."""

UNITS = {
    "capacity": {
        f"{prefix}{unit}": f"{sign}bps"
        for prefix, sign in {"": "", "k": "k", "kilo": "k", "m": "M", "mega": "M", "g": "G", "giga": "G", "t": "T"}.items()
        for unit in ("bps", "bits", "bit")
    },
    "delay": {
        "s": "s", "sec": "s", "seconds": "s", "ms": "ms", "msec": "ms", "milliseconds": "ms",
        "us": "us", "usec": "us", "microseconds": "us", "ns": "ns", "nanoseconds": "ns",
    },
    "length": {"m": "m", "meters": "m", "metres": "m", "km": "km", "kilometers": "km", "kilometres": "km"},
    "loss": {"percent": "%", "pct": "%", "percentage": "%"},
    "cost": {},
}  # fmt: skip
"""By attribute: what a name may end in, and the unit that it means."""

_WORDS = {
    name + joint + ending: Word(attribute, unit)
    for attribute, names in NAMES.items()
    for name in names
    for ending, unit in UNITS[attribute].items()
    for joint in ("", "in")
} | {
    name: Word(attribute, needs_unit=name in ("distance", "dist", "linklength"))
    for attribute, names in NAMES.items()
    for name in names
}
_WORDS["linkspeedraw"] = Word("capacity", "bps")  # of the Internet Topology Zoo
_LOOKS = {
    "capacity": re.compile("capac|bandw|speed|rate(?!d)|throughput"),
    "delay": re.compile("delay|latenc|rtt|roundtrip"),
    "loss": re.compile("loss(?!les)"),
    "cost": re.compile("cost|weight|metric"),
    "length": re.compile("length|distan"),
}
_SIGNS = re.compile(r"[\W_]+")


@lru_cache(2**12)
def word_of(name: str) -> Word | None:
    """What a name means; nothing if it is not the name of an attribute."""
    return _WORDS.get(_SIGNS.sub("", name).lower())


@lru_cache(2**12)
def resembled(name: str) -> str | None:
    """The attribute that a name of no meaning looks like."""
    plain = _SIGNS.sub("", name).lower()
    return next((attribute for attribute, looks in _LOOKS.items() if looks.search(plain)), None)
