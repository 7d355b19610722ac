"""One variant and one seed of a scenario to the run that the packet engine takes (``RunSpec`` of the Rust core).

Every default is filled in and every name resolved: times are whole picoseconds, rates bit/s, nodes and links indexes.
"""

import heapq
from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import Any

from anabranch import metrics, units
from anabranch.scenario import Case
from anabranch.scenario.algorithms import Algorithm
from anabranch.scenario.network import DelayFromLength, Event, Impairment, Override, Queue
from anabranch.scenario.pairs import pairs_of
from anabranch.scenario.routing import HASH_FIELDS, Disjoint, Flowlet, LinkState, Routing, Shortest, Within
from anabranch.scenario.stacks import Stack
from anabranch.scenario.traffic import Traffic
from anabranch.scenario.variant import DIRECT
from anabranch.topologies import Link, Topology

DEFAULT_COST = 1.0
"""The routing cost of a link that has none."""
DEFAULT_PACKET = "1500 bytes"
"""The UDP packet on the wire: Ethernet's MTU."""

Pair = tuple[str, str]


def compile_run(case: Case, seed: int) -> dict[str, Any]:
    """The ``RunSpec`` of a variant and a seed, as plain data for JSON."""
    variant, topology = case.variant, case.topology
    nodes = {node.name: index for index, node in enumerate(topology.nodes)}
    links = {(link.source, link.target): index for index, link in enumerate(topology.links)}
    pairs = [pairs_of(entry, nodes, list(links), draw=f"{seed} {index}") for index, entry in enumerate(variant.traffic)]
    stacks, routings = variant.all_stacks(), variant.all_routings()
    names = list(routings)
    compiled_routings = [_routing(name, routing, names, nodes) for name, routing in routings.items()]
    used = {variant.routing_of(entry) for entry in variant.traffic}
    used |= {routing.acks for name, routing in routings.items() if name in used}
    for routing in compiled_routings:
        if routing["name"] not in used:
            routing["link_state"] = None  # nobody would see what it measures
    if any(entry.pattern == "neighbours" for entry in variant.traffic):
        compiled_routings.append(_direct(list(links), nodes))
        names.append(DIRECT)
    return {
        "seed": seed,
        "duration": units.duration(variant.run.duration),
        "warm_up": units.duration(variant.run.warm_up),
        "sample": None if variant.run.sample is None else units.duration(variant.run.sample),
        "nodes": list(nodes),
        "links": _links(case, nodes, pairs),
        "stacks": [_stack(name, stack) for name, stack in stacks.items()],
        "routings": compiled_routings,
        "traffic": [
            _traffic(
                entry,
                traffic_name(entry, index),
                group,
                None if entry.transport == "udp" else list(stacks).index(variant.stack_of(entry) or ""),
                names.index(variant.routing_of(entry) or ""),
            )
            for index, (entry, group) in enumerate(zip(variant.traffic, pairs, strict=True))
        ],
        "events": [
            {"at": units.duration(event.at), "action": action, "links": selected}
            for event in variant.events
            for action, selected in [_action(event, links)]
        ],
        "captures": sorted({index for link in variant.capture for index in _selected(link, True, links)}),
    }


def traffic_name(entry: Traffic, index: int) -> str:
    """The name of a traffic group; ``traffic-1`` and so on for those without."""
    return entry.name or f"traffic-{index + 1}"


def _links(case: Case, nodes: dict[str, int], pairs: list[list[tuple[int, int]]]) -> list[dict[str, Any]]:
    section, topology = case.variant.topology, case.topology
    index = {(link.source, link.target): number for number, link in enumerate(topology.links)}
    rates: list[int] = []
    delays: list[int] = []
    queues: list[Queue] = []
    costs: list[float] = []
    overrides = _by_link(section.override, index)
    for number, link in enumerate(topology.links):
        own = overrides[number]
        capacity = next((o.capacity for o in own if o.capacity), None)
        delay = next((o.delay for o in own if o.delay), None)
        rates.append(units.rate(capacity) if capacity else link.capacity_bps or units.rate(section.capacity))
        if delay is None and link.delay_s is not None:
            delays.append(round(link.delay_s * units.PICOSECONDS_PER_SECOND))
        else:
            delays.append(min(units.LARGEST, _delay(delay or section.delay, link)))
        queues.append(next((o.queue for o in own if o.queue), section.queue))
        costs.append(next((o.cost for o in own if o.cost), link.cost or DEFAULT_COST))
    round_trip = 0
    if any(units.queue_limit(limit).unit == "bdp" for limit in {queue.limit for queue in queues}):
        names = list(nodes)
        used = {(names[source], names[target]) for group in pairs for source, target in group}
        round_trip = longest_round_trip(topology, delays, used)
    impaired = _by_link(case.variant.impairments, index)
    compiled: dict[tuple[int, int], dict[str, Any]] = {}  # large networks have few kinds of queues and rates
    for queue, rate in zip(queues, rates, strict=True):
        if (id(queue), rate) not in compiled:
            compiled[id(queue), rate] = _queue(queue, rate, round_trip)
    return [
        {
            "src": nodes[link.source],
            "dst": nodes[link.target],
            "rate": rates[number],
            "delay": delays[number],
            "cost": float(costs[number]),
            "queue": compiled[id(queues[number]), rates[number]],
            "loss": _loss(impaired[number][0].loss if impaired[number] else link.loss or 0.0),
        }
        for number, link in enumerate(topology.links)
    ]


