"""All paths in one program: flows come apart into paths, and the halved program has the same optimum as the whole."""

import numpy as np
import pytest

from anabranch.engineering import robust
from anabranch.engineering.robust import arcs
from anabranch.engineering.robust.splits import Splits
from anabranch.network import topologies
from tests.engineering.robust.networks import random_network


@pytest.mark.parametrize("seed", range(10))
def test_flows_come_apart_into_paths_and_cycles_are_left_out(seed: int) -> None:
    network = random_network(seed, nodes=6)
    candidates = robust.shortest(network, 4)
    splits = Splits.rounded(candidates, np.random.default_rng(seed).exponential(size=candidates.paths))
    flows = np.zeros((network.pairs, network.links))
    crossings = splits.crossings
    flows[crossings.pair, np.repeat(np.arange(network.links), np.diff(crossings.start))] = crossings.share
    found = arcs.split_up(network, flows)
    again = found.crossings
    back = np.zeros_like(flows)
    back[again.pair, np.repeat(np.arange(network.links), np.diff(again.start))] = again.share
    assert (back <= flows + 1e-5).all()  # what two ways of a link carried against each other may be gone
    assert np.bincount(found.candidates.pair, weights=found.shares) == pytest.approx(1)


@pytest.mark.parametrize("lower", [0.0, 0.1])
def test_half_of_a_network_that_is_the_same_both_ways_has_the_same_optimum(
    monkeypatch: pytest.MonkeyPatch, lower: float
) -> None:
    network = robust.Network.of(topologies.load("gabriel/10/0"), 10e6)
    rates = np.arange(1, 11) * 1e6
    upper = 0.4 * np.minimum.outer(rates, rates)
    model = robust.bounds(network, rates, rates, upper, lower * upper)
    problem = robust.Problem.over_all_paths(network, model)
    assert arcs.mirrored_links(problem) is not None
    halved = robust.solve(problem)
    monkeypatch.setattr(arcs, "mirrored_links", lambda _: None)
    whole = robust.solve(problem)
    priced = robust.solve(problem, "compact")
    for routing in (halved, whole, priced):
        robust.verify(routing)
        assert routing.gap <= 1e-6
    assert [halved.worst_case_load, priced.worst_case_load] == pytest.approx([whole.worst_case_load] * 2, rel=3e-6)


def test_a_network_with_one_capacity_that_differs_is_not_halved() -> None:
    network = random_network(1)
    network.capacity[0] *= 2
    assert arcs.mirrored_links(robust.Problem.over_all_paths(network, robust.hose(network, 1e6))) is None


def test_the_first_order_method_s_points_are_certified_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arcs, "_SMALL", 0)
    network = robust.Network.of(topologies.load("nsfnet"), 500e6)
    problem = robust.Problem.over_all_paths(network, robust.bounds(network, 130e6, 130e6, 50e6))
    routing = robust.solve(problem, gap=1e-2)
    robust.verify(routing)
    assert routing.gap <= 1e-2
    assert routing.lower_bound <= 0.455 * (1 + 1e-9)
    assert routing.worst_case_load >= 0.455 * (1 - 1e-9)
