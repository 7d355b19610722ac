"""Networks whose links differ between their two directions. The paper hopes for greater gains on them (section 5.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Any

import networkx
import numpy as np

from anabranch.engineering.predict import round_trip
from anabranch.engineering.routes import completed
from anabranch.network import topologies
from anabranch.network.topologies import Topology
from anabranch.results.result import Result
from anabranch.studies.papers.measures import over_seeds
from anabranch.studies.papers.study import Experiment, Lab
from anabranch.studies.papers.tcpbp import copies, networks
from anabranch.studies.papers.tcpbp.networks import DELAY, EXACT, TCPBP, Pair, Path, name

KINDS = {"symmetric": True, "asymmetric": False}
TEN, BACKBONE, LARGE = "ten nodes", "topozoo/AttMpls", "sndlib/germany50"
FLOWS = 10
_PAIRS_RUN = 40
"""Number of differing pairs of a backbone that are simulated."""
GBIT = 10**9

Trip = tuple[Path, Path]


def network(shape: str, symmetric: bool, seed: int) -> Topology:
    """The testbed's cables with drawn delays and losses, or a backbone with delays by length and drawn losses."""
    if shape == TEN:
        return networks.drawn(networks.ten_nodes(), seed, symmetric=symmetric)
    return networks.drawn(completed(topologies.load(shape), capacity_bps=GBIT), seed, symmetric=symmetric, delays=False)


@dataclass(frozen=True)
class Compared:
    """The round trips of TCPBP and delay in one network, for the pairs on which they differ."""

    topology: Topology
    pairs: int
    differing: Mapping[Pair, tuple[Trip, Trip]]
    """TCPBP's round trip and delay's, by pair; each is a path there and a path back."""

    def predicted(self) -> dict[Pair, float]:
        """TCPBP's throughput over delay's by equation 2, for each differing pair."""
        law = networks.law(self.topology)
        return {pair: law(*ours) / law(*theirs) for pair, (ours, theirs) in self.differing.items()}

    def on_both_ways(self, pair: Pair) -> bool:
        """Whether the routes differ on both ways, not on one way only."""
        ours, theirs = self.differing[pair]
        return ours[0] != theirs[0] and ours[1] != theirs[1]


def compared(topology: Topology) -> Compared:
    """Compare the round trips of TCPBP and delay in a network."""
    routes = networks.chosen(topology, (TCPBP, DELAY))
    pairs = networks.pairs(topology)

    def trip(metric: str, pair: Pair) -> Trip:
        return routes[metric][pair], routes[metric][pair[::-1]]

    trips = {pair: (trip(TCPBP, pair), trip(DELAY, pair)) for pair in pairs}
    return Compared(topology, len(pairs), {pair: both for pair, both in trips.items() if both[0] != both[1]})


def predicted(lab: Lab, shape: str, kind: str) -> dict[str, list[float]]:
    """The values of many draws, by equation 2.

    ``share`` is the share of pairs that differ. ``differing`` and ``all`` are the mean ratios of differing and of all pairs.
    ``one`` and ``both`` are the mean ratios of pairs that differ on one way only, and on both ways.
    """
    number = (10 if lab.quick else 100) if shape == TEN else (2 if lab.quick else 20)

    def compute() -> dict[str, list[float]]:
        found: dict[str, list[float]] = {"share": [], "differing": [], "all": [], "one": [], "both": []}
        for seed in range(1, number + 1):
            one = compared(network(shape, KINDS[kind], seed))
            ratios = one.predicted()
            found["share"].append(len(ratios) / one.pairs)
            values = list(ratios.values())
            found["differing"].append(fmean(values) if values else 1.0)
            found["all"].append((sum(values) + one.pairs - len(values)) / one.pairs)
            for ways, both in (("one", False), ("both", True)):
                own = [ratio for pair, ratio in ratios.items() if one.on_both_ways(pair) == both]
                found[ways] += [fmean(own)] if own else []
        return found

    result: dict[str, list[float]] = lab.kept("asymmetry", [shape, kind, number], compute)
    return result


def shapes(lab: Lab) -> Sequence[str]:
    """The networks with predictions."""
    return (TEN, BACKBONE) if lab.quick else (TEN, BACKBONE, LARGE)


def seeds(lab: Lab) -> range:
    """The draws that are simulated."""
    return range(1, 1 + (lab.seeds or (3 if lab.quick else 8)))


