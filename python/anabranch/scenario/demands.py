"""The rate of each pair of a traffic group with a matrix or gravity."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from anabranch.foundation import units
from anabranch.foundation.suggest import suggest
from anabranch.scenario.groups import Names
from anabranch.scenario.matrix import Gravity, Matrix
from anabranch.scenario.pairs import ends_of
from anabranch.scenario.traffic import Traffic

if TYPE_CHECKING:
    from anabranch.network.topologies import Topology

Demand = tuple[int, int, int]
"""Source and destination by index, and bit/s."""


def demands_of(entry: Traffic, topology: "Topology", names: Names, capacities: Sequence[int]) -> list[Demand]:
    """The demands between the sources and destinations of a group, in the order of the nodes; ``capacities`` are the links'.

    Raises:
        ValueError: a node is unknown, or no demand is left.
    """
    scaled = scaled_demands(entry, topology, names, capacities)
    left = [(source, target, round(rate)) for source, target, rate in scaled if round(rate) > 0]
    if not left:
        raise ValueError("no demand is left: none is between these nodes, or all are below 1 bit/s")
    return left


def scaled_demands(
    entry: Traffic, topology: "Topology", names: Names, capacities: Sequence[int]
) -> list[tuple[int, int, float]]:
    """The same before rates are rounded to whole bit/s, and those without any are left out.

    Raises:
        ValueError: a node is unknown, or a demand is too large.
    """
    groups = ends_of(entry, names)
    unknown = next((name for group in groups for name in group if name not in names.node_index), None)
    if unknown is not None:
        raise ValueError(f'the topology has no node "{unknown}"; {suggest(unknown, names.nodes)}')
    ends = [{names.node_index[name] for name in group} for group in groups]
    if entry.gravity is not None:
        found = _by_gravity(entry.gravity, names, capacities, *ends)
    elif isinstance(entry.matrix, Matrix):
        found = entry.matrix.demands(names)
    else:
        found = _own(topology)
    scale = entry.scale or 1.0
    scaled = [(a, b, rate * scale) for a, b, rate in sorted(found) if a in ends[0] and b in ends[1]]
    too_large = next((demand for demand in scaled if demand[2] > units.LARGEST), None)
    if too_large is not None:
        raise ValueError(
            f"{names.nodes[too_large[0]]} sends {too_large[2]:g} bit/s, at most {units.LARGEST:g} are possible; give a smaller scale"
        )
    return scaled


def _by_gravity(
    gravity: Gravity, names: Names, capacities: Sequence[int], sources: set[int], targets: set[int]
) -> list[tuple[int, int, float]]:
    """The simple gravity model (Zhang et al., "Fast accurate computation of large-scale IP traffic matrices", SIGMETRICS 2003)."""
    import numpy as np

    from anabranch.engineering.robust.files import in_proportion

    if gravity.weights is not None:
        sent = received = gravity.weights.of(names)
    else:
        sent, received = [0.0] * len(names.nodes), [0.0] * len(names.nodes)
        for (source, target), capacity in zip(names.links, capacities, strict=True):
            sent[names.node_index[source]] += capacity
            received[names.node_index[target]] += capacity
    sends = np.array([weight if node in sources else 0.0 for node, weight in enumerate(sent)])
    receives = np.array([weight if node in targets else 0.0 for node, weight in enumerate(received)])
    return _entries(in_proportion(sends, receives, units.rate(gravity.total)))


def _own(topology: "Topology") -> list[tuple[int, int, float]]:
    from anabranch.engineering.robust import Network
    from anabranch.engineering.robust.files import own_demands

    return _entries(own_demands(Network.of(topology, capacity_bps=1.0)))


def _entries(matrix: object) -> list[tuple[int, int, float]]:
    import numpy as np

    rates = np.asarray(matrix, float)
    sources, targets = np.nonzero(rates > 0)
    return list(zip(sources.tolist(), targets.tolist(), rates[sources, targets].tolist(), strict=True))
