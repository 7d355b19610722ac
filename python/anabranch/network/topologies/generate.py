"""Topologies made by rule. Every link goes both ways, alike in both; rates are bit/s, delays seconds one way."""

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from anabranch.network.topologies.errors import TopologyError
from anabranch.network.topologies.links import ATTRIBUTES, Link, Links, there_and_back
from anabranch.network.topologies.model import RANGES, Node, Topology, components

if TYPE_CHECKING:
    from anabranch.foundation.array_types import Floats

_MOST_NODES = 1_000_000


def dumbbell(
    pairs: int = 1,
    access_bps: int = 10_000_000_000,
    access_delay_s: float = 1e-3,
    bottleneck_bps: int = 1_000_000_000,
    bottleneck_delay_s: float = 10e-3,
) -> Topology:
    """Senders ``s1``... at ``left``, receivers ``d1``... at ``right``, and one bottleneck between the two."""
    _check("dumbbell", pairs=(pairs, 1))
    nodes = [Node("left", x=1, y=0), Node("right", x=2, y=0)]
    links = _both_ways("left", "right", bottleneck_bps, bottleneck_delay_s)
    for index in range(pairs):
        height = (pairs - 1) / 2 - index
        nodes += [Node(f"s{index + 1}", x=0, y=height), Node(f"d{index + 1}", x=3, y=height)]
        links += _both_ways(f"s{index + 1}", "left", access_bps, access_delay_s)
        links += _both_ways("right", f"d{index + 1}", access_bps, access_delay_s)
    return Topology("dumbbell", tuple(nodes), tuple(links))


def parallel(
    paths: int = 2,
    delay_s: float = 10e-3,
    difference_s: float = 0.0,
    delays_s: Sequence[float] | None = None,
    rate_bps: int = 10_000_000,
    pairs: int = 1,
    access_bps: int = 1_000_000_000,
    access_delay_s: float = 1e-3,
    loss: float = 0.0,
) -> Topology:
    """Senders ``s1``... at ``left``, receivers ``d1``... at ``right``, and disjoint paths over ``p1``, ``p2``...

    The first path takes ``delay``, the last ``difference`` more, those between evenly between; ``delays`` gives
    each path's delay instead (and their number). Half of a path's delay lies before its middle node, half behind it.
    Each path loses the share ``loss`` of packets in either direction, all of them before its middle node.
    """
    _check("parallel", paths=(paths, 1), pairs=(pairs, 1))
    if delays_s is None:
        delays_s = [delay_s + difference_s * index / max(1, paths - 1) for index in range(paths)]
    nodes = [Node("left", x=1, y=0), Node("right", x=3, y=0)]
    links = []
    for index, delay in enumerate(delays_s):
        middle = f"p{index + 1}"
        nodes.append(Node(middle, x=2, y=(len(delays_s) - 1) / 2 - index))
        for end in ("left", "right"):
            links.append(Link(end, middle, rate_bps, delay / 2, loss=loss or None))
            links.append(Link(middle, end, rate_bps, delay / 2))
    for index in range(pairs):
        height = (pairs - 1) / 2 - index
        nodes += [Node(f"s{index + 1}", x=0, y=height), Node(f"d{index + 1}", x=4, y=height)]
        links += _both_ways(f"s{index + 1}", "left", access_bps, access_delay_s)
        links += _both_ways("right", f"d{index + 1}", access_bps, access_delay_s)
    return Topology("parallel", tuple(nodes), tuple(links))


def grid(rows: int = 3, columns: int = 3, rate_bps: int = 1_000_000_000, delay_s: float = 1e-3) -> Topology:
    """Nodes ``r1c1`` (row 1, column 1)... joined to their neighbours in the row and in the column."""
    _check("grid", rows=(rows, 1), columns=(columns, 1))
    _check_size("grid", rows * columns)
    nodes, links = [], []
    for row in range(1, rows + 1):
        for column in range(1, columns + 1):
            nodes.append(Node(f"r{row}c{column}", x=column, y=-row))
            if column < columns:
                links += _both_ways(f"r{row}c{column}", f"r{row}c{column + 1}", rate_bps, delay_s)
            if row < rows:
                links += _both_ways(f"r{row}c{column}", f"r{row + 1}c{column}", rate_bps, delay_s)
    return Topology("grid", tuple(nodes), tuple(links))


