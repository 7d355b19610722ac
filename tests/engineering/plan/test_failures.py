"""Plans that bear failures, against enumeration and loads that are computed anew here; and backup paths."""

from contextlib import suppress
from itertools import product

import numpy as np
import pytest

from anabranch.engineering import robust
from anabranch.engineering.plan import Plan, Planner
from anabranch.engineering.plan.backups import NONE, with_backups
from anabranch.engineering.plan.options import Pool
from anabranch.engineering.plan.search import core_search
from anabranch.engineering.plan.states import States
from anabranch.engineering.plan.tcp_throughput import Connection
from anabranch.engineering.robust.failures import Failure, single_links, single_nodes
from anabranch.engineering.robust.splits import Splits, crossings
from anabranch.foundation.array_types import Floats
from anabranch.network.topologies import Link, Node, Topology
from tests.engineering.robust.networks import random_model, random_network

SLOW = Connection(1e6)


def shares_after(plan: Plan, failure: Failure) -> Floats:
    """What routers do, path by path: those that survive carry the traffic in proportion; a lone path that fails gives way to its backup."""
    candidates = plan.splits.candidates
    failed = set(failure.links)
    alive = [failed.isdisjoint(candidates.links_of(path).tolist()) for path in range(candidates.paths)]
    found = np.zeros(candidates.paths)
    for pair in range(candidates.network.pairs):
        paths = range(candidates.first[pair], candidates.first[pair + 1])
        used = [path for path in paths if plan.splits.shares[path] > 0]
        left = [path for path in used if alive[path]]
        total = sum(plan.splits.shares[path] for path in left)
        for path in left:
            found[path] = plan.splits.shares[path] / total
        if not left and len(used) == 1 and plan.states.backup is not None:
            backup = plan.states.backup[used[0]]
            if backup != NONE and alive[backup]:
                found[backup] = 1.0
    return found


def load_of(plan: Plan, shares: Floats) -> float:
    model = plan.problem.model
    return float(robust.worst_loads(plan.problem.network, model, crossings(plan.splits.candidates, shares)).load.max())


@pytest.mark.parametrize("seed", range(10))
def test_after_every_failure_the_load_is_within_the_limit_and_cut_pairs_are_named(seed: int) -> None:
    """With a hose, pipes, both, a box and matrices; links or nodes fail; with and without backups."""
    network = random_network(seed)
    problem = robust.Problem(network, random_model(network, seed), robust.shortest(network, 3, ties="delay"))
    failures = single_nodes(network) if seed % 2 else single_links(network)
    planner = Planner(problem, failures=failures, backup="hop-count" if seed % 3 else None, moves_per_pair=100)
    generous = planner.plan(1e3)
    plans = [generous]
    with suppress(robust.RobustError):  # where no plan has so little load
        plans.append(planner.plan(max(planner.least.worst_case_load, generous.greatest_load * 0.9)))
    for one in plans:
        assert one.greatest_load <= one.allowed_load * (1 + 1e-6)
        assert one.lower_bound <= one.greatest_load * (1 + 1e-9)
        for after in one.after:
            shares = shares_after(one, after.failure.failure)
            assert after.failure.load == pytest.approx(load_of(one, shares))
            carried = np.add.reduceat(shares, one.splits.candidates.first[:-1]) > 0
            ends = network.pair_sources, network.pair_targets
            works = ~np.isin(ends, after.failure.failure.nodes).any(axis=0)
            assert set(after.failure.lost_pairs) == set(np.flatnonzero(one.sending & works & ~carried).tolist())
            assert ((after.throughput_bps > 0) == carried).all()
            assert (after.throughput_bps[list(after.failure.lost_pairs)] == 0).all()


@pytest.mark.parametrize("seed", range(2))
def test_the_least_load_after_failures_is_that_of_enumeration(seed: int) -> None:
    """A ring of four nodes: each pair takes one way round, and the other is its backup. 4096 choices."""
    network = random_network(seed, nodes=4, extra=0)
    matrix = np.random.default_rng(seed).integers(1, 5, (4, 4)) * 1e5
    problem = robust.Problem(network, robust.pipe(network, matrix), robust.shortest(network, 2, ties="delay"))
    candidates = problem.candidates
    on = np.zeros((candidates.paths, network.links))
    for path in range(candidates.paths):
        on[path, candidates.links_of(path)] = 1.0
    traffic = matrix[network.pair_sources, network.pair_targets]
    states = [set[int]()] + [set(failure.links) for failure in single_links(network)]
    pairs = np.arange(network.pairs)
    best = np.inf
    for choice in product((0, 1), repeat=network.pairs):
        worst = 0.0
        for failed in states:
            first = candidates.first[:-1] + np.array(choice)
            other = candidates.first[:-1] + 1 - np.array(choice)
            taken = np.where(on[first][:, sorted(failed)].any(axis=1), other, first)
            worst = max(worst, float(((traffic[pairs] @ on[taken]) / network.capacity).max()))
        best = min(best, worst)
    plan = Planner(problem, SLOW, failures=single_links(network), backup="hop-count").plan(2 * best + 1)
    assert plan.single_pairs == plan.pairs
    assert not any(after.failure.lost_pairs for after in plan.after)
    assert plan.greatest_load == pytest.approx(best, rel=2e-3)


