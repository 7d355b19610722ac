"""The price of spraying one flow packet by packet over several paths: goodput, spurious retransmissions, stall and memory.

Closed forms for five loss detectors; ``docs/models/spray-penalty.md`` derives them, and equation numbers refer to it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

Detector = Literal["dup-ack", "path-count", "rack-tlp", "fast-rto", "tcp-pr"]
Selector = Literal["round-robin", "random"]
Window = Literal["newreno", "cubic"]
DETECTORS: Sequence[str] = get_args(Detector)
SELECTORS: Sequence[str] = get_args(Selector)
WINDOWS: Sequence[str] = get_args(Window)

PAYLOAD_BYTES, WIRE_BYTES = 1460, 1500
"""Payload and size of a full packet."""
CUBIC_C, CUBIC_BETA, RENO_BETA = 0.4, 0.7, 0.5
"""RFC 9438 section 4.1, and RFC 5681."""
DUP_THRESHOLD = 3
"""Duplicate ACKs that signal a loss (RFC 5681)."""
BURST = 1.3
"""Rate within the bursts that ACKs release, over the mean rate (equation 6)."""
TOLERATED, USUAL_WINDOW, DISORDER = 1.25, 16.0, 0.3
"""Of packets in turn: equation 8."""
FILLED = 0.5
"""Packets in all queues when one overflows, in units of its limit, where packets draw their path (equation 3)."""
SHARPNESS = 3.5
"""How sharply the smaller of two limits decides (equation 5)."""
RACK_RECOVERIES = 16
"""Recoveries after which RACK's window is the first one again (RFC 8985 section 6.2)."""
FULL = 0.6
"""Share of the capacity above which queues decide about losses (equations 11 and 12)."""
RUN_ROUND_TRIPS = 300
"""Length of the run whose longest stall is predicted."""
LEAST_RTO_S = 1.0
"""The least retransmission timeout (RFC 6298)."""
PEAK = 1.6
"""Rate at the top of a window's growth over the mean rate, where losses come at random (equation 13)."""
PR_BETA = 3.0
"""TCP-PR: age of a lost segment in multiples of the longest RTT."""
RTO_GAMMA, RTO_K, RTO_DIVERSITY, RTO_MOST_S = 2.0, 4.0, 1.5, 0.5
"""FastRTO: equation 10."""


@dataclass(frozen=True)
class SprayedPath:
    """One of the paths of a flow."""

    delay_s: float
    """One way, seconds, with the transmission of a packet on every link."""
    rate_bps: float
    """Of its slowest link."""
    queue_packets: float
    """Limit of that link's queue."""


@dataclass(frozen=True)
class SprayPrice:
    """What a flow gets and costs."""

    goodput_bps: float
    """Payload delivered."""
    share: float
    """Of the payload that the paths carry at equal shares."""
    spurious: float
    """Share of the segments sent that are retransmissions of segments that were not lost."""
    stall_s: float
    """The longest time without progress of the cumulative ACK, in a run of 300 round trips."""
    memory_bytes: float
    """The most that the receiver holds beyond a hole meanwhile."""


@dataclass(frozen=True)
class _Flow:
    paths: Sequence[SprayedPath]
    shares: Sequence[float]
    """Of the packets; they add up to 1."""
    in_turn: bool
    threshold: int | None
    """Duplicate ACKs that signal a loss, if the detector counts them."""
    cubic: bool
    loss: float
    by_time: bool = False
    """Whether the detector is RACK."""

    @property
    def packet_s(self) -> float:
        """Transmission time of a packet on the slowest path."""
        return 8 * WIRE_BYTES / min(path.rate_bps for path in self.paths)

    @property
    def capacity(self) -> float:
        """Equation 1: packets a second; the path that fills first limits all."""
        return min(path.rate_bps / share for path, share in zip(self.paths, self.shares, strict=True)) / 8 / WIRE_BYTES

    @property
    def rtt_s(self) -> float:
        """Equation 2: with empty queues. ACKs take the paths as data does, and the first to arrive counts."""
        return mean_delay_s(self.paths, self.shares) + min(path.delay_s for path in self.paths)

    @property
    def queued(self) -> float:
        """Packets in all queues when one overflows."""
        room = min(path.queue_packets for path in self.paths)
        return room * len(self.paths) if self.in_turn else room * FILLED

    @property
    def full_rtt_s(self) -> float:
        """The round trip with full queues."""
        return self.rtt_s + self.queued / self.capacity

    @property
    def spread_s(self) -> float:
        """Between the delays of the longest and the shortest path."""
        delays = [path.delay_s for path in self.paths]
        return max(delays) - min(delays)

    @property
    def beta(self) -> float:
        return CUBIC_BETA if self.cubic else RENO_BETA


