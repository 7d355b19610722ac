"""Topologies made by rule. Every link goes both ways, alike in both; rates are bit/s, delays seconds one way."""

from collections.abc import Sequence

from anabranch.topologies.errors import TopologyError
from anabranch.topologies.model import Link, Node, Topology

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
    links = []
    for pod in range(k):
        for switch in range(half):
            middle = half * (pod * half + switch + 0.5)
            aggregation, edge = f"p{pod + 1}a{switch + 1}", f"p{pod + 1}e{switch + 1}"
            nodes += [Node(aggregation, x=middle, y=2 * rise), Node(edge, x=middle, y=rise)]
            for port in range(half):
                host = f"{edge}h{port + 1}"
                nodes.append(Node(host, x=middle + port - (half - 1) / 2, y=0))
                links += _both_ways(f"c{switch * half + port + 1}", aggregation, rate_bps, delay_s)
                links += _both_ways(aggregation, f"p{pod + 1}e{port + 1}", rate_bps, delay_s)
                links += _both_ways(edge, host, rate_bps, delay_s)
    return Topology("fat-tree", tuple(nodes), tuple(links))


GENERATORS = {"dumbbell": dumbbell, "parallel": parallel, "grid": grid, "line": line, "fat-tree": fat_tree}
"""By the name in a scenario; the keyword arguments of each are its parameters."""


def _both_ways(one: str, other: str, rate_bps: int, delay_s: float) -> list[Link]:
    return [Link(one, other, rate_bps, delay_s), Link(other, one, rate_bps, delay_s)]


def _check(source: str, **counts: tuple[int, int]) -> None:
    """Each count with its least value."""
    for name, (value, least) in counts.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise TopologyError(source, name, value, f"must be a whole number of at least {least}")
        _check_size(source, value)


def _check_size(source: str, nodes: int) -> None:
    if nodes > _MOST_NODES:
        raise TopologyError(source, "nodes", nodes, f"are too many; at most {_MOST_NODES} are made")
