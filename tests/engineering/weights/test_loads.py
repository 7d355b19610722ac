"""Loads of equal-cost multipath: against paths listed one by one, after changes of weights, and in the packet engine."""

from pathlib import Path

import numpy as np
import pytest

from anabranch.engineering import robust, weights
from anabranch.engineering.robust.ecmp import LinkArrays, RoutedTraffic
from anabranch.foundation.array_types import Floats
from anabranch.network import topologies
from anabranch.network.topologies.export import to_json
from anabranch.scenario import Scenario
from tests.engineering.robust.networks import random_network


def listed_loads(network: robust.Network, weight: Floats, rates: Floats) -> Floats:
    """Each router splits equally over the next hops from which the rest of the way is shortest, by Floyd and Warshall's distances."""
    distance = np.full((network.nodes, network.nodes), np.inf)
    np.fill_diagonal(distance, 0)
    distance[network.sources, network.targets] = weight
    for middle in range(network.nodes):
        distance = np.minimum(distance, distance[:, middle, None] + distance[None, middle])
    total = np.zeros(network.links)

    def send(node: int, target: int, rate: float) -> None:
        if node == target or not np.isfinite(distance[node, target]):
            return
        hops = [
            link
            for link in range(network.links)
            if network.sources[link] == node
            and weight[link] + distance[network.targets[link], target] == distance[node, target]
        ]
        for link in hops:
            total[link] += rate / len(hops)
            send(int(network.targets[link]), target, rate / len(hops))

    for source, target in np.argwhere(rates > 0):
        send(int(source), int(target), rates[source, target])
    return total


def random_rates(network: robust.Network, random: np.random.Generator) -> Floats:
    rates = random.uniform(0, 1e6, (network.nodes, network.nodes)) * (
        random.random((network.nodes, network.nodes)) < 0.6
    )
    np.fill_diagonal(rates, 0)
    return rates


@pytest.mark.parametrize("seed", range(10))
def test_loads_are_those_of_paths_listed_one_by_one_also_after_each_change_of_a_weight(seed: int) -> None:
    network, random = random_network(seed), np.random.default_rng(seed)
    links, rates = LinkArrays(network), random_rates(network, random)
    weight = random.integers(1, 5, network.links).astype(float)
    down = random.integers(0, network.links, seed % 3)
    state = RoutedTraffic(links, weight, np.stack([rates, 2 * rates.T]), down)
    for _ in range(25):
        link, new = int(random.integers(network.links)), float(random.integers(1, 7))
        change = state.change(link, new)
        weight[link] = new
        state.take(change)
        failed = weight.copy()
        failed[down] = np.inf
        assert state.total[0] == pytest.approx(listed_loads(network, failed, rates), rel=1e-9, abs=1e-3)
        assert state.total[1] == pytest.approx(listed_loads(network, failed, 2 * rates.T), rel=1e-9, abs=1e-3)


def test_the_packet_engine_has_these_loads_when_routers_take_their_next_hops_in_turn(tmp_path: Path) -> None:
    network = robust.Network.of(topologies.load("nsfnet"), 500e6)
    random = np.random.default_rng(1)
    weight = random.integers(1, 4, network.links).astype(float)
    (tmp_path / "network.json").write_text(to_json(weights.with_costs(network, weight)))
    scenario = Scenario.from_toml(
        """
        [topology]
        from = "network.json"
        [routing.weights]
        metric = "cost"
        select = "round-robin"
        [[traffic]]
        from = "all"
        to = "all"
        transport = "udp"
        constant = "500kbps"
        routing = "weights"
        [run]
        duration = "3s"
        """,
        directory=tmp_path,
    )
    links = scenario.run(seed=1).links
    sent = {(row["src"], row["dst"]): row["bytes"] for row in links.to_dicts()}
    measured = np.array([sent[network.link_name(link)] for link in range(network.links)])
    rates = np.full((network.nodes, network.nodes), 500e3)
    np.fill_diagonal(rates, 0)
    expected = weights.judge(LinkArrays(network), "given", weight, rates[None])
    total = RoutedTraffic(LinkArrays(network), weight, rates[None], np.zeros(0, dtype=int)).total[0]
    assert expected.load == pytest.approx((total / 500e6).max())
    assert (total == 0).sum() == (measured == 0).sum()
    assert measured / measured.sum() == pytest.approx(total / total.sum(), abs=0.02 * (total / total.sum()).max())
