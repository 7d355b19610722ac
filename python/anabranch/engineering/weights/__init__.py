"""OSPF weights: whole numbers for links, so that equal-cost multipath carries given traffic with little load (Fortz and Thorup 2000).

>>> from anabranch import robust, topologies, weights
>>> network = robust.Network.of(topologies.load("nsfnet"), capacity_bps=500e6)
>>> found = weights.find(network, [robust.pipe(network, 10e6).largest], limit_s=0.5)
>>> found.lower_bound <= found.optimum <= found.best.load <= found.of("hop-count").load
True
"""

from anabranch.engineering.robust.ecmp import EqualCostPaths, LinkArrays
from anabranch.engineering.weights.documents import as_routes
from anabranch.engineering.weights.finding import Found, find
from anabranch.engineering.weights.flow import OptimalFlow, optimal_flow
from anabranch.engineering.weights.intermediate_nodes import TwoSegments, two_segments
from anabranch.engineering.weights.judged import Judged, inverse_capacity, judge, with_costs

__all__ = [
    "EqualCostPaths",
    "Found",
    "Judged",
    "LinkArrays",
    "OptimalFlow",
    "TwoSegments",
    "as_routes",
    "find",
    "inverse_capacity",
    "judge",
    "optimal_flow",
    "two_segments",
    "with_costs",
]
