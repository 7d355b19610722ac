"""The worst traffic matrix of a link, against networkx's minimum-cost flow and against enumeration."""

from itertools import product

import networkx
import numpy as np
import pytest

from anabranch.engineering import robust
from anabranch.engineering.robust.splits import Splits
from anabranch.engineering.robust.verification import check_matrix, load_under
from tests.engineering.robust.networks import random_model, random_network

UNIT = 1e5
"""Bit/s that the flow counts as one: all rates of the tests are multiples, and shares multiples of a quarter."""


def some_splits(network: robust.Network, seed: int) -> Splits:
    """Splits of whole quarters over three candidates."""
    candidates = robust.shortest(network, 3)
    random = np.random.default_rng(seed)
    shares = np.zeros(candidates.paths)
    for pair in range(network.pairs):
        first, end = candidates.first[pair], candidates.first[pair + 1]
        for _ in range(4):
            shares[random.integers(first, end)] += 0.25
    return Splits(candidates, shares)


def greatest_by_flow(network: robust.Network, model: robust.Bounds, splits: Splits, link: int) -> float:
    """The greatest traffic over a link, bit/s, by networkx's network simplex: whole costs and capacities."""
    pairs, shares = splits.crossings.of(link)
    graph = networkx.DiGraph()
    fixed = 0.0
    largest = model.above.largest
    for pair, share in zip(pairs, shares, strict=True):
        source, target = int(network.pair_sources[pair]), int(network.pair_targets[pair])
        fixed += share * model.lower[source, target]
        graph.add_edge(
            ("from", source), ("to", target), weight=-round(4 * share), capacity=round(largest[source, target] / UNIT)
        )
    for node in range(network.nodes):
        for bound, edge in (
            (model.above.rows[node], ("source", ("from", node))),
            (model.above.columns[node], (("to", node), "sink")),
        ):
            graph.add_edge(*edge, weight=0, **({"capacity": round(bound / UNIT)} if np.isfinite(bound) else {}))
    graph.add_edge("sink", "source", weight=0)
    cost, _ = networkx.network_simplex(graph)
    return fixed - cost * UNIT / 4


@pytest.mark.parametrize("seed", [seed for seed in range(60) if seed % 5 != 4])
def test_worst_loads_equal_minimum_cost_flows(seed: int) -> None:
    network = random_network(seed)
    model = random_model(network, seed)
    assert isinstance(model, robust.Bounds)
    splits = some_splits(network, seed)
    loads = robust.worst_loads(network, model, splits.crossings)
    expected = [greatest_by_flow(network, model, splits, link) for link in range(network.links)]
    assert loads.load * network.capacity == pytest.approx(expected, abs=1e-3)
    assert loads.bound == pytest.approx(loads.load, rel=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_worst_matrices_are_of_the_model_and_cause_the_loads(seed: int) -> None:
    network = random_network(seed)
    model = random_model(network, seed)
    splits = some_splits(network, seed)
    loads = robust.worst_loads(network, model, splits.crossings)
    for link in range(network.links):
        matrix = np.zeros((network.nodes, network.nodes))
        pair, amount = loads.matrix(link)
        matrix[network.pair_sources[pair], network.pair_targets[pair]] = amount
        check_matrix(network, model, matrix, others_may_be_more=True)
        assert load_under(splits, matrix, link) == pytest.approx(loads.load[link])


def test_no_matrix_of_a_tiny_hose_is_worse_by_enumeration() -> None:
    network = random_network(3, nodes=3, extra=0)
    model = robust.hose(network, np.array([1e6, 2e6, 1e6]), np.array([2e6, 1e6, 1e6]))
    splits = some_splits(network, 3)
    loads = robust.worst_loads(network, model, splits.crossings)
    worst = np.zeros(network.links)
    for amounts in product((0.0, 1e6, 2e6), repeat=network.pairs):
        matrix = np.zeros((3, 3))
        matrix[network.pair_sources, network.pair_targets] = amounts
        if (matrix.sum(axis=1) <= model.rows).all() and (matrix.sum(axis=0) <= model.columns).all():
            worst = np.maximum(worst, [load_under(splits, matrix, link) for link in range(network.links)])
    assert loads.load == pytest.approx(worst)


def test_some_links_only_are_the_same() -> None:
    network = random_network(7)
    model = random_model(network, 7)
    crossings = some_splits(network, 7).crossings
    every, some = robust.worst_loads(network, model, crossings), np.array([5, 2, 9])
    few = robust.worst_loads(network, model, crossings, some)
    assert few.load == pytest.approx(every.load[some])
    assert [pair.tolist() for pair in few.matrix(1)] == [pair.tolist() for pair in every.matrix(2)]
