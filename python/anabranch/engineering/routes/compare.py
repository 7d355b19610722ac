"""Compare metrics pair by pair: where they differ, the loss by the heuristic, and the delivery by hop-by-hop forwarding."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf, nan, sqrt
from typing import Any, Literal

import numpy as np

from anabranch.engineering.predict import PathQuality, advantage, mathis, round_trip
from anabranch.engineering.routes import quantities
from anabranch.engineering.routes.model import Path
from anabranch.engineering.routes.search import Search
from anabranch.foundation.progress import Computing, Steps
from anabranch.network import metrics as known_metrics
from anabranch.network.topologies import Topology

Outcome = Literal["as planned", "another path", "loop"]

OPTIMUM = "tcpbp-exact"
HEURISTIC = "tcpbp"
MOST_NODES = 1000
"""Hop-by-hop forwarding needs the routes of all pairs by all metrics at once: with 1000 nodes some gigabytes."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """The delivery of a pair's packets if every router forwards along its own route."""

    outcome: Outcome
    path: tuple[str, ...]
    """The nodes that they pass; in a loop, up to the node to which they return."""
    cost_s: float
    """Delay x sqrt(loss); infinite for a loop."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One ordered pair of nodes."""

    source: str
    target: str
    paths: dict[str, Path]
    """The path by each metric; empty if there is no path."""
    ties: dict[str, int]
    """The number of equally good paths by each isotone metric."""
    tcpbp_cost_s: dict[str, float]
    """Delay x sqrt(loss) of each metric's path."""
    predicted_bps: dict[str, float]
    """Predicted rate of one flow there and back by Mathis, at most the least capacity (infinite without loss and capacities)."""
    deliveries: dict[str, Delivery]
    """Hop-by-hop delivery by ``tcpbp`` and ``tcpbp-exact``."""
    flows: dict[str, float]
    """For each metric other than the optimum: the most flows (n_f, condition iii) for which the optimum's path gives each flow more; 0 if
    not even for one, or the path is the same."""

    @property
    def differs(self) -> bool:
        """Whether not all metrics choose the same path."""
        return len({path.nodes for path in self.paths.values()}) > 1

    def ratio(self, metric: str) -> float:
        """Delay x sqrt(loss) of a metric's path over the least; 1 where it is the optimum."""
        return _ratio(self.tcpbp_cost_s[metric], self.tcpbp_cost_s[OPTIMUM])

    @property
    def heuristic_ratio(self) -> float:
        """The heuristic's cost over the least."""
        return self.ratio(HEURISTIC)

    def explicit_gain(self, metric: str) -> float:
        """The cost of the hop-by-hop delivery over that of the optimum, which explicit paths deliver; infinite for a loop."""
        return _ratio(self.deliveries[metric].cost_s, self.tcpbp_cost_s[OPTIMUM])

    def record(self) -> dict[str, Any]:
        """The pair for JSON; numbers without bound are null."""
        record: dict[str, Any] = {"src": self.source, "dst": self.target, "differs": self.differs, "routes": {}}
        for metric, path in self.paths.items():
            record["routes"][metric] = {
                "path": list(path.nodes),
                "delay_s": path.delay_s,
                "loss": path.loss,
                "cost": path.cost,
                "tcpbp_cost_s": self.tcpbp_cost_s[metric],
                "predicted_bps": _finite(self.predicted_bps[metric]),
                "equally_good_paths": self.ties.get(metric),
                "n_f": _finite(self.flows[metric]) if metric in self.flows else None,
            }
        if self.paths:
            record["heuristic_ratio"] = self.heuristic_ratio
            record["hop_by_hop"] = {
                metric: {
                    "outcome": delivery.outcome,
                    "path": list(delivery.path),
                    "tcpbp_cost_s": _finite(delivery.cost_s),
                    "explicit_gain": _finite(self.explicit_gain(metric)),
                }
                for metric, delivery in self.deliveries.items()
            }
        return record


