"""Failures: renormalised splits by hand, and protection against brute programs and its own bound."""

from pathlib import Path

import numpy as np
import pytest

from anabranch.engineering import robust
from anabranch.engineering.robust import failures
from anabranch.engineering.robust.protection import protect
from anabranch.engineering.robust.solving import silent
from anabranch.engineering.robust.splits import Splits
from anabranch.network.topologies import Link, Node, Topology
from tests.engineering.robust.networks import random_model, random_network, very_different_rates


def three_ways() -> robust.Network:
    """From a to z over b, c and d, both ways, 10 Mbit/s."""
    ends = [(one, other) for middle in "bcd" for one, other in (("a", middle), (middle, "z"))]
    links = tuple(Link(*pair, 10_000_000) for one, other in ends for pair in ((one, other), (other, one)))
    return robust.Network.of(Topology("three", tuple(map(Node, "abcdz")), links))


def from_a_to_z(network: robust.Network, rate: float) -> robust.Bounds:
    matrix = np.zeros((5, 5))
    matrix[0, 4] = rate
    return robust.pipe(network, matrix)


def test_renormalised_shares_of_three_ways() -> None:
    network = three_ways()
    candidates = robust.shortest(network, 3)
    pair = network.pair(0, 4)
    shares = Splits.first_paths(candidates).shares.copy()
    shares[candidates.first[pair] : candidates.first[pair + 1]] = [0.5, 0.25, 0.25]
    splits = Splits(candidates, shares)
    first = candidates.links_of(candidates.first[pair])
    failure = next(one for one in failures.single_links(network) if first[0] in one.links)
    left, lost = failures.renormalised(splits, failure)
    assert left[candidates.first[pair] : candidates.first[pair + 1]].tolist() == [0.0, 0.5, 0.5]
    assert network.pair(0, 4) not in lost
    found = failures.after(from_a_to_z(network, 8e6), splits, [failure])
    assert found[0].load == pytest.approx(0.4)


@pytest.mark.parametrize("rate", [9e6, 9e-3, 9e15])
def test_protected_three_ways_need_half_of_the_traffic_on_each_way(rate: float) -> None:
    """After a failure two ways carry 9 Mbit/s: 0.45 of their capacity, for any split before it."""
    network = three_ways()
    problem = robust.Problem(network, from_a_to_z(network, rate), robust.shortest(network, 3))
    found = protect(problem, failures.single_links(network), 1e-6, silent)
    assert found.load == pytest.approx(rate / 20e6, rel=1e-5)
    assert found.lower_bound == pytest.approx(rate / 20e6, rel=1e-5)


@pytest.mark.parametrize("seed", range(10))
def test_protection_meets_its_bound_and_no_renormalised_splits_are_better(seed: int) -> None:
    network = random_network(seed)
    model = random_model(network, seed)
    problem = robust.Problem(network, model, robust.disjoint(network, 3))
    faults = failures.single_links(network)
    found = protect(problem, faults, 1e-6, silent)
    assert found.gap <= 1e-6
    for failure, restored, after in zip(faults, found.restored, found.after, strict=True):
        sums = np.bincount(problem.candidates.pair, weights=restored.shares, minlength=network.pairs)
        carried = np.setdiff1d(np.arange(network.pairs), after.lost_pairs)
        assert sums[carried] == pytest.approx(1)
        assert restored.shares[~failures.surviving(restored, failure)].max(initial=0.0) == 0
        assert (
            restored.shares >= np.where(failures.surviving(restored, failure), found.splits.shares, 0) - 1e-12
        ).all()
    unprotected = robust.solve(problem)
    renormalised = failures.after(model, unprotected.splits, faults)
    assert max(one.load for one in renormalised if not one.lost_pairs) >= found.lower_bound * (1 - 1e-6) or any(
        one.lost_pairs for one in renormalised
    )
    assert found.load >= unprotected.lower_bound * (1 - 1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_protection_of_links_of_very_different_rates_leaves_no_gap(seed: int) -> None:
    """An interior point alone left a gap above 1e-6 on half of these."""
    network, model = very_different_rates(seed)
    problem = robust.Problem(network, model, robust.shortest(network, 3))
    assert protect(problem, failures.single_links(network), 1e-6, silent).gap <= 1e-6


def test_a_failure_of_all_links_leaves_no_load_and_no_pair() -> None:
    network = three_ways()
    model = robust.hose(network, 1e6)
    routing = robust.solve(robust.Problem(network, model, robust.shortest(network, 1)))
    everything = failures.Failure("everything", tuple(range(network.links)))
    (after,) = failures.after(model, routing.splits, [everything])
    assert after.load == 0
    assert len(after.lost_pairs) == network.pairs


def test_shared_risks_from_a_file(tmp_path: Path) -> None:
    network = three_ways()
    file = tmp_path / "risks.json"
    file.write_text('{"duct": [["a", "b"], ["c", "a"]]}')
    (duct,) = failures.shared_risks(file, network)
    assert sorted(network.link_name(link) for link in duct.links) == [("a", "b"), ("a", "c"), ("b", "a"), ("c", "a")]
    file.write_text('{"duct": [["a", "z"]]}')
    with pytest.raises(robust.RobustError, match="no link between a and z"):
        failures.shared_risks(file, network)


@pytest.mark.parametrize("ends", ["[]", '[["a", ["b"]]]', '[["a", 1]]', '[["a", {}]]', "7"])
def test_a_group_that_is_no_list_of_links_is_refused(tmp_path: Path, ends: str) -> None:
    file = tmp_path / "risks.json"
    file.write_text(f'{{"duct": {ends}}}')
    with pytest.raises(robust.RobustError, match=r"risks\.json: duct: .* is no link; a link is its two ends"):
        failures.shared_risks(file, three_ways())
