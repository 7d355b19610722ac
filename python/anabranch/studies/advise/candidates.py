"""The stacks and routings to choose from, and restrictions of the choice."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from anabranch.engineering.routes.model import Routes
from anabranch.engineering.routes.search import Search
from anabranch.network.topologies import Topology

LINUX_STACKS: Sequence[str] = (
    *("linux-cubic", "linux-reno", "linux-bbr", "linux-westwood", "linux-htcp", "linux-illinois"),
    *("linux-hybla", "linux-scalable", "linux-highspeed"),
)
STACKS: Mapping[str, Any] = {name: {"preset": name} for name in (*LINUX_STACKS, "bbr3", "kikolo", "mprc")} | {
    "bbr-fast-rto": {"preset": "bbr", "detection": "fast-rto"}
}
"""Linux's own, and others that tolerate loss or reordering: BBRv3, two of the papers (as eBPF programs), and BBR that detects loss by a fast timeout."""
DEFAULT_STACK, DEFAULT_ROUTING = "linux-cubic", "ospf"
"""What a network does of which nothing was changed."""
_MOST_PAIRS = 200
"""Pairs beyond which paths by other metrics are not compared: all routings are then candidates."""
_MOST_PATHS = 4

Route = tuple[tuple[int, ...], ...]
"""The paths of one pair, as nodes."""


@dataclass(frozen=True)
class RoutingCandidate:
    """A routing, how a scenario writes it, and what is known of it."""

    name: str
    written: Mapping[str, Any] = field(hash=False)
    paths: int
    """The most paths of any pair."""
    per: str
    """What a path is chosen for: ``flow``, ``flowlet`` or ``packet``."""
    routes: tuple[Route, ...] = field(default=(), repr=False)

    @property
    def way(self) -> str:
        """``one`` for one path, or what a path is chosen for."""
        return self.per if self.paths > 1 else "one"

    @property
    def is_hashed(self) -> bool:
        """Whether chance chooses a path for many packets at once, so that runs with other seeds differ much."""
        return self.way in ("flowlet", "flow")


@dataclass(frozen=True)
class Candidate:
    """A stack over a routing."""

    stack: str
    routing: RoutingCandidate

    @property
    def name(self) -> str:
        """How tables call it."""
        return f"{self.stack} over {self.routing.name}"


RESTRICTIONS: Mapping[str, tuple[str, Callable[[Candidate], bool]]] = {
    "linux": ("with the stacks of Linux", lambda one: one.stack in LINUX_STACKS),
    "no-bbr": ("without BBR", lambda one: "bbr" not in one.stack),
    "one-path": ("on one path for each pair", lambda one: one.routing.paths == 1),
    "no-spraying": (
        "without spraying the packets of a flow",
        lambda one: one.routing.paths == 1 or one.routing.per == "flow",
    ),
    "routes": (f"with new routes alone, and {DEFAULT_STACK}", lambda one: one.stack == DEFAULT_STACK),
    "hosts": ("with new stacks alone, over the routes of OSPF", lambda one: one.routing.name == DEFAULT_ROUTING),
}
"""What a user may be unable to change: a sentence, and whether a candidate is allowed."""


