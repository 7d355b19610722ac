"""Rules for splits and second objectives: against enumeration of everything that tiny networks allow, and worked numbers."""

import threading
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from anabranch.engineering import robust
from anabranch.engineering.robust import Network, RobustError, Rules, Splits, refining
from anabranch.engineering.robust.branching import branch
from anabranch.engineering.robust.objectives import Objective, value
from anabranch.network import topologies
from anabranch.network.topologies import Link, Node, Topology
from tests.engineering.robust.networks import random_network

ROUNDING = 2e-6


def tiny(seed: int, pairs: int = 4) -> robust.Problem:
    """Five nodes, and some pairs that send: a hose of two senders and two receivers, or an explicit set of two matrices."""
    network = random_network(seed, nodes=5, extra=3)
    random = np.random.default_rng(seed)
    if seed % 2:
        sent, received = np.zeros(5), np.zeros(5)
        sent[:2], received[2:4] = random.integers(1, 6, 2) * 1e6, random.integers(1, 6, 2) * 1e6
        if pairs < 4:
            received[3] = 0.0
        model: robust.TrafficModel = robust.hose(network, sent, received)
    else:
        chosen = random.permutation(network.pairs)[:pairs]
        both = np.zeros((2, 5, 5))
        both[:, network.pair_sources[chosen], network.pair_targets[chosen]] = random.integers(0, 5, (2, pairs)) * 1e6
        both[0, network.pair_sources[chosen], network.pair_targets[chosen]] += 1e6
        model = robust.matrices(network, list(both))
    return robust.Problem(network, model, robust.shortest(network, 3, "delay"))


def load(problem: robust.Problem, splits: Splits) -> float:
    return float(robust.worst_loads(problem.network, problem.model, splits.crossings).load.max())


def all_in_parts(problem: robust.Problem, parts: int, most: int) -> Iterator[Splits]:
    """All splits of the pairs that send, in whole parts, over at most ``most`` paths."""
    candidates = problem.candidates
    sending = np.flatnonzero(problem.sending).tolist()
    choices = [
        [
            whole
            for whole in product(range(parts + 1), repeat=int(candidates.first[pair + 1] - candidates.first[pair]))
            if sum(whole) == parts and sum(one > 0 for one in whole) <= most
        ]
        for pair in sending
    ]
    for chosen in product(*choices):
        shares = np.zeros(candidates.paths)
        shares[candidates.first[:-1]] = 1.0
        for pair, whole in zip(sending, chosen, strict=True):
            shares[candidates.first[pair] : candidates.first[pair + 1]] = np.array(whole) / parts
        yield Splits(candidates, shares)


def all_supports(problem: robust.Problem, most: int) -> Iterator[robust.Problem]:
    """The problem with each choice of at most ``most`` paths of the pairs that send."""
    candidates = problem.candidates
    sending = np.flatnonzero(problem.sending).tolist()
    choices = [
        [
            used
            for used in product((False, True), repeat=int(candidates.first[pair + 1] - candidates.first[pair]))
            if 1 <= sum(used) <= most
        ]
        for pair in sending
    ]
    for chosen in product(*choices):
        kept = np.zeros(candidates.paths, dtype=bool)
        kept[candidates.first[:-1]] = True
        for pair, used in zip(sending, chosen, strict=True):
            kept[candidates.first[pair] : candidates.first[pair + 1]] = used
        yield robust.Problem(problem.network, problem.model, candidates.keep(kept))


def keeps_to(splits: Splits, rules: Rules) -> bool:
    used = np.add.reduceat((splits.shares > 0).astype(int), splits.candidates.first[:-1])
    parts = splits.shares * (rules.weights_in or 1)
    few = rules.max_paths is None or used.max() <= rules.max_paths
    return bool(few and (rules.weights_in is None or np.abs(parts - np.rint(parts)).max() < 1e-9))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("parts", "most", "pairs"), [(1, None, 4), (2, None, 4), (4, 2, 3)])
def test_shares_in_whole_parts_are_those_of_enumeration(seed: int, parts: int, most: int | None, pairs: int) -> None:
    problem = tiny(seed, pairs)
    rules = Rules(most, parts)
    found = robust.refine(robust.solve(problem), rules)
    least = min(load(problem, splits) for splits in all_in_parts(problem, parts, most or 3))
    assert keeps_to(found.routing.splits, rules)
    robust.verify(found.routing)
    assert found.routing.worst_case_load == pytest.approx(least, rel=ROUNDING)
    assert found.load_bound <= least * (1 + ROUNDING)
    assert found.unrestricted.worst_case_load <= least * (1 + ROUNDING)
    assert found.rounded_load is not None
    assert found.rounded_load >= least * (1 - ROUNDING)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("most", [1, 2])
