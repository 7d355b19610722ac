"""The paper's numbers on NSFNET (section 6), as far as they come from any such set of links."""

import pytest

from anabranch import robust, topologies
from anabranch.robust.hybrid import with_single_paths


@pytest.fixture(scope="module")
def network() -> robust.Network:
    return robust.Network.of(topologies.load("nsfnet"), 500e6)


def paper_model(network: robust.Network) -> robust.Bounds:
    return robust.bounds(network, 130e6, 130e6, 50e6)


@pytest.mark.parametrize("method", ["compact", "auto"])
def test_over_all_paths_the_load_is_the_published_one(network: robust.Network, method: str) -> None:
    routing = robust.solve(robust.Problem.over_all_paths(network, paper_model(network)), method)
    assert routing.worst_case_load == pytest.approx(0.455, abs=1e-6)
    assert routing.lower_bound == pytest.approx(0.455, abs=1e-6)
    robust.verify(routing)


@pytest.mark.parametrize(
    ("by", "ties", "loads"),
    [
        ("hop-count", "first-found", [0.69, 0.82, 0.88, 0.92, 0.92, 0.92]),
        ("delay", "links", [1.04, 1.04, 1.14, None, 1.24, 1.24]),
    ],
)
def test_hybrid_loads_are_those_that_the_specification_measured(
    network: robust.Network, by: str, ties: str, loads: list[float | None]
) -> None:
    problem = robust.Problem(network, paper_model(network), robust.shortest(network, 2, by, ties))
    for percent, expected in zip(range(0, 101, 20), loads, strict=True):
        routing = robust.solve(with_single_paths(problem, percent))
        if expected is not None:
            assert routing.worst_case_load == pytest.approx(expected, abs=0.0051), percent
