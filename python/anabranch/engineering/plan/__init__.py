"""Plans: the most TCP throughput within a worst-case load, with a single path for as many pairs as possible.

>>> from anabranch import robust, topologies
>>> from anabranch.engineering.plan import Planner
>>> network = robust.Network.of(topologies.load("nsfnet"), capacity_bps=500e6)
>>> model = robust.bounds(network, sent=130e6, received=130e6, upper=50e6)
>>> planner = Planner(robust.Problem(network, model, robust.shortest(network, 4, ties="delay")))
>>> plan = planner.plan(1.0)
>>> plan.single_pairs, plan.worst_case_load <= 0.7201
(182, True)
"""

from anabranch.engineering.plan.documents import as_routes, document
from anabranch.engineering.plan.model import Plan
from anabranch.engineering.plan.planning import Planner, hybrid
from anabranch.engineering.plan.tcp_throughput import DUP_THRESH, Connection, throughput

__all__ = ["DUP_THRESH", "Connection", "Plan", "Planner", "as_routes", "document", "hybrid", "throughput"]