def spray_price(
    paths: Sequence[SprayedPath],
    *,
    detector: Detector = "rack-tlp",
    selector: Selector = "round-robin",
    window: Window = "cubic",
    loss: float = 0.0,
    shares: Sequence[float] | None = None,
) -> SprayPrice:
    """The price of spraying a long flow, alone on these paths.

    ``loss`` is the ratio of data packets lost at random. ACKs are immediate, take the same paths back, and are not lost. ``shares`` are the
    probabilities of the paths where each packet draws its own; without them all are equal.

    Raises:
        ValueError: fewer than two paths, or a value out of range.
    """
    if len(paths) < 2:
        raise ValueError(f"{len(paths)} paths: a flow is sprayed over at least 2")
    for name, value, known in (
        ("detector", detector, DETECTORS),
        ("selector", selector, SELECTORS),
        ("window", window, WINDOWS),
    ):
        if value not in known:
            raise ValueError(f'{name} "{value}": must be one of {", ".join(known)}')
    if not 0 <= loss < 1:
        raise ValueError(f"loss {loss:g}: must be a ratio from 0 to less than 1")
    for path in paths:
        if not (path.delay_s > 0 and path.rate_bps > 0 and path.queue_packets >= 1):
            raise ValueError(f"{path}: delay and rate must be above 0, and the queue must hold a packet")
    if shares is None:
        shares = [1 / len(paths)] * len(paths)
    elif selector == "round-robin":
        raise ValueError('shares go with the selector "random": in turn, all paths have the same')
    if len(shares) != len(paths) or min(shares) <= 0 or abs(sum(shares) - 1) > 1e-9:
        raise ValueError(f"shares {list(shares)}: must be one above 0 for each path, and add up to 1")
    counting = {"dup-ack": DUP_THRESHOLD, "path-count": DUP_THRESHOLD * (1 + len(paths).bit_length() - 1)}
    flow = _Flow(
        paths,
        shares,
        selector == "round-robin",
        counting.get(detector),
        window == "cubic",
        loss,
        detector == "rack-tlp",
    )
    filling = _filling(flow)
    by_loss = _balanced(flow, lambda rate: 0.0) if loss else math.inf
    unhurt = _smaller(filling, by_loss)
    rate = min(unhurt, _counting_limit(flow)) if flow.threshold else unhurt
    goodput = rate * 8 * PAYLOAD_BYTES
    spurious = _spurious(flow, rate, unhurt)
    stall = _stall(flow, detector, rate)
    memory = min(flow.capacity, PEAK * rate) * PAYLOAD_BYTES * stall
    return SprayPrice(goodput, rate / flow.capacity, spurious, stall, memory)


def _smaller(one: float, other: float) -> float:
    """Equation 5: near the smaller one, below both where they are alike."""
    if math.isinf(other):
        return one
    return float((one**-SHARPNESS + other**-SHARPNESS) ** (-1 / SHARPNESS))


def _filling(flow: _Flow) -> float:
    """Packets a second of a window that grows until a queue overflows (equations 3 and 4)."""
    product = flow.capacity * flow.rtt_s
    peak = product + flow.queued
    once = _cycle(flow, peak, flow.beta)
    mistakes = _mistakes(flow, _queue_apart_s(flow))
    return (once + mistakes * _cycle(flow, peak, flow.beta**2)) / (1 + mistakes)


def _cycle(flow: _Flow, peak: float, beta: float) -> float:
    """Mean rate while a window grows from ``beta`` of its peak to it, packets a second."""
    product = flow.capacity * flow.rtt_s
    low = beta * peak
    if low >= product:
        return flow.capacity
    if flow.cubic:
        # The window follows 1 - (1 - beta) (1 - t)^3 from beta to 1; below `level` it does not fill the paths.
        level, lost = product / peak, 1 - beta
        until = 1 - float(((1 - level) / lost) ** (1 / 3))
        mean = 1 - lost / 4 * (1 - (1 - until) ** 4) / until
        return flow.capacity * (1 - until * (1 - mean / level))
    carried = (peak**2 - low**2) / 2
    time = (product - low) * flow.rtt_s + (peak**2 - product**2) / (2 * flow.capacity)
    return min(flow.capacity, carried / time)


def _window(flow: _Flow, events: float) -> float:
    """Mean window at this number of events at random in a round trip (equation 7)."""
    lost = 1 - flow.beta
    if not flow.cubic:
        return 1 / (lost * (1.08 + lost / 3 + 2.4 * events) * events)
    friendly = 3 * lost / (1 + flow.beta) / (lost * (1 + 2.4 * lost * events) * events)
    curve = (3 + flow.beta) / 4 * CUBIC_C / lost * 2.3 * (flow.rtt_s / events) ** 3
    return max(friendly, curve)


