"""The three methods find the same optimum, and prove it."""

import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.engineering import robust
from anabranch.engineering.robust import Network, lower_bounds
from anabranch.engineering.robust.blocks import Weighted
from anabranch.engineering.robust.solving import Method
from anabranch.engineering.robust.splits import Splits
from anabranch.network import topologies
from anabranch.network.topologies import Link, Node, Topology
from tests.engineering.robust.networks import random_model, random_network, very_different_rates

METHODS: tuple[Method, ...] = ("compact", "exchange", "auto")


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 4))
def test_methods_agree_on_random_networks(seed: int, count: int) -> None:
    network = random_network(seed, nodes=4 + seed % 3)
    problem = robust.Problem(network, random_model(network, seed), robust.shortest(network, count, "delay"))
    found = [robust.solve(problem, method) for method in METHODS]
    for routing in found:
        assert routing.gap <= 1e-6
        verified = robust.verify(routing)
        assert verified.load == pytest.approx(routing.worst_case_load, rel=1e-9)
        assert verified.lower_bound <= verified.load * (1 + 1e-9)
    assert [routing.worst_case_load for routing in found] == pytest.approx([found[0].worst_case_load] * 3, rel=2e-6)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_methods_agree_when_all_paths_are_allowed(seed: int) -> None:
    network = random_network(seed, nodes=4 + seed % 2)
    model = random_model(network, seed)
    enumerated = robust.solve(robust.Problem(network, model, robust.shortest(network, 1000)), "compact")
    for method in ("compact", "auto"):
        priced = robust.solve(robust.Problem.over_all_paths(network, model), method)
        robust.verify(priced)
        assert priced.worst_case_load == pytest.approx(enumerated.worst_case_load, rel=3e-6)


@pytest.mark.parametrize("seed", range(20))
def test_no_random_splits_are_better_than_the_lower_bound(seed: int) -> None:
    network = random_network(seed)
    model = random_model(network, seed)
    problem = robust.Problem(network, model, robust.shortest(network, 3))
    routing = robust.solve(problem)
    random = np.random.default_rng(seed)
    for _ in range(20):
        splits = Splits.rounded(problem.candidates, random.exponential(size=problem.candidates.paths))
        assert robust.worst_loads(network, model, splits.crossings).load.max() >= routing.lower_bound * (1 - 1e-9)


def test_no_path_carries_what_an_interior_point_leaves_of_zero() -> None:
    network = Network.of(topologies.load("sndlib/polska"), 10e9)
    model = robust.bounds(network, sent=1e9, received=1e9, upper=2e8)
    routing = robust.solve(robust.Problem(network, model, robust.shortest(network, 4, ties="delay")))
    shares = routing.splits.shares
    assert shares[shares > 0].min() > 1e-5
    assert routing.gap <= 1e-6


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("power", [-12, -9, -3, 6, 12])
def test_a_load_of_any_size_has_the_same_optimum_and_proof(method: Method, power: int) -> None:
    """It is linear in the traffic (equations 6 to 8); ALL and HYBRID-DELAY at X = 0 as the specification measured them."""
    network = Network.of(topologies.load("nsfnet"), 500e6)
    model = robust.bounds(network, *np.array([130e6, 130e6, 50e6]) * 10.0**power)
    over_two = robust.Problem(network, model, robust.shortest(network, 2, "delay"))
    over_all = robust.Problem.over_all_paths(network, model)
    wanted = [(over_two, 1.04)] if method == "exchange" else [(over_two, 1.04), (over_all, 0.455)]
    for problem, load in wanted:
        found = robust.solve(problem, method)
        assert found.gap <= 1e-6
        assert found.worst_case_load == pytest.approx(load * 10.0**power, rel=2e-6)


@pytest.mark.parametrize("seed", range(40))
def test_links_of_very_different_rates_leave_no_gap(seed: int) -> None:
    """An interior point alone left a gap above 1e-6 on a third of these."""
    network, model = very_different_rates(seed)
    for problem in (
        robust.Problem(network, model, robust.shortest(network, 1 + seed % 3)),
        robust.Problem.over_all_paths(network, model),
    ):
        for method in METHODS[::2]:
            found = robust.solve(problem, method)
            assert found.closed, method
            robust.verify(found)


