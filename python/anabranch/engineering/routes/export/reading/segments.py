"""Label stacks read back: the paths that they lead over by the shortest paths of an interior gateway protocol."""

from collections.abc import Sequence
from dataclasses import replace

from anabranch.engineering.routes.export.errors import ExportError, pair
from anabranch.engineering.routes.export.forwarding import PairPaths, WeightedPath
from anabranch.engineering.routes.export.reading.addresses import Addresses, Costs
from anabranch.engineering.routes.export.segment_lists import NAME
from anabranch.engineering.routes.export.segments import ShortestPaths
from anabranch.foundation.input_files import json_document


def by_costs(addresses: Addresses, costs: Costs, file: str) -> ShortestPaths:
    """The shortest paths by costs that were read.

    Raises:
        ExportError: a link has no cost.
    """
    links = addresses.topology.links
    for link in links:
        if (link.source, link.target) not in costs:
            raise ExportError(f"{file}: has no cost of the link {pair(link.source, link.target)}")
    with_costs = tuple(link._replace(cost=costs[link.source, link.target]) for link in links)
    return ShortestPaths(replace(addresses.topology, links=with_costs), "cost")


def paths(addresses: Addresses) -> PairPaths:
    """The paths of each pair by the labels of ``segment-lists.json``."""
    file = addresses.directory / NAME
    document = json_document(file)
    try:
        costs = {(one["src"], one["dst"]): one["cost"] for one in document["igp"]["costs"]}
        shortest = by_costs(addresses, costs, str(file))
        found: PairPaths = {}
        for record in document["pairs"]:
            ways: dict[tuple[str, ...], float] = {}
            for path in record["paths"]:
                place = f"{file}: {record['src']!r} -> {record['dst']!r}"
                for nodes, share in along(addresses, shortest, record["src"], path["mpls"], place):
                    ways[nodes] = ways.get(nodes, 0.0) + share * path["fraction"]
            found[record["src"], record["dst"]] = tuple(ways.items())
    except (KeyError, TypeError) as error:
        raise ExportError(f"{file}: is no list of segments of an export ({error})") from None
    return found


def along(
    addresses: Addresses, shortest: ShortestPaths, source: str, labels: Sequence[int], place: str
) -> list[WeightedPath]:
    """The paths of a label stack from a node, with their shares: several where several paths to a label's node are shortest.

    Raises:
        ExportError: a label is of no node or link.
    """
    ways: list[WeightedPath] = [((source,), 1.0)]
    for label in labels:
        arrived: list[WeightedPath] = []
        while ways:
            nodes, share = ways.pop()
            here, end = nodes[-1], addresses.labels.get(label)
            if end is None:
                link = addresses.adjacencies.get((here, label))
                if link is None:
                    raise ExportError(f"{place}: label {label} is of no node, and of no link of {here!r}")
                arrived.append(((*nodes, link), share))
            elif here == end:
                arrived.append((nodes, share))
            else:
                following = shortest.following(here, end)
                if not following:
                    raise ExportError(f"{place}: no path leads from {here!r} to {end!r}")
                ways += [((*nodes, one), share / len(following)) for one in following]
        ways = arrived
    return ways
