"""Fixed robust routing: splits of every pair's traffic that bear the worst matrix of a traffic model, with a proof.

>>> from anabranch import robust, topologies
>>> network = robust.Network.of(topologies.load("nsfnet"), capacity_bps=500e6)
>>> model = robust.bounds(network, sent=130e6, received=130e6, upper=50e6)
>>> routing = robust.solve(robust.Problem(network, model, robust.shortest(network, 2, "delay")))
>>> round(routing.worst_case_load, 4)
1.04
"""

from anabranch.engineering.robust.candidates import Candidates, disjoint, given, shortest, shortest_with_ties
from anabranch.engineering.robust.documents import as_routes, document
from anabranch.engineering.robust.errors import RobustError
from anabranch.engineering.robust.incremental import WorstLoads
from anabranch.engineering.robust.network import Network
from anabranch.engineering.robust.problem import Problem
from anabranch.engineering.robust.refining import Refined, refine
from anabranch.engineering.robust.rules import Rules
from anabranch.engineering.robust.separation import Loads, worst_loads
from anabranch.engineering.robust.solving import RobustRouting, best_found, solve
from anabranch.engineering.robust.splits import Splits
from anabranch.engineering.robust.stretch import within_stretch
from anabranch.engineering.robust.traffic import Bounds, Matrices, TrafficModel, bounds, box, hose, matrices, pipe
from anabranch.engineering.robust.verification import Verified, verify

__all__ = [
    "Bounds",
    "Candidates",
    "Loads",
    "Matrices",
    "Network",
    "Problem",
    "Refined",
    "RobustError",
    "RobustRouting",
    "Rules",
    "Splits",
    "TrafficModel",
    "Verified",
    "WorstLoads",
    "as_routes",
    "best_found",
    "bounds",
    "box",
    "disjoint",
    "document",
    "given",
    "hose",
    "matrices",
    "pipe",
    "refine",
    "shortest",
    "shortest_with_ties",
    "solve",
    "verify",
    "within_stretch",
    "worst_loads",
]