def _action(event: Event, links: dict[Pair, int]) -> tuple[Any, list[int]]:
    """What an event does, and to which links."""
    if event.impair is not None:
        return {"impair": _loss(event.impair.loss)}, _selected(event.impair.link, event.impair.one_way, links)
    action = "fail" if event.fail else "repair" if event.repair else "reroute"
    return action, _selected(event.fail or event.repair or [], event.one_way, links)


def _by_link(entries: Sequence[Any], links: dict[Pair, int]) -> list[list[Any]]:
    """For each link the entries (with ``link`` and ``one_way``) that hold for it, the latest first."""
    found: list[list[Override | Impairment]] = [[] for _ in links]
    for entry in entries:
        for number in _selected(entry.link, entry.one_way, links):
            found[number].insert(0, entry)
    return found


def _selected(link: list[str] | str, one_way: bool, links: dict[Pair, int]) -> list[int]:
    """The directed links of a name: those between two nodes, or ``"all"``."""
    if isinstance(link, str):
        return list(links.values())
    if not link:
        return []
    source, target = link
    ends = [(source, target)] if one_way else [(source, target), (target, source)]
    return [links[pair] for pair in ends if pair in links]


def _delay(delay: str | DelayFromLength, link: Link) -> int:
    if isinstance(delay, str):
        return units.duration(delay)
    length = units.length(delay.length) if link.length_m is None else Fraction(link.length_m)
    travel = length / units.speed(delay.speed)
    return round(travel * units.PICOSECONDS_PER_SECOND) + units.duration(delay.plus)


def longest_round_trip(topology: Topology, delays: Sequence[int], pairs: Collection[Pair]) -> int:
    """The longest propagation time there and back of any pair, over paths of least delay, in picoseconds."""
    neighbours: dict[str, list[tuple[str, int]]] = {}
    for link, delay in zip(topology.links, delays, strict=True):
        neighbours.setdefault(link.source, []).append((link.target, delay))
    distances: dict[str, dict[str, int]] = {}
    for end in {end for pair in pairs for end in pair}:
        reached: dict[str, int] = {}
        queue = [(0, end)]
        while queue:
            distance, node = heapq.heappop(queue)
            if node in reached:
                continue
            reached[node] = distance
            for target, delay in neighbours.get(node, []):
                heapq.heappush(queue, (distance + delay, target))
        distances[end] = reached
    return max(distances[a].get(b, 0) + distances[b].get(a, 0) for a, b in pairs)


def _queue(queue: Queue, rate: int, round_trip: int) -> dict[str, Any]:
    limit = units.queue_limit(queue.limit)
    if limit.unit == "bdp":
        product = limit.amount * rate * round_trip / (8 * units.PICOSECONDS_PER_SECOND)
        compiled = {"bytes": min(units.LARGEST, max(1, round(product)))}
    else:
        compiled = {limit.unit: int(limit.amount)}
    return queue.compiled() | {"limit": compiled}


def _loss(loss: float | Algorithm) -> dict[str, Any] | None:
    """The loss model of a link; a number is the ratio of independent losses, none without."""
    if isinstance(loss, Algorithm):
        return loss.compiled()
    return {"model": "bernoulli", "ratio": float(loss)} if loss else None


