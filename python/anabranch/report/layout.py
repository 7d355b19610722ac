"""Where nodes and links lie on the map."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

Point = tuple[float, float]


def node_positions(nodes: Sequence[Mapping[str, Any]], links: Sequence[Mapping[str, Any]]) -> dict[str, Point]:
    """Places nodes by latitude and longitude if all have them, else by x and y, else by a force-directed layout.

    The result fits a frame whose width is 1 or whose height is 1, whichever is the greater; y grows upwards.
    """
    if all(node["latitude"] is not None and node["longitude"] is not None for node in nodes):
        places = _equirectangular(nodes)
    elif all(node["x"] is not None and node["y"] is not None for node in nodes):
        places = {node["name"]: (float(node["x"]), float(node["y"])) for node in nodes}
    else:
        places = _force_directed(nodes, links)
    return _fit(places)


def _equirectangular(nodes: Sequence[Mapping[str, Any]]) -> dict[str, Point]:
    """Longitude times the cosine of the middle latitude; the map is cut where the widest gap in longitude is."""
    longitudes = sorted(node["longitude"] % 360 for node in nodes)
    gaps = [(after - before) % 360 for before, after in zip(longitudes, longitudes[1:] + longitudes[:1], strict=True)]
    west = longitudes[(gaps.index(max(gaps)) + 1) % len(longitudes)]
    latitudes = [node["latitude"] for node in nodes]
    shrink = math.cos(math.radians((min(latitudes) + max(latitudes)) / 2))
    return {node["name"]: ((node["longitude"] - west) % 360 * shrink, node["latitude"]) for node in nodes}


def _force_directed(nodes: Sequence[Mapping[str, Any]], links: Sequence[Mapping[str, Any]]) -> dict[str, Point]:
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(node["name"] for node in nodes)
    graph.add_edges_from((link["src"], link["dst"]) for link in links)
    # From 500 nodes on, networkx wants scipy for this layout; a ring is still a map of who is linked to whom.
    large = len(nodes) >= 500
    places = networkx.circular_layout(graph) if large else networkx.spring_layout(graph, seed=1, iterations=200)
    return {name: (float(place[0]), float(place[1])) for name, place in places.items()}


def _fit(places: Mapping[str, Point]) -> dict[str, Point]:
    left, right = min(x for x, _ in places.values()), max(x for x, _ in places.values())
    bottom, top = min(y for _, y in places.values()), max(y for _, y in places.values())
    scale = max(right - left, top - bottom) or 1.0
    return {name: ((x - left) / scale, (y - bottom) / scale) for name, (x, y) in places.items()}