def test_at_most_so_many_paths_are_those_of_enumeration(seed: int, most: int) -> None:
    problem = tiny(seed, pairs=3)
    found = robust.refine(robust.solve(problem), Rules(max_paths=most))
    least = min(robust.solve(one).worst_case_load for one in all_supports(problem, most))
    assert keeps_to(found.routing.splits, Rules(max_paths=most))
    assert found.routing.worst_case_load == pytest.approx(least, rel=1e-5)
    assert found.load_bound == pytest.approx(least, rel=1e-5)  # such a small network is proven


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("objective", ["splits", "spread"])
@pytest.mark.parametrize("slack", [0.0, 0.2])
def test_the_least_splits_and_spread_are_those_of_enumeration(seed: int, objective: Objective, slack: float) -> None:
    problem = tiny(seed, pairs=3)
    found = robust.refine(robust.solve(problem), then=objective, slack=slack)
    assert found.second is not None
    allowed = found.unrestricted.worst_case_load * (1 + slack)
    assert found.routing.worst_case_load <= allowed * (1 + ROUNDING)
    assert value(objective, problem, found.routing.splits) == pytest.approx(found.second.value)
    least = np.inf
    for one in all_supports(problem, 3):
        even = Splits.rounded(one.candidates, np.ones(one.candidates.paths))
        if value(objective, one, even) < least and robust.solve(one).worst_case_load <= allowed * (1 + ROUNDING):
            least = value(objective, one, even)
    assert found.second.value == pytest.approx(least, rel=1e-6, abs=1e-12)
    assert found.second.bound == pytest.approx(least, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("seed", range(2, 5))
@pytest.mark.parametrize("objective", ["splits", "delay", "spread"])
def test_second_objectives_of_whole_parts_are_those_of_enumeration(seed: int, objective: Objective) -> None:
    problem = tiny(seed, pairs=3)
    found = robust.refine(robust.solve(problem), Rules(2, 4), objective, slack=0.1)
    assert found.second is not None
    least = min(
        value(objective, problem, splits)
        for splits in all_in_parts(problem, 4, 2)
        if load(problem, splits) <= found.allowed_load * (1 + 1e-9)
    )
    assert keeps_to(found.routing.splits, Rules(2, 4))
    assert found.second.value == pytest.approx(least, rel=1e-6, abs=1e-12)
    assert found.second.bound <= least * (1 + 1e-5) + 1e-12


def test_a_rule_that_all_candidates_keep_to_changes_nothing() -> None:
    problem = tiny(0)
    routing = robust.solve(problem)
    found = robust.refine(routing, Rules(max_paths=3))
    assert found.routing.worst_case_load == routing.worst_case_load == found.rounded_load
    assert found.load_bound == routing.lower_bound
    assert found.rules.max_paths == 3


def parallel(*paths: tuple[float, float], traffic: float = 1.0) -> robust.Problem:
    """From A to B over a middle node each: paths of a capacity in Mbit/s and a delay in ms."""
    middles = [f"M{number}" for number in range(len(paths))]
    links = tuple(
        Link(source, target, int(capacity * 1e6), delay_s=delay / 2e3)
        for middle, (capacity, delay) in zip(middles, paths, strict=True)
        for one, other in (("A", middle), (middle, "B"))
        for source, target in ((one, other), (other, one))
    )
    network = Network.of(Topology("parallel", tuple(map(Node, ("A", "B", *middles))), links))
    matrix = np.zeros((network.nodes, network.nodes))
    matrix[0, 1] = traffic * 1e6
    return robust.Problem(network, robust.pipe(network, matrix), robust.shortest(network, len(paths), "delay"))


@pytest.mark.parametrize(("slack", "delay_ms", "least"), [(0.0, 2.0, 0.5), (0.5, 1.5, 0.75), (1.0, 1.0, 1.0)])
def test_more_load_allows_less_delay(slack: float, delay_ms: float, least: float) -> None:
    """Two paths of 1 Mbit/s, of 1 ms and 3 ms. The load of the faster one is its share x, and the mean delay 3 - 2 x."""
    problem = parallel((1, 1), (1, 3))
    found = robust.refine(robust.solve(problem), then="delay", slack=slack)
    assert found.second is not None
    assert found.second.value == pytest.approx(delay_ms / 1e3, rel=1e-5)
    assert found.second.bound == pytest.approx(delay_ms / 1e3, rel=1e-5)
    assert found.routing.worst_case_load == pytest.approx(least, rel=1e-5)


@pytest.mark.parametrize(("parts", "least"), [(8, 3 / 8), (3, 1 / 3), (2, 1 / 2), (1, 1 / 2)])
def test_thirds_do_not_fit_into_eighths(parts: int, least: float) -> None:
    """1 Mbit/s over paths of 1 and 2 Mbit/s: a third of it over the first loads both by a third."""
    found = robust.refine(robust.solve(parallel((1, 1), (2, 1))), Rules(weights_in=parts))
    assert found.routing.worst_case_load == pytest.approx(least)
    assert found.load_bound == pytest.approx(least, rel=1e-5)
    assert found.unrestricted.worst_case_load == pytest.approx(1 / 3, rel=1e-5)


def test_over_all_paths_the_least_delay_prices_new_paths() -> None:
    """The program begins with paths of few hops; the fast path has four. Enumeration of all paths has the same delay."""
    for seed in range(4):
        network = random_network(seed)
        model = robust.hose(network, np.arange(1, 6) * 1e6)
        everything = robust.Problem(network, model, robust.shortest(network, 1000))
        slack = 0.3
        priced = robust.refine(robust.solve(robust.Problem.over_all_paths(network, model)), then="delay", slack=slack)
        listed = robust.refine(robust.solve(everything), then="delay", slack=slack)
        assert priced.second is not None
        assert listed.second is not None
        assert priced.second.value == pytest.approx(listed.second.value, rel=1e-5)
        assert priced.second.bound == pytest.approx(priced.second.value, rel=1e-5)


def test_candidates_within_a_stretch() -> None:
    problem = parallel((1, 1), (1, 1.5), (1, 3))
    pair = problem.network.pair(0, 1)
    for most, left in ((1, 1), (1.5, 2), (2.9, 2), (3, 3)):
        kept = robust.within_stretch(problem.candidates, most, "delay")
        assert (kept.pair == pair).sum() == left, most
    assert (robust.within_stretch(problem.candidates, 1.0).pair == pair).sum() == 3  # two hops each
    with pytest.raises(RobustError, match=r"a stretch of 0.5: must be at least 1"):
        robust.within_stretch(problem.candidates, 0.5)


def test_a_pair_without_a_path_within_the_stretch_is_named() -> None:
    """On a ring of five nodes, backwards alone: four hops to the next node instead of one, three instead of two."""
    names = [str(node) for node in range(5)]
    links = tuple(Link(names[i], names[(i + step) % 5], 10**6) for i in range(5) for step in (1, 4))
    ring = Network.of(Topology("ring", tuple(map(Node, names)), links))
    ways = [[names[(i - step) % 5] for step in range(hops + 1)] for i in range(5) for hops in range(1, 5)]
    listed = robust.given(ring, ways)
    with pytest.raises(RobustError, match=r"no candidate path of 0 -> 1 \(nor of 4 other pairs\) is so short .* has 4"):
        robust.within_stretch(listed, 2.0)
    assert robust.within_stretch(listed, 4.0).paths == 20


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rules(max_paths=0), "at most 0 paths of each pair: must be at least 1"),
        (lambda: Rules(weights_in=5000), "weights in 5000 parts: must be from 1 to 4,096"),
        (lambda: robust.refine(robust.solve(parallel((1, 1))), slack=-1.0), "a slack of -1: must be at least 0"),
        (
            lambda: robust.refine(robust.solve(parallel((1, 1))), then="hops"),  # type: ignore[arg-type]
            "then 'hops': must be one of splits, delay, spread",
        ),
    ],
)
def test_wrong_numbers_are_named(make: object, message: str) -> None:
    with pytest.raises(RobustError) as caught:
        make()  # type: ignore[operator]
    assert str(caught.value).startswith(message)


