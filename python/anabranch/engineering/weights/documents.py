"""Weights as a document."""

from collections.abc import Sequence
from typing import Any

from anabranch.engineering.robust.documents import availability_record, failure_records
from anabranch.engineering.weights.finding import Found


def document(found: Found, matrices: Sequence[str]) -> dict[str, Any]:
    """The document that ``anabranch weights --json`` prints; loads are shares of capacities, ``matrices`` are names."""
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
        "tries": found.tries,
        "interrupted": found.interrupted,
    }
