"""The study of MPRC: bounds of forwarding, and measures of throughput over time, by hand."""

import itertools
import math
import re
from pathlib import Path

import polars as pl
import pytest

from anabranch.network import topologies
from anabranch.studies.papers import registry
from anabranch.studies.papers.mprc import bounds, comparisons, fairness, in_order, measure
from anabranch.studies.papers.study import Table

README = registry.folder("mprc") / "README.md"
THESIS = Path(__file__).parents[3] / "shared" / "papers" / "mprc.txt"
"""The thesis as plain text; not part of the repository."""


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


def test_a_rate_that_a_run_does_not_reach_has_no_mean_time() -> None:
    """One run reaches it after 0.1 s and the other never: the mean is not 0.1 s."""
    table = pl.DataFrame({"run": [0, 0, 1], "stack": ["a"] * 3, "time_s": [0.1, 0.2, 0.1], "mbps": [10.0, 10.0, 1.0]})
    assert measure.reached(table, ["stack"], 9.0) == {"a": (math.inf, None)}


def test_transfers_that_do_not_finish_have_no_mean_time() -> None:
    flows = pl.DataFrame({"stack": ["a", "a", "b", "b", "c"], "fct_s": [1.0, 2.0, 1.0, None, None]})
    assert comparisons.completions(flows.slice(0, 2)) == {"a": "1.5 ± 6.4"}
    assert comparisons.completions(flows) == {"a": "1.5 ± 6.4", "b": "(1 of 2 finish)", "c": "(0 of 1 finish)"}


def test_findings_stand_by_the_last_figure_that_they_name() -> None:
    places = ("Chapter 6", "Figures 2.4, 5.5 and 5.6", "Figure 5.10", "Figure 2.3", "Figure 5.6")
    tables = [Table(where, where, "", [], []) for where in places]
    assert [table.where for table in in_order(tables)] == [
        "Figure 2.3", "Figures 2.4, 5.5 and 5.6", "Figure 5.6", "Figure 5.10", "Chapter 6",
    ]  # fmt: skip


@pytest.mark.skipif(not THESIS.is_file(), reason="the thesis' text is not here")
def test_claims_name_figures_and_chapters_of_the_thesis() -> None:
    """It has chapters, of which only the second and the fifth have sections."""
    text = THESIS.read_text(encoding="utf-8")
    rows = README.read_text(encoding="utf-8").partition("## Claims")[2].partition("\n## ")[0].splitlines()
    places = {line.split(" | ")[0].removeprefix("| ") for line in rows if line.startswith("| ")}
    assert [place for place in places if "Section" in place] == []
    for chapter in {number for place in places for number in re.findall(r"Chapter (\d)", place)}:
        assert f"\nChapter {chapter}\n" in text
    for figure in {number for place in places for number in re.findall(r"\d\.\d+", place)}:
        assert f"\nFigure {figure}: " in text


def test_the_networks_have_the_nodes_and_edges_that_the_readme_says() -> None:
    """The thesis counts "eleven nodes and fourteen edges" for Abilene, and "twenty-five nodes and twenty-six edges" for AT&T."""
    abilene, att = topologies.load("topozoo/Abilene"), topologies.load("topozoo/AttMpls")
    assert (len(abilene.nodes), len(abilene.links) / 2) == (11, 14)
    assert (len(att.nodes), len(att.links) / 2) == (25, 56)
    assert "It has 25 nodes, as in the thesis, and 56 links; the thesis counts 26." in README.read_text(
        encoding="utf-8"
    )


def _applications(number: int, swing: float) -> fairness._Applications:
    """Two equal runs in which ``number`` applications share all payload of two links. The first swings from second to second, the last with it."""
    each = measure.payload(2) / number
    swings = {1: swing, number: -swing}
    rows = [
        (run, f"application {one}", float(second), each + swings.get(one, 0.0) * (-1) ** second)
        for run in (0, 1)
        for one in range(1, number + 1)
        for second in range(1, 31)
    ]
    made = object.__new__(fairness._Applications)
    made.bins = pl.DataFrame(rows, schema=["run", "traffic", "time_s", "mbps"], orient="row")
    return made


def test_three_applications_that_are_no_less_steady_than_two_share_as_the_thesis_says_in_part() -> None:
    """In five seconds a swing of a fifth is up three times and down twice: its deviation is sqrt(0.192 / 4), the mean 1.04 or 0.96."""
    two = _applications(2, 0.2 * measure.payload(1))
    assert two.varies(fairness.TOGETHER).value == pytest.approx(100 * 0.048**0.5 * (1 / 1.04 + 1 / 0.96) / 2)
    assert fairness._three(two, _applications(3, 3.0)).verdict == "holds"
    assert fairness._three(two, _applications(3, 0.1)).verdict == "holds partly"


def test_the_two_paths_of_abilene_have_the_delays_that_the_readme_says() -> None:
    """4,977 km by Los Angeles and 3,952 km by Denver over 2e8 m/s, and 1 ms for each of four links."""
    lengths = {(link.source, link.target): link.length_m or 0.0 for link in topologies.load("topozoo/Abilene").links}
    south = ("Seattle", "Sunnyvale", "Los Angeles", "Houston", "Atlanta")
    north = ("Seattle", "Denver", "Kansas City", "Indianapolis", "Atlanta")
    delays = [sum(lengths[ends] / 2e8 * 1e3 + 1 for ends in itertools.pairwise(path)) for path in (north, south)]
    assert f"plus 1 ms a link, as the thesis says: {delays[0]:.1f} and {delays[1]:.1f} ms" in README.read_text(
        encoding="utf-8"
    )
    packets = [2 * delay / 1e3 * 10e6 / (1500 * 8) for delay in delays]
    assert f"products of the two paths are {packets[0]:.0f} and {packets[1]:.0f} packets" in README.read_text(
        encoding="utf-8"
    )
