"""The study of multipath forwarding: its networks have the paths that the paper speaks of, and its verdicts follow their rules."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import networkx
import polars as pl
import pytest

from anabranch.compile.run import compile_run
from anabranch.pages.report.chart import with_interval
from anabranch.scenario import Scenario
from anabranch.studies.papers import registry
from anabranch.studies.papers.multipath_forwarding import parallel_claims
from anabranch.studies.papers.multipath_forwarding.goodput import Estimate, Ratios, gain, relative
from anabranch.studies.papers.multipath_forwarding.short_flows import speeds
from anabranch.studies.papers.statements import Statements
from anabranch.studies.papers.study import Claim

SCENARIOS = registry.folder("multipath-forwarding") / "scenarios"


def _graph(file: str, settings: Mapping[str, str] | None = None) -> Any:
    case = Scenario.load(SCENARIOS / file, settings or {}).cases[0]
    run = compile_run(case, 1)
    graph = networkx.DiGraph()
    for link in run["links"]:
        ends = (run["nodes"][link[end]] for end in ("src", "dst"))
        graph.add_edge(*ends, delay=link["delay"] / 1e12, capacity=link["rate"], cost=link["cost"])
    return graph


def test_two_equal_cost_paths_cross_the_vbns() -> None:
    graph = _graph("vbns.toml")
    paths = list(networkx.all_shortest_paths(graph, "San Francisco", "Washington DC"))
    assert sorted(path[2] for path in paths) == ["Chicago", "Houston"]
    delays = sorted(sum(graph[a][b]["delay"] for a, b in pairwise(path)) for path in paths)
    assert delays == pytest.approx([0.020, 0.024], abs=0.0005), "great circles at two thirds of the speed of light"


@pytest.mark.parametrize(("cost", "paths"), [(1, 2), (0.5, 2), (2, 3)])
def test_only_twice_the_cost_makes_three_paths_equal(cost: float, paths: int) -> None:
    graph = _graph("partial-paths.toml", {"topology.override.0.cost": str(cost)})
    assert len(list(networkx.all_shortest_paths(graph, "R0", "R1", weight="cost"))) == paths


def test_partial_paths_carry_what_the_paper_says() -> None:
    graph = _graph("partial-paths.toml")
    three = list(networkx.shortest_simple_paths(graph, "R0", "R1"))
    for count, megabits in ((1, 100), (2, 155), (3, 255)):
        part = graph.edge_subgraph([link for path in three[:count] for link in pairwise(path)])
        assert networkx.maximum_flow_value(part, "R0", "R1") == megabits * 10**6


def test_goodput_is_compared_with_the_single_path_of_the_same_seed() -> None:
    single = pl.DataFrame({"seed": [1, 2], "loss": [0.0, 0.0], "goodput": [10.0, 20.0]})
    several = pl.DataFrame({"seed": [2, 1], "loss": [0.0, 0.0], "goodput": [60.0, 20.0]})
    ratios = Ratios(relative(several, single, on=["loss"]))
    assert ratios.values(loss=0.0) == [2.0, 3.0]
    assert ratios.at().mean == 2.5
    with pytest.raises(LookupError, match="0 ratios"):
        ratios.at(loss=0.5)


def test_a_claim_is_told_by_its_row_with_our_values() -> None:
    entry = {
        "where": "Figure 1",
        "says": "More.",
        "rule": "It is.",
        "evidence": "{share}: {ours:.2f}.",
        "reason": "Because of {why}.",
    }
    said = Statements({"more": entry})
    found = said.claim("more", [True, False], ours=1.234, why="loss")
    assert found == Claim(
        "more", "Figure 1", "More.", "It is.", "holds partly", "1 of 2 comparisons: 1.23.", "Because of loss."
    )
    assert said.claim("more", [True], ours=1, why="loss").reason == "", "what holds needs no reason"
    assert said.claim("more", "does not hold", share="none", ours=1, why="loss", reason_applies=False).reason == ""
    remarked = Statements({"more": entry | {"remark": "Also {why}."}})
    assert remarked.claim("more", "holds", share="all", ours=1, why="loss").reason == "Also loss."


def test_a_gain_is_in_percent() -> None:
    assert gain(Estimate(1.5, 0.1)) == Estimate(50.0, 10.0)


def test_both_changes_hurt_a_single_path_if_they_do_with_and_without_loss() -> None:
    for lossy, verdict in ((0.9, "holds"), (1.1, "holds partly")):
        table = pl.DataFrame({"seed": [1, 1, 2, 2], "loss": [0.0, 0.001] * 2, "ratio": [0.95, lossy] * 2})
        claim = parallel_claims._single_path_claim(Ratios(table))
        assert (claim.where, claim.verdict) == ("Section III.A.3", verdict)
        assert claim.evidence.endswith(
            f"relative goodput {with_interval(0.95, 0.0)}, with link loss 0.001 {with_interval(lossy, 0.0)}."
        )


def test_the_time_that_an_unfinished_flow_has_run_is_in_no_mean() -> None:
    """Flow 2 finishes over a single path only. Of the others, 1 and 3 s instead of 2 and 6 s are twice the speed."""
    columns = {"seed": [7] * 3, "flow": [0, 1, 2]}
    flows, single = (
        pl.DataFrame(columns | {"fct_s": [1.0, 3.0, None]}),
        pl.DataFrame(columns | {"fct_s": [2.0, 6.0, 100.0]}),
    )
    assert speeds(flows, single).rows() == [(7, 2.0, 2 / 3)]
    assert speeds(single, flows).rows() == [(7, 0.5, 2 / 3)]
