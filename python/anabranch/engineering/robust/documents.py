"""A robust routing as a document, and as routes that exports and engines take."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from anabranch.engineering.robust.failures import AfterFailure, availability
from anabranch.engineering.robust.network import Network
from anabranch.engineering.robust.protection import Protected
from anabranch.engineering.robust.separation import Loads
from anabranch.engineering.robust.solving import RobustRouting
from anabranch.engineering.robust.splits import Splits
from anabranch.engineering.routes import Path, Route, Routes


def document(routing: RobustRouting, failures: Sequence[AfterFailure] = ()) -> dict[str, Any]:
    """The document that ``anabranch robust --json`` prints. Rates are in bit/s, the gap is relative to the worst-case load.

    ``failures`` are the results of :func:`anabranch.engineering.robust.failures.after` for these splits.
    """
    network, loads = routing.problem.network, routing.loads
    return {
        "topology": network.topology.name,
        "method": routing.method,
        "worst_case_load": routing.worst_case_load,
        "lower_bound": routing.lower_bound,
        "gap": routing.gap,
        "interrupted": routing.interrupted,
        "worst_link": list(routing.worst_link),
        "worst_matrix": matrix_records(network, loads),
        "links": link_records(network, loads),
        **availability_record(routing.worst_case_load, failures),
        "failures": failure_records(network, failures),
        "splits": split_records(routing.splits),
    }


def availability_record(load_before: float, found: Sequence[AfterFailure]) -> dict[str, Any]:
    """The probability that the load is within the capacity, if failures have one."""
    known = availability(load_before, found)
    return {} if known is None else {"availability": asdict(known)}


def matrix_records(network: Network, loads: Loads) -> list[dict[str, Any]]:
    """The entries of the worst matrix of the link of the greatest load, bit/s."""
    pair, amount = loads.matrix(loads.worst)
    return [
        {"src": network.names[network.pair_sources[p]], "dst": network.names[network.pair_targets[p]], "rate_bps": a}
        for p, a in zip(pair.tolist(), amount.tolist(), strict=True)
        if a > 0
    ]


def link_records(network: Network, loads: Loads) -> list[dict[str, Any]]:
    """The load of each link under its worst matrix."""
    return [
        {"src": source, "dst": target, "capacity_bps": capacity, "worst_case_load": load}
        for (source, target), capacity, load in zip(
            map(network.link_name, range(network.links)), network.capacity.tolist(), loads.load.tolist(), strict=True
        )
    ]


def protected_document(found: Protected) -> dict[str, Any]:
    """The document that ``anabranch robust --protect --json`` prints: the splits, and after each failure those of the pairs that change."""
    network = found.problem.network
    return {
        "topology": network.topology.name,
        "worst_case_load": found.load,
        "worst_case_load_without_failure": found.load_before,
        "lower_bound": found.lower_bound,
        "gap": found.gap,
        "interrupted": found.interrupted,
        **availability_record(found.load_before, found.after),
        "failures": [
            record | {"splits": [split for split in _changed(found.splits, restored) if split["paths"]]}
            for record, restored in zip(failure_records(network, found.after), found.restored, strict=True)
        ],
        "splits": split_records(found.splits),
    }


def failure_records(network: Network, found: Sequence[AfterFailure]) -> list[dict[str, Any]]:
    """For each failure its links, its probability if it has one, the load after it, and the pairs whose traffic is lost."""
    return [
        {
            "failure": one.failure.name,
            "links": [list(network.link_name(link)) for link in one.failure.links],
            **({} if one.failure.probability is None else {"probability": one.failure.probability}),
            "worst_case_load": one.load,
            "lost_pairs": [
                [network.names[network.pair_sources[pair]], network.names[network.pair_targets[pair]]]
                for pair in one.lost_pairs
            ],
        }
        for one in found
    ]


def split_records(splits: Splits, pairs: Iterable[int] | None = None) -> list[dict[str, Any]]:
    """For each pair, or each of ``pairs``, its paths in use, each with its fraction, the greatest first."""
    return _records(splits, range(splits.candidates.network.pairs) if pairs is None else pairs)


def _changed(before: Splits, restored: Splits) -> list[dict[str, Any]]:
    return _records(restored, np.unique(restored.candidates.pair[restored.shares != before.shares]).tolist())


def _records(splits: Splits, pairs: Iterable[int]) -> list[dict[str, Any]]:
    return [
        {
            "src": route.source,
            "dst": route.target,
            "paths": [{"path": list(path.nodes), "fraction": path.weight} for path in route.paths],
        }
        for route in _routes(splits, pairs)
    ]


def as_routes(splits: Splits, metric: str = "robust") -> Routes:
    """The splits as explicit, weighted routes."""
    return Routes(
        splits.candidates.network.topology,
        metric,
        "explicit",
        tuple(_routes(splits, range(splits.candidates.network.pairs))),
    )


_SAME_SHARE = 1e-6
"""Shares that differ by less are equal, and listed in the order of the candidates."""


def _routes(splits: Splits, pairs: Iterable[int]) -> list[Route]:
    candidates, network = splits.candidates, splits.candidates.network
    delays = candidates.delays if _has_delays(network) else None
    routes = []
    for pair in pairs:
        first, end = candidates.first[pair], candidates.first[pair + 1]
        order = first + np.argsort(-np.rint(splits.shares[first:end] / _SAME_SHARE), kind="stable")
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
