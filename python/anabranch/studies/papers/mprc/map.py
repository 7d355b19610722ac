"""Abilene as the thesis has it, with its two link-disjoint paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from anabranch.network import topologies
from anabranch.studies.papers import drawings
from anabranch.studies.papers.mprc import bounds
from anabranch.studies.papers.mprc.places import ABILENE
from anabranch.studies.papers.study import Figure, Findings, drawn

if TYPE_CHECKING:
    from anabranch.results.result import Result

NORTH = ("Seattle", "Denver", "Kansas City", "Indianapolis", "Atlanta")
SOUTH = ("Seattle", "Sunnyvale", "Los Angeles", "Houston", "Atlanta")
BUSIEST = ("Houston", "Atlanta")


def _chart() -> Any:
    topology = topologies.load("topozoo/Abilene")
    places = {node.name: (node.longitude or 0.0, node.latitude or 0.0) for node in topology.nodes}
    links = [(link.source, link.target) for link in topology.links if link.source < link.target]
    ends = [(link.source, link.target) for link in topology.links]
    load = 1.0 / bounds.equal_split(ends, ABILENE.source, ABILENE.target)
    return drawings.network(
        places,
        links,
        ways=[drawings.Way("northern path", NORTH), drawings.Way("southern path", SOUTH)],
        texts={BUSIEST: f"{load:.2g} of all packets"},
        width=640,
        height=320,
    )


FIGURES = (
    Figure(
        "abilene",
        "Figure 5.5, the network",
        "Abilene with the two link-disjoint paths from Seattle to Atlanta. Hop by hop, half of the northern path's packets turn south at Kansas City; "
        "then Houston - Atlanta carries three quarters.",
        _chart,
    ),
)


def findings(_: Mapping[str, Result]) -> Findings:
    """The picture; it needs no run."""
    return Findings([], [], drawn(FIGURES))
