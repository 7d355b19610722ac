"""Linux: explicit paths by SRv6, as a batch of ``ip route`` commands for each node.

Each node has routes to all locators over shortest paths, and takes part in segment routing (End, End.X, End.DX4, RFC 8986). It
wraps its hosts' packets to another node's hosts into IPv6 with the segments of the path. Several paths of a pair are
weighted next hops. Packets leave the tunnel at the last node.
"""

from anabranch.engineering.routes.export.files import Files, error_note, heading
from anabranch.engineering.routes.export.forwarding import WeightedPath, by_source, paths
from anabranch.engineering.routes.export.ip_route import LARGEST_WEIGHT
from anabranch.engineering.routes.export.linux import addresses, lab, settings
from anabranch.engineering.routes.export.plan import AddressPlan, PlannedNode
from anabranch.engineering.routes.export.segment_lists import srv6
from anabranch.engineering.routes.export.segments import Metric, ShortestPaths, compress
from anabranch.engineering.routes.export.shares import up_to
from anabranch.engineering.routes.model import Routes

_SETTINGS = ("net.ipv6.conf.all.forwarding = 1",)


def files(routes: Routes, plan: AddressPlan, igp: Metric = "hop-count") -> Files:
    """A batch of routes, one of addresses and kernel settings for each node, and a batch that makes a lab of namespaces."""
    shortest = ShortestPaths(routes.topology, igp)
    made = Files({"lab.batch": lab(plan)})
    pairs = by_source(paths(routes))
    for node in plan.nodes.values():
        identifier = node.identifier
        made.texts[f"{identifier}.sysctl.conf"] = settings(plan, node, _SETTINGS)
        made.texts[f"{identifier}.addresses.batch"] = addresses(plan, node, ipv6=True)
        lines = _own_segments(plan, node) + _shortest(plan, node, shortest)
        worst = 0.0
        for target, ways in pairs.get(node.name, {}).items():
            line, error = _policy(plan, node, plan.nodes[target], ways, shortest)
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


def _shortest(plan: AddressPlan, node: PlannedNode, shortest: ShortestPaths) -> list[str]:
    """Routes to the locators of all others; where several paths are shortest the first, as no segment relies on them."""
    lines = []
    for other in plan.nodes.values():
        following = () if other is node else shortest.following(node.name, other.name)
        if following:
            interface = plan.interface(node.name, following[0])
            via = plan.interface(following[0], node.name).address6
            lines.append(f"route replace {other.locator} proto static via {via} dev {interface.name}\n")
    return lines


def _policy(
    plan: AddressPlan, node: PlannedNode, target: PlannedNode, ways: tuple[WeightedPath, ...], shortest: ShortestPaths
) -> tuple[str, float]:
    weights, error = up_to([share for _, share in ways], LARGEST_WEIGHT)
    hops = []
    for nodes, _ in ways:
        segments = ",".join(srv6(plan, compress(nodes, shortest)))
        hops.append(f"encap seg6 mode encap segs {segments} dev {plan.interface(node.name, nodes[1]).name}")
    if len(hops) > 1:
        hops = [f"nexthop {hop} weight {weight}" for hop, weight in zip(hops, weights, strict=True)]
    return f"route replace {target.prefix} proto static src {node.router} {' '.join(hops)}\n", error
