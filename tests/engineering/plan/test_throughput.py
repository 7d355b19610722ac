"""The predicted throughput of splits: by hand, by drawing packets, and against the packet engine."""

import json
from pathlib import Path

import numpy as np
import pytest

from anabranch.engineering import robust
from anabranch.engineering.plan import Connection, throughput
from anabranch.engineering.plan.options import Pool
from anabranch.engineering.plan.tcp_throughput import path_losses
from anabranch.engineering.predict import mathis
from anabranch.engineering.robust.documents import document
from anabranch.network import topologies
from anabranch.scenario import Scenario

CONNECTION = Connection(10e6, 1000)


def rate(
    delays: list[float], fractions: list[float], losses: list[float] | None = None, tolerant: bool = False
) -> float:
    lost = np.array(losses or [0.0] * len(delays))
    start = np.array([0, len(delays)])
    found = throughput(CONNECTION, np.array(delays), lost, np.array(fractions), start, np.array([tolerant]))
    return float(found[0])


def test_single_and_equally_long_paths_carry_what_the_application_sends() -> None:
    assert rate([0.01], [1.0]) == 10e6
    assert rate([0.01, 0.01, 0.01], [0.2, 0.3, 0.5]) == 10e6


def test_lost_packets_limit_a_single_path_by_the_inverse_square_root_law() -> None:
    assert rate([0.05], [1.0], [0.001]) == pytest.approx(mathis(0.1, 0.001, mss_bytes=1000), rel=1e-9)


def test_a_tolerant_sender_pays_for_loss_only() -> None:
    assert rate([0.01, 0.03], [0.5, 0.5], tolerant=True) == 10e6
    expected = mathis(0.08, 0.0005, mss_bytes=1000)
    assert rate([0.03, 0.05], [0.5, 0.5], [0.001, 0.0], tolerant=True) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("delays", "fractions"), [([0.01, 0.013], [0.5, 0.5]), ([0.01, 0.012, 0.02], [0.5, 0.3, 0.2])])
def test_the_rate_is_the_response_to_the_reordering_that_drawn_packets_suffer(
    delays: list[float], fractions: list[float]
) -> None:
    """Packets at random times over drawn paths: the share that three later ones overtake, put into the response function."""
    found = rate(delays, fractions)
    random = np.random.default_rng(1)
    sent = np.cumsum(random.exponential(8000 / found, 200_000))
    arrival = sent + np.array(delays)[random.choice(len(delays), len(sent), p=fractions)]
    window = 60
    overtaken = sum(
        (arrival[later : len(sent) - window + later] < arrival[: len(sent) - window]).astype(int)
        for later in range(1, window)
    )
    late = float(np.mean(np.asarray(overtaken) >= 3))
    rtt = 2 * float(np.dot(delays, fractions))
    assert found == pytest.approx(mathis(rtt, late, mss_bytes=1000), rel=0.03)


def test_the_farther_paths_are_apart_the_less_is_left() -> None:
    rates = [rate([0.01, 0.01 + difference], [0.5, 0.5]) for difference in np.linspace(0, 0.02, 9)]
    assert rates == sorted(rates, reverse=True)


def test_losses_of_links_combine_along_a_path() -> None:
    links = tuple(
        topologies.Link(one, other, 10**6, delay_s=0.01, loss=0.1)
        for one, other in (("A", "B"), ("B", "A"), ("B", "C"), ("C", "B"))
    )
    network = robust.Network.of(topologies.Topology("line", tuple(map(topologies.Node, "ABC")), links))
    candidates = robust.shortest(network, 1)
    assert path_losses(candidates)[network.pair(0, 2)] == pytest.approx(0.19)


def test_a_connection_gets_no_more_than_its_links_carry() -> None:
    """A to D over B or C, 4 and 2 Mbit/s, behind a link of 5 Mbit/s from S to A; no link is faster than the application."""
    ends = {"SA": 5, "AB": 4, "BD": 4, "AC": 2, "CD": 2}
    links = tuple(topologies.Link(*pair, rate * 10**6, delay_s=0.01) for pair, rate in ends.items())
    back = tuple(topologies.Link(link.target, link.source, link.capacity_bps, delay_s=0.01) for link in links)
    network = robust.Network.of(topologies.Topology("two ways", tuple(map(topologies.Node, "SABCD")), links + back))
    candidates = robust.shortest(network, 2)
    pool = Pool(candidates, CONNECTION, np.ones(network.pairs, dtype=bool))
    pair = network.pair(0, 4)
    over_b = [path for path in (candidates.first[pair], candidates.first[pair] + 1) if "B" in candidates.nodes_of(path)]
    for share, expected in ((1.0, 4e6), (0.75, 5e6), (0.5, 4e6), (0.0, 2e6)):
        shares = robust.Splits.first_paths(candidates).shares.copy()
        shares[candidates.first[pair] : candidates.first[pair + 1]] = 1 - share
        shares[over_b] = share
        assert pool.throughput(robust.Splits(candidates, shares))[pair] == pytest.approx(expected, rel=1e-9)


def test_the_packet_engine_agrees_over_all_pairs_of_nsfnet(tmp_path: Path) -> None:
    """The paper's experiment (section 6) on the routing of least load: mean within 10 %, pairs correlated by more than 0.9."""
    network = robust.Network.of(topologies.load("nsfnet"), 500e6)
    model = robust.bounds(network, 130e6, 130e6, 50e6)
    routing = robust.solve(robust.Problem(network, model, robust.shortest(network, 2, ties="delay")))
    pool = Pool(routing.problem.candidates, CONNECTION, np.zeros(network.pairs, dtype=bool))
    predicted = pool.throughput(routing.splits)
    (tmp_path / "splits.json").write_text(json.dumps(document(routing)))
    text = """
    [topology]
    from = "nsfnet"
    capacity = "500 Mbps"
    [routing.split]
    from = "splits.json"
    [stacks.newreno]
    congestion = "newreno"
    mss = "1000 bytes"
    [[traffic]]
    from = "all"
    to = "all"
    poisson = "10Mbps"
    stack = "newreno"
    routing = "split"
    [run]
    duration = "10s"
    warm_up = "3s"
    """
    flows = Scenario.from_toml(text, directory=tmp_path).run(seed=1).flows
    place = {name: index for index, name in enumerate(network.names)}
    pairs = [network.pair(place[flow["src"]], place[flow["dst"]]) for flow in flows.to_dicts()]
    measured = np.array([flow["goodput_bps"] for flow in flows.to_dicts()])
    assert predicted.mean() == pytest.approx(measured.mean(), rel=0.1)
    assert np.corrcoef(predicted[pairs], measured)[0, 1] > 0.9