@dataclass(frozen=True)
class MetricComparison:
    """The chosen pairs by several metrics."""

    topology: Topology
    metrics: tuple[str, ...]
    pairs: tuple[Pair, ...]

    def document(self) -> dict[str, Any]:
        """The document that ``anabranch routes --compare --json`` prints."""
        return {
            "topology": self.topology.name,
            "metrics": list(self.metrics),
            "summary": self.summary,
            "pairs": [pair.record() for pair in self.pairs],
        }

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Counts over all pairs: agreement with the paper's metric (with ties as a range), its misses, and what is delivered."""
        found = [pair for pair in self.pairs if pair.paths]
        worst = max((pair.heuristic_ratio for pair in found), default=nan)
        return {
            "pairs": len(self.pairs),
            "unreachable": len(self.pairs) - len(found),
            "differing": sum(pair.differs for pair in found),
            "same_path_as_tcpbp": {
                metric: _agreement(self.topology, found, metric) for metric in self.metrics if metric != HEURISTIC
            },
            "heuristic_misses": sum(pair.heuristic_ratio > 1 + 1e-9 for pair in found),
            "heuristic_ratio_worst": _finite(worst),
            "hop_by_hop": {
                metric: {
                    outcome: sum(pair.deliveries[metric].outcome == outcome for pair in found)
                    for outcome in ("as planned", "another path", "loop")
                }
                for metric in (HEURISTIC, OPTIMUM)
            },
        }


def compare(
    topology: Topology,
    metrics: Sequence[str] | None = None,
    sources: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    once: bool = False,
) -> MetricComparison:
    """Routes by several metrics side by side, always with ``tcpbp`` and ``tcpbp-exact``.

    Without ``metrics``, all metrics are compared whose attributes the topology has. ``once`` takes each two nodes in one direction only,
    from the earlier one of the topology.

    Raises:
        ValueError: a metric that is none or that the topology does not say enough for, a node that does not exist, or a
            topology of more than :data:`MOST_NODES` nodes.
    """
    if len(topology.nodes) > MOST_NODES:
        raise ValueError(
            f"{topology.name}: a comparison follows the routes of all pairs of nodes, and takes at most {MOST_NODES} nodes, not "
            f"{len(topology.nodes)}; find the routes of some pairs metric by metric instead"
        )
    wanted = list(metrics) if metrics is not None else _possible(topology)
    wanted = [metric for metric in dict.fromkeys(wanted) if metric not in known_metrics.BY_THROUGHPUT]
    wanted += [HEURISTIC, OPTIMUM]
    search = Search(topology)
    with Steps(len(wanted) * len(search.names) ** 2, "searching") as steps:
        planned = {metric: _by_ends(search.routes(metric, progress=steps.advance).routes) for metric in wanted}
    place = search.index
    for node in (*(sources or ()), *(targets or ())):
        place(node)  # refuses what is none
    ends = [
        (source, target)
        for source in sources or search.names
        for target in targets or search.names
        if source != target and not (once and place(source) > place(target))
    ]
    with Computing("the comparison"):
        pairs = _compared(search, planned, ends)
    return MetricComparison(topology, tuple(wanted), pairs)


def _compared(
    search: Search, planned: dict[str, dict[tuple[str, str], Path]], ends: Sequence[tuple[str, str]]
) -> tuple[Pair, ...]:
    """The pairs with these ends; ``planned`` has the routes of all pairs by each metric."""
    topology = search.topology
    delivered = {metric: _by_ends(search.delivered(metric).routes) for metric in (HEURISTIC, OPTIMUM)}
    counts = {metric: search.path_counts(metric) for metric in planned if metric not in known_metrics.BY_THROUGHPUT}
    reachable = [pair for pair in ends if pair in planned[OPTIMUM]]
    qualities = {metric: _qualities(topology, routes, reachable) for metric, routes in planned.items()}
    predicted = {metric: np.minimum(mathis(*quality[:2]), quality[2]).tolist() for metric, quality in qualities.items()}
    best = qualities[OPTIMUM]
    flows = {
        metric: np.asarray(advantage(best, quality).n_f).tolist()
        for metric, quality in qualities.items()
        if metric != OPTIMUM
    }
    every = {pair: Pair(*pair, {}, {}, {}, {}, {}, {}) for pair in ends}  # without a path
    for row, pair in enumerate(reachable):
        paths = {metric: routes[pair] for metric, routes in planned.items()}
        at = search.index(pair[0]), search.index(pair[1])
        every[pair] = Pair(
            *pair,
            paths,
            {metric: int(min(count[at], 2**53)) for metric, count in counts.items()},
            {metric: _tcpbp_cost(path) for metric, path in paths.items()},
            {metric: rates[row] for metric, rates in predicted.items()},
            {metric: _delivery(planned[metric], delivered[metric], *pair) for metric in (HEURISTIC, OPTIMUM)},
            {
                metric: 0.0 if paths[metric].nodes == paths[OPTIMUM].nodes else most[row]
                for metric, most in flows.items()
            },
        )
    return tuple(every.values())


