"""The disjoint paths, selector and shares by which one sprayed flow has the most predicted goodput.

A flow that is sprayed packet by packet gets the least of two predictions. The price of spraying (:mod:`anabranch.engineering.predict.spray`)
knows the loss detector, the delay spread and the queues. The law of the stack, at the mean delay and loss of the packets and the rate of all
paths together, knows timeouts and the receiver's window.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from anabranch import _core
from anabranch.engineering.predict.spray import (
    PAYLOAD_BYTES,
    WIRE_BYTES,
    Detector,
    Selector,
    SprayedPath,
    SprayPrice,
    Window,
    ack_delay_s,
    mean_delay_s,
    spray_price,
)
from anabranch.engineering.routes.model import Path
from anabranch.foundation.array_types import Floats
from anabranch.network.topologies import Topology

LEAST_QUEUE = 8
"""Packets of the shortest queue."""
_ROUNDS = 4
"""Rounds that the goodput and the delay of ACKs take to agree, within a few per cent."""
STEPS = 8
"""Shares of packets that draw their path are tried in these parts, and in proportion to the rates."""


@dataclass(frozen=True)
class SprayingStack:
    """A stack, as spraying meets it."""

    law: Any
    """Its predicted goodput over any path: the table of the metric ``goodput:STACK``."""
    detector: Detector | None
    window: Window | None
    """``None``, as the detector, for a control that measures the rate and does not answer false losses."""


@dataclass(frozen=True)
class SprayedSet:
    """Paths over which one flow is sprayed."""

    paths: tuple[Path, ...]
    """With their shares of the packets as weights."""
    selector: Selector
    goodput_bps: float
    price: SprayPrice | None
    """``None`` for a stack without a window."""


_Crossing = tuple[float, float]
"""The one-way delay of a path with transmission, seconds, and its least rate, bit/s."""


def sprayed_paths(paths: Sequence[Path], topology: Topology) -> list[SprayedPath]:
    """Paths as the price of spraying has them. Queues hold one delay-rate product of the longest path."""
    return _with_queues(_crossings(paths, topology))


def _crossings(paths: Sequence[Path], topology: Topology) -> list[_Crossing]:
    rates = {(link.source, link.target): float(link.capacity_bps or 0) for link in topology.links}
    found = []
    for path in paths:
        along = [rates[hop] for hop in pairwise(path.nodes)]
        found.append(((path.delay_s or 0.0) + sum(8 * WIRE_BYTES / rate for rate in along), min(along)))
    return found


def _with_queues(crossings: Sequence[_Crossing]) -> list[SprayedPath]:
    product = 2 * max(delay for delay, _ in crossings) / (8 * WIRE_BYTES)
    return [SprayedPath(delay, rate, max(LEAST_QUEUE, round(rate * product))) for delay, rate in crossings]


def best_sprayed(
    candidates: Sequence[Path],
    shared: Iterable[tuple[str, str]],
    most: int,
    stack: SprayingStack,
    topology: Topology,
    *,
    by_nodes: bool = False,
) -> dict[Selector, SprayedSet]:
    """The best set of two to ``most`` disjoint candidates for each selector; none if no two are disjoint.

    The best of all such sets of the candidates, in turn with equal shares, and at random with shares in eighths or in proportion to the
    rates. ``shared`` are the links that every path has. Disjoint paths share no others; by nodes, no node besides those at the ends.
    """
    shared = frozenset(shared)
    rates = {(link.source, link.target): float(link.capacity_bps or 0) for link in topology.links}
    ends = min((rates[hop] for hop in shared), default=np.inf)
    crossings = _crossings(candidates, topology)
    ways = [
        (indices, shares, selector)
        for indices in _disjoint(candidates, shared, most, by_nodes)
        for selector, shares in _dealt([crossings[one][1] for one in indices])
    ]
    if not ways:
        return {}
    losses = [path.loss or 0.0 for path in candidates]
    flows = [
        _Packets.of([(*crossings[one], losses[one]) for one in indices], shares, ends) for indices, shares, _ in ways
    ]
    bounds = _by_law(flows, json.dumps(stack.law))
    found: dict[Selector, SprayedSet] = {}
    for place in np.argsort(-bounds, kind="stable").tolist():
        indices, shares, selector = ways[place]
        bound = float(bounds[place])
        if selector in found and bound <= found[selector].goodput_bps * (1 + 1e-9):
            continue
        paths = [candidates[one] for one in indices]
        price = _price(flows[place], selector, stack)
        goodput = bound if price is None else min(bound, price.goodput_bps)
        if selector not in found or goodput > found[selector].goodput_bps * (1 + 1e-9):
            weighted = tuple(
                Path(path.nodes, share, path.delay_s, path.loss, path.cost)
                for path, share in zip(paths, shares, strict=True)
            )
            found[selector] = SprayedSet(weighted, selector, goodput, price)
    return found


def _disjoint(
    candidates: Sequence[Path], shared: frozenset[tuple[str, str]], most: int, by_nodes: bool
) -> Iterator[tuple[int, ...]]:
    """The sets of two to ``most`` candidates that share no other links, or no other nodes."""
    ends = {node for hop in shared for node in hop}
    own: list[frozenset[object]] = [
        frozenset(pairwise(path.nodes)) - shared | (set(path.nodes[1:-1]) - ends if by_nodes else set())
        for path in candidates
    ]

    def extend(chosen: tuple[int, ...], taken: frozenset[object]) -> Iterator[tuple[int, ...]]:
        for index in range(chosen[-1] + 1 if chosen else 0, len(candidates)):
            if not taken & own[index]:
                more = (*chosen, index)
                if len(more) > 1:
                    yield more
                if len(more) < most:
                    yield from extend(more, taken | own[index])

    return extend((), frozenset())


def _dealt(rates: Sequence[float]) -> Iterator[tuple[Selector, tuple[float, ...]]]:
    """Each selector with each choice of shares for paths of these rates."""
    count = len(rates)
    yield "round-robin", (1 / count,) * count
    choices = {tuple(rate / sum(rates) for rate in rates), (1 / count,) * count}

    def eighths(left: int, paths: int) -> Iterator[tuple[int, ...]]:
        if paths == 1:
            yield (left,)
        for part in range(1, left - paths + 2) if paths > 1 else ():
            yield from ((part, *rest) for rest in eighths(left - part, paths - 1))

    choices |= {tuple(part / STEPS for part in parts) for parts in eighths(STEPS, count)}
    for shares in sorted(choices):
        yield "random", shares


@dataclass(frozen=True)
class _Packets:
    """What the packets of one flow meet on several paths."""

    paths: Sequence[SprayedPath]
    shares: Sequence[float]
    loss: float
    rate_bps: float
    """Of all paths together, at these shares."""

    @classmethod
    def of(cls, paths: Sequence[tuple[float, float, float]], shares: Sequence[float], ends_bps: float) -> "_Packets":
        """Over paths of these delays, rates and losses, which share links of a rate at their ends."""
        loss = sum(one * share for (_, _, one), share in zip(paths, shares, strict=True))
        rate = min(one / share for (_, one, _), share in zip(paths, shares, strict=True))
        return cls(_with_queues([(delay, one) for delay, one, _ in paths]), shares, loss, min(rate, ends_bps))

    def half_round_trip_s(self, goodput_bps: float) -> float:
        """Half the mean time from a segment to the first ACK that covers it."""
        rate = goodput_bps / (8 * PAYLOAD_BYTES)
        return (mean_delay_s(self.paths, self.shares) + ack_delay_s(self.paths, self.shares, rate)) / 2


def _by_law(flows: Sequence[_Packets], law: str) -> Floats:
    """The goodput of each flow by the law of its stack, bit/s, at the delay that ACKs have at that goodput."""
    loss, rates = [flow.loss for flow in flows], [flow.rate_bps for flow in flows]
    goodput = np.array(rates)
    for _ in range(_ROUNDS):
        delays = [flow.half_round_trip_s(one) for flow, one in zip(flows, goodput.tolist(), strict=True)]
        goodput = _core.goodput_of_paths(law, delays, loss, rates)
    return goodput


def _price(flow: _Packets, selector: Selector, stack: SprayingStack) -> SprayPrice | None:
    if stack.detector is None or stack.window is None:
        return None
    return spray_price(
        flow.paths,
        detector=stack.detector,
        selector=selector,
        window=stack.window,
        loss=flow.loss,
        shares=flow.shares if selector == "random" else None,
    )