def test_what_a_search_found_until_ctrl_c_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any) -> tuple[Splits, bool]:
        return search(*arguments)[0], True

    search = refining.search
    monkeypatch.setattr(refining, "search", interrupted)
    better = 0
    for seed in range(8):
        found = robust.refine(robust.solve(tiny(seed)), Rules(weights_in=3))
        assert found.rounded_load is not None
        better += found.routing.interrupted and found.routing.worst_case_load < found.rounded_load
    assert better >= 2


def test_branch_and_bound_that_runs_out_of_time_leaves_no_thread() -> None:
    """Its threads would abort the process at its end."""
    network = Network.of(topologies.load("nsfnet"), 500e6)
    problem = robust.Problem(network, robust.hose(network, 130e6), robust.shortest(network, 4))
    before = threading.active_count()
    splits, bound = branch(problem, Rules(2), None, np.inf, Splits.first_paths(problem.candidates), 0.01)
    assert threading.active_count() == before
    assert splits is None or keeps_to(splits, Rules(2))
    assert 0 <= bound < 1


@pytest.mark.slow("local searches over 182 pairs take 20 s")
def test_eighths_on_nsfnet_are_far_better_than_rounding() -> None:
    """Rounding the least load over all paths, 0.455, to eighths has a load of 0.5525."""
    network = Network.of(topologies.load("nsfnet"), 500e6)
    model = robust.bounds(network, sent=130e6, received=130e6, upper=50e6)
    found = robust.refine(robust.solve(robust.Problem.over_all_paths(network, model)), Rules(weights_in=8))
    assert found.rounded_load is not None
    assert 0.455 <= found.routing.worst_case_load <= 0.48 < found.rounded_load
    assert keeps_to(found.routing.splits, Rules(weights_in=8))
    robust.verify(found.routing)