def _balanced(flow: _Flow, taken_for_lost: Callable[[float], float]) -> float:
    """The rate at which the window of equation 7 balances losses and false ones, packets a second."""
    low, high = 0.1 / flow.rtt_s, 10 * flow.capacity
    loss = flow.loss * (1 + _mistakes(flow, 0.0))
    for _ in range(24):
        rate = math.sqrt(low * high)
        window = rate * flow.rtt_s
        events = 1 - math.exp(-(loss + taken_for_lost(rate)) * window)
        if events <= 0 or _window(flow, events) / (1 + 3 * events / (1 + (window / 5) ** 2)) > window:
            low = rate
        else:
            high = rate
    return low


def _counting_limit(flow: _Flow) -> float:
    """The greatest rate of a detector that counts duplicate ACKs, packets a second (equations 6 and 8)."""
    threshold = flow.threshold or DUP_THRESHOLD
    if not flow.in_turn:
        return _balanced(flow, lambda rate: false_losses(flow.paths, rate, threshold, flow.shares))
    delays = [path.delay_s for path in flow.paths]
    if _most_overtaking(delays, flow.packet_s) < threshold:
        return math.inf
    count = len(delays)
    usual = TOLERATED * (threshold - 1) / 2 * count / (count - 1) / (flow.spread_s + DISORDER * flow.packet_s)
    return float(usual * (USUAL_WINDOW / (usual * flow.rtt_s)) ** 0.125)


def _most_overtaking(delays: Sequence[float], packet_s: float) -> float:
    """Equation 9: the most packets that overtake another, in turn."""
    count = len(delays)
    return max(
        sum(
            max(0, math.ceil((delays[late] - delays[(late + after) % count]) / packet_s - (after - 1) / count))
            for after in range(1, count)
        )
        for late in range(count)
    )


def mean_delay_s(paths: Sequence[SprayedPath], shares: Sequence[float]) -> float:
    """The mean one-way delay of the packets, seconds."""
    return sum(path.delay_s * share for path, share in zip(paths, shares, strict=True))


def ack_delay_s(paths: Sequence[SprayedPath], shares: Sequence[float], rate: float) -> float:
    """Equation 14: the mean time from the arrival of a segment to the first ACK that covers it, seconds, at ``rate`` ACKs a second.

    Its own ACK draws a path, and so do the later ones, which cover it as well.
    """
    ways = sorted((path.delay_s, share) for path, share in zip(paths, shares, strict=True))
    exponent = slope = waited = at = 0.0
    left = 1.0  # the probability that its own ACK takes this path or a longer one
    for delay, share in ways:
        span = delay - at
        mean = slope * span
        part = span if mean < 1e-12 else -math.expm1(-mean) / slope
        waited += math.exp(-exponent) * part * left
        exponent, slope, left, at = exponent + mean, slope + rate * share, left - share, delay
    return waited


def false_losses(
    paths: Sequence[SprayedPath], rate: float, threshold: int, shares: Sequence[float] | None = None
) -> float:
    """Equation 6: the probability that a packet which is not lost gets ``threshold`` duplicate ACKs, at ``rate`` packets a second.

    Each packet draws its path, with these probabilities or equal ones. The waits in the paths' queues are exponential, with the mean of
    equation 6b.
    """
    shares = shares or [1 / len(paths)] * len(paths)
    waits = []
    for path, share in zip(paths, shares, strict=True):
        packet_s = 8 * WIRE_BYTES / path.rate_bps
        load = min(0.999, rate * share * packet_s)
        wait = (1 - share) * packet_s * load / (1 - load)
        waits.append(min(wait, FILLED * path.queue_packets * packet_s))
    points = 31
    total = 0.0
    for point in range(points):
        factor, delays = point, []
        for path, wait in zip(paths, waits, strict=True):
            delays.append(path.delay_s - wait * math.log((factor + 0.5) / points))
            factor = factor * 3 % points
        total += sum(
            share * _overtaken(delays, shares, late, BURST * rate, threshold) for late, share in enumerate(shares)
        )
    return total / points


