"""OpenFlow: a file of groups and one of flows for each switch, for ``ovs-ofctl add-groups`` and ``add-flows``.

Hop-by-hop routes become rules by destination, with a select group where there are several next hops. For explicit routes the
source decides: its rule for the pair goes into a select group over the pair's paths, and the later switches have one
rule for the pair. Where two paths of a pair leave a switch towards different ones, the source tags their packets with the
number of the path as VLAN, and the last switch removes the tag.

Open vSwitch assigns hash values to the buckets. The number of hash values is a power of two from 16 to 256, as the smallest
weight requires. Weights here add up to a power of two. Where Open vSwitch would take fewer hash values than that, a bucket is
written as two, one of them of weight 1. So the weights are met exactly.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from anabranch.engineering.routes.export.classes import Dscp, Ports, by_dscp, by_port
from anabranch.engineering.routes.export.errors import ExportError, pair
from anabranch.engineering.routes.export.files import Files, error_note, heading
from anabranch.engineering.routes.export.forwarding import WeightedPath, next_hops, paths, undelivered
from anabranch.engineering.routes.export.plan import HOST_PORT, AddressPlan, Interface, PlannedNode
from anabranch.engineering.routes.export.shares import of_sums
from anabranch.engineering.routes.model import Routes

_SUMS = tuple(1 << power for power in range(9))
_FEWEST_HASH_VALUES, _MOST_HASH_VALUES = 16, 256
_MOST_TAGS = 4094  # IEEE 802.1Q: 0 and 4095 are no VLAN
_BY_PORT, _BY_DSCP, _TAGGED, _BY_PAIR, _LOCAL = 2000, 1500, 1100, 1000, 500


def files13(
    routes: Routes,
    plan: AddressPlan,
    tcp_source_ports: Mapping[Ports, Routes] | None = None,
    dscp: Mapping[Dscp, Routes] | None = None,
) -> Files:
    """The files for OpenFlow 1.3.

    ``tcp_source_ports`` has separate routes for flows from these TCP source ports, ``dscp`` for packets with these code points. A port goes before
    a code point.
    """
    return _files(routes, plan, (tcp_source_ports or {}, dscp or {}), "OpenFlow13")


def files15(
    routes: Routes,
    plan: AddressPlan,
    tcp_source_ports: Mapping[Ports, Routes] | None = None,
    dscp: Mapping[Dscp, Routes] | None = None,
) -> Files:
    """The files for OpenFlow 1.5, whose buckets have numbers.

    Select groups of hop-by-hop routes hash differently on each switch (Open vSwitch's extension
    ``selection_method=dp_hash``). Otherwise, flows that share a hash value would stay together all the way.
    """
    return _files(routes, plan, (tcp_source_ports or {}, dscp or {}), "OpenFlow15")


@dataclass
class _Switch:
    """The rules of a switch while they are made."""

    node: PlannedNode
    version: str
    groups: dict[str, int] = field(default_factory=dict)
    """Number by text."""
    flows: list[str] = field(default_factory=list)
    error: float = 0.0

    def choose(self, actions: list[str], shares: list[float], hop_by_hop: bool) -> str:
        """The action that deals packets out to several ones by their shares."""
        if len(actions) == 1:
            return actions[0]
        weights, error = of_sums(shares, _SUMS)
        self.error = max(self.error, error)
        text = "type=select"
        if hop_by_hop and self.version == "OpenFlow15":
            text += f",selection_method=dp_hash,selection_method_param={self.node.index}"
        for number, (weight, action) in enumerate(_buckets(list(weights), actions)):
            bucket = f"bucket_id:{number}," if self.version == "OpenFlow15" else ""
            text += f",bucket={bucket}weight:{weight},actions={action}"
        return f"group:{self.groups.setdefault(text, len(self.groups) + 1)}"

    def rule(self, priority: int, match: str, actions: str) -> None:
        self.flows.append(f"priority={priority},{match},actions=dec_ttl,{actions}\n")

    def texts(self) -> dict[str, str]:
        note = error_note(self.error)
        groups = [f"group_id={number},{text}\n" for text, number in self.groups.items()]
        return {
            f"{self.node.identifier}.groups": heading(self.node, f"groups, {self.version}") + note + "".join(groups),
            f"{self.node.identifier}.flows": heading(self.node, f"flows, {self.version}") + "".join(self.flows),
        }


def _files(
    routes: Routes, plan: AddressPlan, separate: tuple[Mapping[Ports, Routes], Mapping[Dscp, Routes]], version: str
) -> Files:
    switches = {name: _Switch(node, version) for name, node in plan.nodes.items()}
    for switch in switches.values():
        _deliver(switch)
    made = Files({"lab.ovs-vsctl": _lab(plan, version)})
    made.warnings += _add(switches, plan, routes, ["ip"], _BY_PAIR)
    by_ports, by_codes = separate
    rules = [
        (one, [f"tcp,{mask}" for mask in _masks(one.first, one.last)], _BY_PORT) for one in by_port(by_ports, routes)
    ]
    rules += [(one, [f"ip,ip_dscp={one.first}"], _BY_DSCP) for one in by_dscp(by_codes, routes)]
    for one, matches, priority in rules:
        warnings = _add(switches, plan, one.routes, matches, priority)
        made.warnings += [f"{one.name}: {warning}" for warning in warnings]
    for switch in switches.values():
        made.texts |= switch.texts() | {f"{switch.node.identifier}.host.batch": _host(switch.node)}
        made.missed(switch.error)
    return made


def _masks(first: int, last: int) -> Iterable[str]:
    """Matches that take the ports of a range together: aligned powers of two, the fewest there are."""
    while first <= last:
        size = first & -first
        while first + size - 1 > last:
            size //= 2
        yield f"tp_src={first}" if size == 1 else f"tp_src={first:#06x}/{0xFFFF & ~(size - 1):#06x}"
        first += size


def _deliver(switch: _Switch) -> None:
    """Packets for the switch's own hosts."""
    host = f"set_field:{switch.node.host_mac}->eth_dst,output:{HOST_PORT}"
    switch.rule(_LOCAL, f"ip,nw_dst={switch.node.prefix}", host)
    switch.rule(_LOCAL + 1, f"vlan_tci=0x1000/0x1000,ip,nw_dst={switch.node.prefix}", f"pop_vlan,{host}")


