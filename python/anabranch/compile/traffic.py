"""The traffic groups of a variant to those of the compiled run: who sends to whom, when, and how much."""

from collections.abc import Iterable, Iterator, Sequence
from math import log
from typing import Any

from anabranch.foundation import units
from anabranch.scenario import Case
from anabranch.scenario.arrivals import mean_size, per_second
from anabranch.scenario.demands import demands_of
from anabranch.scenario.groups import Names
from anabranch.scenario.pairs import STARS, ends_of, mean_star, messages_of, pairs_of, uniforms
from anabranch.scenario.sizes import drawn
from anabranch.scenario.traffic import Traffic, traffic_name, udp_packet

Pairs = list[tuple[int, int]]


def compile_traffic(
    case: Case, seed: int, names: Names, capacities: Sequence[int], routings: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """The groups; one with a rate for each pair becomes a group of the same name for each pair."""
    variant = case.variant
    stacks = list(variant.all_stacks())
    for index, entry in enumerate(variant.traffic):
        udp = entry.transport == "udp"
        common = {
            "name": traffic_name(entry, index),
            "flows_per_pair": entry.flows,
            "transport": {"udp": {"packet": udp_packet(entry)}}
            if udp
            else {"tcp": {"stack": stacks.index(variant.stack_of(entry) or "")}},
            "routing": routings.index(variant.routing_of(entry) or ""),
            "start": units.duration(entry.start),
            "stagger": units.duration(entry.stagger),
            "stop": None if entry.stop is None else units.duration(entry.stop),
            **({} if entry.sender == "own" else {"sender": entry.sender}),
        }
        for pairs, application in _applications(case, entry, f"{seed} {index}", names, capacities):
            yield common | {"pairs": pairs, "application": application}


def _applications(
    case: Case, entry: Traffic, draw: str, names: Names, capacities: Sequence[int]
) -> Iterator[tuple[Pairs, dict[str, Any]]]:
    """Pairs with equal traffic, and their application."""
    if entry.has_rates:
        for source, target, rate in demands_of(entry, case.topology, names, capacities):
            if entry.short is not None:
                yield [(source, target)], _short_flows(entry, rate / (8 * mean_size(entry.short)))
            else:
                yield [(source, target)], {"kind": "poisson", "rate": max(1, round(rate / entry.flows))}
    elif entry.trace is not None:
        yield _traced(entry, names)
    elif entry.every is not None:
        yield _repeated(case, entry, draw, names)
    elif entry.is_collective:
        messages = messages_of(entry, names)
        after = [(number, earlier) for number, one in enumerate(messages) for earlier in one.after]
        yield _trace((((one.source, one.target), 0, one.size) for one in messages), after)
    elif entry.short is None:
        yield pairs_of(entry, names, draw), _application(entry)
    elif entry.pattern in STARS:
        flows = _arrivals(case, entry, names, capacities, ends_of(entry, names))
        yield _stars(case, entry, draw, names, flows)
    else:
        pairs = pairs_of(entry, names, draw)
        ends = [{names.nodes[pair[end]] for pair in pairs} for end in (0, 1)]
        yield pairs, _short_flows(entry, _arrivals(case, entry, names, capacities, (ends[0], ends[1])))


def _arrivals(
    case: Case, entry: Traffic, names: Names, capacities: Sequence[int], ends: tuple[Iterable[str], Iterable[str]]
) -> float:
    """The short flows per second of a group between these sources and destinations."""
    assert entry.short is not None
    stack = case.variant.all_stacks()[case.variant.stack_of(entry) or ""]
    return per_second(entry.short, stack, names, capacities, ends)


def _application(entry: Traffic) -> dict[str, Any]:
    if entry.size is not None:
        return {"kind": "bulk", "bytes": units.size(entry.size)}
    if entry.constant is not None:
        return {"kind": "constant", "rate": units.rate(entry.constant)}
    if entry.poisson is not None:
        return {"kind": "poisson", "rate": units.rate(entry.poisson)}
    if entry.on_off is not None:
        return {
            "kind": "pareto-on-off",
            "peak": units.rate(entry.on_off.peak),
            "on": units.duration(entry.on_off.on),
            "off": units.duration(entry.on_off.off),
            "shape": entry.on_off.shape,
        }
    return {"kind": "bulk", "bytes": None}


def _short_flows(entry: Traffic, arrivals: float) -> dict[str, Any]:
    assert entry.short is not None
    sizes = [(float(size), float(probability)) for size, probability in entry.short.points()]
    return {"kind": "short-flows", "arrivals": arrivals, "sizes": sizes}


def _traced(entry: Traffic, names: Names) -> tuple[Pairs, dict[str, Any]]:
    assert entry.trace is not None
    index, trace = names.node_index, entry.trace
    ends = [(index[source], index[target]) for source, target in zip(trace.sources, trace.targets, strict=True)]
    return _trace(zip(ends, trace.starts, trace.sizes, strict=True), trace.after)


def _stars(case: Case, entry: Traffic, draw: str, names: Names, flows: float) -> tuple[Pairs, dict[str, Any]]:
    """Incasts or outcasts that come as a Poisson process, with ``flows`` a second in all; those of one start together."""
    import numpy as np

    assert entry.short is not None
    mean_interval = mean_star(entry, names) / flows * units.PICOSECONDS_PER_SECOND
    span = _last(case, entry) - units.duration(entry.start)
    at, events = 0.0, []
    for uniform in uniforms(f"times {draw}"):
        at -= mean_interval * log(1 - uniform)
        if at >= span:
            break
        events.append(round(at))
    stars = [pairs_of(entry, names, f"{draw} {number}") for number in range(len(events))]
    total = sum(map(len, stars))
    sizes = drawn(entry.short.points(), np.fromiter(uniforms(f"sizes {draw}"), float, total)).tolist()
    starts = [(pair, start) for star, start in zip(stars, events, strict=True) for pair in star]
    pairs, application = _trace((*start, size) for start, size in zip(starts, sizes, strict=True))
    return pairs or pairs_of(entry, names, draw), application


def _repeated(case: Case, entry: Traffic, draw: str, names: Names) -> tuple[Pairs, dict[str, Any]]:
    """The flows of all epochs that start before the group stops."""
    assert entry.every is not None
    assert entry.size is not None
    every, stagger, size = units.duration(entry.every), units.duration(entry.stagger), units.size(entry.size)
    last = _last(case, entry) - units.duration(entry.start)
    return _trace(
        (pair, epoch * every + number * stagger, size)
        for epoch in range(-(-last // every))
        for number, pair in enumerate(
            pair for pair in pairs_of(entry, names, f"{draw} {epoch}" if epoch else draw) for _ in range(entry.flows)
        )
        if epoch * every + number * stagger < last
    )


def _last(case: Case, entry: Traffic) -> int:
    """When a group stops, picoseconds."""
    return units.duration(entry.stop or case.variant.run.duration)


def _trace(flows: Any, after: Sequence[tuple[int, int]] = ()) -> tuple[Pairs, dict[str, Any]]:
    """Flows (pair, start, bytes) as the core has them, and their pairs; and which flow waits for which, by their numbers."""
    pairs: dict[tuple[int, int], int] = {}
    listed = [(pairs.setdefault(pair, len(pairs)), start, size) for pair, start, size in flows]
    return list(pairs), {"kind": "trace", "flows": listed} | ({"after": after} if after else {})
