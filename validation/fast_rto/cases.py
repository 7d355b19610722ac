"""The networks that FastRTO is judged on: the cases of the thesis, and random ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any

import networkx as nx

from anabranch.network.topologies.loading import load
from anabranch.network.topologies.model import Topology

PAYLOAD = 1460 / 1500
PACKET_BITS = 12_000
SPEED = 2e8
PER_LINK_S = 0.001
GROUPS = ("gabriel/25/", "gabriel/50/")
TOPOLOGIES_OF_A_GROUP = 10

Path = tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """One network, its paths, and how packets choose among them."""

    name: str
    delays_s: Mapping[tuple[str, str], float]
    """The delay of every link in one direction; the other has the same."""
    paths: tuple[Path, ...]
    rate_bps: float
    select: str
    queue: int
    """Packets."""
    losses: Mapping[tuple[str, str], float] = field(default_factory=dict)
    slower: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """Links of another rate, bit/s."""
    flows: int = 1

    @property
    def bound_bps(self) -> float:
        """Payload that equal shares of all paths can carry: the slowest path limits each."""
        slowest = min([self.rate_bps, *self.slower.values()])
        return len(self.paths) * slowest * PAYLOAD

    def document(self, stack: Mapping[str, Any], seconds: int, warm_up: int, samples: int) -> dict[str, Any]:
        """The scenario with that stack, and this number of samples a second."""
        spray = {"select": self.select, "per": "packet"} if len(self.paths) > 1 else {}
        document: dict[str, Any] = {
            "topology": {
                "links": [
                    {
                        "source": source,
                        "target": target,
                        "capacity": f"{self.slower.get((source, target), self.rate_bps):.0f}bps",
                        "delay": f"{delay * 1e9:.0f}ns",
                    }
                    for (source, target), delay in self.delays_s.items()
                ],
                "queue": {"discipline": "drop-tail", "limit": f"{self.queue} packets"},
            },
            "routing": {"routing": {"paths": [list(path) for path in self.paths], **spray}},
            "stacks": {"stack": dict(stack)},
            "traffic": [
                {
                    "from": self.paths[0][0],
                    "to": self.paths[0][-1],
                    "bulk": True,
                    "stack": "stack",
                    "routing": "routing",
                    "flows": self.flows,
                    "stagger": "1s",
                }
            ],
            "run": {"duration": f"{seconds}s", "warm_up": f"{warm_up}s", "sample": f"{1000 // samples}ms"},
        }
        if self.losses:
            document["impairments"] = [
                {"link": list(link), "one_way": True, "loss": loss} for link, loss in self.losses.items()
            ]
        return document


@cache
def thesis() -> tuple[Case, ...]:
    """The experiments of the thesis: grid, Abilene, AT&T, errors, fairness; random and in turn."""
    abilene, att = load("topozoo/Abilene"), load("topozoo/AttMpls")
    delays, att_delays = _fibre(abilene), _fibre(att)
    two = _disjoint(delays, "Seattle", "Atlanta", 2)
    three = _disjoint(att_delays, "ORLD", "SNFN", 3)
    grid = dict.fromkeys((("A", "B"), ("A", "C"), ("B", "D"), ("C", "D")), 0.01)
    critical = {(two[0][0], two[0][1]): 1e-4}
    cases = [
        Case("grid", grid, (("A", "B", "D"), ("A", "C", "D")), 10e6, "random", 100),
        Case("Abilene, one path", delays, two[:1], 10e6, "random", 100),
        Case("Abilene, one path, errors", delays, two[:1], 10e6, "random", 100, losses=critical),
        Case("Abilene", delays, two, 10e6, "random", 100),
        Case("Abilene, in turn", delays, two, 10e6, "round-robin", 100),
        Case("Abilene, errors", delays, two, 10e6, "random", 100, losses=critical),
        Case("Abilene, two flows", delays, two, 10e6, "random", 100, flows=2),
        Case("Abilene, three flows", delays, two, 10e6, "random", 100, flows=3),
        Case("AT&T, one path", att_delays, three[:1], 10e6, "random", 100),
        Case("AT&T", att_delays, three, 10e6, "random", 100),
        Case("AT&T, in turn", att_delays, three, 10e6, "round-robin", 100),
    ]
    return tuple(cases)


def random_cases(count: int, seed: int) -> tuple[Case, ...]:
    """Networks of TopoHub's Gabriel graphs: pairs with one to four disjoint paths, rates, delays, queues, errors."""
    random = Random(seed)
    return tuple(_random_case(f"random {seed}.{index}", random, 1 + index % 4) for index in range(count))