def _stack(name: str, stack: Stack) -> dict[str, Any]:
    congestion, detection, ack = stack.policies()
    return {
        "name": name,
        "congestion": congestion,
        "slow_start": stack.slow_start.compiled(),
        "detection": detection,
        "ack": ack,
        "sack": stack.sack,
        "spurious": stack.spurious,
        "f_rto": stack.f_rto,
        "limited_transmit": stack.limited_transmit,
        "ecn": stack.ecn,
        "ecn_echo": stack.ecn_echo,
        "pacing": stack.pacing,
        "handshake": stack.handshake,
        "mss": units.size(stack.mss),
        "header": units.size(stack.header),
        "initial_window": units.packets(stack.initial_window),
        "receive_window": units.size(stack.receive_window),
        "min_rto": units.duration(stack.min_rto),
        "max_rto": units.duration(stack.max_rto),
        "initial_rto": units.duration(stack.initial_rto),
        "rto_granularity": units.duration(stack.rto_granularity),
        "follows": stack.follows,
        "hz": stack.hz,
        "restart_after_idle": stack.restart_after_idle,
    }


def _routing(name: str, routing: Routing, names: list[str], nodes: dict[str, int]) -> dict[str, Any]:
    granularity = routing.granularity
    return {
        "name": name,
        "hops": _hops(routing, nodes),
        "select": routing.selector,
        "per": {"unit": "flowlet", "gap": units.duration(granularity.flowlet)}
        if isinstance(granularity, Flowlet)
        else {"unit": granularity},
        "hash": list(routing.hash or HASH_FIELDS),
        "acks": None if routing.acks is None else names.index(routing.acks),
        "reconverge": None if routing.reconverge is None else units.duration(routing.reconverge),
        "link_state": None if routing.link_state is None else _link_state(routing.link_state),
    }


def _link_state(settings: LinkState) -> dict[str, Any]:
    return {
        "sample": units.duration(settings.sample),
        "window": settings.window,
        "recompute": units.duration(settings.recompute),
        "hysteresis": float(settings.hysteresis),
    }


def _direct(links: Sequence[Pair], nodes: dict[str, int]) -> dict[str, Any]:
    """The routing between neighbours: the explicit path of one link, whatever fails."""
    paths = [[nodes[source], nodes[target]] for source, target in links]
    hops = {"kind": "explicit", "paths": paths, "weights": [1.0] * len(paths)}
    return _routing(DIRECT, Routing(), [], nodes) | {"hops": hops}


def _hops(routing: Routing, nodes: dict[str, int]) -> dict[str, Any]:
    if isinstance(routing.paths, Disjoint):
        return {
            "kind": "disjoint",
            "metric": metrics.compiled(routing.metric),
            "paths": routing.paths.disjoint,
            "by": routing.paths.by,
        }
    if isinstance(routing.paths, Shortest):
        return {"kind": "k-shortest", "metric": metrics.compiled(routing.metric), "paths": routing.paths.shortest}
    if isinstance(routing.paths, Within):
        return {
            "kind": "near-equal",
            "metric": metrics.compiled(routing.metric),
            "threshold": routing.paths.within,
            "paths": routing.paths.most,
        }
    if routing.paths is None:
        return {
            "kind": "shortest" if routing.select is None else "equal-cost",
            "metric": metrics.compiled(routing.metric),
        }
    weights = routing.weights or [1.0] * len(routing.paths)
    paths = list(zip(routing.paths, weights, strict=True))
    if routing.acks is None:
        # ACKs go back over the reverse paths, unless paths that way are given as well
        given = {(path[0], path[-1]) for path in routing.paths}
        paths += [(path[::-1], weight) for path, weight in paths if (path[-1], path[0]) not in given]
    return {
        "kind": "explicit",
        "paths": [[nodes[node] for node in path] for path, _ in paths],
        "weights": [float(weight) for _, weight in paths],
    }


def _traffic(
    entry: Traffic, name: str, pairs: list[tuple[int, int]], stack: int | None, routing: int
) -> dict[str, Any]:
    return {
        "name": name,
        "pairs": pairs,
        "flows_per_pair": entry.flows,
        "transport": {"udp": {"packet": units.size(entry.packet or DEFAULT_PACKET)}}
        if stack is None
        else {"tcp": {"stack": stack}},
        "routing": routing,
        "start": units.duration(entry.start),
        "stagger": units.duration(entry.stagger),
        "stop": None if entry.stop is None else units.duration(entry.stop),
        "application": _application(entry),
    }


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
    if entry.short is not None:
        return {
            "kind": "short-flows",
            "arrivals": float(units.frequency(entry.short.arrivals)),
            "sizes": [(float(size), float(probability)) for size, probability in entry.short.points()],
        }
    return {"kind": "bulk", "bytes": None}
