"""Queue disciplines of Linux's routers, as the messages of rtnetlink that configure them.

A discipline has a shaper in front of it (``htb`` with one class, or ``tbf``), or shapes itself (``cake``). The guest's program fills in the device.
"""

import struct
from dataclasses import dataclass
from typing import Literal

_NEW_DISCIPLINE, _NEW_CLASS = 36, 40
_REQUEST = 0x1 | 0x4 | 0x100 | 0x400  # request, acknowledge, replace, create
_ROOT = 0xFFFFFFFF
_SHAPER, _CLASS, _INNER = 0x10000, 0x10001, 0x20000
_TICKS_PER_SECOND = 1_000_000_000 / 64
_ETHERNET = 1
"""A link layer whose rates need no table."""

_ECN = {"codel": 4, "fq_codel": 4, "pie": 6, "fq_pie": 10}
"""The attribute that turns marks on or off."""
_PACKET = 1000
"""Bytes of a typical packet, of which the weight of RED's average is computed."""


@dataclass(frozen=True)
class Discipline:
    """A discipline with Linux's defaults."""

    kind: str
    """Its name in Linux."""
    rate_bps: int
    shaper: Literal["htb", "tbf"] = "htb"
    """In front of others than ``cake``."""
    burst_bytes: int = 1500
    """The burst of the shaper."""
    ecn: bool | None = None
    """Whether it marks; None for its default."""
    limit: int | None = None
    """Of ``pfifo`` in packets, of ``red`` in bytes; others have their defaults."""

    def messages(self) -> list[bytes]:
        """What configures it."""
        if self.kind == "cake":
            rate = _attribute(2, struct.pack("=Q", self.rate_bps // 8))
            return [_message(_NEW_DISCIPLINE, _SHAPER, _ROOT, "cake", rate)]
        shaped = self._tbf() if self.shaper == "tbf" else self._htb()
        return [*shaped, _message(_NEW_DISCIPLINE, _INNER, _CLASS, self.kind, self._options())]

    def _rate(self) -> bytes:
        return struct.pack("=BBHhHI", 0, _ETHERNET, 0, 0, 0, self.rate_bps // 8)

    def _burst(self) -> int:
        return round(self.burst_bytes * 8 / self.rate_bps * _TICKS_PER_SECOND)

    def _htb(self) -> list[bytes]:
        quantum = 1500
        parameters = self._rate() * 2 + struct.pack("=IIIII", self._burst(), self._burst(), quantum, 0, 0)
        default_class = _attribute(2, struct.pack("=IIIII", 3, 10, 1, 0, 0))
        return [
            _message(_NEW_DISCIPLINE, _SHAPER, _ROOT, "htb", default_class),
            _message(_NEW_CLASS, _CLASS, _SHAPER, "htb", _attribute(1, parameters)),
        ]

    def _tbf(self) -> list[bytes]:
        limit, peak = 1_000_000, bytes(12)
        parameters = self._rate() + peak + struct.pack("=III", limit, self._burst(), 0)
        options = _attribute(1, parameters) + _attribute(6, struct.pack("=I", self.burst_bytes))
        return [_message(_NEW_DISCIPLINE, _SHAPER, _ROOT, "tbf", options)]

    def _options(self) -> bytes:
        if self.kind == "pfifo":
            return struct.pack("=I", self.limit)
        if self.kind == "red":
            return self._adaptive_red(self.limit or 400_000)
        return b"" if self.ecn is None else _attribute(_ECN[self.kind], struct.pack("=I", self.ecn))

    def _adaptive_red(self, limit: int) -> bytes:
        """What ``tc`` computes of the limit alone (``tc/q_red.c``, ``tc_red_eval_ewma``)."""
        most = limit // 4
        least = most // 3
        burst = (2 * least + most) // (3 * _PACKET)
        wanted = burst + 1 - least / _PACKET
        log = next(log for log in range(1, 32) if wanted <= (1 - (1 - 0.5**log) ** burst) / 0.5**log)
        flags = 4 | bool(self.ecn)  # adaptive, marks
        parameters = struct.pack("=IIIBBBB", limit, least, most, log, 9, 10, flags)
        probability = struct.pack("=I", round(0.02 * 2**32))
        table_of_idle_times = bytes(256)  # which a shaped queue does not use
        return _attribute(1, parameters) + _attribute(2, table_of_idle_times) + _attribute(3, probability)


def _attribute(number: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), number) + value + bytes(-len(value) % 4)


def _message(kind: int, handle: int, parent: int, name: str, options: bytes) -> bytes:
    """A message without the index of its device."""
    about = struct.pack("=BxxxiIII", 0, 0, handle, parent, 0)
    attributes = _attribute(1, name.encode("ascii") + b"\0") + (_attribute(2, options) if options else b"")
    body = about + attributes
    return struct.pack("=IHHII", 16 + len(body), kind, _REQUEST, 1, 0) + body
