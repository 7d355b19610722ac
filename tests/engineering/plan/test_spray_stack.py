"""The price of splits for a known stack: against the spray price, and what plans do with it."""

import numpy as np
import pytest

from anabranch.engineering import robust
from anabranch.engineering.plan import Connection, Planner, throughput
from anabranch.engineering.plan.options import Pool
from anabranch.engineering.plan.spray_stack import SprayStack
from anabranch.engineering.predict.spray import SprayedPath, spray_price
from anabranch.network.topologies import Link, Node, Topology
from anabranch.scenario.stacks import PRESETS


def stack(name: str) -> SprayStack:
    return SprayStack.of(name, PRESETS[name])


def two_ways(rate_bps: int = 10**8, longer_s: float = 0.02) -> robust.Network:
    """A to D over B, and over C with a longer delay."""
    ends = {"AB": 0.005, "BD": 0.005, "AC": 0.005, "CD": longer_s}
    links = tuple(
        Link(one, other, rate_bps, delay_s=delay_s)
        for (a, b), delay_s in ends.items()
        for one, other in ((a, b), (b, a))
    )
    return robust.Network.of(Topology("two ways", tuple(map(Node, "ABCD")), links))


def halves(network: robust.Network) -> tuple[robust.Candidates, robust.Splits]:
    candidates = robust.shortest(network, 2, ties="delay")
    shares = np.where(np.diff(candidates.first)[candidates.pair] == 2, 0.5, 1.0)
    return candidates, robust.Splits(candidates, shares)


@pytest.mark.parametrize("name", ["linux-cubic", "linux-reno", "mprc"])
def test_a_split_in_halves_has_the_spray_price(name: str) -> None:
    network = two_ways()
    candidates, splits = halves(network)
    pool = Pool(candidates, Connection(1e9, 1000, stack(name)), np.ones(network.pairs, dtype=bool))
    crossing = [delay_s + 2 * 12000 / 1e8 for delay_s in (0.010, 0.025)]
    queue = round(1e8 * 2 * max(crossing) / 12000)
    found = spray_price(
        [SprayedPath(delay_s, 1e8, queue) for delay_s in crossing],
        detector=stack(name).detector,
        window=stack(name).window,
        selector="random",
    )
    pair = network.pair(0, 3)
    assert pool.throughput(splits)[pair] == pytest.approx(found.goodput_bps)
    assert found.goodput_bps < 2e8
    slow = Pool(candidates, Connection(10e6, 1000, stack(name)), np.ones(network.pairs, dtype=bool))
    assert slow.throughput(splits)[pair] == 10e6  # an application that sends less pays nothing


def test_unequal_shares_carry_what_the_fuller_path_allows() -> None:
    """Three quarters over one of two paths of 100 Mbit/s: 133 Mbit/s at most."""
    price = stack("mprc").most_bps([0.01, 0.01], [1e8, 1e8], [0.75, 0.25], 0.0)
    equal = stack("mprc").most_bps([0.01, 0.01], [1e8, 1e8], [0.5, 0.5], 0.0)
    assert price == pytest.approx(equal * 2 / 3, rel=0.02)


def test_a_detector_that_counts_has_its_own_threshold() -> None:
    """Two duplicate ACKs, three, and six over two paths: the more, the less reordering costs."""
    given = np.array([0.01, 0.02]), np.zeros(2), np.array([0.5, 0.5]), np.array([0, 2]), np.array([True])
    by_paths = SprayStack("by paths", "path-count", "newreno")
    assert by_paths.duplicates(2) == 6
    rates = [
        float(throughput(Connection(10e6, 1000, one), *given)[0])
        for one in (SprayStack("two", "dup-ack", "newreno", 2), stack("newreno"), by_paths, None)
    ]
    assert rates == sorted(rates)
    classic = float(throughput(Connection(10e6), *given[:4], np.array([False]))[0])
    assert rates[1] == classic
    assert rates[2] > 1.5 * classic
    assert rates[3] == 10e6


def test_the_stack_decides_what_a_plan_of_splits_is_worth() -> None:
    """No pair fits on one path. A stack that counts duplicate ACKs pays more for the splits than RACK, and RACK more than nothing."""
    network = two_ways()
    matrix = np.zeros((4, 4))
    matrix[0, 3], matrix[3, 0] = 150e6, 150e6
    problem = robust.Problem(network, robust.pipe(network, matrix), robust.shortest(network, 2, ties="delay"))
    price = {}
    for name in ("newreno", "linux-cubic"):
        planner = Planner(problem, Connection(1e9, 1000, stack(name)), np.ones(network.pairs, dtype=bool))
        plan = planner.plan(1.0)
        assert plan.single_pairs == 0
        price[name] = plan.total_bps
    assert price["linux-cubic"] > 2 * price["newreno"]
    free = Planner(problem, Connection(1e9), np.ones(network.pairs, dtype=bool)).plan(1.0)
    assert free.total_bps > price["linux-cubic"]


def test_equal_throughput_keeps_a_single_path_with_a_stack() -> None:
    network = two_ways(10**9)
    problem = robust.Problem(network, robust.hose(network, 1e8), robust.shortest(network, 2, ties="delay"))
    plan = Planner(problem, Connection(stack=stack("linux-cubic")), np.ones(network.pairs, dtype=bool)).plan(0.9)
    assert plan.single_pairs == plan.pairs
