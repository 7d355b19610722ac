"""Addresses, ports and rates that the controller shares with the other parts of the testbed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from anabranch.network.topologies import Link, Topology
from anabranch.studies.papers.tcpbp import networks
from anabranch.studies.papers.tcpbp.networks import DELAY, EXACT, HOPS, TCPBP

METRICS = (TCPBP, EXACT, DELAY, HOPS)
"""The metrics, in the order of their ranges of TCP source ports."""
FIRST_SOURCE_PORT, SOURCE_PORTS = 0x8000, 0x1000
SOURCE_PORT_MASK = 0x10000 - SOURCE_PORTS
HOST_PORT = 100
"""A switch's port to its host. The port to a neighbour has the neighbour's number."""
FIRST_PROBE_PORT = 20_000
"""The UDP port of the probes to a neighbour is this plus the neighbour's number."""
CONTROLLER_PORT = 6653
INTERVAL_S = 10.0
"""Interval between samples of the link state, s (section 5.1)."""
SAMPLES = 3
"""Number of samples in the moving average."""
PROBED_S = 120.0
"""Duration of the random packets between neighbours, s."""
PROBE_BPS = 5e6
"""A tenth of the paper's 50 Mbit/s, which would be 2.1 Gbit/s over the 42 directions of cables."""
PROBE_BYTES = 1500
CAPACITY_BPS = 1e9


@dataclass(frozen=True)
class Plan:
    """The network. It is slower than the paper's by the factor ``slower``."""

    topology: Topology
    slower: float

    @classmethod
    def drawn(cls, seed: int, slower: float, fewer_losses: float = 1.0) -> "Plan":
        """The paper's ten nodes, with values within 5 % of those printed.

        ``slower``: rates are divided by it, and delays multiplied. ``fewer_losses``: loss ratios are divided by it.
        """
        own = networks.noisy(networks.ten_nodes(), seed)

        def slowed(link: Link) -> Link:
            return link._replace(
                delay_s=(link.delay_s or 0) * slower,
                loss=(link.loss or 0) / fewer_losses,
                capacity_bps=round(CAPACITY_BPS / slower),
            )

        return cls(replace(own, links=tuple(map(slowed, own.links))), slower)

    @property
    def numbers(self) -> Mapping[str, int]:
        """The numbers of the nodes, from 1."""
        return {node.name: number for number, node in enumerate(self.topology.nodes, 1)}

    def neighbours(self, node: str) -> list[str]:
        """The neighbours of a node, in the order of the links."""
        return [link.target for link in self.topology.links if link.source == node]


def address(number: int) -> str:
    """The IP address of a node's host."""
    return f"10.0.0.{number}"


def mac(number: int) -> str:
    """The MAC address of a node's host."""
    return f"02:00:00:00:00:{number:02x}"


def source_port(metric: str) -> int:
    """The first TCP source port of a metric."""
    return FIRST_SOURCE_PORT + METRICS.index(metric) * SOURCE_PORTS


def port_name(node: str, other: str) -> str:
    """The device of a switch's port to a neighbour."""
    return f"s{node}-{other}"


@dataclass(frozen=True)
class Files:
    """The files that the controller reads and writes."""

    directory: Path

    @property
    def topology(self) -> Path:
        """Nodes and links, without delays and losses, which the controller measures."""
        return self.directory / "network.json"

    @property
    def state(self) -> Path:
        """The last link state and routes."""
        return self.directory / "state.json"

    @property
    def log(self) -> Path:
        """The controller's log."""
        return self.directory / "controller.log"
