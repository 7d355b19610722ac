"""Addresses, ports and rates that the controller shares with the other parts of the network."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from anabranch import _core
from anabranch.compile.run import compile_run
from anabranch.engines.openflow import routes
from anabranch.engines.openflow.hysteresis import Hysteresis
from anabranch.engines.openflow.link_state import SAMPLES, CableEstimate
from anabranch.engines.openflow.routes import Chosen, Spread
from anabranch.foundation.units import PICOSECONDS_PER_SECOND
from anabranch.network.topologies import Link, Node, Topology
from anabranch.scenario import Scenario

FIRST_SOURCE_PORT, SOURCE_PORTS = 0x8000, 0x1000
SOURCE_PORT_MASK = 0x10000 - SOURCE_PORTS
MOST_NAMES = (0x10000 - FIRST_SOURCE_PORT) // SOURCE_PORTS
HOST_PORT = 100
"""A switch's port to its host. The port to a neighbour has the neighbour's number."""
MOST_NODES = 60
"""A switch is two processes with 30 MB together; numbers of nodes are below :data:`HOST_PORT`."""
FIRST_PROBE_PORT = 20_000
"""The UDP port of the probes to a neighbour is this plus the neighbour's number."""
FIRST_REQUEST_PORT, FIRST_REPLY_PORT = 21_000, 22_000
"""As :data:`FIRST_PROBE_PORT`, for STAMP's packets to reflectors and back to senders. RFC 8762 has port 862, which a switch could not tell by neighbours."""
CONTROLLER_PORT = 6653


@dataclass(frozen=True)
class Probing:
    """The random packets between neighbours, and how often they are counted."""

    rate_bps: float = 5e6
    """For each direction of a cable. TCPBP has 50 Mbit/s, which would be 2.1 Gbit/s over the 42 directions of its cables."""
    bytes: int = 1500
    interval_s: float = 10.0
    """Between samples of the link state (section 5.1)."""
    length_s: float = 120.0
    """Until probes end."""
    samples: int = SAMPLES
    """Number of samples in the moving average."""

    @property
    def packets(self) -> float:
        """The mean number of packets in an interval, for each direction of a cable."""
        return self.rate_bps / (8 * self.bytes) * self.interval_s


@dataclass(frozen=True)
class LabPlan:
    """The network, and how flows and controller use it."""

    scenario: Scenario
    """Its cables: each directed link is one direction. Its only traffic is UDP of the pattern ``neighbours``, which is not sent."""
    metrics: Sequence[str]
    """They have the first ranges of TCP source ports, in this order."""
    probing: Probing = field(default_factory=Probing)
    keeps_routes: bool = False
    """Whether the first routes after the probes stay, so that the load of a test does not change the path that it measures."""
    hysteresis: Mapping[str, Hysteresis] | None = None
    """By metric: see :mod:`anabranch.engines.openflow.hysteresis`. ``None``: routes are the best by the estimates. Then the controller measures delays
    itself; otherwise STAMP's agents do."""
    fixed: Chosen = field(default_factory=dict)
    """Routes of some pairs that nothing measures, by a name of their own. They have the next ranges of ports."""
    spread: Mapping[str, Spread] = field(default_factory=dict)
    """As ``fixed``, with several paths for a pair: a switch chooses one for each flow."""

    @cached_property
    def topology(self) -> Topology:
        """The nodes, and the links with the values that the cables have."""
        run = compile_run(self.scenario.cases[0], self.scenario.seeds[0])
        nodes: list[str] = run["nodes"]
        return Topology(self.scenario.title, tuple(map(Node, nodes)), tuple(_link(nodes, one) for one in run["links"]))

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The numbers of the nodes, from 1."""
        return {node.name: number for number, node in enumerate(self.topology.nodes, 1)}

    def neighbours(self, node: str) -> list[str]:
        """The neighbours of a node, in the order of the links."""
        return [link.target for link in self.topology.links if link.source == node]

    def port_name(self, node: str, other: str) -> str:
        """The device of a switch's port to a neighbour. Linux takes at most 15 characters."""
        return f"s{self.numbers[node]}-{self.numbers[other]}"

    @property
    def names(self) -> list[str]:
        """The metrics, and the names of other routes, in the order of their ranges of ports."""
        return [*self.metrics, *self.fixed, *self.spread]

    def source_port(self, name: str) -> int:
        """The first TCP source port of a metric, or of other routes."""
        return FIRST_SOURCE_PORT + self.names.index(name) * SOURCE_PORTS

    def described(self) -> dict[str, Any]:
        """The controller's knowledge: its settings, nodes, and links. It measures their delays and losses."""
        return {
            "nodes": list(self.numbers),
            "links": [[link.source, link.target, link.capacity_bps, link.cost] for link in self.topology.links],
            "metrics": list(self.metrics),
            "fixed": routes.written(self.fixed),
            "spread": routes.written_spread(self.spread),
            "interval_s": self.probing.interval_s,
            "samples": self.probing.samples,
            "least_packets": self.probing.packets / 8,
            "hysteresis": None
            if self.hysteresis is None
            else {name: asdict(own) for name, own in self.hysteresis.items()},
            "keep_after_s": self.probing.length_s if self.keeps_routes else None,
        }


def without_values(described: Mapping[str, Any]) -> Topology:
    """The topology of :meth:`LabPlan.described`."""
    links = tuple(
        Link(source, target, capacity_bps=rate, cost=cost) for source, target, rate, cost in described["links"]
    )
    return Topology("measured", tuple(map(Node, described["nodes"])), links)


def measured(topology: Topology, estimates: Mapping[tuple[str, str], CableEstimate]) -> Topology:
    """The topology with these delays and losses, by direction of a cable."""
    links = []
    for link in topology.links:
        own = estimates[link.source, link.target]
        links.append(link._replace(delay_s=own.delay_s, loss=own.loss))
    return replace(topology, links=tuple(links))


def _link(nodes: Sequence[str], compiled: Mapping[str, Any]) -> Link:
    loss = compiled["loss"]
    return Link(
        nodes[compiled["src"]],
        nodes[compiled["dst"]],
        capacity_bps=compiled["rate"],
        delay_s=compiled["delay"] / PICOSECONDS_PER_SECOND,
        loss=0.0 if loss is None else _core.stationary_loss(json.dumps(loss)),
        cost=compiled["cost"],
    )


def address(number: int) -> str:
    """The IP address of a node's host."""
    return f"10.0.0.{number}"


def mac(number: int) -> str:
    """The MAC address of a node's host."""
    return f"02:00:00:00:00:{number:02x}"


@dataclass(frozen=True)
class ControlFiles:
    """The files that the controller reads and writes."""

    directory: Path

    @property
    def network(self) -> Path:
        """:meth:`LabPlan.described`."""
        return self.directory / "network.json"

    @property
    def routes(self) -> Path:
        """Routes that the controller installs at once, and keeps."""
        return self.directory / "routes.json"

    @property
    def state(self) -> Path:
        """The last link state and routes."""
        return self.directory / "state.json"

    @property
    def stamp(self) -> Path:
        """STAMP's packets so far by direction of a cable: sent, received, and number, sum and sum of squares of their delays."""
        return self.directory / "stamp.json"

    @property
    def log(self) -> Path:
        """The controller's log."""
        return self.directory / "controller.log"
