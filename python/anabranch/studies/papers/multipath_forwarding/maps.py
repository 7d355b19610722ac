"""The networks of Figures 3, 10 and 12."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from anabranch.scenario import Scenario
from anabranch.studies.papers import drawings
from anabranch.studies.papers.drawings import Place, Way
from anabranch.studies.papers.study import Experiment, Figure, Findings, drawn

if TYPE_CHECKING:
    from anabranch.results.result import Result
    from anabranch.studies.papers.study import Lab

_PARTIAL: Mapping[str, Place] = {
    "S1": (0, 2), "…": (0, 1), "S10": (0, 0), "R0": (1, 1), "R2": (2, 1.5), "R3": (3, 2), "R4": (3, 1),
    "R5": (2, 0), "R6": (3, 0), "R7": (4, 0), "R1": (5, 1), "D1": (6, 2), "… ": (6, 1), "D10": (6, 0),
}  # fmt: skip
_SITES: Mapping[str, Place] = {
    "Seattle": (-122.3, 47.6), "San Francisco": (-122.4, 37.8), "Los Angeles": (-118.2, 34.1), "Denver": (-105.0, 39.7), "Houston": (-95.4, 29.8),
    "Chicago": (-87.6, 41.9), "Cleveland": (-81.7, 41.5), "Atlanta": (-84.4, 33.7), "Washington DC": (-77.0, 37.2), "Perryman": (-74.6, 39.0),
    "New York": (-72.6, 41.2), "Boston": (-70.0, 43.4),
}  # fmt: skip
"""Longitude and latitude of the vBNS's sites. Those of the east coast are drawn apart."""


def _parallel(_: Lab) -> Any:
    places: dict[str, Place] = {"s1": (0, 4), "…": (0, 2), "s10": (0, 0), "R1": (1, 2), "R2": (3, 2)}
    places |= {"d1": (4, 4), "… ": (4, 2), "d10": (4, 0)}
    places |= {f"P{path}": (2, 4 - (path - 1)) for path in range(1, 6)}
    links = [(end, "R1") for end in ("s1", "…", "s10")] + [("R2", end) for end in ("d1", "… ", "d10")]
    ways = [Way(f"{10 * path} ms", ("R1", f"P{path}", "R2")) for path in range(1, 6)]
    return drawings.network(places, links, ways=ways)


def _partial(_: Lab) -> Any:
    links = [("S1", "R0"), ("…", "R0"), ("S10", "R0"), ("R1", "D1"), ("R1", "… "), ("R1", "D10")]
    ways = [
        Way("first path", ("R0", "R2", "R3", "R1")),
        Way("second path", ("R2", "R4", "R1")),
        Way("third path", ("R0", "R5", "R6", "R7", "R1")),
    ]
    return drawings.network(_PARTIAL, links, ways=ways, texts={("R0", "R2"): "155 Mbit/s"})


def _vbns(lab: Lab) -> Any:
    topology = Scenario.load(lab.folder / "scenarios" / "vbns.toml").cases[0].topology
    ends = {(link.source, link.target) for link in topology.links}
    links = [(one, other) for one, other in sorted(ends) if one < other and {one, other} <= _SITES.keys()]
    ways = [Way(f"over {middle}", _between(ends, middle)) for middle in ("Chicago", "Houston")]
    return drawings.network(_SITES, links, ways=ways, width=680, height=320)


def _between(ends: set[tuple[str, str]], middle: str) -> tuple[str, ...]:
    """The path of four links from San Francisco to Washington DC over a site in its middle."""
    source, target = "San Francisco", "Washington DC"
    for one in _SITES:
        for other in _SITES:
            path = (source, one, middle, other, target)
            if len(set(path)) == 5 and all(hop in ends for hop in itertools.pairwise(path)):
                return path
    raise LookupError(f"no path of four links over {middle}")


FIGURES = (
    Figure(
        "figure-3",
        "Figure 3",
        "Ten sources and receivers, and one to five parallel paths; here delays differ by 100 %.",
        _parallel,
    ),
    Figure(
        "figure-10-network", "Figure 10 (a)", "Two paths share the link R0-R2; the third has a link more.", _partial
    ),
    Figure(
        "figure-12",
        "Figure 12",
        "The vBNS as we rebuilt it, with the two paths of four links from San Francisco to Washington DC.",
        _vbns,
    ),
)


def experiments(_: Lab) -> list[Experiment]:
    """None: pictures of networks need no run."""
    return []


def findings(lab: Lab, _: Mapping[str, Result]) -> Findings:
    """The pictures."""
    return Findings([], [], drawn(FIGURES, lab))
