"""Completes the attributes of links that routes need and the topology does not give."""

import math
import random
from dataclasses import replace

from anabranch.network.metrics import NEEDS, declared
from anabranch.network.topologies import Link, Topology
from anabranch.network.topologies.links import Links

SIGNAL_SPEED_M_S = 2e8
"""The speed of signals in glass: two thirds of that in a vacuum."""
LEAST_DELAY_S = 1e-6
"""The delay of a link between two nodes in one place."""

_REMEDIES = {
    "delay_s": "give the links a delay, a length, or their nodes places on the map",
    "loss": "give the links a loss, or say --loss 0.001 or --random-loss 1e-5..1e-2",
    "capacity_bps": "give the links a capacity, or say --capacity 10Gbps",
    "cost": "give the links a cost",
}


def completed(
    topology: Topology,
    *,
    capacity_bps: int | None = None,
    loss: float | None = None,
    random_loss: tuple[float, float] | None = None,
    seed: int = 1,
    loss_floor: float = 0.0,
) -> Topology:
    """The topology with attributes that it lacked: a delay from the length, and these values for links without their own.

    ``random_loss`` draws each cable's loss ratio between two bounds, all magnitudes alike (uniform in the logarithm), the same
    in both directions. ``loss_floor`` raises the loss of every link to at least that much: the law behind delay x sqrt(loss) holds from a
    loss of 1e-5 on (TCPBP, section 3). It is a floor of links, not of paths, so that the exact search stays exact.

    Raises:
        ValueError: a loss ratio that is none, or bounds that are not in order.
    """
    for name, ratio in (("loss", loss), ("loss floor", loss_floor)):
        if ratio is not None and not 0 <= ratio < 1:
            raise ValueError(f"{name} {ratio}: must be a ratio from 0 to less than 1, such as 0.001")
    if random_loss is not None:
        low, high = random_loss
        if not 0 < low <= high < 1:
            raise ValueError(f"random loss {low}..{high}: must be two ratios above 0 and below 1, the lower one first")
    nothing_given = capacity_bps is None and loss is None and random_loss is None and loss_floor == 0
    links = links_of(topology)
    if nothing_given and (links.without("delay_s") is None or links.values["length_m"] is None):
        return topology
    draws = random.Random(seed)
    drawn: dict[frozenset[str], float] = {}

    def loss_of(link: Link) -> float | None:
        if link.loss is not None or random_loss is None:
            return loss if link.loss is None else link.loss
        ends = frozenset((link.source, link.target))
        if ends not in drawn:
            drawn[ends] = math.exp(draws.uniform(math.log(random_loss[0]), math.log(random_loss[1])))
        return drawn[ends]

    def complete(link: Link) -> Link:
        capacity = capacity_bps if link.capacity_bps is None else link.capacity_bps
        own = loss_of(link)
        ratio = None if own is None else max(own, loss_floor)
        return Link(link.source, link.target, capacity, _delay(link), link.length_m, ratio, link.cost)

    return replace(topology, links=tuple(map(complete, topology.links)))


def _delay(link: Link) -> float | None:
    if link.delay_s is not None or link.length_m is None:
        return link.delay_s
    return max(LEAST_DELAY_S, link.length_m / SIGNAL_SPEED_M_S)


def require(topology: Topology, metrics: list[str]) -> None:
    """Check that the topology says what metrics need of every link.

    Raises:
        ValueError: names the metric, the first link that lacks something, and how to give it.
    """
    links = links_of(topology)
    for metric in metrics:
        for quantity in NEEDS[declared(metric)]:
            link = links.without(quantity)
            if link is not None:
                name = quantity.partition("_")[0]  # as in files, without the unit
                raise ValueError(
                    f"{topology.name}: link {link.source} -> {link.target} has no {name}, which the metric "
                    f"{metric} needs; {_REMEDIES[quantity]}"
                )


def known(topology: Topology, quantity: str) -> bool:
    """Whether every link has that quantity."""
    return links_of(topology).without(quantity) is None


def links_of(topology: Topology) -> Links:
    """The links by columns."""
    return Links.of([node.name for node in topology.nodes], topology.links)