def _possible(topology: Topology) -> list[str]:
    needs = {metric: known_metrics.NEEDS[metric] for metric in ("hop-count", "delay", "loss", "ospf")}
    return [
        metric for metric, needed in needs.items() if all(quantities.known(topology, quantity) for quantity in needed)
    ]


def _by_ends(routes: Sequence[Any]) -> dict[tuple[str, str], Path]:
    return {(route.source, route.target): route.paths[0] for route in routes if route.paths}


def _qualities(
    topology: Topology, routes: dict[tuple[str, str], Path], pairs: Sequence[tuple[str, str]]
) -> PathQuality:
    """The round trip of each pair: there by its route, back by the route of the reverse pair (where there is none, as there)."""
    capacity = {(link.source, link.target): link.capacity_bps or inf for link in topology.links}
    there = [routes[pair] for pair in pairs]
    back = [routes.get((target, source), routes[source, target]) for source, target in pairs]
    rtt, loss = round_trip(
        *(
            np.array([getattr(path, name) for path in paths], float)
            for paths in (there, back)
            for name in ("delay_s", "loss")
        )
    )
    least = [min(capacity[hop] for hop in pairwise(path.nodes)) for path in there]
    return PathQuality(rtt, loss, np.array(least, float))


def _tcpbp_cost(path: Path) -> float:
    return (path.delay_s or 0.0) * sqrt(path.loss or 0.0)


def _delivery(
    planned: dict[tuple[str, str], Path], delivered: dict[tuple[str, str], Path], source: str, target: str
) -> Delivery:
    path = delivered.get((source, target))
    if path is not None:
        outcome: Outcome = "as planned" if path.nodes == planned[source, target].nodes else "another path"
        return Delivery(outcome, path.nodes, _tcpbp_cost(path))
    nodes = [source]
    while nodes[-1] not in nodes[:-1]:
        nodes.append(planned[nodes[-1], target].nodes[1])
    return Delivery("loop", tuple(nodes), inf)


def _agreement(topology: Topology, pairs: Sequence[Pair], metric: str) -> dict[str, int]:
    """The number of pairs that have the paper's path: as found, and the least and most over all ways to break ties."""
    same = [pair for pair in pairs if pair.paths[metric].nodes == pair.paths[HEURISTIC].nodes]
    if metric in known_metrics.BY_THROUGHPUT:
        return {"found": len(same), "at_least": len(same), "at_most": len(same), "tied": 0}
    search = Search(topology)

    def value(path: Path) -> tuple[float, ...]:
        return tuple(search.path_value(one, path) for one in known_metrics.metric(metric))

    as_good = [
        pair
        for pair in pairs
        if all(
            mine <= best * (1 + 1e-12) if best >= 0 else mine <= best * (1 - 1e-12)
            for mine, best in zip(value(pair.paths[HEURISTIC]), value(pair.paths[metric]), strict=True)
        )
    ]
    return {
        "found": len(same),
        "at_least": sum(pair.ties[metric] == 1 for pair in as_good),
        "at_most": len(as_good),
        "tied": sum(pair.ties[metric] > 1 for pair in pairs),
    }


def _ratio(cost: float, least: float) -> float:
    if least == 0:
        return 1.0 if cost == 0 else inf
    return cost / least


def _finite(number: float) -> float | None:
    return number if abs(number) < inf else None
