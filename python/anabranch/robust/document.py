"""A robust routing as a document, and as routes that exports and engines take."""

from typing import Any

import numpy as np

from anabranch.robust.network import Network
from anabranch.robust.solve import RobustRouting
from anabranch.robust.splits import Splits
from anabranch.routes import Path, Route, Routes


def document(routing: RobustRouting) -> dict[str, Any]:
    """What ``anabranch robust --json`` prints; rates in bit/s, the gap relative to the worst-case load."""
    network, loads = routing.problem.network, routing.loads
    pair, amount = loads.matrix(loads.worst)
    return {
        "topology": network.topology.name,
        "method": routing.method,
        "worst_case_load": routing.worst_case_load,
        "lower_bound": routing.lower_bound,
        "gap": routing.gap,
        "interrupted": routing.interrupted,
        "worst_link": list(routing.worst_link),
        "worst_matrix": [
            {
                "src": network.names[network.pair_sources[p]],
                "dst": network.names[network.pair_targets[p]],
                "rate_bps": a,
            }
            for p, a in zip(pair.tolist(), amount.tolist(), strict=True)
            if a > 0
        ],
        "links": [
            {"src": source, "dst": target, "capacity_bps": capacity, "worst_case_load": load}
            for (source, target), capacity, load in zip(
                map(network.link_name, range(network.links)),
                network.capacity.tolist(),
                loads.load.tolist(),
                strict=True,
            )
        ],
        "splits": split_records(routing.splits),
    }


def split_records(splits: Splits) -> list[dict[str, Any]]:
    """For each pair its paths in use, each with its fraction, the greatest first."""
    return [
        {
            "src": route.source,
            "dst": route.target,
            "paths": [{"path": list(path.nodes), "fraction": path.weight} for path in route.paths],
        }
        for route in _routes(splits)
    ]


def as_routes(splits: Splits, metric: str = "robust") -> Routes:
    """The splits as explicit, weighted routes."""
    return Routes(splits.candidates.network.topology, metric, "explicit", tuple(_routes(splits)))


def _routes(splits: Splits) -> list[Route]:
    candidates, network = splits.candidates, splits.candidates.network
    delays = candidates.delays if _has_delays(network) else None
    routes = []
    for pair in range(network.pairs):
        first, end = candidates.first[pair], candidates.first[pair + 1]
        order = first + np.argsort(-splits.shares[first:end], kind="stable")
        paths = tuple(
            Path(
                candidates.nodes_of(int(path)),
                float(splits.shares[path]),
                None if delays is None else float(delays[path]),
            )
            for path in order
            if splits.shares[path] > 0
        )
        source, target = network.pair_sources[pair], network.pair_targets[pair]
        routes.append(Route(network.names[source], network.names[target], paths))
    return routes


def _has_delays(network: Network) -> bool:
    return all(link.delay_s is not None for link in network.topology.links)
