"""The addressing plan: which address, interface, port and label stands for which node and link of a topology.

It follows from the topology and two prefixes alone, so that files of several formats and of several exports fit together:

- Nodes count from 1 in the order of the topology; node 3 is ``n3`` in names of files and interfaces.
- The lower half of the IPv4 prefix (10.0.0.0/8) is cut into equal prefixes of /24, or longer ones for many nodes. Node 3
  has the third after the first, 10.0.3.0/24. Its first address is the router, its second the host attached to it.
- The upper half is cut into /31 (RFC 3021), one for each two nodes that a link joins, in the order of the topology; the
  even address belongs to the node with the lower number.
- The interface of n3 to n5 is ``n3-n5``, that to its host ``n3-host``. OpenFlow port 1 leads to the host, ports from 2
  on to the neighbours in their order.
- Node 3 has the /64 with subnet 3 of the IPv6 prefix (a /48) as SRv6 locator (RFC 8986). ``::1`` is its End SID, ``::d4`` its
  End.DX4 SID, and ``::e:P`` the End.X SID of port P. ``::a:P`` is an End SID to which its neighbour at port P sends over
  their link only. Subnet 0 holds a /127 for each link (RFC 6164).
- SR-MPLS: node 3 has label 16003, and the adjacency at port P has the label 100000 + P there (RFC 8402).

A file of interfaces replaces names and IPv4 addresses: see :mod:`~anabranch.engineering.routes.export.interfaces`.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Network, ip_network
from pathlib import Path
from typing import Any

from anabranch.engineering.routes.export.errors import ExportError
from anabranch.engineering.routes.export.interfaces import Given, require_disjoint
from anabranch.engineering.routes.export.interfaces import read as read_interfaces
from anabranch.network.topologies import Topology

PREFIX = "10.0.0.0/8"
PREFIX6 = "fd61:6e61:6272::/48"
HOST_PORT = 1
NODE_LABELS = 16_000
ADJACENCY_LABELS = 100_000

_SHORTEST_NODE_PREFIX = 24
_LONGEST_NODE_PREFIX = 30
_LAST_PORT = (
    0xFEFF  # OpenFlow 1.3.5, section 7.2.1: 0xff00 (OFPP_MAX) is the first that is none, as Open vSwitch has it
)
_MOST_NODES = 0xFFFF
_MAC = 0x02_00_00_00_00_00
_HOST_MAC = 0x02_01_00_00_00_00


@dataclass(frozen=True, slots=True)
class PlannedNode:
    """A node in the plan: its number and addresses."""

    name: str
    index: int
    prefix: IPv4Network
    """The prefix of the hosts at the node."""
    locator: IPv6Network
    router: IPv4Address
    """The node's own address."""
    host_interface: str
    """The node's interface to its host."""

    @property
    def identifier(self) -> str:
        """The node in names of files and interfaces, independent of its own name."""
        return f"n{self.index}"

    @property
    def host(self) -> IPv4Address:
        """The host at the node: the first address that is not the node's own."""
        return self.prefix[2] if self.router == self.prefix[1] else self.prefix[1]

    @property
    def router_mac(self) -> str:
        """MAC address of the node as its host sees it."""
        return _mac(_MAC + self.index)

    @property
    def host_mac(self) -> str:
        """MAC address of the host as the node sees it."""
        return _mac(_HOST_MAC + self.index)

    @property
    def label(self) -> int:
        """SR-MPLS node label."""
        return NODE_LABELS + self.index

    @property
    def end_sid(self) -> IPv6Address:
        """SRv6: packets come here, and continue with the next segment."""
        return self.locator[1]

    @property
    def decapsulation_sid(self) -> IPv6Address:
        """SRv6: come here, and leave the tunnel."""
        return self.locator[0xD4]


@dataclass(frozen=True, slots=True)
class Interface:
    """A node's end of the link to a neighbour."""

    node: PlannedNode
    neighbour: PlannedNode
    port: int
    name: str
    """At most 15 characters. Without a file of interfaces no other node uses it, so that all nodes may be in one network namespace."""
    within: IPv4Interface
    """The address with the length of the link's prefix."""
    address6: IPv6Address

    @property
    def address(self) -> IPv4Address:
        """The address alone."""
        return self.within.ip

    @property
    def label(self) -> int:
        """SR-MPLS adjacency label."""
        return ADJACENCY_LABELS + self.port

    @property
    def adjacency_sid(self) -> IPv6Address:
        """SRv6: packets come to the node, and leave over this link."""
        return self.node.locator[0xE_0000 + self.port]

    @property
    def arrival_sid(self) -> IPv6Address:
        """SRv6: packets come to the node; the neighbour sends them over this link."""
        return self.node.locator[0xA_0000 + self.port]


@dataclass(frozen=True)
class AddressPlan:
    """The plan of a topology."""

    topology: Topology
    prefix: IPv4Network
    prefix6: IPv6Network
    nodes: dict[str, PlannedNode]
    """The nodes by name."""
    interfaces: dict[str, dict[str, Interface]]
    """The interfaces by node, then by neighbour, in the order of ports."""

    def interface(self, node: str, neighbour: str) -> Interface:
        """The node's interface to the neighbour."""
        return self.interfaces[node][neighbour]

    def document(self) -> dict[str, Any]:
        """The plan for JSON, which shows a reader which address belongs to which node."""
        return {
            "topology": self.topology.name,
            "prefix": str(self.prefix),
            "prefix6": str(self.prefix6),
            "nodes": [_node(node) for node in self.nodes.values()],
            "interfaces": [_interface(interface) for ends in self.interfaces.values() for interface in ends.values()],
        }


