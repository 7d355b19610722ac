"""The arrival rate of short flows: the scenario's, or the rate that loads links to a share."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from anabranch.foundation import units
from anabranch.network.topologies.links import column
from anabranch.scenario.groups import Names
from anabranch.scenario.network import TopologySection
from anabranch.scenario.schedules import LEAST_RATE, Schedule, mean
from anabranch.scenario.stacks import Stack
from anabranch.scenario.traffic import Short

if TYPE_CHECKING:
    from anabranch.network.topologies import Topology


WITH_TIMESTAMPS = 52
"""Bytes of the headers of a segment with timestamps. Linux's SYN is 8 bytes longer than these, and 12 bytes longer than headers without. The engine
has the same numbers in ``PacketSizes::with_options``; a test compares the load.
"""


def link_capacities(section: TopologySection, topology: "Topology", names: Names, duration: int) -> list[int]:
    """The capacity of each link, bit/s: that of the latest override, its own, or that of the section.

    For a link that follows a schedule, it is the mean over a run of ``duration`` picoseconds.
    """
    default = units.rate(section.capacity)
    capacities = [capacity or default for capacity in column(topology.links, "capacity_bps")]
    for override in section.override:
        given = override.capacity
        if given is not None:
            capacity = (
                max(LEAST_RATE, mean(given.compiled(), duration)) if isinstance(given, Schedule) else units.rate(given)
            )
            for number in names.links_between(override.link, override.one_way):
                capacities[number] = capacity
    return capacities


def mean_size(short: Short, unit: int = 1) -> float:
    """The mean size of the flows, each rounded up to whole units of this many payload bytes: in bytes, or in segments.

    The distribution is uniform between two points, so the mean is the integral of the rounded size over each piece. The first point, and two
    points of one size, are a share of flows of this very size.
    """

    def integral(size: float) -> float:
        whole, rest = divmod(size, unit)
        return (whole + 1) * (unit * whole / 2 + rest)

    def mean(low: float, high: float) -> float:
        return -(-high // unit) if low == high else (integral(high) - integral(low)) / (high - low)

    points = short.points()
    pieces = pairwise([[points[0][0], 0.0], *points])
    return sum((more - less) * mean(low, high) for (low, less), (high, more) in pieces)


def per_second(
    short: Short,
    stack: Stack | None,
    names: Names,
    capacities: Sequence[int],
    ends: tuple[Iterable[str], Iterable[str]],
) -> float:
    """The flows per second of a group between these sources and destinations; a load needs the stack.

    At a load of 1, what their senders send fills the given link, or the slower of two groups: the links that leave the sources, or those that
    enter the destinations. A sender sends each segment once with its header, its SYN, and with Linux's rules the ACK of the SYN-ACK and a FIN.
    """
    if short.arrivals is not None:
        return float(units.frequency(short.arrivals))
    assert short.load is not None
    assert stack is not None
    if short.link is not None:
        capacity = capacities[names.link_index[short.link[0], short.link[1]]]
    else:
        sources, targets = (set(group) for group in ends)
        rates = list(zip(names.links, capacities, strict=True))
        capacity = min(
            sum(rate for (source, _), rate in rates if source in sources),
            sum(rate for (_, target), rate in rates if target in targets),
        )
    header, is_linux = units.size(stack.header), stack.follows == "linux"
    packets = mean_size(short, units.size(stack.mss))
    packets += stack.handshake * (1 + is_linux) + is_linux  # a SYN; in Linux also the ACK of its answer, and a FIN
    options = stack.handshake * is_linux * (12 if header < WITH_TIMESTAMPS else 8)
    return float(short.load * capacity / (8 * (mean_size(short) + packets * header + options)))
