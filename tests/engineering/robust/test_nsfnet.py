"""The paper's numbers on NSFNET (section 6), as far as they come from any such set of links."""

import pytest

from anabranch.engineering import robust
from anabranch.engineering.robust.hybrid import with_single_paths
from anabranch.engineering.robust.ties import over_draws
from anabranch.network import topologies
from anabranch.studies.papers.fixed_robust_routing import choices

FIGURE_12 = (0.68, 0.82, 0.98, 1.08, 1.08, 1.08)
"""HYBRID-HOP's published loads for X = 0, 20, ..., 100."""


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


@pytest.mark.slow("solves robust routings for 300 random tie-breaks")
def test_other_eastern_links_have_the_published_loads_within_their_ties() -> None:
    """The links are not printed. On these ALL and HYBRID-HOP agree with the paper's section 6; its loads have two decimals."""
    network = robust.Network.of(topologies.load("nsfnet-v2"), 500e6)
    model = paper_model(network)
    assert robust.solve(robust.Problem.over_all_paths(network, model)).worst_case_load == pytest.approx(0.455, abs=1e-6)
    problem = robust.Problem(network, model, robust.shortest(network, 2))
    for percent, published in zip(range(0, 101, 20), FIGURE_12, strict=True):
        found = over_draws(problem, 2, "hop-count", percent, 50)
        assert found.least - 0.005 <= published <= found.greatest + 0.005, percent


@pytest.mark.slow("solves robust routings for 1,300 random tie-breaks")
def test_one_order_of_equally_short_paths_gives_all_published_loads() -> None:
    """All six at once, to the two decimals of the paper: on its links and ties, its program and ours agree."""
    found = choices.fitting_ties("nsfnet-v2", FIGURE_12, 1300)
    assert found
    assert found[0]["loads"] == pytest.approx(FIGURE_12, abs=0.005)


def test_no_order_of_equally_short_paths_gives_them_on_nsfnet(network: robust.Network) -> None:
    """With all pairs on single paths the greatest load over all orders is exact, and less than the published 1.08."""
    problem = robust.Problem(network, paper_model(network), robust.shortest(network, 2))
    assert over_draws(problem, 2, "hop-count", 100, 1).greatest < FIGURE_12[-1] - 0.005
