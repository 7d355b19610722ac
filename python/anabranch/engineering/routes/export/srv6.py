"""Linux: explicit paths by SRv6, as a batch of ``ip route`` commands for each node.

Each node has routes to all locators over shortest paths, and takes part in segment routing (End, End.X, End.DX4, RFC 8986). It
wraps its hosts' packets to another node's hosts into IPv6 with the segments of the path. Several paths of a pair are
weighted next hops. Packets leave the tunnel at the last node.
"""

from collections.abc import Mapping
from dataclasses import replace

from anabranch.engineering.routes.export.classes import Dscp, by_dscp
from anabranch.engineering.routes.export.files import Files, error_note, heading
from anabranch.engineering.routes.export.forwarding import by_source, paths
from anabranch.engineering.routes.export.ip_route import LARGEST_WEIGHT
from anabranch.engineering.routes.export.linux import TABLE_OF, addresses, by_code, lab, settings
from anabranch.engineering.routes.export.plan import AddressPlan, PlannedNode
from anabranch.engineering.routes.export.segment_lists import Via, by_nodes, srv6
from anabranch.engineering.routes.export.segments import Metric, Segment, ShortestPaths, compress
from anabranch.engineering.routes.export.shares import up_to
from anabranch.engineering.routes.model import Routes

_SETTINGS = ("net.ipv6.conf.all.forwarding = 1",)
_SPREADING = (
    *_SETTINGS,
    # the flow label of a tunnel is that of the flow inside, and routers spread by it
    "net.ipv6.seg6_flowlabel = 1",
    "net.ipv6.fib_multipath_hash_policy = 0",
)

_Ways = list[tuple[tuple[Segment, ...], float, str]]
"""Lists of segments with their shares, and the node to which the first link leads."""


def files(
    routes: Routes,
    plan: AddressPlan,
    igp: Metric = "hop-count",
    dscp: Mapping[Dscp, Routes] | None = None,
    via: Via | None = None,
) -> Files:
    """A batch of routes, one of addresses and kernel settings for each node, and a batch that makes a lab of namespaces.

    ``dscp`` has separate routes for packets with these code points. With ``via``, the equal-cost paths of ``igp`` lead from segment to segment:
    each pair has at most two, and no path of nodes.
    """
    shortest = ShortestPaths(routes.topology, igp)
    made = Files({"lab.batch": lab(plan)})
    classes = list(by_dscp(dscp or {}, routes))
    made.texts |= by_code(plan, [one.first for one in classes])
    segments = _segments(routes, shortest) if via is None else _by_nodes(routes, via, shortest)
    tables = {"": segments} | {f" table {TABLE_OF + one.first}": _segments(one.routes, shortest) for one in classes}
    for node in plan.nodes.values():
        identifier = node.identifier
        made.texts[f"{identifier}.sysctl.conf"] = settings(plan, node, _SETTINGS if via is None else _SPREADING)
        made.texts[f"{identifier}.addresses.batch"] = addresses(plan, node, ipv6=True)
        lines = _own_segments(plan, node) + _shortest(plan, node, shortest, equal=via is not None)
        worst = 0.0
        for table, pairs in tables.items():
            for target, ways in pairs.get(node.name, {}).items():
                line, error = _policy(plan, node, plan.nodes[target], ways, table)
                lines.append(line)
                worst = max(worst, error)
        made.texts[f"{identifier}.routes.batch"] = heading(node, "routes") + error_note(worst) + "".join(lines)
        made.missed(worst)
    return made


def _own_segments(plan: AddressPlan, node: PlannedNode) -> list[str]:
    """The node's actions for packets to its own segment identifiers."""
    interfaces = list(plan.interfaces[node.name].values())
    anywhere = interfaces[0].name  # the kernel wants a device, which End and End.DX4 do not use
    lines = [
        f"route replace {node.end_sid}/128 encap seg6local action End dev {anywhere}\n",
        f"route replace {node.decapsulation_sid}/128 encap seg6local action End.DX4 nh4 0.0.0.0 dev {anywhere}\n",
    ]
    for interface in interfaces:
        peer = plan.interface(interface.neighbour.name, node.name)
        lines += [
            f"route replace {interface.adjacency_sid}/128 encap seg6local action End.X nh6 {peer.address6} "
            f"dev {interface.name}\n",
            f"route replace {interface.arrival_sid}/128 encap seg6local action End dev {interface.name}\n",
            f"route replace {peer.arrival_sid}/128 proto static via {peer.address6} dev {interface.name}\n",
        ]
    return lines


def _shortest(plan: AddressPlan, node: PlannedNode, shortest: ShortestPaths, equal: bool) -> list[str]:
    """Routes to the locators of all others. Where several paths are shortest, the first, as no segment relies on them, or all if ``equal``."""
    lines = []
    for other in plan.nodes.values():
        following = () if other is node else shortest.following(node.name, other.name)
        vias = [
            f"via {plan.interface(hop, node.name).address6} dev {plan.interface(node.name, hop).name}"
            for hop in (following if equal else following[:1])
        ]
        if len(vias) > 1:
            vias = [f"nexthop {via} weight 1" for via in vias]
        if vias:
            lines.append(f"route replace {other.locator} proto static {' '.join(vias)}\n")
    return lines


def _segments(routes: Routes, shortest: ShortestPaths) -> dict[str, dict[str, _Ways]]:
    """The segments of each path, by source, then by destination."""
    return {
        source: {
            target: [(compress(nodes, shortest), share, nodes[1]) for nodes, share in ways]
            for target, ways in by_target.items()
        }
        for source, by_target in by_source(paths(routes)).items()
    }


def _by_nodes(routes: Routes, via: Via, shortest: ShortestPaths) -> dict[str, dict[str, _Ways]]:
    """The segments of pairs by their intermediate nodes, by source, then by destination.

    Linux keeps all packets of a tunnel on one link of its source. So where several links of the source lead on a shortest path, each
    has a tunnel of its own, whose first segment is the link.
    """
    table: dict[str, dict[str, _Ways]] = {}
    for route in routes.routes:
        ways: _Ways = []
        for segments, share in by_nodes(route, via) if route.paths else ():
            following = shortest.following(route.source, segments[0].target)
            for first in following:
                onward = (
                    segments[1:] if first == segments[0].target else (replace(segments[0], source=first), *segments[1:])
                )
                link = Segment("adjacency", route.source, first)
                ways.append(((link, *onward) if len(following) > 1 else segments, share / len(following), first))
        if ways:
            table.setdefault(route.source, {})[route.target] = ways
    return table


def _policy(plan: AddressPlan, node: PlannedNode, target: PlannedNode, ways: _Ways, table: str) -> tuple[str, float]:
    weights, error = up_to([share for _, share, _ in ways], LARGEST_WEIGHT)
    hops = [
        f"encap seg6 mode encap segs {','.join(srv6(plan, segments))} dev {plan.interface(node.name, first).name}"
        for segments, _, first in ways
    ]
    if len(hops) > 1:
        hops = [f"nexthop {hop} weight {weight}" for hop, weight in zip(hops, weights, strict=True)]
    return f"route replace {target.prefix}{table} proto static src {node.router} {' '.join(hops)}\n", error
