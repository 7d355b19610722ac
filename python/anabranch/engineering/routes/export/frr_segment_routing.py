"""FRR: explicit paths by SR-MPLS, a configuration for each router with ospfd, pathd and staticd.

ospfd floods the node labels (RFC 8665) and finds the shortest paths. pathd holds a policy for each destination. Its segments are labels
of nodes, because ospfd assigns the labels of links only as it runs. staticd sends packets for the destination's hosts into the policy
by its colour (RFC 9256). pathd has one active path in a policy, without weights.
"""

from anabranch.engineering.routes.export.errors import ExportError, pair
from anabranch.engineering.routes.export.files import Files
from anabranch.engineering.routes.export.forwarding import BY_PAIR, paths
from anabranch.engineering.routes.export.frr import heading, preferred_source
from anabranch.engineering.routes.export.frr_igp import ospf_interfaces, shortest_paths
from anabranch.engineering.routes.export.linux import lab, settings
from anabranch.engineering.routes.export.plan import NODE_LABELS, AddressPlan, PlannedNode
from anabranch.engineering.routes.export.segment_lists import Via, by_nodes, labels
from anabranch.engineering.routes.export.segments import Metric, Segment, ShortestPaths, compress
from anabranch.engineering.routes.model import Routes

_COLOUR = 1
_LAST_NODE_LABEL = 23_999  # of the block that most routers take by default
_SETTINGS = ("net.mpls.platform_labels = 1048575", "net.mpls.conf.lo.input = 1")
_EACH_INTERFACE = ("net/mpls/conf/*/input = 1",)

_Stacks = dict[str, dict[str, list[int]]]
"""The labels of each pair, outermost first, by source, then by destination."""


def files(routes: Routes, plan: AddressPlan, igp: Metric = "hop-count", via: Via | None = None) -> Files:
    """A configuration and kernel settings for each node, and a batch that makes a lab of namespaces; ``igp`` is OSPF's metric.

    With ``via``, OSPF's equal-cost paths lead from segment to segment: each pair has at most one intermediate node.
    """
    shortest = shortest_paths(routes, igp)
    if len(plan.nodes) > _LAST_NODE_LABEL - NODE_LABELS:
        raise ExportError(
            f"{routes.topology.name} has {len(plan.nodes)} nodes; the label block {NODE_LABELS}-{_LAST_NODE_LABEL} has room for "
            f"{_LAST_NODE_LABEL - NODE_LABELS}"
        )
    stacks = _by_paths(plan, routes, shortest) if via is None else _by_nodes(plan, routes, via)
    made = Files({"lab.batch": lab(plan)})
    for node in plan.nodes.values():
        made.texts[f"{node.identifier}.sysctl.conf"] = settings(plan, node, _SETTINGS, _EACH_INTERFACE)
        made.texts[f"{node.identifier}.conf"] = (
            heading(node) + _ospf(plan, node, shortest) + _policies(plan, node, stacks.get(node.name, {}))
        )
    return made


def _ospf(plan: AddressPlan, node: PlannedNode, shortest: ShortestPaths) -> str:
    text = ospf_interfaces(plan, node, shortest)
    text += f"router ospf\n ospf router-id {node.router}\n capability opaque\n mpls-te on\n"
    text += f" mpls-te router-address {node.router}\n segment-routing on\n"
    text += f" segment-routing global-block {NODE_LABELS} {_LAST_NODE_LABEL}\n"
    return text + f" segment-routing prefix {node.router}/32 index {node.index}\nexit\n!\n"


def _by_paths(plan: AddressPlan, routes: Routes, shortest: ShortestPaths) -> _Stacks:
    """The labels of the path of each pair."""
    stacks: _Stacks = {}
    for (source, target), ways in paths(routes).items():
        _require_one(source, target, len(ways))
        segments = compress(ways[0][0], shortest)
        stacks.setdefault(source, {})[target] = [_label(plan, segment, (source, target)) for segment in segments]
    return stacks


def _by_nodes(plan: AddressPlan, routes: Routes, via: Via) -> _Stacks:
    """The labels of the intermediate node of each pair, if it has one, and of its destination."""
    stacks: _Stacks = {}
    for route in routes.routes:
        if route.paths:
            ways = by_nodes(route, via)
            _require_one(route.source, route.target, len(ways))
            stacks.setdefault(route.source, {})[route.target] = labels(plan, ways[0][0])
    return stacks


def _require_one(source: str, target: str, ways: int) -> None:
    if ways > 1:
        raise ExportError(
            f"route {pair(source, target)}: has {ways} paths; an SR policy of FRR has one. {BY_PAIR} take several"
        )


def _policies(plan: AddressPlan, node: PlannedNode, stacks: dict[str, list[int]]) -> str:
    lists, policies, static = "", "", preferred_source(node)
    for target, stack in stacks.items():
        end = plan.nodes[target]
        lists += f"  segment-list {end.identifier}\n"
        for position, label in enumerate(stack, 1):
            lists += f"   index {10 * position} mpls label {label}\n"
        lists += "  exit\n"
        policies += f"  policy color {_COLOUR} endpoint {end.router}\n   name {end.identifier}\n"
        policies += (
            f"   candidate-path preference 100 name {end.identifier} explicit segment-list {end.identifier}\n  exit\n"
        )
        static += f"ip route {end.prefix} {end.router} color {_COLOUR}\n"
    return f"segment-routing\n traffic-eng\n{lists}{policies} exit\nexit\n!\n{static}!\n"


def _label(plan: AddressPlan, segment: Segment, route: tuple[str, str]) -> int:
    if segment.kind == "adjacency":
        raise ExportError(
            f"route {pair(*route)}: goes over {pair(segment.source, segment.target)} where that is not the only shortest "
            f"path; the link must be a segment, and FRR numbers links only as it runs. Another igp of "
            f"export() in Python may avoid this, and {BY_PAIR} can"
        )
    return plan.nodes[segment.target].label
