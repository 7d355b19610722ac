"""Published models of a TCP flow's rate under loss: the models of the library, in packets, and models that only validation needs.

Rates and windows in packets (per second); RTT and timeouts in seconds; ``p`` is the ratio of lost packets.
"""

from collections.abc import Callable
from math import log, sqrt

from anabranch.engineering import predict

SEGMENT = 1 / 8
"""Bytes of a segment of one bit: a rate in bits per second is then one in packets per second."""


def mathis(p: float, rtt: float, b: int = 1) -> float:
    """Rate under periodic loss (Mathis, Semke, Mahdavi, Ott 1997, equation 3): sqrt(3/2b) / (RTT sqrt(p)).

    One packet in 1/p is lost, the window saws between W/2 and W, and an ACK stands for ``b`` packets.
    """
    return float(predict.mathis(rtt, p, mss_bytes=SEGMENT, packets_per_ack=b))


def pftk(p: float, rtt: float, timeout: float, b: int = 1) -> float:
    """Sending rate by the full model of Padhye et al. 1998, without a window limit; ``timeout`` is T0."""
    return float(predict.padhye(rtt, p, mss_bytes=SEGMENT, packets_per_ack=b, timeout_s=timeout))


def aimd_window(alpha: float, beta: float, p: float) -> float:
    """Mean window of additive increase ``alpha``, decrease to ``beta``, under periodic loss (RFC 9438 equation 3)."""
    return sqrt(alpha * (1 + beta) / (2 * (1 - beta) * p))


def cubic(p: float, rtt: float) -> float:
    """Rate of CUBIC under periodic loss: the greater of its two regions (RFC 9438 sections 4.3 and 5.1)."""
    return float(predict.cubic(rtt, p, mss_bytes=SEGMENT))


Growth = Callable[[float, float, float], float]
"""Segments a round trip by which a window grows: by the window, the one that met the last loss, and the round trips since
recovery."""


def fluid_window(
    p: float, growth: Growth, remains: Callable[[float], float], recovery: float = 0.0, unsent: float = 0.0
) -> float:
    """Mean window of a fluid under periodic loss, of ``growth`` and a share that ``remains`` of the window after a loss.

    A period begins with ``recovery`` round trips without growth and ends when 1/p segments are sent; periods follow each other
    until they are alike. In flight is ``unsent`` less than the window, on average half a segment where only whole ones are sent.
    """
    lost_at, before, rounds = sqrt(1.5 / p), 0.0, 1.0
    while abs(lost_at - before) > 1e-6 * lost_at:
        before, window = lost_at, (lost_at - unsent) * remains(lost_at)
        rounds, sent = recovery, recovery * (window - unsent)
        while sent < 1 / p:
            in_flight = window - unsent
            part = min(1 / 20, (1 / p - sent) / in_flight)
            grown = growth(window, lost_at, rounds - recovery) * part * in_flight / window
            sent += (in_flight + grown / 2) * part
            window += grown
            rounds += max(part, 1e-9)
        lost_at = window
    return 1 / p / rounds


def highspeed_window(p: float) -> float:
    """Mean window of HighSpeed TCP's response function alone (RFC 3649 section 5)."""
    return float(predict.response(1, p, mss_bytes=SEGMENT, **predict.LAWS["highspeed"]._asdict()))


def highspeed_loss_ratio(window: float) -> float:
    """The inverse of :func:`highspeed_window`."""
    law = predict.LAWS["highspeed"]
    return (law.c / window) ** (1 / law.y)


def highspeed_decrease(window: float) -> float:
    """The share of the window that a loss takes (RFC 3649 section 7, b(w))."""
    return 0.5 - 0.4 * max(0.0, log(window / 38) / log(83_000 / 38))


def highspeed_growth(window: float) -> float:
    """Segments a round trip (RFC 3649 section 7, a(w))."""
    b = highspeed_decrease(window)
    return max(1.0, window**2 * highspeed_loss_ratio(window) * 2 * b / (2 - b))


def scalable_window(p: float, a: float = 0.01, b: float = 0.125) -> float:
    """Mean window of Scalable TCP under periodic loss.

    Kelly 2003 balances a segment's growth ``a`` with a loss's decrease ``b`` W: W = a / (b p). Periodic losses meet the
    greatest window, from which the mean over an exponential differs by b / -log(1 - b).
    """
    return float(predict.response(1, p, mss_bytes=SEGMENT, c=a / -log(1 - b), y=1))


def htcp_growth(time: float, rtt: float, beta: float = 0.8) -> float:
    """Segments a round trip that H-TCP grows by ``time`` seconds after a congestion (draft-leith-tcp-htcp-06).

    2 (1 - beta) g, with g = 1 up to 1 s, then 1 + 10 (t - 1) + (t - 1)^2 / 4, scaled by RTT / 100 ms within 0.1 and 2,
    and at least 1.
    """
    beyond = max(0.0, time - 1)
    scale = min(max(rtt / 0.1, 0.1), 2.0)
    return 2 * (1 - beta) * max(1.0, scale * (1 + 10 * beyond + beyond * beyond / 4))


def bic_growth(window: float, lost_at: float) -> float:
    """Segments a round trip that BIC grows by in Linux, above its window of Reno: a quarter of the way to the last loss."""
    if window < lost_at:
        step = (lost_at - window) / 4
        return min(16.0, step) if step >= 2 else 0.2
    beyond = window - lost_at
    return min(16.0, beyond / 3) if beyond >= 4 else 0.2


def whole_segments(every: int, alpha: float = 1.0, beta: float = 0.5, cycles: int = 200) -> float:
    """Mean segments per round trip of an AIMD under periodic loss, counted round by round.

    It models four facts that the fluid models leave out. Only whole segments are sent. An ACK adds ``alpha``/cwnd, which makes slightly
    less than ``alpha`` per round trip (RFC 5681 section 3.1). A loss is known one round trip after it happened. The window does not
    grow in the round trip of recovery. One segment in ``every`` is lost; the second half of the cycles counts.
    """
    window = sqrt(1.5 * every)
    since_loss = sent = rounds = 0
    for cycle in range(cycles):
        if cycle == cycles // 2:
            sent = rounds = 0
        lost = False
        while not lost:
            segments = int(window)
            since_loss += segments
            sent, rounds = sent + segments, rounds + 1
            lost = since_loss >= every
            acknowledged = segments - (since_loss - every) if lost else segments
            for _ in range(acknowledged):
                window += alpha / window
        since_loss -= every
        # The segments behind the lost one answer with duplicates. These keep the window's number of segments in flight until the third.
        # From then on the reduced window is sent over one round trip without growth.
        window = max(2.0, int(window) * beta)
        since_loss, sent, rounds = since_loss + int(window), sent + int(window), rounds + 1
    return sent / rounds
