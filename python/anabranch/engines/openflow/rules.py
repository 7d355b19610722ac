"""The forwarding rules of the switches, independent of the OpenFlow library."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from anabranch.engines.openflow.plan import (
    FIRST_PROBE_PORT,
    FIRST_REPLY_PORT,
    FIRST_REQUEST_PORT,
    FIRST_SOURCE_PORT,
    HOST_PORT,
    SOURCE_PORT_MASK,
    SOURCE_PORTS,
    address,
)
from anabranch.engines.openflow.routes import Chosen, Pair, Path, Spread

IPV4, TCP, UDP = 0x0800, 6, 17
DELAY_PROBE = 0x88B5
"""An EtherType for experiments (IEEE 802)."""
CONTROLLER = 0xFFFFFFFD
"""OpenFlow 1.3: the port to the controller."""

Value = int | str | tuple[int, int]


class FlowRule(NamedTuple):
    """A rule: packets that match leave by ``port``, and ``None`` drops them. Names of fields are OpenFlow's."""

    node: str
    priority: int
    match: tuple[tuple[str, Value], ...]
    port: int | None
    group: int = 0
    """Instead of the port: the number of a group of the switch."""
    pops: bool = False
    """Whether the VLAN tag is removed first."""


class SelectGroup(NamedTuple):
    """A switch's choice among paths, by the hash of a flow. A bucket has a weight, the VLAN that names the path to later switches, and a port."""

    node: str
    number: int
    buckets: tuple[tuple[int, int, int], ...]


WEIGHTS = 256
"""Weights of a group are whole numbers that add up to about this."""
TAGGED = 0x1000
"""OpenFlow 1.3, OFPVID_PRESENT: a packet with a VLAN tag."""


def standing(node: str, number: int, neighbours: Mapping[str, int]) -> Iterator[FlowRule]:
    """The rules of a switch that never change: to its own host, and for the probes of cables."""
    yield FlowRule(node, 50, (("eth_type", DELAY_PROBE),), CONTROLLER)
    for neighbour in neighbours.values():
        probe = ("eth_type", IPV4), ("ip_proto", UDP), ("in_port", HOST_PORT)
        for first in (FIRST_PROBE_PORT, FIRST_REQUEST_PORT, FIRST_REPLY_PORT):
            yield FlowRule(node, 40, (*probe, ("udp_dst", first + neighbour)), neighbour)
    yield FlowRule(node, 30, (("eth_type", IPV4), ("ip_proto", UDP), ("udp_dst", FIRST_PROBE_PORT + number)), None)
    mine = ("eth_type", IPV4), ("ipv4_dst", address(number))
    yield FlowRule(node, 20, mine, HOST_PORT)
    yield FlowRule(node, 21, (("vlan_vid", (TAGGED, TAGGED)), *mine), HOST_PORT, pops=True)


def of_routes(chosen: Chosen, others: str, numbers: Mapping[str, int]) -> frozenset[FlowRule]:
    """Rules that send TCP over the routes of the metric of its source port, and ACKs back over the routes of the same metric.

    The metrics have their ranges of ports in their order. Connections with other ports, which control the tests, take the routes of ``others``.
    """
    found: set[FlowRule] = set()
    for place, (metric, routes) in enumerate(chosen.items()):
        port = FIRST_SOURCE_PORT + place * SOURCE_PORTS, SOURCE_PORT_MASK
        for pair, path in routes.items():
            for field in ("tcp_src", "tcp_dst"):
                found.update(_along(path, numbers, 10, (*_between(pair, numbers), (field, port))))
            if metric == others:
                found.update(_along(path, numbers, 5, _between(pair, numbers)))
    return frozenset(found)


def of_spread(place: int, spread: Spread, numbers: Mapping[str, int]) -> tuple[frozenset[FlowRule], list[SelectGroup]]:
    """Rules and groups of routes with several paths, whose range of ports has this place.

    The first switch chooses a path for each flow and tags its packets with the path's number. Later switches follow the tag.
    """
    port = FIRST_SOURCE_PORT + place * SOURCE_PORTS, SOURCE_PORT_MASK
    found: set[FlowRule] = set()
    groups = []
    for place_of_pair, (pair, ways) in enumerate(spread.items()):
        number = place * 0x10000 + place_of_pair + 1
        whole = sum(weight for weight, _ in ways)
        buckets = tuple(
            (max(1, round(WEIGHTS * weight / whole)), tag, numbers[path[1]])
            for tag, (weight, path) in enumerate(ways, 1)
        )
        groups.append(SelectGroup(pair[0], number, buckets))
        for field in ("tcp_src", "tcp_dst"):
            match = (*_between(pair, numbers), (field, port))
            found.add(FlowRule(pair[0], 10, match, None, number))
            for tag, (_, path) in enumerate(ways, 1):
                found.update(_along(path[1:], numbers, 11, (("vlan_vid", TAGGED | tag), *match)))
    return frozenset(found), groups


def _between(pair: Pair, numbers: Mapping[str, int]) -> tuple[tuple[str, Value], ...]:
    source, target = (address(numbers[node]) for node in pair)
    return ("eth_type", IPV4), ("ip_proto", TCP), ("ipv4_src", source), ("ipv4_dst", target)


def _along(
    path: Path, numbers: Mapping[str, int], priority: int, match: tuple[tuple[str, Value], ...]
) -> Iterator[FlowRule]:
    for node, following in pairwise(path):
        yield FlowRule(node, priority, match, numbers[following])


def for_others(metrics: Sequence[str]) -> str:
    """The metric whose routes connections take that have the port of none: delay, or the first one."""
    return "delay" if "delay" in metrics else metrics[0]