def line(nodes: int = 3, rate_bps: int = 1_000_000_000, delay_s: float = 1e-3) -> Topology:
    """Nodes ``n1``, ``n2``... in a row."""
    _check("line", nodes=(nodes, 2))
    links = []
    for index in range(1, nodes):
        links += _both_ways(f"n{index}", f"n{index + 1}", rate_bps, delay_s)
    return Topology("line", tuple(Node(f"n{index + 1}", x=index, y=0) for index in range(nodes)), tuple(links))


def fat_tree(k: int = 4, rate_bps: int = 10_000_000_000, delay_s: float = 10e-6) -> Topology:
    """A fat tree of k-port switches: k pods, k^3/4 hosts, one rate throughout (Al-Fares et al. 2008, section 3).

    Core switches are ``c1``..., pod 1 has aggregation switches ``p1a1``..., edge switches ``p1e1``..., and hosts
    ``p1e1h1``...
    """
    _check("fat-tree", k=(k, 2))
    if k % 2:
        raise TopologyError("fat-tree", "k", k, "must be even: half of a switch's ports go up, half go down")
    half = k // 2
    _check_size("fat-tree", k**3 // 4 + 5 * half * half)
    width = k * half * half
    rise = width / 8
    nodes = [Node(f"c{core + 1}", x=width * (core + 0.5) / (half * half), y=3 * rise) for core in range(half * half)]
    cables: list[int] = []
    for pod in range(k):
        first = len(nodes)  # of the pod: each switch is followed by the edge switch beside it and that one's hosts
        for switch in range(half):
            middle = half * (pod * half + switch + 0.5)
            aggregation, edge = len(nodes), len(nodes) + 1
            nodes.append(Node(f"p{pod + 1}a{switch + 1}", x=middle, y=2 * rise))
            nodes.append(Node(f"p{pod + 1}e{switch + 1}", x=middle, y=rise))
            for port in range(half):
                cables += (
                    switch * half + port,
                    aggregation,
                    aggregation,
                    first + port * (half + 2) + 1,
                    edge,
                    len(nodes),
                )
                nodes.append(Node(f"p{pod + 1}e{switch + 1}h{port + 1}", x=middle + port - (half - 1) / 2, y=0))
    return Topology("fat-tree", tuple(nodes), _alike(nodes, cables, rate_bps, delay_s))


def leaf_spine(
    leaves: int = 4,
    spines: int = 2,
    hosts: int = 8,
    rate_bps: int = 10_000_000_000,
    uplink_bps: int | None = None,
    oversubscription: float | None = None,
    homes: int = 1,
    delay_s: float = 1e-6,
) -> Topology:
    """A leaf-spine: every leaf is joined to every spine, and every host to ``homes`` leaves.

    Spines are ``s1``..., leaves ``l1``..., and the hosts at leaf 1 ``l1h1``... ``hosts`` counts the hosts at each leaf. With
    ``homes = 2``, leaves 1 and 2 have the same hosts, named after leaf 1, leaves 3 and 4 the next, and so on.

    ``rate`` is that of a host's link, ``uplink`` that of a link between leaf and spine. ``oversubscription`` gives the
    uplinks' rate instead: the rate of a leaf's host links, divided by that of its uplinks. Without either it is 1.
    """
    _check("leaf-spine", leaves=(leaves, 1), spines=(spines, 1), hosts=(hosts, 1), homes=(homes, 1))
    if leaves % homes:
        raise TopologyError(
            "leaf-spine", "leaves", leaves, f"must be a multiple of homes = {homes}: so many leaves share their hosts"
        )
    _check_size("leaf-spine", spines + leaves + leaves // homes * hosts)
    if uplink_bps is None:
        ratio = 1.0 if oversubscription is None else oversubscription
        allowed = RANGES["capacity_bps"]
        uplink = hosts * rate_bps / (spines * ratio) if ratio > 0 else math.nan
        if not allowed.holds(uplink):
            raise TopologyError(
                "leaf-spine",
                "oversubscription",
                ratio,
                f"makes uplinks of {uplink:g} bit/s; a link {allowed.expectation}",
            )
        uplink_bps = round(uplink)
    elif oversubscription is not None:
        raise TopologyError(
            "leaf-spine", "oversubscription", oversubscription, "says what uplink does; give one of them"
        )
    width = leaves // homes * hosts
    rise = width / 8
    nodes = [Node(f"s{spine}", x=width * (spine - 0.5) / spines, y=2 * rise) for spine in range(1, spines + 1)]
    links, multihomed = [], []
    for leaf in range(1, leaves + 1):
        nodes.append(Node(f"l{leaf}", x=width * (leaf - 0.5) / leaves, y=rise))
        for spine in range(1, spines + 1):
            links += _both_ways(f"l{leaf}", f"s{spine}", uplink_bps, delay_s)
        group, place = divmod(leaf - 1, homes)
        for host in range(1, hosts + 1):
            name = f"l{group * homes + 1}h{host}"
            if place == 0:
                nodes.append(Node(name, x=group * hosts + host - 0.5, y=0))
                multihomed += [name] if homes > 1 else []
            links += _both_ways(f"l{leaf}", name, rate_bps, delay_s)
    return Topology("leaf-spine", tuple(nodes), tuple(links), multihomed=tuple(multihomed))


_MOST_RANDOM_NODES = 5_000
"""Nodes of a random graph: each of 12 million pairs is drawn."""
_LARGEST_EXTENT_M = 4e7
"""Round the Earth."""


def random(
    nodes: int = 30,
    alpha: float = 0.25,
    beta: float = 0.4,
    seed: int = 1,
    extent_m: float = 2_000_000.0,
    rate_bps: int = 1_000_000_000,
) -> Topology:
    """A random network of nodes ``n1``..., uniform on a square with sides of ``extent`` (Waxman 1988, section III, RG1).

    Two nodes at the distance d are joined with probability ``beta`` exp(-d / (``alpha`` L)), where L is the greatest
    distance of two nodes. More ``beta`` makes more links, more ``alpha`` makes more of the long ones. Parts without a link
    between them are then joined to the largest by the shortest link that is possible, one after another. Links have a length, and so the
    delay of the scenario's ``delay``. The same ``seed`` gives the same network.
    """
    import numpy as np

    _check("random", nodes=(nodes, 2), seed=(seed, 0))
    if nodes > _MOST_RANDOM_NODES:
        raise TopologyError("random", "nodes", nodes, f"are too many; at most {_MOST_RANDOM_NODES} are made")
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not 0 < value <= 1:
            raise TopologyError("random", name, value, "must be above 0 and at most 1")
    if not 0 < extent_m <= _LARGEST_EXTENT_M:
        raise TopologyError("random", "extent", extent_m, 'must be above 0 and at most 40000 km, such as "2000km"')
    bits = np.random.PCG64(seed)  # whose raw numbers are the same in every version of NumPy

    def uniform(count: int) -> "Floats":
        numbers: Floats = (bits.random_raw(count) >> np.uint64(11)).astype(float) * 2.0**-53
        return numbers

    x, y = uniform(nodes) * extent_m, uniform(nodes) * extent_m
    distances = np.hypot(x[:, None] - x, y[:, None] - y)
    scale = alpha * distances.max()
    with np.errstate(all="ignore"):  # of a tiny alpha: nodes apart are then infinitely far, and those in one place not
        ends = [
            (one, one + 1 + int(other))
            for one in range(nodes - 1)
            for other in np.flatnonzero(uniform(nodes - one - 1) < beta * np.exp(-distances[one, one + 1 :] / scale))
        ]
    names = [f"n{index + 1}" for index in range(nodes)]
    part = np.empty(nodes, np.int64)
    for number, members in enumerate(components(names, ((names[one], names[other]) for one, other in ends))):
        part[[int(member[1:]) - 1 for member in members]] = number
    while part.any():  # there are others than the largest
        inside, outside = np.flatnonzero(part == 0), np.flatnonzero(part)
        nearest = np.unravel_index(distances[np.ix_(inside, outside)].argmin(), (len(inside), len(outside)))
        one, other = int(inside[nearest[0]]), int(outside[nearest[1]])
        ends.append((one, other))
        part[part == part[other]] = 0
    links = [
        Link(names[source], names[target], rate_bps, length_m=float(distances[source, target]))
        for one, other in ends
        for source, target in ((one, other), (other, one))
    ]
    placed = zip(names, x.tolist(), y.tolist(), strict=True)
    return Topology("random", tuple(Node(name, x=east, y=north) for name, east, north in placed), tuple(links))


def dragonfly(
    h: int = 2,
    a: int | None = None,
    p: int | None = None,
    g: int | None = None,
    rate_bps: int = 10_000_000_000,
    delay_s: float = 1e-6,
    global_delay_s: float = 1e-6,
) -> Topology:
    """A dragonfly of ``g`` groups of ``a`` routers, each with ``p`` hosts and ``h`` global links (Kim et al. 2008, section 3).

    The routers of a group are joined to each other. Without ``a``, ``p`` and ``g`` it is balanced and the greatest possible:
    a = 2h, p = h, g = ah + 1, and one link joins two groups. With fewer groups, a group's ah global links are spread evenly
    over the others. A global link without a partner is left out. Group 1 has routers ``g1r1``... and hosts ``g1r1h1``...
    """
    a, p = 2 * h if a is None else a, h if p is None else p
    g = a * h + 1 if g is None else g
    _check("dragonfly", h=(h, 1), a=(a, 1), p=(p, 1), g=(g, 2))
    if g > a * h + 1:
        raise TopologyError(
            "dragonfly", "g", g, f"must be at most a h + 1 = {a * h + 1}, for a link between any two groups"
        )
    _check_size("dragonfly", g * a * (p + 1))
    nodes, links = [], []
    inner = math.pi / g  # radius of a group's circle, about that of the groups having radius 1
    for group in range(g):
        turn = 2 * math.pi * group / g
        for router in range(a):
            name, angle = f"g{group + 1}r{router + 1}", turn + 2 * math.pi * router / a
            x, y = math.cos(turn) + inner * 0.4 * math.cos(angle), math.sin(turn) + inner * 0.4 * math.sin(angle)
            nodes.append(Node(name, x=x, y=y))
            for host in range(p):
                outward = angle + ((host + 0.5) / p - 0.5) * 2 * math.pi / a
                away = inner * 0.75
                nodes.append(
                    Node(
                        f"{name}h{host + 1}",
                        x=math.cos(turn) + away * math.cos(outward),
                        y=math.sin(turn) + away * math.sin(outward),
                    )
                )
                links += _both_ways(name, f"{name}h{host + 1}", rate_bps, delay_s)
            for other in range(router + 1, a):
                links += _both_ways(name, f"g{group + 1}r{other + 1}", rate_bps, delay_s)
    for ends, count in Counter(_global_links(a, h, g)).items():
        names = [f"g{group + 1}r{router + 1}" for group, router in ends]
        links += _both_ways(names[0], names[1], count * rate_bps, global_delay_s)
    return Topology("dragonfly", tuple(nodes), tuple(links))


def _global_links(a: int, h: int, g: int) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """The ends (group, router) of each global link.

    The ah global ports of a group lead to the groups at the distances 1, -1, 2, -2, ... round the circle, again and again.
    A distance and its opposite follow each other, so that both ends of a link have a port for it.
    """
    distances = sorted((d for d in range(1, g)), key=lambda d: (min(d, g - d), d))
    ports = a * h
    for group in range(g):
        for port in range(ports):
            begun, place = divmod(port, g - 1)
            distance = distances[place]
            back = begun * (g - 1) + distances.index(g - distance)
            other = (group + distance) % g
            if back < ports and group < other:
                yield (group, port // h), (other, back // h)


GENERATORS: dict[str, Callable[..., Topology]] = {
    "dumbbell": dumbbell,
    "parallel": parallel,
    "grid": grid,
    "line": line,
    "fat-tree": fat_tree,
    "leaf-spine": leaf_spine,
    "random": random,
    "dragonfly": dragonfly,
}
"""The generators by their name in a scenario; the keyword arguments of each are its parameters."""


def _both_ways(one: str, other: str, rate_bps: int, delay_s: float) -> list[Link]:
    return [Link(one, other, rate_bps, delay_s), Link(other, one, rate_bps, delay_s)]


def _alike(nodes: Sequence[Node], cables: Sequence[int], rate_bps: int, delay_s: float) -> Sequence[Link]:
    """Links both ways that all are alike. ``cables`` has the places of one end and of the other, cable after cable."""
    one, other = nodes[cables[0]], nodes[cables[1]]
    both = _both_ways(one.name, other.name, rate_bps, delay_s)
    Topology("fat-tree", (one, other), tuple(both))  # refuses what the rate and the delay cannot be
    ends = array("I", cables)
    there, back = ends[::2], ends[1::2]
    values: dict[str, array[float] | None] = dict.fromkeys(ATTRIBUTES)
    values["capacity_bps"] = array("d", [rate_bps]) * len(ends)
    values["delay_s"] = array("d", [delay_s]) * len(ends)
    names = [node.name for node in nodes]
    return Links(names, there_and_back(there, back), there_and_back(back, there), values)


def _check(source: str, **counts: tuple[int, int]) -> None:
    """Each count with its least value."""
    for name, (value, least) in counts.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise TopologyError(source, name, value, f"must be a whole number of at least {least}")
        _check_size(source, value)


def _check_size(source: str, nodes: int) -> None:
    if nodes > _MOST_NODES:
        raise TopologyError(source, "nodes", nodes, f"are too many; at most {_MOST_NODES} are made")
