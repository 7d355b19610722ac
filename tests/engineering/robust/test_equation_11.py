"""Equation (11) of Fukushima et al. prints y_i(l), the dual variable of what a node receives, where the pair's receiver is j."""

import numpy as np
import pytest

from anabranch.engineering import robust
from anabranch.engineering.robust.lp import LinearProgram
from anabranch.network import topologies

HOSE_BPS, PIPE_BPS, CAPACITY_BPS = 130e6, 50e6, 500e6


def least_load_of(problem: robust.Problem, *, as_printed: bool) -> float:
    """The optimum of equations 9 to 14, written out: a variable for each link and node, and for each link and pair."""
    network, candidates = problem.network, problem.candidates
    program = LinearProgram()
    load = program.add_columns(1, cost=1.0)
    share = program.add_columns(candidates.paths) + np.arange(candidates.paths)
    rows = program.add_rows(np.ones(network.pairs), np.ones(network.pairs))  # (9)
    program.add_entries(rows + candidates.pair, share, 1.0)
    path = np.repeat(np.arange(candidates.paths), candidates.hops)
    for link in range(network.links):
        sent, received = (program.add_columns(network.nodes) for _ in range(2))
        pipe = program.add_columns(network.pairs)
        row = program.add_rows(np.full(1, -np.inf), np.zeros(1))  # (10)
        for first, count, bound in (
            (sent, network.nodes, HOSE_BPS),
            (received, network.nodes, HOSE_BPS),
            (pipe, network.pairs, PIPE_BPS),
        ):
            program.add_entries(np.full(count, row), first + np.arange(count), bound / HOSE_BPS)
        program.add_entries(np.array([row]), np.array([load]), -1.0)
        pairs = np.arange(network.pairs)
        rows = program.add_rows(np.full(network.pairs, -np.inf), np.zeros(network.pairs))  # (11)
        capacity = CAPACITY_BPS / HOSE_BPS
        of = network.pair_sources if as_printed else network.pair_targets
        program.add_entries(rows + pairs, sent + network.pair_sources.astype(np.int64), -capacity)
        program.add_entries(rows + pairs, received + of.astype(np.int64), -capacity)
        program.add_entries(rows + pairs, pipe + pairs, -capacity)
        crossing = path[candidates.path_links == link]
        program.add_entries(rows + candidates.pair[crossing].astype(np.int64), share[crossing], 1.0)
    return program.solve("interior-point").objective


@pytest.mark.parametrize(("as_printed", "load"), [(False, 0.701845), (True, 0.970)])
def test_as_printed_equation_11_gives_another_load_than_its_own_problem(as_printed: bool, load: float) -> None:
    """On NSFNET with two candidates; with y_j it is the worst case that separation finds for the same splits, with y_i it is not."""
    network = robust.Network.of(topologies.load("nsfnet"), CAPACITY_BPS)
    model = robust.bounds(network, HOSE_BPS, HOSE_BPS, PIPE_BPS)
    problem = robust.Problem(network, model, robust.shortest(network, 2))
    found = least_load_of(problem, as_printed=as_printed)
    assert found == pytest.approx(load, abs=1e-3 if as_printed else 1e-5)
    true = robust.solve(problem).worst_case_load
    assert (found == pytest.approx(true, rel=1e-5)) is not as_printed
