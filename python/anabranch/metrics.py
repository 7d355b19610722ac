"""Metrics of routing by name, for scenarios and the command line."""

from collections.abc import Sequence
from math import log1p
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anabranch.topologies import Link

SUMS = ("hop-count", "delay", "loss", "ospf", "cost")
"""Those that add up along a path; paths by them may be disjoint."""
ISOTONE = (*SUMS, "widest")
"""Those that Dijkstra's method serves, alone or one after the other."""
BY_THROUGHPUT = ("tcpbp", "tcpbp-exact")
"""Predicted TCP throughput: as the paper searches, and exactly."""
MEASURABLE = ("delay", "loss", *BY_THROUGHPUT)
"""Those that depend on what is measured of links."""
NAMES = (*ISOTONE, *BY_THROUGHPUT)

_OSPF_REFERENCE_BPS = 100_000_000
DESCRIPTIONS = {
    "hop-count": "the number of links",
    "delay": "the sum of the links' delays",
    "loss": "the ratio of packets lost, as the sum of -ln(1 - p)",
    "ospf": "100 Mbit/s over the link's rate, at least 1, summed",
    "cost": "the sum of the costs given with the links",
    "widest": "the least rate of the links, the greater the better",
    "tcpbp": "delay x sqrt(loss), by the paper's modified Dijkstra: a heuristic",
    "tcpbp-exact": "delay x sqrt(loss), the true optimum",
}


def metric(text: str) -> list[str]:
    """The metrics that a text names: one, or several isotone ones with commas, the weightiest first.

    Raises:
        ValueError: says which name is none, or why these do not go together, and what would be right.
    """
    from anabranch.scenario.problems import suggest

    if not isinstance(text, str):
        raise ValueError(f'must be a metric such as "delay", or several such as "hop-count, delay": {", ".join(NAMES)}')
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in NAMES:
            raise ValueError(f'"{name}" is not a metric; {suggest(name, NAMES)}')
        if name in BY_THROUGHPUT and len(names) > 1:
            raise ValueError(f'"{name}" stands alone: it weighs delay and loss by itself')
        if names.count(name) > 1:
            raise ValueError(f'"{name}" stands there twice; the second time it decides nothing')
    if "widest" in names[:-1]:
        raise ValueError(
            '"widest" may only be the last metric: before another it is not isotone, and no best path would be certain'
        )
    return names


def ospf_cost(capacity_bps: int) -> int:
    """What OSPF counts a link of this rate, bit/s, by default: 100 Mbit/s over the rate, at least 1."""
    return max(1, _OSPF_REFERENCE_BPS // capacity_bps)


def path_value(metric: str, links: Sequence["Link"]) -> float:
    """What a path of these links counts by one isotone metric, less being better: ``widest`` counts minus the least rate."""
    match metric:
        case "hop-count":
            return len(links)
        case "delay":
            return sum(link.delay_s or 0.0 for link in links)
        case "loss":
            return -sum(log1p(-(link.loss or 0.0)) for link in links)
        case "ospf":
            return sum(ospf_cost(link.capacity_bps) for link in links if link.capacity_bps)
        case "cost":
            return sum(link.cost or 0.0 for link in links)
    return -min((link.capacity_bps or 0 for link in links), default=0)


def compiled(text: str) -> str | list[str]:
    """The metric in the form of the compiled run."""
    names = metric(text)
    return names[0] if len(names) == 1 else names
