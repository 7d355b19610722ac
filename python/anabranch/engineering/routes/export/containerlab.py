"""A laboratory for containerlab: containers with the configuration of another format, a host at each router, and emulated links.

Its topology file is ``lab.clab.yml``. A router mounts its configuration and ``nN.sh``, and runs that script once its interfaces are there.
Then ``tc`` gives each interface delay, loss and rate of its link (netem), as far as the topology has them.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil

from anabranch.engineering.routes.export import frr, frr_igp, frr_segment_routing, ip_route, srv6
from anabranch.engineering.routes.export.errors import ExportError
from anabranch.engineering.routes.export.files import Files, heading, quoted
from anabranch.engineering.routes.export.forwarding import next_hops
from anabranch.engineering.routes.export.plan import AddressPlan, PlannedNode
from anabranch.engineering.routes.model import Routes
from anabranch.network.topologies import Link

NAME = "lab.clab.yml"
ROUTER_IMAGE = "quay.io/frrouting/frr:8.4.1"
HOST_IMAGE = "wbitt/network-multitool:alpine-extra"
MANAGEMENT = "eth0"
"""The interface of each container to containerlab's own network."""
_DAEMONS = "daemons"
_QUEUE = 1000
"""Packets that wait at a link: Linux's own length of a queue."""
_PACKET_BITS = 12_000
_MTU = 1500


@dataclass(frozen=True)
class _Routers:
    """A format that containers can run."""

    make: Callable[..., Files]
    daemons: tuple[str, ...] = ()
    """FRR's; without any, iproute2 loads the routes."""


ROUTERS = {
    "frr": _Routers(frr.files, ("staticd", "pbrd")),
    "frr-ospf": _Routers(frr_igp.ospf_files, ("ospfd",)),
    "frr-isis": _Routers(frr_igp.isis_files, ("isisd",)),
    "frr-segment-routing": _Routers(frr_segment_routing.files, ("ospfd", "pathd", "staticd")),
    "ip-route": _Routers(ip_route.files),
    "srv6": _Routers(srv6.files),
}


def files(routes: Routes, plan: AddressPlan, routers: str | None = None) -> Files:
    """The laboratory; ``routers`` is the format of its routers. By default it is ``frr`` where next hops by destination suffice, or else ``srv6``."""
    if routers is None:
        routers = _fitting(routes)
    if routers not in ROUTERS:
        raise ExportError(f"routers {routers!r}: must be one of {', '.join(ROUTERS)}")
    chosen = ROUTERS[routers]
    made = chosen.make(routes, plan)
    made.routers = routers
    del made.texts["lab.batch"]
    if chosen.daemons:
        made.texts[_DAEMONS] = _daemons(chosen.daemons)
    links = {(link.source, link.target): link for link in routes.topology.links}
    nodes, wires = [], []
    for node in plan.nodes.values():
        settings = made.texts.pop(f"{node.identifier}.sysctl.conf")
        made.texts[f"{node.identifier}.sh"] = _script(node, settings, bool(chosen.daemons))
        nodes += [*_router(plan, node, bool(chosen.daemons), links), *_host(plan, node)]
        wires += _wires(plan, node)
    made.texts[NAME] = _head(routes.topology.name, routers) + "".join(
        f"{line}\n" for line in [*nodes, "  links:", *wires]
    )
    return made


def _fitting(routes: Routes) -> str:
    try:
        next_hops(routes)
    except ExportError:
        return "srv6"
    return "frr"


def _head(topology: str, routers: str) -> str:
    name = re.sub(r"[^a-z0-9]+", "_", topology.lower()).strip("_") or "lab"
    return (
        f"# {quoted(topology)} with routers by {routers}: sudo containerlab deploy -t {NAME}\n"
        f"name: {name}\n"
        "topology:\n"
        "  groups:\n"
        f"    routers:\n      kind: linux\n      image: {ROUTER_IMAGE}\n"
        f"    hosts:\n      kind: linux\n      image: {HOST_IMAGE}\n"
        "  nodes:\n"
    )


