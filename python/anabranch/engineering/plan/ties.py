"""Ties: values that may differ by rounding from machine to machine are put on a grid before they are compared.

Processors and libraries round sums and exponentials differently, and a linear program has many solutions within its tolerance. A search that compares such
values directly takes another course after the first difference. On a grid they are equal, and an order by index decides. Steps are powers of two: a value
halfway between two multiples has a great power of two in its denominator. Optima of linear programs are fractions such as 9/32 or 1/3, and these have not.
"""

import re
from dataclasses import replace

import numpy as np

from anabranch.engineering.robust.splits import Splits
from anabranch.foundation.array_types import Floats
from anabranch.network.topologies import Topology

PENALTY_STEP = 2.0**-20
"""Penalties are multiples of this share of the application's rate."""
SHARE_STEP = 2.0**-13
"""Shares of a linear program are multiples of this."""
DELAY_STEP_S = 2.0**-40
"""Delays that differ by less are equal: sums of the same links in another order."""
MARGIN = 3e-4
"""The relative distance from the load limit that a linear program keeps, so that its rounded shares keep to the limit. It is no multiple of half
a :data:`SHARE_STEP`: where the limit determines a share, that would be halfway between two multiples."""


def on_grid(values: Floats, step: float) -> Floats:
    """The nearest multiples of a step."""
    rounded: Floats = np.rint(values / step) * step
    return rounded


def rounded(splits: Splits) -> Splits:
    """Splits in multiples of :data:`SHARE_STEP` that add up to 1: the path of the greatest share, the first of equal ones, takes the rest."""
    candidates = splits.candidates
    parts = np.rint(splits.shares / SHARE_STEP)
    order = np.lexsort((np.arange(candidates.paths), -parts, candidates.pair))
    greatest = order[candidates.first[:-1]]
    parts[greatest] += round(1 / SHARE_STEP) - np.add.reduceat(parts, candidates.first[:-1])
    return Splits(candidates, parts * SHARE_STEP)


def in_order(topology: Topology) -> Topology:
    """The topology with its nodes in the order of their names, numbers within names by value, and its links in the order of their ends."""
    nodes = sorted(topology.nodes, key=lambda node: _natural(node.name))
    place = {node.name: index for index, node in enumerate(nodes)}
    links = sorted(topology.links, key=lambda link: (place[link.source], place[link.target]))
    return replace(topology, nodes=tuple(nodes), links=tuple(links))


def _natural(name: str) -> tuple[list[tuple[bool, int, str]], str]:
    """``node 9`` before ``node 10``."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    numbers = [(not part[0].isdigit(), int(part) if part[0].isdigit() else 0, part) for part in parts]
    return numbers, name
