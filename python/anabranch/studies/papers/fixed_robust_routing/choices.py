"""Routings of section 6: ALL, the two heuristics, other ties, other optima of the same linear program, and plans.

A choice is JSON. It has the worst-case load, the number of pairs on a single path, and the splits in the form of a scenario's ``[routing]``.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from anabranch.engineering import robust
from anabranch.engineering.plan import Planner
from anabranch.engineering.plan.sparse import sparse
from anabranch.engineering.robust.blocks import Blocks, RoutingColumns
from anabranch.engineering.robust.candidates import By, Ties, shortest_with_ties
from anabranch.engineering.robust.documents import split_records
from anabranch.engineering.robust.hybrid import with_single_paths
from anabranch.engineering.robust.lp import LinearProgram, Method
from anabranch.engineering.robust.sweep import PERCENTAGES
from anabranch.engineering.robust.ties import draw, over_draws
from anabranch.network import topologies

HOSE_BPS, PIPE_BPS, CAPACITY_BPS = 130e6, 50e6, 500e6
"""Table 1."""
CANDIDATES = 2
"""K of section 6."""
PLAN_CANDIDATES = 4
TOPOLOGIES = ("nsfnet", "nsfnet-1050")
"""Versions of the links over which traffic is simulated."""
NSFNET_V2 = "nsfnet-v2"
"""The version whose routings only have their loads computed."""
LOAD_TOPOLOGIES = (*TOPOLOGIES, NSFNET_V2)
HEURISTICS: Mapping[str, tuple[By, Ties]] = {"hop": ("hop-count", "first-found"), "delay": ("delay", "links")}
"""The length that each heuristic sorts paths by, and its default rule for ties."""
TITLES = {"hop": "HYBRID-HOP", "delay": "HYBRID-DELAY"}
OTHER_TIES: tuple[Ties, ...] = ("links", "delay")
"""Other rules for ties of hop count."""
OPTIMA = ("interior", "vertex", "fewest")
X = tuple(int(percent) for percent in PERCENTAGES)
_SLACK = 1e-6
_ROUNDED = 0.005
"""The paper prints loads with two decimals."""

Choice = dict[str, Any]


def problem(topology: str, heuristic: str, ties: Ties | None = None) -> robust.Problem:
    """The program with two candidates for each pair, before the choice of single-path pairs."""
    network, model = _network(topology)
    by, own = HEURISTICS[heuristic]
    return robust.Problem(network, model, robust.shortest(network, CANDIDATES, by, ties or own))


def of_the_paper(topology: str) -> dict[str, Choice]:
    """ALL, HYBRID-HOP and HYBRID-DELAY, with the splits that ``robust.solve`` returns."""
    network, model = _network(topology)
    chosen = {"all": _choice(robust.solve(robust.Problem.over_all_paths(network, model)).splits, model)}
    for heuristic in HEURISTICS:
        whole = problem(topology, heuristic)
        for percent in X:
            chosen[f"{heuristic}-{percent}"] = _choice(robust.solve(with_single_paths(whole, percent)).splits, model)
    return chosen


def paper_names() -> list[str]:
    """The names of the paper's routings."""
    return ["all", *(f"{heuristic}-{percent}" for heuristic in HEURISTICS for percent in X)]


def of_other_ties(topology: str) -> dict[str, Choice]:
    """HYBRID-HOP with other rules for equally short paths."""
    chosen = {}
    for ties in OTHER_TIES:
        whole = problem(topology, "hop", ties)
        for percent in X:
            found = robust.solve(with_single_paths(whole, percent))
            chosen[f"hop-{percent}-ties-{ties}"] = _choice(found.splits, whole.model)
    return chosen


def of_random_ties(topology: str, draws: int) -> dict[str, Choice]:
    """HYBRID-HOP and HYBRID-DELAY with equally short paths in random order."""
    network, model = _network(topology)
    chosen = {}
    for heuristic, (by, _) in HEURISTICS.items():
        random = np.random.default_rng(1)
        tied = shortest_with_ties(network, CANDIDATES, by)
        for number in range(1, draws + 1):
            whole = robust.Problem(network, model, draw(tied, CANDIDATES, by, random))
            for percent in X:
                found = robust.solve(with_single_paths(whole, percent))
                chosen[f"{heuristic}-{percent}-draw-{number}"] = _choice(found.splits, model)
    return chosen


def load_ranges(topology: str, draws: int) -> dict[str, list[float]]:
    """The least and the greatest worst-case load over ties, for each heuristic and X."""
    ranges = {}
    for heuristic, (by, _) in HEURISTICS.items():
        whole = problem(topology, heuristic)
        for percent in X:
            found = over_draws(whole, CANDIDATES, by, percent, draws)
            ranges[f"{heuristic}-{percent}"] = [found.least, found.greatest]
    return ranges


