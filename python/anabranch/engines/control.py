"""Congestion controls in Python: for teaching and for a first look at an idea.

A stack names a class of a file, ``congestion = { python = "my_cc.py:MyControl" }``. The packet engine makes one object for each flow and calls
its methods. Every run with the same scenario and seed gives the same result. It is some twenty times slower than a control in Rust or eBPF, because every
ACK calls Python. All state belongs to the object: flows are not visited in the order of time.
"""

from __future__ import annotations

from math import inf
from typing import Literal, Protocol

_LIMIT = 2
"""Segments by which one ACK may open the window in slow start (L of RFC 3465)."""
_LEAST_SSTHRESH = 2
"""Segments (RFC 5681 equation 4)."""


class Flow(Protocol):
    """A flow, as its congestion control knows it at the beginning."""

    initial_window: int
    """Segments."""
    wire_bytes: int
    """Bytes of a full segment on the wire, headers included."""
    seed: int
    """A seed for the flow's own ``random.Random``."""


class Ack(Protocol):
    """An acknowledgement that delivered something."""

    now_s: float
    """Virtual time, seconds."""
    delivered: int
    """Segments that it newly reports as delivered, cumulatively or selectively."""
    growth: int
    """Segments that may grow the window: none in fast recovery, or while the window was not the limit (RFC 5681 section 3.1)."""
    newly_lost: int
    """Segments that it made the loss detection mark as lost."""
    prior_in_flight: int
    """Segments in flight before it."""
    in_flight: int
    """Segments in flight after it."""
    rtt_s: float | None
    """RTT of the newest segment that it delivered, seconds, if that was sent only once."""
    srtt_s: float | None
    """Smoothed RTT (RFC 6298), seconds."""
    min_rtt_s: float | None
    """Least RTT so far, seconds."""
    round_start: bool
    """Whether a new round trip begins."""
    in_recovery: bool
    """Whether the sender is in loss recovery."""
    ecn_echo: bool
    """Whether it echoes a congestion mark (RFC 3168)."""
    delivery_rate_bps: float | None
    """Delivery rate, bit/s, if the class has ``samples_rate = True`` (draft-ietf-ccwg-bbr section 4.1)."""
    app_limited: bool
    """Whether the application limited that rate."""


class Congestion(Protocol):
    """A congestion signal, at most one for each episode of recovery."""

    now_s: float
    """Virtual time, seconds."""
    kind: Literal["loss", "timeout", "repeated-timeout", "ecn-echo"]
    prior_in_flight: int
    """Segments in flight before those newly lost were taken out."""


class Control:
    """A congestion control: NewReno's. Derive a class, and set :attr:`cwnd` in its methods; the engine reads it after each call.

    >>> class Scalable(Control):
    ...     def avoid_congestion(self, ack, growth):
    ...         self.cwnd += 0.01 * growth
    """

    samples_rate: bool = False
    """Whether ACKs are to carry the delivery rate."""

    def __init__(self, flow: Flow) -> None:
        """A flow that has not sent yet."""
        self.cwnd: float = flow.initial_window
        """Congestion window, segments: the sender uses its whole part, at least one."""
        self.ssthresh: float = inf
        """Slow-start threshold, segments."""
        self.pacing_bps: float | None = None
        """Pacing rate, bit/s on the wire; a class that paces sets it in ``__init__``."""
        self._initial_window = flow.initial_window
        self._before_reduction: tuple[float, float] | None = None

    def on_ack(self, ack: Ack) -> None:
        """An ACK delivered something: by default slow start up to ssthresh, and :meth:`avoid_congestion` beyond.

        Slow start opens the window by two segments at most (RFC 3465 section 2.2), since an ACK after a repair may acknowledge hundreds.
        """
        growth = ack.growth
        if self.cwnd < self.ssthresh:
            grown = self.cwnd + min(growth, _LIMIT)
            self.cwnd = min(grown, self.ssthresh)
            growth = int(grown - self.cwnd)
        if growth:
            self.avoid_congestion(ack, growth)

    def avoid_congestion(self, ack: Ack, growth: int) -> None:
        """Let the window grow for ``growth`` acknowledged segments: by default by one segment a round trip (RFC 5681 equation 3)."""
        self.cwnd += growth / self.cwnd

    def on_congestion(self, event: Congestion) -> None:
        """The window is to shrink: by default to a half of the window in flight, after a timeout to one segment (RFC 5681).

        A timeout of a segment that had timed out before leaves ssthresh as it is.
        """
        if event.kind != "repeated-timeout":
            self._before_reduction = self.cwnd, self.ssthresh
            self.ssthresh = max(min(self.cwnd, max(event.prior_in_flight, 1)) / 2, _LEAST_SSTHRESH)
        self.cwnd = min(self.ssthresh, max(self.cwnd, _LEAST_SSTHRESH)) if event.kind in ("loss", "ecn-echo") else 1

    def undo(self) -> None:
        """The last reduction was spurious: by default the window and ssthresh from before it are back.

        These are known if :meth:`on_congestion` of this class made the reduction.
        """
        if self._before_reduction is not None:
            self.cwnd = max(self.cwnd, self._before_reduction[0])
            self.ssthresh = self._before_reduction[1]

    def on_recovered(self) -> None:
        """Recovery ended: everything sent before it began is acknowledged."""

    def on_idle(self, idle_s: float, rto_s: float) -> None:
        """The sender has nothing in flight, sent its last segment ``idle_s`` ago, and is about to send again.

        By default the window restarts at the initial one, at most, after more than an RTO (RFC 5681 section 4.1).
        """
        if idle_s > rto_s:
            self.cwnd = min(self.cwnd, self._initial_window)
