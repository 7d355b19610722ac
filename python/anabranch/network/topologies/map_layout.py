"""Where nodes lie on a map: at their coordinates if they have any, else by the structure of their graph, else by springs."""

import math
from collections.abc import Iterable, Mapping, Sequence

from anabranch.network.topologies.model import Node
from anabranch.network.topologies.tiers import structured

Point = tuple[float, float]
Box = tuple[float, float, float, float]
_SPRING_NODES = 499
"""The most nodes of a spring layout, which needs SciPy for more; more nodes lie on a circle."""


def positions(nodes: Sequence[Node], ends: Iterable[tuple[str, str]]) -> dict[str, Point]:
    """Places nodes by latitude and longitude or by x and y, whichever more of them have; springs place the other nodes.

    Without any coordinates, :mod:`anabranch.network.topologies.tiers` places nodes that form a row or tiers, and springs place others.

    ``ends`` are the nodes that each link joins. The result fits a frame whose width is 1 or whose height is 1, whichever is
    the greater; y grows upwards. It is the same for the same nodes and links.
    """
    on_map = [(n.name, n.longitude, n.latitude) for n in nodes if n.longitude is not None and n.latitude is not None]
    drawn = [(n.name, n.x, n.y) for n in nodes if n.x is not None and n.y is not None]
    if on_map and len(on_map) >= len(drawn):
        known = _equirectangular(on_map)
    else:
        known = {name: (float(x), float(y)) for name, x, y in drawn}
    if len(known) == len(nodes):
        return _fit(known)
    ends = list(ends)
    structure = None if known else structured([node.name for node in nodes], ends)
    return _fit(structure or _laid_out(nodes, ends, _fit(known)))


def bounds(places: Mapping[str, Point]) -> Box:
    """Left, bottom, right, top."""
    xs, ys = [x for x, _ in places.values()], [y for _, y in places.values()]
    return min(xs), min(ys), max(xs), max(ys)


def _equirectangular(on_map: Sequence[tuple[str, float, float]]) -> dict[str, Point]:
    """Longitude times the cosine of the middle latitude; the map is cut where the widest gap in longitude is."""
    longitudes = sorted(longitude % 360 for _, longitude, _ in on_map)
    gaps = [(after - before) % 360 for before, after in zip(longitudes, longitudes[1:] + longitudes[:1], strict=True)]
    west = longitudes[(gaps.index(max(gaps)) + 1) % len(longitudes)]
    latitudes = [latitude for _, _, latitude in on_map]
    shrink = max(0.1, math.cos(math.radians((min(latitudes) + max(latitudes)) / 2)))
    return {name: ((longitude - west) % 360 * shrink, latitude) for name, longitude, latitude in on_map}


def _laid_out(
    nodes: Sequence[Node], ends: Iterable[tuple[str, str]], known: Mapping[str, Point]
) -> Mapping[str, Point]:
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(node.name for node in nodes)
    graph.add_edges_from(ends)
    if len(graph) > _SPRING_NODES:
        places = networkx.circular_layout(graph)
    elif known:
        places = networkx.spring_layout(graph, pos=known, fixed=list(known), seed=1)
    else:
        places = networkx.spring_layout(graph, iterations=200, seed=1)
    return {name: (float(x), float(y)) for name, (x, y) in places.items()}


def _fit(places: Mapping[str, Point]) -> dict[str, Point]:
    if not places:
        return {}
    left, bottom, right, top = bounds(places)
    scale = max(right - left, top - bottom) or 1.0
    return {name: ((x - left) / scale, (y - bottom) / scale) for name, (x, y) in places.items()}
