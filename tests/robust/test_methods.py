"""The three methods find the same optimum, and prove it."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch import robust
from anabranch.robust import lower_bounds
from anabranch.robust.blocks import Weighted
from anabranch.robust.splits import Splits
from tests.robust.networks import random_model, random_network

METHODS = ("compact", "exchange", "auto")


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


def test_a_falsified_routing_is_found_out() -> None:
    from dataclasses import replace

    network = random_network(1)
    routing = robust.solve(robust.Problem(network, robust.hose(network, 1e6), robust.shortest(network, 2)))
    shares = routing.splits.shares.copy()
    shares[routing.splits.candidates.first[0]] += 0.5
    with pytest.raises(robust.RobustError, match="add up to 1\\.5"):
        robust.verify(replace(routing, splits=Splits(routing.splits.candidates, shares)))
    with pytest.raises(robust.RobustError, match="claims a worst-case load"):
        robust.verify(replace(routing, splits=Splits.first_paths(routing.splits.candidates)))


def test_a_solution_is_whole_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Ctrl-C left of a solution was taken for the solution: plans searched on, studies of papers kept it for ever."""

    def interrupted(best: object, gap: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules["anabranch.robust.solving"]._METHODS, "auto", interrupted)
    network = random_network(1)
    problem = robust.Problem(network, random_model(network, 1), robust.shortest(network, 2))
    assert robust.best_found(problem).interrupted
    with pytest.raises(KeyboardInterrupt):
        robust.solve(problem)