def _add(
    switches: Mapping[str, _Switch], plan: AddressPlan, routes: Routes, protocols: list[str], priority: int
) -> list[str]:
    """Add the rules of some routes, for each match; what to warn of."""
    if routes.forwarding == "hop-by-hop":
        table = next_hops(routes)
        for router, by_target in table.items():
            for target, shares in by_target.items():
                outputs = [_output(plan.interface(router, hop)) for hop in shares]
                action = switches[router].choose(outputs, list(shares.values()), hop_by_hop=True)
                for protocol in protocols:
                    switches[router].rule(priority, f"{protocol},nw_dst={plan.nodes[target].prefix}", action)
        return undelivered(table)
    for (source, target), ways in paths(routes).items():
        prefixes = f"nw_src={plan.nodes[source].prefix},nw_dst={plan.nodes[target].prefix}"
        for protocol in protocols:
            _add_pair(switches, plan, ways, f"{protocol},{prefixes}", priority)
    return []


def _add_pair(
    switches: Mapping[str, _Switch], plan: AddressPlan, ways: tuple[WeightedPath, ...], match: str, priority: int
) -> None:
    tagged = _disagree(ways)
    if tagged and len(ways) > _MOST_TAGS:
        raise ExportError(
            f"route {pair(ways[0][0][0], ways[0][0][-1])}: has {len(ways)} paths; {_MOST_TAGS} can be tagged"
        )
    actions, behind = [], dict[tuple[str, str], None]()
    for tag, (nodes, _) in enumerate(ways, 1):
        push = f"push_vlan:0x8100,set_field:{0x1000 | tag}->vlan_vid," if tagged else ""
        actions.append(push + _output(plan.interface(nodes[0], nodes[1])))
        for router, following in pairwise(nodes[1:]):
            output = _output(plan.interface(router, following))
            if tagged:
                switches[router].rule(priority + _TAGGED - _BY_PAIR, f"dl_vlan={tag},{match}", output)
            else:
                behind[router, output] = None
    for router, output in behind:
        switches[router].rule(priority, match, output)
    source = switches[ways[0][0][0]]
    source.rule(priority, match, source.choose(*_merged(actions, [share for _, share in ways]), hop_by_hop=False))