def _sampled(one: Compared, lab: Lab) -> list[Pair]:
    pairs = sorted(one.differing)
    most = 8 if lab.quick else _PAIRS_RUN
    if len(pairs) <= most:
        return pairs
    return [pairs[place] for place in sorted(np.random.default_rng(1).choice(len(pairs), most, replace=False))]


def experiments(lab: Lab) -> list[Experiment]:
    """The experiments: differing pairs of drawn networks, by both metrics, with ten flows."""
    found = []
    for shape in (TEN, BACKBONE):
        for kind, symmetric in KINDS.items():
            for seed in seeds(lab):
                one = compared(network(shape, symmetric, seed))
                label = f"{_file(shape)}-{kind}-{seed}"
                parts = [
                    copies.copy_of(_label(pair, which), one.topology, *one.differing[pair][place])
                    for pair in _sampled(one, lab)
                    for place, which in enumerate((TCPBP, DELAY))
                ]
                scenario = copies.scenario(
                    lab,
                    f"{label}.toml",
                    f"TCPBP against delay: {shape}, {kind}, draw {seed}",
                    parts,
                    flows=(FLOWS,),
                    duration_s=12 if lab.quick else 25,
                    warm_up_s=2 if lab.quick else 5,
                    seeds=1,
                )
                found.append(Experiment(label, scenario))
    return found


def measured(lab: Lab, results: Mapping[str, Result], shape: str, kind: str) -> tuple[float, float | None]:
    """Mean over draws of the mean measured ratio of differing pairs, with half of its interval."""
    means = []
    for seed in seeds(lab):
        one = compared(network(shape, KINDS[kind], seed))
        table = copies.measured(results[f"{_file(shape)}-{kind}-{seed}"])
        rates = dict(table.select("copy", "bps").iter_rows())
        means.append(fmean(rates[_label(pair, TCPBP)] / rates[_label(pair, DELAY)] for pair in _sampled(one, lab)))
    return over_seeds(means)


def round_trips_missed(lab: Lab) -> dict[str, Any]:
    """Compare the round trips of the best paths each way with the best round trips, on asymmetric ten-node networks.

    ``share`` is the share of pairs whose best round trip is another one, for each draw. ``worst`` is the greatest ratio of costs.
    ``testbed`` is the number of such pairs on the symmetric testbed.
    """
    number = 3 if lab.quick else 20

    def compute() -> dict[str, Any]:
        share, worst = [], 1.0
        for seed in range(1, number + 1):
            topology = network(TEN, False, seed)
            best = networks.chosen(topology, (EXACT,))[EXACT]
            ratios = [_over_best_trip(topology, pair, best) for pair in networks.pairs(topology)]
            share.append(fmean(ratio > 1 + 1e-9 for ratio in ratios))
            worst = max(worst, *ratios)
        testbed = networks.ten_nodes("0.0040")
        best = networks.chosen(testbed, (EXACT,))[EXACT]
        missed = sum(_over_best_trip(testbed, pair, best) > 1 + 1e-9 for pair in networks.pairs(testbed))
        return {"share": share, "worst": worst, "testbed": missed}

    found: dict[str, Any] = lab.kept("round-trips", number, compute)
    return found


def _over_best_trip(topology: Topology, pair: Pair, best: Mapping[Pair, Path]) -> float:
    graph = networkx.DiGraph()
    for link in topology.links:
        graph.add_edge(link.source, link.target, delay=link.delay_s, pass_=1 - (link.loss or 0))
    ways = []
    for ends in (pair, pair[::-1]):
        paths = list(networkx.all_simple_paths(graph, *ends))
        hops = [list(pairwise(path)) for path in paths]
        delay = np.array([sum(graph.edges[hop]["delay"] for hop in own) for own in hops])
        loss = np.array([1 - np.prod([graph.edges[hop]["pass_"] for hop in own]) for own in hops])
        ways.append((delay, loss, paths.index(list(best[ends]))))
    (delay, loss, there), (delay_back, loss_back, back) = ways
    rtt, both = round_trip(delay[:, None], loss[:, None], delay_back[None, :], loss_back[None, :])
    cost = rtt * np.sqrt(both)
    return float(cost[there, back] / cost.min())


def _label(pair: Pair, metric: str) -> str:
    return f"{name(pair)} by {metric}"


def _file(shape: str) -> str:
    return shape.replace("/", "-").replace(" ", "-")