def _overtaken(delays: Sequence[float], shares: Sequence[float], late: int, rate: float, threshold: int) -> float:
    """The probability that the last ``threshold`` arrivals before a packet of this path were sent after it."""
    leads = sorted(
        (delays[late] - delay, share) for delay, share in zip(delays, shares, strict=True) if delay < delays[late]
    )
    arrived = [1.0] + [0.0] * (threshold - 1)
    found = until = 0.0
    later = sum(share for _, share in leads)
    for lead, share in leads:
        mean = rate * (lead - until)
        step = [math.exp(-mean)]
        for number in range(1, threshold):
            step.append(step[-1] * mean / number)
        for known in reversed(range(threshold)):
            missing = threshold - known
            found += arrived[known] * later**missing * max(0.0, 1 - sum(step[:missing]))
            arrived[known] = sum(arrived[known - more] * later**more * step[more] for more in range(known + 1))
        until = lead
        later -= share
    return found


def _mistakes(flow: _Flow, queue_s: float) -> float:
    """Equation 10: false reductions of RACK for each that a loss causes; ``queue_s`` is by how much queues differ.

    RACK's window has a quarter of the least RTT, and one more after each mistake, for 16 recoveries.
    """
    if not flow.by_time:
        return 0.0
    least_s = 2 * min(path.delay_s for path in flow.paths)
    late_s = flow.spread_s + queue_s
    most = math.ceil(4 * flow.rtt_s / least_s)
    return float(min(max(0, math.ceil(4 * late_s / least_s) - 1), most)) / RACK_RECOVERIES


def _queue_apart_s(flow: _Flow) -> float:
    """The longest wait in one queue while another is empty: where packets draw their path, or rates differ."""
    rates = [path.rate_bps for path in flow.paths]
    if flow.in_turn and max(rates) == min(rates):
        return 0.0
    return min(path.queue_packets for path in flow.paths) * flow.packet_s


def _spurious(flow: _Flow, rate: float, unhurt: float) -> float:
    """Equation 11: share of the segments sent that are repeated though they were not lost."""
    if flow.by_time:
        cycle = (flow.capacity * flow.rtt_s + flow.queued) * _round_trips_to_fill(flow)
        lost = flow.loss or 1 / cycle
        return lost * _mistakes(flow, _queue_apart_s(flow) if unhurt > FULL * flow.capacity else 0.0)
    if not flow.threshold:
        return 0.0
    repeated = flow.threshold / DUP_THRESHOLD
    if not flow.in_turn:
        return repeated * false_losses(flow.paths, rate, flow.threshold, flow.shares)
    if rate >= unhurt:
        return 0.0
    low, high = 1e-9, 1.0
    for _ in range(40):
        events = math.sqrt(low * high)
        low, high = (events, high) if _window(flow, events) > rate * flow.rtt_s else (low, events)
    return repeated * max(0.0, low / max(1.0, rate * flow.rtt_s) - flow.loss)


def _round_trips_to_fill(flow: _Flow) -> float:
    """Round trips in which a window grows from a reduction to the next full queue."""
    grown = (1 - flow.beta) * (flow.capacity * flow.rtt_s + flow.queued)
    return max(1.0, (grown / CUBIC_C) ** (1 / 3) / flow.full_rtt_s if flow.cubic else grown)


def _stall(flow: _Flow, detector: Detector, rate: float) -> float:
    """Equation 12: the age at which a segment counts as lost, and its repetition when that is lost too."""
    full = rate > FULL * flow.capacity
    if not flow.loss and not (full and _round_trips_to_fill(flow) < RUN_ROUND_TRIPS):
        return flow.spread_s + (flow.threshold or 1) / rate  # nothing is lost
    rtt_s = flow.full_rtt_s if full else flow.rtt_s
    swing_s = _queue_apart_s(flow) if full else 0.0
    delays = [path.delay_s for path in flow.paths]
    least_s, most_s = 2 * min(delays), 2 * max(delays) + max(swing_s, rtt_s - flow.rtt_s)
    if detector == "tcp-pr":
        age_s = PR_BETA * most_s
    elif detector == "fast-rto":
        deviation_s = sum(abs(delay - sum(delays) / len(delays)) for delay in delays) / len(delays) + swing_s / 4
        diverse_s = max(0.0, most_s - swing_s / 2 - rtt_s)
        age_s = max(RTO_GAMMA * least_s, rtt_s + RTO_K * deviation_s + RTO_DIVERSITY * diverse_s)
        age_s = min(age_s, RTO_MOST_S)
    elif detector == "rack-tlp":
        age_s = most_s + least_s / 4 * (1 + RACK_RECOVERIES * _mistakes(flow, 0.0))
    else:
        age_s = rtt_s + (flow.threshold or 0) / rate
    lost = RUN_ROUND_TRIPS * rate * flow.rtt_s * flow.loss
    again = 1 - (1 - flow.loss) ** lost  # a repetition is lost as well
    if not flow.threshold:
        age_s *= 1 + again
    elif again > 0.5:
        age_s += max(LEAST_RTO_S, 2 * rtt_s)
    return age_s + flow.spread_s