def test_traffic_without_any_room_is_solved_for_any_capacity() -> None:
    """A box from 1 to 1 leaves one matrix: three of its 6 Mbit/s leave the ring's node 0 each way."""
    links = [(str(node), str((node + step) % 4)) for node in range(4) for step in (1, -1)]
    topology = Topology("ring", tuple(Node(str(node)) for node in range(4)), tuple(Link(*ends) for ends in links))
    matrix = np.zeros((4, 4))
    matrix[0, 2] = 6e6
    for capacity in (1e6, 1e15):
        network = Network.of(topology, capacity)
        model = robust.box(network, matrix, 1.0, 1.0)
        found = robust.solve(robust.Problem(network, model, robust.shortest(network, 2)))
        assert found.worst_case_load == pytest.approx(3e6 / capacity, rel=2e-6)


def test_any_weights_prove_a_bound() -> None:
    """Weak duality needs no optimum: random traffic, scaled into the model by its own weights."""
    network = random_network(11)
    model = random_model(network, 12)
    optimum = robust.solve(robust.Problem.over_all_paths(network, model)).worst_case_load
    random = np.random.default_rng(0)
    for _ in range(50):
        link, pair = random.integers(0, network.links, 30), random.integers(0, network.pairs, 30)
        amount = random.exponential(size=30) * (
            model.largest[network.pair_sources[pair], network.pair_targets[pair]] > 0
        )
        priced = lower_bounds.prices(
            network, model, Weighted(link, pair, amount, random.exponential(size=network.links))
        )
        assert lower_bounds.over_all_paths(network, priced)[0] <= optimum * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_prices_made_for_a_few_pairs_at_a_time_prove_the_same_bounds(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = random_network(seed)
    model, random = random_model(network, seed), np.random.default_rng(seed)
    many = len(model.matrices) if isinstance(model, robust.Matrices) else network.pairs
    link, which = random.integers(0, network.links, 30), random.integers(0, many, 30)
    weighted = Weighted(link, which, random.exponential(size=30), random.exponential(size=network.links))
    candidates = robust.shortest(network, 3)
    found = []
    for size in (2**22, network.links * 3, 1):
        monkeypatch.setattr(lower_bounds, "_TABLE", size)
        priced = lower_bounds.prices(network, model, weighted)
        bound, least, (pair, start, links) = lower_bounds.over_all_paths(network, priced)
        found.append((lower_bounds.over_candidates(candidates, priced)[0], bound, least, pair, start, links))
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_allclose(one, same, rtol=1e-12)


def test_a_bound_needs_little_memory_for_many_pairs() -> None:
    """200 nodes in a ring: a table of all pairs and links would have 127 MB."""
    links = [(str(node), str((node + step) % 200)) for node in range(200) for step in (1, -1)]
    topology = Topology("ring", tuple(Node(str(node)) for node in range(200)), tuple(Link(*ends) for ends in links))
    network = Network.of(topology, 1e9)
    problem = robust.Problem.over_all_paths(network, robust.hose(network, 1e6))
    tracemalloc.start()
    bound = problem.nodes_proof.bound
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert bound > 0
    assert peak < 100e6  # two tables of 34 MB for a few pairs, and the arrays of all pairs


def test_a_falsified_routing_is_found_out() -> None:
    network = random_network(1)
    routing = robust.solve(robust.Problem(network, robust.hose(network, 1e6), robust.shortest(network, 2)))
    shares = routing.splits.shares.copy()
    shares[routing.splits.candidates.first[0]] += 0.5
    with pytest.raises(robust.RobustError, match="add up to 1\\.5"):
        robust.verify(replace(routing, splits=Splits(routing.splits.candidates, shares)))
    with pytest.raises(robust.RobustError, match="claims a worst-case load"):
        robust.verify(replace(routing, splits=Splits.first_paths(routing.splits.candidates)))


def test_a_solution_is_whole_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted solution was taken for a whole one: plans went on with it, and studies of papers kept it for ever."""

    def interrupted(best: object, gap: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules["anabranch.engineering.robust.solving"]._METHODS, "auto", interrupted)
    network = random_network(1)
    problem = robust.Problem(network, random_model(network, 1), robust.shortest(network, 2))
    assert robust.best_found(problem).interrupted
    with pytest.raises(KeyboardInterrupt):
        robust.solve(problem)