def fitting_ties(topology: str, loads: Sequence[float], draws: int) -> list[dict[str, Any]]:
    """The random orders of equally short paths with which HYBRID-HOP has all ``loads``, one for each X, to two decimals.

    Each is its number among the ``draws``, from 1, and our loads for each X.
    """
    network, model = _network(topology)
    by, _ = HEURISTICS["hop"]
    random = np.random.default_rng(1)
    tied = shortest_with_ties(network, CANDIDATES, by)
    found = []
    for number in range(1, draws + 1):
        whole = robust.Problem(network, model, draw(tied, CANDIDATES, by, random))
        ours: list[float] = []
        # From X = 100 down: with fewer splits the program is smaller, and most orders fail there.
        for percent, load in reversed(list(zip(X, loads, strict=True))):
            ours.insert(0, robust.solve(with_single_paths(whole, percent)).worst_case_load)
            if abs(ours[0] - load) > _ROUNDED:
                break
        else:
            found.append({"draw": number, "loads": ours})
    return found


def of_other_optima(topology: str, percentages: Iterable[int]) -> dict[str, Choice]:
    """Other optima: splits with the same, least worst-case load, as other solvers of the program return them.

    ``interior`` is the middle of all optima (interior point), ``vertex`` a corner (simplex). ``fewest`` has the fewest split pairs
    that linear programs find (:mod:`anabranch.engineering.plan.sparse`).
    """
    chosen: dict[str, Choice] = {}
    for heuristic in HEURISTICS:
        whole = problem(topology, heuristic)
        for percent in percentages:
            chosen |= _optima(f"{heuristic}-{percent}", with_single_paths(whole, percent))
    return chosen


def of_other_optima_over_all_paths(topology: str) -> dict[str, Choice]:
    """Other optima of ALL, over the paths that pricing finds necessary."""
    network, model = _network(topology)
    priced = robust.solve(robust.Problem.over_all_paths(network, model), "compact").splits.candidates
    return _optima("all", robust.Problem(network, model, priced))


def plans(topology: str, loads: Iterable[float], moves_per_pair: int) -> dict[str, Choice]:
    """The plans of ``anabranch plan`` within these loads; 0 stands for the least possible load.

    Raises:
        KeyboardInterrupt: Ctrl-C; the study does not use a plan from an unfinished search.
    """
    network, model = _network(topology)
    candidates = robust.shortest(network, PLAN_CANDIDATES, ties="delay")
    planner = Planner(robust.Problem(network, model, candidates), moves_per_pair=moves_per_pair)
    chosen = {}
    for load in loads:
        plan = planner.plan(load or planner.least.worst_case_load)
        if plan.interrupted:
            raise KeyboardInterrupt
        chosen[f"plan-{load:g}"] = _choice(plan.splits, model) | {"predicted_bps": plan.mean_bps}
    return chosen


def longest_delays(topology: str) -> dict[str, float]:
    """Delay of the longer of the two candidates with the fewest hops, for pairs 1-2 to 1-6, ms (figure 9)."""
    candidates = problem(topology, "hop").candidates
    network = candidates.network
    longest = np.maximum.reduceat(candidates.delays, candidates.first[:-1])
    place = {name: index for index, name in enumerate(network.names)}
    return {f"1-{to}": float(longest[network.pair(place["1"], place[str(to)])] * 1e3) for to in range(2, 7)}


def _network(topology: str) -> tuple[robust.Network, robust.TrafficModel]:
    network = robust.Network.of(topologies.load(topology), CAPACITY_BPS)
    return network, robust.bounds(network, HOSE_BPS, HOSE_BPS, PIPE_BPS)


def _choice(splits: robust.Splits, model: robust.TrafficModel) -> Choice:
    records = split_records(splits)
    return {
        "load": float(robust.worst_loads(splits.candidates.network, model, splits.crossings).load.max()),
        "single_pairs": sum(len(record["paths"]) == 1 for record in records),
        "pairs": len(records),
        "splits": records,
    }


def _optima(name: str, whole: robust.Problem) -> dict[str, Choice]:
    best = robust.solve(whole)
    fewer = sparse(whole, best.worst_case_load * (1 + _SLACK), best.splits, np.ones(whole.network.pairs))
    fewest = [best.splits, *fewer][-1]
    found = (_optimum(whole, "interior-point"), _optimum(whole, "simplex"), fewest)
    return {f"{name}-{optimum}": _choice(splits, whole.model) for optimum, splits in zip(OPTIMA, found, strict=True)}


def _optimum(whole: robust.Problem, method: Method) -> robust.Splits:
    """The optimum of the paper's single program (equations 9 to 14) that this method of HiGHS returns."""
    program = LinearProgram()
    routing = RoutingColumns.new(program, whole.candidates, whole.scale)
    Blocks(routing, whole.model, np.arange(whole.network.links))
    return robust.Splits.rounded(whole.candidates, routing.shares(program.solve(method)))
