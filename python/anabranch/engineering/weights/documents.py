"""Weights as a document."""

from collections.abc import Sequence
from typing import Any

from anabranch.engineering.robust.documents import availability_record, failure_records
from anabranch.engineering.robust.network import Network
from anabranch.engineering.routes.export.segments import ShortestPaths
from anabranch.engineering.routes.model import Path, Route, Routes
from anabranch.engineering.weights.finding import Found
from anabranch.engineering.weights.intermediate_nodes import TwoSegments
from anabranch.engineering.weights.judged import with_costs
from anabranch.foundation.array_types import Floats


def document(found: Found, matrices: Sequence[str], two: TwoSegments | None = None) -> dict[str, Any]:
    """The document that ``anabranch weights --json`` prints; loads are shares of capacities, ``matrices`` are names.

    ``two`` is two-segment routing by the weights found.
    """
    network = found.network
    return {
        "topology": network.topology.name,
        "matrices": list(matrices),
        "routings": [
            {
                "routing": one.name,
                "load": one.load,
                "load_without_failure": one.load_before,
                "worst_link": list(network.link_name(one.link)),
                "load_of_matrices": one.loads.tolist(),
                **availability_record(one.load_before, one.after),
                "failures": failure_records(network, one.after),
            }
            for one in found.judged
        ],
        "optimal_flow": {
            "load": found.optimum,
            "load_without_failure": found.optimum_before,
            "lower_bound": found.lower_bound,
            "computed": found.flows,
            "wanted": found.wanted_flows,
        },
        "weights": [
            {"src": source, "dst": target, "weight": int(weight)}
            for (source, target), weight in zip(
                map(network.link_name, range(network.links)), found.best.weights.tolist(), strict=True
            )
        ],
        **({} if two is None else {"two_segments": _segments(two)}),
        "tries": found.tries,
        "interrupted": found.interrupted,
    }


def _segments(two: TwoSegments) -> dict[str, Any]:
    return {
        "load": two.load,
        "lower_bound": two.lower_bound,
        "load_of_matrices": two.loads.tolist(),
        "pairs": two.records(),
    }


def as_routes(network: Network, weights: Floats) -> Routes:
    """Equal-cost multipath by these weights, hop by hop: for each next hop of a node one shortest path over it, with an equal share."""
    topology = with_costs(network, weights)
    shortest = ShortestPaths(topology, "cost")
    routes = []
    for source in network.names:
        for target in network.names:
            if source != target:
                following = shortest.following(source, target)
                paths = (Path((source, *_onwards(shortest, hop, target)), 1 / len(following)) for hop in following)
                routes.append(Route(source, target, tuple(paths)))
    return Routes(topology, "cost", "hop-by-hop", tuple(routes))


def _onwards(shortest: ShortestPaths, source: str, target: str) -> list[str]:
    nodes = [source]
    while nodes[-1] != target:
        nodes.append(shortest.following(nodes[-1], target)[0])
    return nodes
