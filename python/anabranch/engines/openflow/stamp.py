"""Simple Two-Way Active Measurement Protocol (STAMP, RFC 8762): packets without authentication, and the state of both ends.

The reflector is stateful (section 4.2): it numbers its own packets, so that losses of the two directions are told apart. Timestamps have NTP's
format. Both ends have one clock here, or synchronised ones: the delays are one way.
"""

import struct
import time
from dataclasses import dataclass, field
from typing import NamedTuple

_REQUEST = struct.Struct("!IQH30x")
_REPLY = struct.Struct("!IQHxxQIQHxxBxxx")
BYTES = _REQUEST.size
"""Of a packet of either direction, without headers (sections 4.2.1 and 4.3.1)."""
_ERROR_ESTIMATE = 0x8C01
"""Synchronised, NTP's format, 2**12 * 2**-32 s: a microsecond (RFC 4656, section 4.1.2)."""
_NTP_EPOCH = 2_208_988_800
"""Seconds from 1900 to 1970."""
_TTL = 255
"""Of a sender's packets (section 4.2.1)."""


class Reply(NamedTuple):
    """A reflector's packet. Times are seconds since 1970."""

    number: int
    """Of this session's packets of the reflector, from 0."""
    sent_s: float
    received_s: float
    """When the sender's packet came."""
    request: int
    """Number of the sender's packet."""
    request_sent_s: float


def request(number: int, now_s: float) -> bytes:
    """A sender's packet."""
    return _REQUEST.pack(number & 0xFFFFFFFF, _ntp(now_s), _ERROR_ESTIMATE)


def reply(packet: bytes, number: int, received_s: float, now_s: float) -> bytes:
    """The reflector's answer to a sender's packet.

    Raises:
        ValueError: the packet is shorter than a sender's.
    """
    if len(packet) < BYTES:
        raise ValueError(f"a packet of {len(packet)} bytes: STAMP's have at least {BYTES}")
    theirs, sent, error = _REQUEST.unpack_from(packet)
    return _REPLY.pack(number & 0xFFFFFFFF, _ntp(now_s), _ERROR_ESTIMATE, _ntp(received_s), theirs, sent, error, _TTL)


def read(packet: bytes) -> Reply:
    """The values of a reflector's packet.

    Raises:
        ValueError: the packet is shorter than a reflector's.
    """
    if len(packet) < BYTES:
        raise ValueError(f"a packet of {len(packet)} bytes: STAMP's have at least {BYTES}")
    number, sent, _, received, theirs, their_sent, _, _ = _REPLY.unpack_from(packet)
    return Reply(number, _seconds(sent), _seconds(received), theirs, _seconds(their_sent))


@dataclass
class Reflector:
    """The reflector of one session."""

    replies: int = 0

    def answer(self, packet: bytes, received_s: float) -> bytes:
        """The answer to a packet of the session."""
        answer = reply(packet, self.replies, received_s, time.time())
        self.replies += 1
        return answer


@dataclass
class Moments:
    """Number, sum and sum of squares of delays, s."""

    number: int = 0
    sum_s: float = 0.0
    squares: float = 0.0

    def add(self, delay_s: float) -> None:
        """Count one more delay."""
        self.number += 1
        self.sum_s += delay_s
        self.squares += delay_s * delay_s


@dataclass
class Sender:
    """The sender of one session, and what it has learnt of both directions."""

    sent: int = 0
    there: Moments = field(default_factory=Moments)
    back: Moments = field(default_factory=Moments)
    requests_known: int = 0
    """Packets of the sender up to the last that was answered."""
    reflected: int = 0
    """How many of these reached the reflector."""

    def request(self) -> bytes:
        """The next packet."""
        packet = request(self.sent, time.time())
        self.sent += 1
        return packet

    def on_reply(self, packet: bytes, now_s: float) -> None:
        """Learn from an answer."""
        found = read(packet)
        self.there.add(found.received_s - found.request_sent_s)
        self.back.add(now_s - found.sent_s)
        self.requests_known = max(self.requests_known, found.request + 1)
        self.reflected = max(self.reflected, found.number + 1)

    @property
    def loss_there(self) -> float:
        """Share of the sender's packets that never reached the reflector; 0 without any."""
        return 1 - self.reflected / self.requests_known if self.requests_known else 0.0

    @property
    def loss_back(self) -> float:
        """Share of the reflector's packets that never came back; 0 without any."""
        return 1 - self.there.number / self.reflected if self.reflected else 0.0


def _ntp(time_s: float) -> int:
    whole = int(time_s)
    return (whole + _NTP_EPOCH) % 2**32 << 32 | int((time_s - whole) * 2**32)


def _seconds(timestamp: int) -> float:
    return (timestamp >> 32) - _NTP_EPOCH + (timestamp & 0xFFFFFFFF) / 2**32