@pytest.mark.parametrize("seed", range(10))
def test_the_search_sees_the_loads_of_all_states(seed: int) -> None:
    """Of random choices: the links that it leaves out are never the worst."""
    network = random_network(seed)
    problem = robust.Problem(network, random_model(network, seed), robust.shortest(network, 3, ties="delay"))
    candidates, backup = with_backups(problem.candidates, problem.sending, "delay")
    problem = robust.Problem(network, problem.model, candidates)
    states = States(problem, single_links(network), backup if seed % 2 else None)
    options = Pool(candidates, Connection(), np.zeros(network.pairs, dtype=bool)).options()
    random = np.random.default_rng(seed)
    for _ in range(10):
        chosen = random.integers(options.first[:-1], options.first[1:]).astype(np.uint32)
        search = core_search(states, options, 1)
        search.choose(chosen)
        search.begin(np.inf, np.inf, False, 0, 1.0, 1.0)
        assert search.best()[2] == pytest.approx(states.load(options.splits(chosen)))


def test_a_backup_shares_no_link_and_goes_beyond_the_candidates() -> None:
    """A to D over B or C, and over both by a link between them: the two shortest of three share a link, and the trap path has no backup."""
    ends = ["AB", "BD", "BC", "CD", "AC", "DE"]
    links = tuple(
        Link(source, target, 10**6, delay_s=0.01)
        for one, other in ends
        for source, target in ((one, other), (other, one))
    )
    network = robust.Network.of(Topology("trap", tuple(map(Node, "ABCDE")), links))
    pair, bridge = network.pair(0, 3), network.pair(0, 4)
    sending = np.ones(network.pairs, dtype=bool)
    sending[network.pair(1, 0)] = False
    trap = [list(path) for path in ("ABCD", "ABD", "BDCA")]
    others = [
        [network.names[network.pair_sources[p]], *rest]
        for p in range(network.pairs)
        if p != pair
        for rest in [robust.shortest(network, 1).nodes_of(p)[1:]]
    ]
    candidates, backup = with_backups(robust.given(network, trap[:2] + others), sending, "hop-count")
    first = candidates.first
    paths = {candidates.nodes_of(path): int(backup[path]) for path in range(first[pair], first[pair + 1])}
    assert set(paths) == {tuple("ABD"), tuple("ACD")}
    assert candidates.nodes_of(paths[tuple("ABD")]) == tuple("ACD")
    assert backup[first[bridge]] == NONE
    assert first[network.pair(1, 0) + 1] - first[network.pair(1, 0)] == 1
    cables = [
        {frozenset(network.link_name(link)) for link in candidates.links_of(path)} for path in range(candidates.paths)
    ]
    for path, other in enumerate(backup.tolist()):
        assert other == NONE or (candidates.pair[path] == candidates.pair[other] and not cables[path] & cables[other])


def test_failures_that_no_plan_bears_are_refused_with_the_least_load_found() -> None:
    """A ring whose pairs send half of a link each way: one link less, and a link carries more than its capacity."""
    ring = [(str(node), str((node + step) % 4)) for node in range(4) for step in (1, -1)]
    topology = Topology("ring", tuple(map(Node, "0123")), tuple(Link(*ends, 10**6, delay_s=0.001) for ends in ring))
    network = robust.Network.of(topology)
    problem = robust.Problem(network, robust.hose(network, 1e6), robust.shortest(network, 2, ties="delay"))
    planner = Planner(problem, failures=single_links(network), backup="delay", moves_per_pair=20)
    with pytest.raises(
        robust.RobustError, match=r"no plan was found that keeps to a load of 1\.1 after each of 4 failures"
    ):
        planner.plan(1.1)


def test_without_failures_the_states_are_the_network_as_it_is() -> None:
    network = random_network(3)
    problem = robust.Problem(network, random_model(network, 3), robust.shortest(network, 3, ties="delay"))
    options = Pool(problem.candidates, Connection(), np.zeros(network.pairs, dtype=bool)).options()
    links = States(problem).links(options)
    assert links.capacity is network.capacity
    splits = Splits.first_paths(problem.candidates)
    assert States(problem).load(splits) == robust.worst_loads(network, problem.model, splits.crossings).load.max()