def _disagree(ways: tuple[WeightedPath, ...]) -> bool:
    """Whether two paths leave a switch that is not the source towards different switches."""
    following: dict[str, str] = {}
    return any(following.setdefault(one, other) != other for nodes, _ in ways for one, other in pairwise(nodes[1:]))


def _merged(actions: list[str], shares: list[float]) -> tuple[list[str], list[float]]:
    sums: dict[str, float] = {}
    for action, share in zip(actions, shares, strict=True):
        sums[action] = sums.get(action, 0.0) + share
    return list(sums), list(sums.values())


def _buckets(weights: list[int], actions: list[str]) -> list[tuple[int, str]]:
    buckets = list(zip(weights, actions, strict=True))
    if _hash_values(weights) < sum(weights):
        largest = weights.index(max(weights))
        buckets[largest] = (weights[largest] - 1, actions[largest])
        buckets.insert(largest + 1, (1, actions[largest]))
    return buckets


def _hash_values(weights: list[int]) -> int:
    """The number of hash values that Open vSwitch (2.10 and later) assigns for these weights."""
    needed = max(-(-sum(weights) // min(weights)), min(4 * len(weights), _MOST_HASH_VALUES))
    return max(_FEWEST_HASH_VALUES, 1 << (needed - 1).bit_length())


def _output(interface: Interface) -> str:
    return f"output:{interface.port}"


def _host(node: PlannedNode) -> str:
    """Lines for ``ip -batch`` in the network namespace of the node's host. A static neighbour entry replaces ARP."""
    interface = node.host_interface
    return heading(node, "its host") + (
        f"link set {interface} address {node.host_mac}\n"
        f"link set {interface} up\n"
        f"address replace {node.host}/{node.prefix.prefixlen} dev {interface}\n"
        f"neighbour replace {node.router} lladdr {node.router_mac} dev {interface}\n"
        f"route replace default via {node.router} dev {interface}\n"
    )


def _lab(plan: AddressPlan, version: str) -> str:
    """A line for each switch with the arguments of ``ovs-vsctl`` that make it, its links patch ports."""
    owners: dict[str, str] = {}
    for node in plan.nodes.values():
        for name in (node.host_interface, *(one.name for one in plan.interfaces[node.name].values())):
            if owners.setdefault(name, node.name) != node.name:
                raise ExportError(
                    f"interface {name}: is one of node {owners[name]!r} and of node {node.name!r}; the ports of Open vSwitch need different names"
                )
    lines = []
    for node in plan.nodes.values():
        name = node.identifier
        line = f"add-br {name} -- set bridge {name} datapath_type=netdev fail_mode=secure protocols={version}"
        line += f" -- add-port {name} {node.host_interface}"
        line += f" -- set interface {node.host_interface} type=internal ofport_request={HOST_PORT}"
        for interface in plan.interfaces[node.name].values():
            peer = plan.interface(interface.neighbour.name, node.name).name
            line += f" -- add-port {name} {interface.name} -- set interface {interface.name} type=patch"
            line += f" options:peer={peer} ofport_request={interface.port}"
        lines.append(line + "\n")
    return "".join(lines)
