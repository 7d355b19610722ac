"""A plan as a document, and as routes that exports and engines take."""

from typing import Any

from anabranch.engineering.plan.backups import NONE
from anabranch.engineering.plan.model import Plan
from anabranch.engineering.robust.documents import as_routes as splits_as_routes
from anabranch.engineering.robust.documents import failure_records, split_records
from anabranch.engineering.routes import Routes


def document(plan: Plan) -> dict[str, Any]:
    """The document that ``anabranch plan --json`` prints. Rates are in bit/s. A scenario's ``[routing]`` accepts ``splits`` unchanged."""
    network = plan.problem.network
    sending = plan.sending.nonzero()[0]
    records = split_records(plan.splits, sending.tolist())
    rates, tolerates = plan.throughput_bps[sending].tolist(), plan.tolerant[sending].tolist()
    backups = None if plan.backups is None else plan.backups[sending].tolist()
    for place, (record, rate, tolerant) in enumerate(zip(records, rates, tolerates, strict=True)):
        record["transport"] = "tolerant" if tolerant else "any"
        record["throughput_bps"] = rate
        if backups is not None:
            backup = backups[place]
            record["backup"] = None if backup == NONE else list(plan.splits.candidates.nodes_of(backup))
    return {
        "topology": network.topology.name,
        **summary(plan),
        "links": [
            {"src": source, "dst": target, "worst_case_load": load}
            for (source, target), load in zip(
                map(network.link_name, range(network.links)), plan.loads.load.tolist(), strict=True
            )
        ],
        "failures": failures(plan),
        "splits": records,
    }


def failures(plan: Plan) -> list[dict[str, Any]]:
    """For each failure its links, the load after it, the pairs that it cuts, and the throughput of all pairs together that is left."""
    records = failure_records(plan.problem.network, [one.failure for one in plan.after])
    for record, after in zip(records, plan.after, strict=True):
        record["throughput_total_bps"] = float(after.throughput_bps[plan.sending].sum())
    return records


def summary(plan: Plan) -> dict[str, Any]:
    """The plan in a few numbers."""
    network = plan.problem.network
    worst = plan.worst_pair
    return {
        "allowed_load": plan.allowed_load,
        "worst_case_load": plan.worst_case_load,
        **({"worst_case_load_after_failures": plan.greatest_load} if plan.after else {}),
        "lower_bound": plan.lower_bound,
        "worst_link": list(plan.worst_link),
        "pairs": plan.pairs,
        "single_path_pairs": plan.single_pairs,
        "throughput_total_bps": plan.total_bps,
        "throughput_mean_bps": plan.mean_bps,
        "throughput_worst_bps": plan.worst_bps,
        "worst_pair": [network.names[network.pair_sources[worst]], network.names[network.pair_targets[worst]]],
        "throughput_most_bps": plan.most_bps,
        "throughput_gap": plan.gap,
        "stack": None if plan.connection.stack is None else plan.connection.stack.name,
        "traffic_offered_bps": plan.offered_bps,
        "traffic_predicted_bps": plan.carried_bps,
        "interrupted": plan.interrupted,
        "out_of_time": plan.out_of_time,
    }


def as_routes(plan: Plan) -> Routes:
    """The plan as explicit, weighted routes."""
    return splits_as_routes(plan.splits, "plan")