def _random_case(name: str, random: Random, paths: int) -> Case:
    """One network; `paths` disjoint paths between a random pair."""
    while True:
        topology = load(f"{random.choice(GROUPS)}{random.randrange(TOPOLOGIES_OF_A_GROUP)}")
        lengths = {(link.source, link.target): link.length_m or 0.0 for link in topology.links}
        source, target = random.sample([node.name for node in topology.nodes], 2)
        found = _disjoint(lengths, source, target, paths)
        if len(found) == paths:
            break
    shortest = sum(lengths[pair] for pair in pairwise(found[0]))
    round_trip_s = 0.010 * 12 ** random.random()  # 10 to 120 ms, for the shortest
    # The longest path has four times the shortest's delay at most, as routing by delay would not use it otherwise.
    scale = round_trip_s / 2 / shortest
    limit_s = 2 * round_trip_s
    used = {pair: max(lengths[pair] * scale, 1e-5) for path in found for pair in pairwise(path)}
    for path in found:
        excess = sum(used[pair] for pair in pairwise(path)) / limit_s
        if excess > 1:
            used |= {pair: used[pair] / excess for pair in pairwise(path)}
    rate_bps = random.choice((5e6, 10e6, 20e6, 50e6))
    pipe = rate_bps * round_trip_s / PACKET_BITS
    queue = max(20, round(pipe * random.choice((0.5, 1.0, 2.0))))
    marked = random.choice([pair for path in found for pair in pairwise(path)])
    return Case(
        name,
        used,
        found,
        rate_bps,
        random.choice(("random", "random", "random", "round-robin")),
        queue,
        losses=random.choice(({}, {}, {marked: 1e-4}, {marked: 1e-3})),
        slower=random.choice(({}, {}, {}, {marked: 0.7 * rate_bps})),
        flows=random.choice((1, 1, 1, 2)),
    )


def _fibre(topology: Topology) -> dict[tuple[str, str], float]:
    """The delays of the thesis: light in fibre, and a millisecond."""
    return {
        (link.source, link.target): (link.length_m or 0.0) / SPEED + PER_LINK_S
        for link in topology.links
        if link.source < link.target
    }


def _disjoint(weights: Mapping[tuple[str, str], float], source: str, target: str, most: int) -> tuple[Path, ...]:
    """Up to `most` link-disjoint paths of least total weight, the shortest first: unit flows of least cost."""
    graph = nx.DiGraph()
    for (first, second), weight in weights.items():
        for link in ((first, second), (second, first)):
            graph.add_edge(*link, weight=round(weight * 1e9), capacity=1)
    value = nx.maximum_flow_value(graph, source, target)
    amount = min(most, value)
    graph.nodes[source]["demand"] = -amount
    graph.nodes[target]["demand"] = amount
    flow = nx.min_cost_flow(graph)
    following: dict[str, list[str]] = {
        node: sorted(next_node for next_node, units in onward.items() if units) for node, onward in flow.items()
    }
    paths: list[Path] = []
    for _ in range(amount):
        path = [source]
        while path[-1] != target:
            path.append(following[path[-1]].pop(0))
        paths.append(tuple(path))
    return tuple(sorted(paths, key=lambda path: sum(graph.edges[pair]["weight"] for pair in pairwise(path))))


def as_lines(cases: Sequence[Case]) -> list[list[str]]:
    """A description of the cases, for the page."""
    return [
        [
            case.name,
            f"{case.rate_bps / 1e6:g}",
            ", ".join(f"{2e3 * sum(_delay(case, pair) for pair in pairwise(path)):.0f}" for path in case.paths),
            case.select if len(case.paths) > 1 else "-",
            str(case.queue),
            ", ".join(f"{loss:g}" for loss in case.losses.values()) or "-",
            f"{min(case.slower.values()) / 1e6:g}" if case.slower else "-",
            str(case.flows),
        ]
        for case in cases
    ]


def _delay(case: Case, pair: tuple[str, str]) -> float:
    forward = case.delays_s.get(pair)
    return case.delays_s[pair[1], pair[0]] if forward is None else forward