def _router(plan: AddressPlan, node: PlannedNode, daemons: bool, links: dict[tuple[str, str], Link]) -> list[str]:
    name = node.identifier
    binds = [f"{name}.sh:/lab/{name}.sh"]
    if daemons:
        binds += [f"{_DAEMONS}:/etc/frr/daemons", f"{name}.conf:/etc/frr/frr.conf"]
    else:
        binds += [f"{name}.{part}.batch:/lab/{name}.{part}.batch" for part in ("addresses", "routes")]
    commands = [f"sh /lab/{name}.sh"]
    for neighbour, interface in plan.interfaces[node.name].items():
        _require_free(node, interface.name)
        link = links.get((node.name, neighbour))
        emulation = "" if link is None else netem(link)
        if emulation:
            commands.append(f"tc qdisc replace dev {interface.name} root netem {emulation}")
    _require_free(node, node.host_interface)
    # the image's own command starts FRR
    idle = [] if daemons else ["      cmd: sleep infinity"]
    return [
        f"    {name}:  # {quoted(node.name)}",
        "      group: routers",
        *idle,
        *_listed("binds", binds),
        *_listed("exec", commands),
    ]


def netem(link: Link) -> str:
    """The arguments of netem for a link; empty if it has neither delay, loss nor rate.

    Its queue holds the packets that are under way, and a thousand that wait.
    """
    words = []
    if link.delay_s:
        words.append(f"delay {link.delay_s * 1e6:.0f}us")
    if link.loss:
        words.append(f"loss {100 * link.loss:.6g}%")
    if link.capacity_bps is not None:
        words.append(f"rate {link.capacity_bps}bit")
    if not words:
        return ""
    under_way = ceil((link.capacity_bps or 0) * (link.delay_s or 0.0) / _PACKET_BITS)
    return " ".join([*words, f"limit {_QUEUE + under_way}"])


def _require_free(node: PlannedNode, interface: str) -> None:
    if interface == MANAGEMENT:
        raise ExportError(
            f"interface {interface} of node {node.name!r}: is the one of containerlab to its own network; give another name"
        )


def _host(plan: AddressPlan, node: PlannedNode) -> list[str]:
    prefixes = [str(plan.prefix)]
    prefixes += [str(other.prefix) for other in plan.nodes.values() if not other.prefix.subnet_of(plan.prefix)]
    commands = [
        f"ip address replace {node.host}/{node.prefix.prefixlen} dev eth1",
        "ip link set eth1 up",
        *(f"ip route replace {prefix} via {node.router} dev eth1" for prefix in prefixes if prefix != str(node.prefix)),
    ]
    return [f"    {_host_name(node)}:", "      group: hosts", *_listed("exec", commands)]


def _wires(plan: AddressPlan, node: PlannedNode) -> list[str]:
    """The links of a node to its host, and to neighbours that come after it."""
    wires = [
        f'    - endpoints: ["{_host_name(node)}:eth1", "{node.identifier}:{node.host_interface}"]',
        f"      mtu: {_MTU}",
    ]
    for interface in plan.interfaces[node.name].values():
        if node.index < interface.neighbour.index:
            other = plan.interface(interface.neighbour.name, node.name)
            wires.append(
                f'    - endpoints: ["{node.identifier}:{interface.name}", "{other.node.identifier}:{other.name}"]'
            )
    return wires


def _host_name(node: PlannedNode) -> str:
    return f"h{node.index}"


def _listed(key: str, values: Iterable[str]) -> list[str]:
    return [f"      {key}:", *(f"        - {json.dumps(value)}" for value in values)]


def _script(node: PlannedNode, settings: str, daemons: bool) -> str:
    """What a router runs: kernel settings, the address to its host, and without FRR its addresses and routes."""
    lines = []
    for line in settings.splitlines():
        key, _, value = line.partition(" = ")
        if not line.startswith("#"):  # a setting with a minus may be one that the kernel lacks
            lines.append(f"sysctl -w {key.removeprefix('-')}={value}{' || true' if key.startswith('-') else ''}\n")
    lines.append(f"ip address replace {node.router}/{node.prefix.prefixlen} dev {node.host_interface}\n")
    lines.append(f"ip link set {node.host_interface} up\n")
    if not daemons:
        lines.append('cd "$(dirname "$0")"\n')
        lines += [f"ip -batch {node.identifier}.{part}.batch\n" for part in ("addresses", "routes")]
    return heading(node, "run by containerlab") + "".join(lines)


def _daemons(wanted: tuple[str, ...]) -> str:
    names = ("zebra", "staticd", "ospfd", "isisd", "pathd", "pbrd")
    lines = [f"{name}={'yes' if name in ('zebra', *wanted) else 'no'}\n" for name in names]
    options = [f'{name}_options="  -A 127.0.0.1"\n' for name in names]
    return "".join([*lines, "vtysh_enable=yes\n", *options])
