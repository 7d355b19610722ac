"""Queue disciplines of Linux's routers, as the messages of rtnetlink that configure them.

A discipline has a shaper in front of it (``htb`` with one class), or shapes itself (``cake``). The guest's program fills in the device.
"""

import struct
from dataclasses import dataclass

_NEW_DISCIPLINE, _NEW_CLASS = 36, 40
_FLAGS = 1 | 4 | 0x100 | 0x400  # request, acknowledge, replace, create
_ROOT = 0xFFFFFFFF
_TICKS_PER_SECOND = 1_000_000_000 / 64
_SHAPER, _CLASS, _INNER = 1 << 16, 1 << 16 | 1, 2 << 16
_ETHERNET = 1
"""A link layer whose rates need no table."""

_ECN = {"codel": 4, "fq_codel": 4, "pie": 6, "fq_pie": 10}
"""The attribute that turns marks on or off."""


@dataclass(frozen=True)
class Discipline:
    """A discipline with Linux's defaults."""

    kind: str
    """Its name in Linux."""
    rate_bps: int
    shaper: str = "htb"
    burst_bytes: int = 1500
    """The burst of the shaper."""
    ecn: bool | None = None
    """Whether it marks; None for its default."""
    limit: int | None = None
    """Of ``pfifo``, packets."""
    red: tuple[int, int, int] | None = None
    """Of ``red``: the limit and the thresholds, bytes; it is adaptive then."""

    def messages(self) -> list[bytes]:
        """What configures it."""
        if self.kind == "cake":
            return [
                _message(_NEW_DISCIPLINE, _SHAPER, _ROOT, "cake", _attribute(2, struct.pack("=Q", self.rate_bps // 8)))
            ]
        if self.shaper == "tbf":
            rate = struct.pack("=BBHhHI", 0, _ETHERNET, 0, 0, 0, self.rate_bps // 8)
            burst = round(self.burst_bytes * 8 / self.rate_bps * _TICKS_PER_SECOND)
            parameters = rate + bytes(12) + struct.pack("=III", 1000000, burst, 0)
            return [
                _message(
                    _NEW_DISCIPLINE,
                    _SHAPER,
                    _ROOT,
                    "tbf",
                    _attribute(1, parameters) + _attribute(6, struct.pack("=I", self.burst_bytes)),
                ),
                _message(_NEW_DISCIPLINE, _INNER, _CLASS, self.kind, self._options()),
            ]
        rate = struct.pack("=BBHhHI", 0, _ETHERNET, 0, 0, 0, self.rate_bps // 8)
        burst = round(self.burst_bytes * 8 / self.rate_bps * _TICKS_PER_SECOND)
        parameters = rate + rate + struct.pack("=IIIII", burst, burst, 1514, 0, 0)
        return [
            _message(_NEW_DISCIPLINE, _SHAPER, _ROOT, "htb", _attribute(2, struct.pack("=IIIII", 3, 10, 1, 0, 0))),
            _message(_NEW_CLASS, _CLASS, _SHAPER, "htb", _attribute(1, parameters)),
            _message(_NEW_DISCIPLINE, _INNER, _CLASS, self.kind, self._options()),
        ]

    def _options(self) -> bytes:
        if self.kind == "pfifo":
            return struct.pack("=I", self.limit)
        if self.red is not None:
            return self._red_options(*self.red)
        return b"" if self.ecn is None else _attribute(_ECN[self.kind], struct.pack("=I", int(self.ecn)))

    def _red_options(self, limit: int, least: int, most: int) -> bytes:
        burst = (2 * least + most) / 3000
        log = next(log for log in range(1, 32) if burst + 1 - least / 1000 <= (1 - (1 - 0.5**log) ** burst) / 0.5**log)
        flags = 4 | (1 if self.ecn else 0)  # adaptive, marks
        parameters = struct.pack("=IIIBBBB", limit, least, most, log, 9, 10, flags)
        probability = struct.pack("=I", round(0.02 * 2**32))
        return _attribute(1, parameters) + _attribute(2, bytes(256)) + _attribute(3, probability)


def _attribute(number: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), number) + value + bytes(-len(value) % 4)


def _message(kind: int, handle: int, parent: int, name: str, options: bytes) -> bytes:
    """A message without the index of its device."""
    about = struct.pack("=BxxxiIII", 0, 0, handle, parent, 0)
    attributes = _attribute(1, name.encode("ascii") + b"\0") + (_attribute(2, options) if options else b"")
    body = about + attributes
    return struct.pack("=IHHII", 16 + len(body), kind, _FLAGS, 1, 0) + body
