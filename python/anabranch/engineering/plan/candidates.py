"""Candidate paths by predicted TCP throughput, for networks whose links lose packets."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from anabranch.engineering.robust.candidates import MOST_PATHS, Candidates, given, shortest
from anabranch.engineering.robust.candidates import disjoint as disjoint_by_hops
from anabranch.engineering.robust.errors import RobustError
from anabranch.engineering.robust.network import Network
from anabranch.engineering.routes.quantities import completed
from anabranch.engineering.routes.search import Search


def by_throughput(
    network: Network, metric: str, count: int, law: Callable[[str], Any], *, disjoint: bool = False
) -> Candidates:
    """The ``count`` paths of every pair that have the most predicted throughput alone, or the disjoint ones that have the most together.

    Besides these, as many by hops, which load fewer links: plans within a load need both. Links without a loss lose nothing. ``metric`` is ``tcpbp-exact`` or ``goodput:STACK``, whose table ``law`` returns.

    Raises:
        RobustError: ``count`` is not from 1 to 1,000,000, or a pair has no path.
        ValueError: the metric is none of these, a stack cannot be predicted, or a link has no delay.
    """
    if not 1 <= count <= MOST_PATHS:
        raise RobustError(f"{count} candidate paths of each pair: must be from 1 to {MOST_PATHS:,}")
    rates = zip(network.topology.links, network.capacity.tolist(), strict=True)
    links = tuple(link._replace(capacity_bps=round(rate)) for link, rate in rates)
    search = Search(completed(replace(network.topology, links=links), loss=0.0), law)
    find = search.disjoint if disjoint else search.shortest
    routes = find(metric, count).routes
    by_hops = disjoint_by_hops(network, count) if disjoint else shortest(network, count, ties="delay")
    paths = [path.nodes for route in routes for path in route.paths]
    return given(network, [*paths, *map(by_hops.nodes_of, range(by_hops.paths))])
