"""The study of MPRC: bounds of forwarding, and measures of throughput over time, by hand."""

import polars as pl
import pytest

from anabranch import topologies
from anabranch.papers.mprc import bounds, in_order, measure
from anabranch.papers.study import Table


def _links(name: str) -> list[bounds.Ends]:
    return [(link.source, link.target) for link in topologies.load(name).links]


def test_bounds_of_the_two_backbones() -> None:
    """Seattle has two links. Half of its packets go by Denver and Kansas City, where half of them turn south to Houston: 3/4 of all
    reach Atlanta from there. All three paths of fewest links from Orlando end in Dallas - San Francisco; Orlando itself has three links."""
    abilene, att = _links("topozoo/Abilene"), _links("topozoo/AttMpls")
    assert bounds.max_flow(abilene, "Seattle", "Atlanta") == 2
    assert bounds.equal_split(abilene, "Seattle", "Atlanta") == pytest.approx(4 / 3)
    assert bounds.max_flow(att, "ORLD", "SNFN") == 3
    assert bounds.max_flow(bounds.fewest_links(att, "ORLD", "SNFN"), "ORLD", "SNFN") == 1
    assert bounds.equal_split(att, "ORLD", "SNFN") == 1


def test_a_grid_of_two_paths_splits_into_both() -> None:
    grid = [("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"), ("b", "a"), ("d", "c")]
    assert set(bounds.fewest_links(grid, "a", "d")) == {("a", "b"), ("b", "d"), ("a", "c"), ("c", "d")}
    assert bounds.equal_split(grid, "a", "d") == 2
    assert bounds.max_flow(bounds.without(grid, ("d", "b")), "a", "d") == 1


def test_fluctuation_is_the_standard_deviation_over_the_mean_of_each_run() -> None:
    """1, 3 has mean 2 and standard deviation sqrt 2; 2, 2 has none."""
    table = pl.DataFrame({"run": [0, 0, 1, 1], "stack": ["a", "a", "b", "b"], "mbps": [1.0, 3.0, 2.0, 2.0]})
    found = measure.fluctuation(table, ["stack"])
    assert found["a"].value == pytest.approx(50 * 2**0.5)
    assert found["b"].value == 0
    assert measure.differs(table, "stack", "a", "b").value == pytest.approx(50 * 2**0.5)


def test_a_rate_is_reached_in_the_first_bin_that_has_it() -> None:
    table = pl.DataFrame({"run": [0] * 3, "stack": ["a"] * 3, "time_s": [0.1, 0.2, 0.3], "mbps": [1.0, 9.0, 10.0]})
    assert measure.reached(table, ["stack"], 9.0)["a"].value == 0.2


def test_a_claim_holds_partly_if_some_of_its_parts_do() -> None:
    assert [measure.verdict(*parts) for parts in ((True, True), (True, False), (False, False))] == [
        "holds",
        "holds partly",
        "does not hold",
    ]


def test_findings_stand_by_the_last_figure_that_they_name() -> None:
    places = ("Section 6", "Figures 2.4, 5.5 and 5.6", "Figure 5.10", "Figure 2.3", "Figure 5.6")
    tables = [Table(where, where, "", [], []) for where in places]
    assert [table.where for table in in_order(tables)] == [
        "Figure 2.3", "Figures 2.4, 5.5 and 5.6", "Figure 5.6", "Figure 5.10", "Section 6",
    ]  # fmt: skip