def routings(topology: Topology, pairs: Sequence[tuple[str, str]], flows: int) -> list[RoutingCandidate]:
    """Routings of which no two have the same paths and choose among them alike. ``topology`` has every delay, capacity and loss.

    One path: by OSPF, hops, delay, loss, delay x sqrt(loss). Several: disjoint or shortest ones by delay, and disjoint ones in the order of
    delay x sqrt(loss). A path is chosen for each packet in turn or at random, for each flowlet, or for each flow.
    """
    search = Search(topology)
    compared = list(pairs)[:_MOST_PAIRS]
    found: dict[object, RoutingCandidate] = {}

    def add(one: RoutingCandidate) -> None:
        key = (one.routes, one.paths > 1 and one.written.get("select"), str(one.written.get("per")))
        if one.paths:
            found.setdefault(key if len(compared) == len(pairs) else one.name, one)

    lossy = any(link.loss for link in topology.links)
    metrics = {"ospf": "ospf", "fewest hops": "hop-count", "least delay": "delay"}
    metrics |= {"delay x sqrt(loss)": "tcpbp-exact", "least loss": "loss"} if lossy else {}
    for name, metric in metrics.items():
        routes = _routes(compared, partial(search.routes, metric))
        add(RoutingCandidate(DEFAULT_ROUTING if metric == "ospf" else name, {"metric": metric}, 1, "flow", routes))
    sets: list[tuple[str, dict[str, Any], tuple[Route, ...]]] = []
    for most in range(2, _MOST_PATHS + 1):
        for kind, find in (("disjoint", search.disjoint), ("shortest", search.shortest)):
            routes = _routes(compared, partial(find, "delay", most))
            sets.append((f"{most} {kind} paths", {"metric": "delay", "paths": {kind: most}}, routes))
        if lossy and len(pairs) == 1:
            routes = (_disjoint_by_throughput(topology, pairs[0], most),)
            names = [[topology.nodes[node].name for node in path] for path in routes[0]]
            sets.append((f"{most} disjoint paths by delay x sqrt(loss)", {"paths": names}, routes))
    for name, written, routes in sets:
        several = max((len(route) for route in routes), default=0)
        if several < 2:
            continue
        gap = _gap(topology, routes)
        ways: list[tuple[str, dict[str, Any], str]] = [
            ("in turn", {"select": "round-robin"}, "packet"),
            ("at random", {"select": "random"}, "packet"),
            ("by flowlet", {"select": "random", "per": {"flowlet": f"{gap * 1e6:.0f}us"}}, "flowlet"),
        ]
        if flows * len(pairs) > 1:
            ways.append(("by flow", {"select": "hash", "per": "flow"}, "flow"))
        for way, choice, per in ways:
            add(RoutingCandidate(f"{name}, {way}", written | choice, several, per, routes))
    return list(found.values())


def _routes(pairs: Sequence[tuple[str, str]], find: Callable[[list[str], list[str]], Routes]) -> tuple[Route, ...]:
    """The paths of each pair, as ``find`` has them from sources to targets."""
    routes: list[Route] = []
    for source, target in pairs:
        found = find([source], [target])
        index = {node.name: number for number, node in enumerate(found.topology.nodes)}
        routes.append(tuple(sorted(tuple(map(index.__getitem__, path.nodes)) for path in found.routes[0].paths)))
    return tuple(routes)


def _disjoint_by_throughput(topology: Topology, pair: tuple[str, str], most: int) -> Route:
    """The best path by delay x sqrt(loss), then the best without its links, and so on."""
    links = list(topology.links)
    paths: list[tuple[int, ...]] = []
    index = {node.name: number for number, node in enumerate(topology.nodes)}
    while len(paths) < most and links:
        left = replace(topology, links=tuple(links), in_parts=True)
        (route,) = Search(left).routes("tcpbp-exact", [pair[0]], [pair[1]]).routes
        if not route.paths:
            break
        nodes = route.paths[0].nodes
        paths.append(tuple(index[name] for name in nodes))
        used = {frozenset(hop) for hop in pairwise(nodes)}
        links = [link for link in links if frozenset((link.source, link.target)) not in used]
    return tuple(paths)


def _gap(topology: Topology, routes: Sequence[Route]) -> float:
    """A gap that no difference of a pair's path delays exceeds, seconds: flowlets then do not reorder, but for queues."""
    index = {node.name: number for number, node in enumerate(topology.nodes)}
    delays = {(index[link.source], index[link.target]): link.delay_s or 0.0 for link in topology.links}
    spread = 0.0
    for route in routes:
        each = [sum(delays[hop] for hop in pairwise(path)) for path in route]
        spread = max(spread, np.ptp(each) if each else 0.0)
    return max(spread, 100e-6)
