"""FRR: a configuration for each router with ospfd or isisd, whose interface costs lead over the routes.

Routers find equal-cost multipath themselves, also after a failure. So the routes must be shortest paths by the costs.
"""

from collections.abc import Callable

from anabranch.engineering.routes.export.errors import ExportError, pair
from anabranch.engineering.routes.export.files import Files
from anabranch.engineering.routes.export.forwarding import next_hops
from anabranch.engineering.routes.export.frr import heading, interfaces, preferred_source
from anabranch.engineering.routes.export.linux import lab, settings
from anabranch.engineering.routes.export.plan import AddressPlan, PlannedNode
from anabranch.engineering.routes.export.segments import METRICS, Metric, ShortestPaths
from anabranch.engineering.routes.model import Routes

AREA = "BACKBONE"
_SHOWN = 3
_TOLERANCE = 1e-6


def ospf_files(routes: Routes, plan: AddressPlan, igp: Metric | None = None) -> Files:
    """OSPF in one area; ``igp`` is the metric of the costs, by default that of the routes, or else the links' own costs."""
    return _files(routes, plan, igp, "OSPF", _ospf)


def isis_files(routes: Routes, plan: AddressPlan, igp: Metric | None = None) -> Files:
    """IS-IS of level 2 with wide metrics; ``igp`` as for OSPF."""
    return _files(routes, plan, igp, "IS-IS", _isis)


def shortest_paths(routes: Routes, igp: Metric) -> ShortestPaths:
    """The shortest paths of an interior gateway protocol, which needs both directions of a link.

    Raises:
        ExportError: a link goes one way, or has no such cost.
    """
    shortest = ShortestPaths(routes.topology, igp)
    for link in routes.topology.links:
        if link.source not in shortest.costs[link.target]:
            raise ExportError(
                f"link {pair(link.source, link.target)}: goes one way; OSPF and IS-IS need both. ip-route and srv6 take such links"
            )
    return shortest


def ospf_interfaces(plan: AddressPlan, node: PlannedNode, shortest: ShortestPaths) -> str:
    """The addresses of the interfaces, and their costs in OSPF."""

    def area(neighbour: str) -> str:
        if not neighbour:
            return " ip ospf area 0\n"
        cost = shortest.costs[node.name][neighbour]
        return f" ip ospf area 0\n ip ospf cost {cost}\n ip ospf network point-to-point\n"

    return interfaces(plan, node, area)


def _files(
    routes: Routes,
    plan: AddressPlan,
    igp: Metric | None,
    protocol: str,
    body: Callable[[AddressPlan, PlannedNode, ShortestPaths], str],
) -> Files:
    own: Metric = next((metric for metric in METRICS if metric == routes.metric), "cost")
    costless = next((link for link in routes.topology.links if link.cost is None), None)
    if igp is None and own == "cost" and costless is not None:
        raise ExportError(
            f"link {pair(costless.source, costless.target)}: has no cost, and {protocol} routes by the costs of links. anabranch weights finds "
            'costs; srv6 and openflow13 take any paths (in Python, igp = "hop-count" needs no costs)'
        )
    shortest = shortest_paths(routes, igp or own)
    made = Files({"lab.batch": lab(plan)})
    made.warnings += _differences(routes, shortest, protocol)
    for node in plan.nodes.values():
        made.texts[f"{node.identifier}.sysctl.conf"] = settings(plan, node)
        made.texts[f"{node.identifier}.conf"] = heading(node) + body(plan, node, shortest)
    return made


def _differences(routes: Routes, shortest: ShortestPaths, protocol: str) -> list[str]:
    """Where routers split traffic that the routes keep on fewer next hops, or in other shares.

    Raises:
        ExportError: a route leads over no shortest path.
    """
    split = []
    for router, by_target in next_hops(routes).items():
        for target, shares in by_target.items():
            following = shortest.following(router, target)
            for hop in shares:
                if hop not in following:
                    raise ExportError(
                        f"route {pair(router, target)}: goes over {hop!r}, which is on no shortest path by {shortest.metric}; {protocol} takes "
                        "no other. anabranch weights finds costs; frr and ip-route take any next hops, srv6 any paths"
                    )
            if any(abs(shares.get(hop, 0.0) - 1 / len(following)) > _TOLERANCE for hop in following):
                split.append(f"{pair(router, target)} over {' and '.join(map(repr, following))}")
    if not split:
        return []
    more = f", and {len(split) - _SHOWN} more" if len(split) > _SHOWN else ""
    return [f"{protocol} splits in equal parts what the routes do not: {', '.join(split[:_SHOWN])}{more}"]


def _ospf(plan: AddressPlan, node: PlannedNode, shortest: ShortestPaths) -> str:
    hosts = _hosts(node, " ip ospf area 0\n ip ospf passive\n")
    router = f"router ospf\n ospf router-id {node.router}\nexit\n!\n"
    return ospf_interfaces(plan, node, shortest) + hosts + router + preferred_source(node, "ospf")


def _isis(plan: AddressPlan, node: PlannedNode, shortest: ShortestPaths) -> str:
    joins = f" ip router isis {AREA}\n"
    level = " isis circuit-type level-2-only\n"

    def circuit(neighbour: str) -> str:
        if not neighbour:
            return joins + " isis passive\n"
        cost = shortest.costs[node.name][neighbour]
        return f"{joins}{level} isis network point-to-point\n isis metric {cost}\n"

    text = interfaces(plan, node, circuit) + _hosts(node, joins + " isis passive\n")
    system = f"{node.index:012x}"
    title = f"49.0001.{system[:4]}.{system[4:8]}.{system[8:]}.00"
    text += f"router isis {AREA}\n net {title}\n is-type level-2-only\n metric-style wide\nexit\n!\n"
    return text + preferred_source(node, "isis")


def _hosts(node: PlannedNode, more: str) -> str:
    return f"interface {node.host_interface}\n ip address {node.router}/{node.prefix.prefixlen}\n{more}exit\n!\n"
