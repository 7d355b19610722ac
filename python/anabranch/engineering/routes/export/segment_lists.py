"""Segment lists as JSON: for each path of each pair its segments, as SRv6 identifiers and as SR-MPLS labels."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from anabranch.engineering.routes.export.files import Files, document
from anabranch.engineering.routes.export.forwarding import paths
from anabranch.engineering.routes.export.plan import AddressPlan
from anabranch.engineering.routes.export.segments import Metric, Segment, ShortestPaths, compress
from anabranch.engineering.routes.model import Route, Routes

NAME = "segment-lists.json"


Via = Mapping[tuple[str, str], Sequence[tuple[str | None, float]]]
"""For a source and a destination, intermediate nodes (``None`` for none) with their fractions of the traffic."""


def files(routes: Routes, plan: AddressPlan, igp: Metric = "hop-count", via: Via | None = None) -> Files:
    """One document; ``igp`` is the metric by which the routers' own protocol is to find shortest paths.

    With ``via``, the protocol's equal-cost paths lead from segment to segment: each pair of the routes has at most two, and no path of nodes.
    """
    shortest = ShortestPaths(routes.topology, igp)
    if via is not None:
        return _document(
            routes, plan, shortest, [_node_record(plan, route, via) for route in routes.routes if route.paths]
        )
    pairs = [
        {
            "src": source,
            "dst": target,
            "prefix": str(plan.nodes[target].prefix),
            "paths": [_record(plan, nodes, share, compress(nodes, shortest)) for nodes, share in ways],
        }
        for (source, target), ways in paths(routes).items()
    ]
    return _document(routes, plan, shortest, pairs)


def by_nodes(route: Route, via: Via) -> list[tuple[tuple[Segment, ...], float]]:
    """The segments of a pair from intermediate node to intermediate node, with their shares."""
    ways = []
    for node, share in via.get((route.source, route.target), [(None, 1.0)]):
        stops = [route.source, *([] if node in (None, route.source) else [node]), route.target]
        ways.append((tuple(Segment("node", one, other) for one, other in pairwise(stops)), share))
    return ways


def _node_record(plan: AddressPlan, route: Route, via: Via) -> dict[str, Any]:
    paths = [_record(plan, None, share, segments) for segments, share in by_nodes(route, via)]
    prefix = str(plan.nodes[route.target].prefix)
    return {"src": route.source, "dst": route.target, "prefix": prefix, "paths": paths}


def _document(routes: Routes, plan: AddressPlan, shortest: ShortestPaths, pairs: list[dict[str, Any]]) -> Files:
    costs = [
        {"src": source, "dst": target, "cost": cost}
        for source, ends in shortest.costs.items()
        for target, cost in ends.items()
    ]
    head = {"topology": routes.topology.name, "igp": {"metric": shortest.metric, "costs": costs}}
    return Files({NAME: document(head, "pairs", pairs)})


def srv6(plan: AddressPlan, segments: tuple[Segment, ...]) -> list[str]:
    """The identifiers in the order of travel; the last one ends the tunnel.

    An End.X identifier itself leads to its node, so it also replaces a node segment before it. The source cannot send to an
    End.X of its own. So a link at the source is an End identifier of the neighbour. Only the source reaches this
    identifier over that link.
    """
    source, target = segments[0].source, segments[-1].target
    identifiers = []
    for position, segment in enumerate(segments):
        ahead = segments[position + 1] if position + 1 < len(segments) else None
        if segment.kind == "adjacency" and segment.source == source:
            identifiers.append(plan.interface(segment.target, source).arrival_sid)
        elif segment.kind == "adjacency":
            identifiers.append(plan.interface(segment.source, segment.target).adjacency_sid)
        elif ahead is not None and ahead.kind == "node":
            identifiers.append(plan.nodes[segment.target].end_sid)
    return [*map(str, identifiers), str(plan.nodes[target].decapsulation_sid)]


def labels(plan: AddressPlan, segments: tuple[Segment, ...]) -> list[int]:
    """The label stack of SR-MPLS, outermost first."""
    return [
        plan.nodes[segment.target].label
        if segment.kind == "node"
        else plan.interface(segment.source, segment.target).label
        for segment in segments
    ]


def _record(
    plan: AddressPlan, nodes: tuple[str, ...] | None, share: float, segments: tuple[Segment, ...]
) -> dict[str, Any]:
    return {
        "path": None if nodes is None else list(nodes),
        "fraction": share,
        "segments": [{"kind": segment.kind, "src": segment.source, "dst": segment.target} for segment in segments],
        "srv6": srv6(plan, segments),
        "mpls": labels(plan, segments),
    }
