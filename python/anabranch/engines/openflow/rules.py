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
from anabranch.engines.openflow.routes import Chosen, Pair, Path

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


def standing(node: str, number: int, neighbours: Mapping[str, int]) -> Iterator[FlowRule]:
    """The rules of a switch that never change: to its own host, and for the probes of cables."""
    yield FlowRule(node, 50, (("eth_type", DELAY_PROBE),), CONTROLLER)
    for neighbour in neighbours.values():
        probe = ("eth_type", IPV4), ("ip_proto", UDP), ("in_port", HOST_PORT)
        for first in (FIRST_PROBE_PORT, FIRST_REQUEST_PORT, FIRST_REPLY_PORT):
            yield FlowRule(node, 40, (*probe, ("udp_dst", first + neighbour)), neighbour)
    yield FlowRule(node, 30, (("eth_type", IPV4), ("ip_proto", UDP), ("udp_dst", FIRST_PROBE_PORT + number)), None)
    yield FlowRule(node, 20, (("eth_type", IPV4), ("ipv4_dst", address(number))), HOST_PORT)


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
