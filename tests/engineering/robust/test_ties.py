"""Ranges over tie-breaks, against all tie-breaks of small networks and against the specification's NSFNET."""

from itertools import product

import numpy as np
import pytest

from anabranch.engineering import robust
from anabranch.engineering.robust import ties
from anabranch.engineering.robust.hybrid import single_path_pairs
from anabranch.engineering.robust.splits import Splits
from anabranch.engineering.robust.sweep import PERCENTAGES, picture, records, sweep
from anabranch.network import topologies
from anabranch.network.topologies import Link, Node, Topology, generate


@pytest.fixture(scope="module")
def paper() -> robust.Problem:
    network = robust.Network.of(topologies.load("nsfnet"), 500e6)
    return robust.Problem(network, robust.bounds(network, 130e6, 130e6, 50e6), robust.shortest(network, 2))


def test_on_nsfnet_42_pairs_are_tied_and_single_paths_load_between_088_and_104(paper: robust.Problem) -> None:
    tied = robust.shortest_with_ties(paper.network, 1)
    assert sum(np.bincount(tied.pair) > 1) == 42
    found = ties.of_single_paths(paper, "hop-count", restarts=10)
    assert (found.least, found.greatest) == pytest.approx((0.88, 1.04))
    assert found.bound is not None
    assert found.bound <= found.least


def test_single_paths_of_a_small_grid_by_trying_all_tie_breaks() -> None:
    network = robust.Network.of(generate.grid(2, 3), 10e6)
    model = robust.hose(network, np.array([1e6, 2e6, 1e6, 3e6, 1e6, 2e6]))
    problem = robust.Problem(network, model, robust.shortest(network, 1))
    tied = robust.shortest_with_ties(network, 1)
    loads = []
    for chosen in product(*(range(tied.first[pair], tied.first[pair + 1]) for pair in range(network.pairs))):
        shares = np.zeros(tied.paths)
        shares[list(chosen)] = 1.0
        loads.append(robust.worst_loads(network, model, Splits(tied, shares).crossings).load.max())
    assert len(loads) > 100
    found = ties.of_single_paths(problem, "hop-count")
    assert (found.least, found.greatest) == pytest.approx((min(loads), max(loads)))


def test_first_found_paths_go_by_the_delay_of_their_own_direction() -> None:
    """From a to b 1 ms, but back 50 ms: only the way back goes over c."""
    delays = {"ab": 0.001, "ba": 0.05, "ac": 0.003, "ca": 0.003, "cb": 0.003, "bc": 0.003}
    links = tuple(Link(*ends, 10**7, delay_s=delay) for ends, delay in delays.items())
    network = robust.Network.of(Topology("triangle", tuple(map(Node, "abc")), links))
    found = robust.shortest(network, 1, "delay", "first-found")
    assert ["".join(found.nodes_of(path)) for path in range(found.paths)] == ["ab", "ac", "bca", "bc", "ca", "cb"]


def test_first_found_paths_follow_one_way_links() -> None:
    ring = tuple(Link(*ends, 10**7) for ends in ("ab", "bc", "ca"))
    found = robust.shortest(robust.Network.of(Topology("ring", tuple(map(Node, "abc")), ring)), 2, ties="first-found")
    assert ["".join(found.nodes_of(path)) for path in range(found.paths)] == ["ab", "abc", "bca", "bc", "ca", "cab"]
    line = robust.Network.of(Topology("line", tuple(map(Node, "abc")), ring[:2]))
    with pytest.raises(robust.RobustError, match="b -> a has no path"):
        robust.shortest(line, 1, ties="first-found")


def test_a_draw_has_the_shortest_paths_whatever_the_ties(paper: robust.Problem) -> None:
    tied = robust.shortest_with_ties(paper.network, 2)
    first = robust.shortest(paper.network, 2)
    drawn = [ties.draw(tied, 2, "hop-count", np.random.default_rng(seed)) for seed in range(3)]
    for one in drawn:
        assert one.pair.tolist() == first.pair.tolist()
        assert one.hops.tolist() == first.hops.tolist()
    assert len({one.path_links.tobytes() for one in drawn}) == 3


def test_pairs_of_the_longest_candidates_keep_one_path(paper: robust.Problem) -> None:
    """Each pair that keeps one path has a candidate at least as long as those of every pair that does not."""
    candidates = paper.candidates
    longest = [
        max(candidates.delays[path] for path in range(candidates.first[pair], candidates.first[pair + 1]))
        for pair in range(paper.network.pairs)
    ]
    single = set(single_path_pairs(candidates, 60, np.ones(candidates.network.pairs, dtype=bool)).tolist())
    assert len(single) == 109  # of 182
    rest = set(range(paper.network.pairs)) - single
    assert min(longest[pair] for pair in single) >= max(longest[pair] for pair in rest) - 1e-12


def test_the_sweep_gives_a_table_and_a_picture(paper: robust.Problem, tmp_path) -> None:  # type: ignore[no-untyped-def]
    steps = sweep(paper, ties=(2, "hop-count", 2))
    rows = records(steps)
    assert [row["single_percent"] for row in rows] == list(PERCENTAGES)
    assert all(row["gap"] <= 1e-6 for row in rows)
    loads = [row["worst_case_load"] for row in rows]
    assert loads == sorted(loads)
    assert all(row["over_ties"]["least_found"] <= row["worst_case_load"] for row in rows)
    picture(steps, "NSFNET", tmp_path / "load.svg", {"ALL": 0.455})
    assert "worst-case maximum link load" in (tmp_path / "load.svg").read_text()
