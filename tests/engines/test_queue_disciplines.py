"""Queues of the packet engine, packet by packet: against published pseudo code, and before a wire that loses."""

import math
from collections import deque
from fractions import Fraction
from typing import NamedTuple

import pytest

from anabranch import Scenario

RATE = 1_000_000
SECONDS = 50


class Source(NamedTuple):
    """UDP at a constant rate. Odd rates keep arrivals and departures apart."""

    bps: int
    size: int


class Seen(NamedTuple):
    """The results of a queue: packets dropped and carried, mean and longest wait in seconds."""

    dropped: int
    carried: int
    wait_mean: float
    wait_max: float


def arrivals(sources: list[Source]) -> list[tuple[Fraction, int]]:
    """Times and sizes; those of one time in the order of their sources."""
    found = [
        (Fraction(number * 8 * size, bps), size)
        for bps, size in sources
        for number in range(math.ceil(Fraction(SECONDS * bps, 8 * size)))
    ]
    return sorted(found, key=lambda arrival: arrival[0])


def through_the_engine(sources: list[Source], queue: str) -> Seen:
    groups = "".join(
        f"""
        [[traffic]]
        from = "A"
        to = "B"
        transport = "udp"
        packet = "{size} B"
        constant = "{bps} bps"
        stop = "{SECONDS}s"
        """
        for bps, size in sources
    )
    scenario = f"""
        [topology]
        links = [{{ source = "A", target = "B", capacity = "{RATE} bps", delay = "5ms" }}]
        queue = {queue}
        {groups}
        [run]
        duration = "{SECONDS + 20}s"
        """
    link = Scenario.from_toml(scenario).run().links.row(0, named=True)
    return Seen(link["queue_drops"], link["packets"], link["queue_delay_mean_s"], link["queue_delay_max_s"])


class CodelQueue:
    """The pseudo code of RFC 8289, section 5, with the names of its variables."""

    TARGET = Fraction(5, 1000)
    INTERVAL = Fraction(100, 1000)
    MAXPACKET = 1500

    def __init__(self) -> None:
        self.packets: deque[tuple[Fraction, int]] = deque()
        self.bytes = 0
        self.first_above_time = self.drop_next = Fraction(0)
        self.count = self.lastcount = self.dropped = 0
        self.dropping = False

    def enqueue(self, now: Fraction, size: int) -> None:
        self.packets.append((now, size))
        self.bytes += size

    def control_law(self, t: Fraction) -> Fraction:
        return t + self.INTERVAL / Fraction(math.sqrt(self.count))

    def dodequeue(self, now: Fraction) -> tuple[tuple[Fraction, int] | None, bool]:
        if not self.packets:
            self.first_above_time = Fraction(0)
            return None, False
        packet = self.packets.popleft()
        self.bytes -= packet[1]
        if now - packet[0] < self.TARGET or self.bytes <= self.MAXPACKET:
            self.first_above_time = Fraction(0)
        elif self.first_above_time == 0:
            self.first_above_time = now + self.INTERVAL
        elif now >= self.first_above_time:
            return packet, True
        return packet, False

    def dequeue(self, now: Fraction) -> tuple[Fraction, int] | None:
        packet, ok_to_drop = self.dodequeue(now)
        if self.dropping:
            if not ok_to_drop:
                self.dropping = False
            while now >= self.drop_next and self.dropping:
                self.dropped += 1
                self.count += 1
                packet, ok_to_drop = self.dodequeue(now)
                if not ok_to_drop:
                    self.dropping = False
                else:
                    self.drop_next = self.control_law(self.drop_next)
        elif ok_to_drop:
            self.dropped += 1
            packet, ok_to_drop = self.dodequeue(now)
            self.dropping = True
            delta = self.count - self.lastcount
            self.count = 1
            if delta > 1 and now - self.drop_next < 16 * self.INTERVAL:
                self.count = delta
            self.drop_next = self.control_law(now)
            self.lastcount = self.count
        return packet


def through_codel(sources: list[Source]) -> Seen:
    queue, waits, free = CodelQueue(), [], Fraction(0)

    def serve_until(end: Fraction) -> None:
        nonlocal free
        while queue.packets and free <= end:
            packet = queue.dequeue(free)
            if packet is not None:
                waits.append(free - packet[0])
                free += Fraction(8 * packet[1], RATE)

    for now, size in arrivals(sources):
        serve_until(now)
        queue.enqueue(now, size)
        free = max(free, now)
        serve_until(now)
    serve_until(Fraction(10**6))
    return Seen(queue.dropped, len(waits), float(sum(waits) / len(waits)), float(max(waits)))


@pytest.mark.parametrize(
    "sources",
    [
        [Source(1_200_017, 1500)],
        # A small packet with one large packet behind it is in no standing queue: that is at most a MAXPACKET.
        [Source(900_017, 1500), Source(150_011, 300), Source(500_023, 701)],
        [Source(900_017, 1500), Source(300_007, 1300), Source(100_003, 40)],
    ],
)
def test_codel_is_the_pseudo_code_of_its_rfc(sources: list[Source]) -> None:
    seen = through_the_engine(sources, '{ discipline = "codel", limit = "10000 packets" }')
    assert seen == pytest.approx(through_codel(sources), abs=1e-9)
    assert seen.dropped > 100


def through_red(source: Source, threshold: float, limit: int) -> Seen:
    """Floyd and Jacobson 1993, figure 2, where each packet is dropped from an average of ``threshold`` on."""
    weight, average, dropped, free = 0.002, 0.0, 0, Fraction(0)
    waits: list[Fraction] = []
    departures: deque[Fraction] = deque()
    transmission = Fraction(8 * source.size, RATE)
    for now, _ in arrivals([source]):
        while departures and departures[0] <= now:
            departures.popleft()
        if departures:
            average += weight * (len(departures) - average)
        else:
            average *= (1 - weight) ** float((now - free) / transmission)
        if average >= threshold or len(departures) >= limit:
            dropped += 1
            continue
        free = max(free, now)
        waits.append(free - now)
        free += transmission
        departures.append(free)
    return Seen(dropped, len(waits), float(sum(waits) / len(waits)), float(max(waits)))


def test_each_arrival_counts_in_the_average_of_red_also_at_a_full_queue() -> None:
    source = Source(4_000_017, 1500)
    queue = '{ discipline = "red", limit = "100 packets", minimum = 59.999999, maximum = 60, probability = 1 }'
    seen = through_the_engine([source], queue)
    assert seen == pytest.approx(through_red(source, 60, 100), abs=1e-9)


@pytest.mark.parametrize("queue", ['{ limit = "2 packets" }', '{ limit = "3000 B" }'])
def test_every_tenth_packet_on_the_wire_is_lost_whatever_the_queue_drops(queue: str) -> None:
    """The queue drops every second packet. So each tenth arrival would be one of these."""
    scenario = f"""
        [topology]
        links = [{{ source = "A", target = "B", capacity = "10Mbps", delay = "5ms" }}]
        queue = {queue}
        [[impairments]]
        loss = {{ model = "periodic", every = 10 }}
        [[traffic]]
        from = "A"
        to = "B"
        transport = "udp"
        constant = "20Mbps"
        stop = "2s"
        [run]
        duration = "3s"
        """
    link = Scenario.from_toml(scenario).run().links.row(0, named=True)
    assert link["queue_drops"] > 1000
    assert link["losses"] == link["packets"] // 10