def make_plan(
    topology: Topology, prefix: str = PREFIX, prefix6: str = PREFIX6, interfaces: str | Path | None = None
) -> AddressPlan:
    """The plan of a topology within the two prefixes; ``interfaces`` is a CSV file with names and IPv4 addresses of interfaces.

    Raises:
        ExportError: a prefix is none, or too small for the topology; it says how many addresses there must be. Or the file cannot be
            used; it names file, line and value.
    """
    network = _network(prefix, "prefix", 4, PREFIX)
    network6 = _network(prefix6, "prefix6", 6, PREFIX6)
    assert isinstance(network, IPv4Network)
    assert isinstance(network6, IPv6Network)
    if network6.prefixlen != 48:
        raise ExportError(f"prefix6 {prefix6}: must be a /48, such as {PREFIX6}")
    count = len(topology.nodes)
    if count >= _MOST_NODES:
        raise ExportError(f"{topology.name} has {count} nodes; the addressing plan has room for {_MOST_NODES - 1}")
    length = _node_prefix_length(network, topology)
    given = None if interfaces is None else read_interfaces(Path(interfaces), topology)
    nodes = {}
    for index, node in enumerate(topology.nodes, 1):
        hosts = IPv4Network((int(network[0]) + (index << (32 - length)), length))
        router, host_interface = hosts[1], f"n{index}-host"
        if given is not None and node.name in given.hosts:
            host_interface, within = given.hosts[node.name]
            hosts, router = within.network, within.ip
        locator = IPv6Network((int(network6[0]) + (index << 64), 64))
        nodes[node.name] = PlannedNode(node.name, index, hosts, locator, router, host_interface)
    plan = AddressPlan(topology, network, network6, nodes, _interfaces(topology, nodes, network, network6, given))
    if given is not None:
        require_disjoint(
            str(interfaces), given, ((planned.prefix, f"the hosts of node {name!r}") for name, planned in nodes.items())
        )
    return plan


def _network(text: str, option: str, version: int, example: str) -> IPv4Network | IPv6Network:
    try:
        network = ip_network(text)
    except ValueError as error:
        raise ExportError(f"{option} {text}: {error}; it must be an IPv{version} prefix such as {example}") from None
    if network.version != version:
        raise ExportError(f"{option} {text}: must be an IPv{version} prefix such as {example}")
    return network


def _node_prefix_length(network: IPv4Network, topology: Topology) -> int:
    for length in range(max(_SHORTEST_NODE_PREFIX, network.prefixlen + 1), _LONGEST_NODE_PREFIX + 1):
        if len(topology.nodes) < 1 << (length - network.prefixlen - 1):
            return length
    raise ExportError(
        f"prefix {network}: its lower half is too small for the {len(topology.nodes)} nodes of {topology.name}, which need "
        f"4 addresses each; give a greater one, such as {PREFIX}"
    )


def _interfaces(
    topology: Topology,
    nodes: dict[str, PlannedNode],
    network: IPv4Network,
    network6: IPv6Network,
    given: Given | None,
) -> dict[str, dict[str, Interface]]:
    joined: dict[tuple[int, int], int] = {}
    neighbours: dict[str, set[str]] = {name: set() for name in nodes}
    for link in topology.links:
        ends = sorted((nodes[link.source].index, nodes[link.target].index))
        joined.setdefault((ends[0], ends[1]), len(joined))
        neighbours[link.source].add(link.target)
        neighbours[link.target].add(link.source)
    half = network.num_addresses // 2
    if given is None and 2 * len(joined) > half:
        raise ExportError(
            f"prefix {network}: its upper half is too small for the {len(joined)} links of {topology.name}, which need "
            f"2 addresses each; give a greater one, such as {PREFIX}"
        )
    interfaces: dict[str, dict[str, Interface]] = {}
    for name, node in nodes.items():
        if len(neighbours[name]) > _LAST_PORT - HOST_PORT:
            raise ExportError(f"node {name!r} has {len(neighbours[name])} neighbours; a switch has {_LAST_PORT} ports")
        ordered = sorted((nodes[other] for other in neighbours[name]), key=lambda other: other.index)
        interfaces[name] = {}
        for port, other in enumerate(ordered, HOST_PORT + 1):
            number = joined[min(node.index, other.index), max(node.index, other.index)]
            end = 2 * number + (node.index > other.index)
            if given is None:
                written = f"{node.identifier}-{other.identifier}", IPv4Interface((network[half + end], 31))
            else:
                written = given.links[name, other.name]
            interfaces[name][other.name] = Interface(node, other, port, *written, network6[end])
    return interfaces


def _mac(number: int) -> str:
    return ":".join(f"{byte:02x}" for byte in number.to_bytes(6, "big"))


def _node(node: PlannedNode) -> dict[str, Any]:
    return {
        "name": node.name,
        "identifier": node.identifier,
        "prefix": str(node.prefix),
        "router": str(node.router),
        "router_mac": node.router_mac,
        "host": str(node.host),
        "host_mac": node.host_mac,
        "host_interface": node.host_interface,
        "host_port": HOST_PORT,
        "label": node.label,
        "locator": str(node.locator),
        "end_sid": str(node.end_sid),
        "decapsulation_sid": str(node.decapsulation_sid),
    }


def _interface(interface: Interface) -> dict[str, Any]:
    return {
        "node": interface.node.name,
        "neighbour": interface.neighbour.name,
        "name": interface.name,
        "port": interface.port,
        "address": str(interface.within),
        "address6": f"{interface.address6}/127",
        "label": interface.label,
        "adjacency_sid": str(interface.adjacency_sid),
        "arrival_sid": str(interface.arrival_sid),
    }
