"""One variant and one seed of a scenario to the run that the packet engine takes (``RunSpec`` of the Rust core).

Every default is filled in and every name resolved: times are whole picoseconds, rates bit/s, nodes and links indexes.
"""

import heapq
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import compress
from typing import Any

from anabranch.compile.stacks import compiled_stack, goodput_law
from anabranch.compile.traffic import compile_traffic
from anabranch.foundation import units
from anabranch.network import metrics
from anabranch.network.topologies import Link, Topology
from anabranch.network.topologies.links import column
from anabranch.scenario import Case
from anabranch.scenario.algorithms import Algorithm
from anabranch.scenario.arrivals import link_capacities
from anabranch.scenario.groups import Names
from anabranch.scenario.network import Change, DelayFromLength, Event, Impairment, Override, Queue
from anabranch.scenario.routing import HASH_FIELDS, Disjoint, Flowlet, LinkState, Routing, Shortest, Within
from anabranch.scenario.schedules import LEAST_RATE, Schedule, mean
from anabranch.scenario.stacks import Stack, preset_stack
from anabranch.scenario.variant import DIRECT

DEFAULT_COST = 1.0
"""The routing cost of a link that has none."""

Pair = tuple[str, str]


def compile_run(case: Case, seed: int) -> dict[str, Any]:
    """The ``RunSpec`` of a variant and a seed, as plain data for JSON. Its parts may be shared with those of other seeds: do not change them."""
    same = same_for_all_seeds(case)
    traffic = list(compile_traffic(case, seed, same.names, same.capacities, same.routings))
    return {"seed": seed, **same.spec, "links": same.links(traffic), "traffic": traffic}


class SameForAllSeeds:
    """The parts that the runs of a variant share: all but the traffic, and queues that its round trips determine."""

    def __init__(self, case: Case) -> None:
        """Compile it."""
        variant = case.variant
        self.names = known = case.names
        self._topology = case.topology
        self._links: tuple[int, list[dict[str, Any]]] | None = None
        """Those last made, and their longest round trip, picoseconds."""
        nodes, duration = known.node_index, units.duration(variant.run.duration)
        self.capacities = link_capacities(variant.topology, case.topology, known, duration)
        stacks, routings = variant.all_stacks(), variant.all_routings()
        self.routings = list(routings)
        """The names of the routings."""
        compiled_routings = [
            _routing(name, routing, self.routings, nodes, variant.stacks) for name, routing in routings.items()
        ]
        used = {variant.routing_of(entry) for entry in variant.traffic}
        used |= {routing.acks for name, routing in routings.items() if name in used}
        for routing in compiled_routings:
            if routing["name"] not in used:
                routing["link_state"] = None  # nobody would see what it measures
        if any(entry.pattern == "neighbours" for entry in variant.traffic):
            compiled_routings.append(_direct(known.links, nodes))
            self.routings.append(DIRECT)
        self._compile_links(case)
        self.spec: dict[str, Any] = {
            "duration": duration,
            "warm_up": units.duration(variant.run.warm_up),
            "sample": None if variant.run.sample is None else units.duration(variant.run.sample),
            "nodes": list(nodes),
            "stacks": [compiled_stack(name, stack) for name, stack in stacks.items()],
            "routings": compiled_routings,
            "events": [
                {"at": units.duration(event.at), "action": action, "links": selected}
                for event in variant.events
                if event.change is None  # which the links' schedules have
                for action, selected in [_action(event, known)]
            ],
            "captures": sorted({index for link in variant.capture for index in known.links_between(link, True)}),
            **({"delays": True} if variant.run.delays else {}),
            **({"schedules": self._schedules} if self._schedules else {}),
        }
        """The keys of a ``RunSpec`` but ``seed``, ``links`` and ``traffic``."""

    def links(self, traffic: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The links of a run with this traffic."""
        round_trip = 0
        if self.has_bdp:
            nodes = self.names.nodes
            used = {(nodes[source], nodes[target]) for group in traffic for source, target in group["pairs"]}
            round_trip = longest_round_trip(self._topology, self.delays, used)
        if self._links is None or self._links[0] != round_trip:
            self._links = round_trip, self._with_queues(round_trip)
        return self._links[1]

    def _compile_links(self, case: Case) -> None:
        section, topology, names = case.variant.topology, case.topology, self.names
        rates = list(self.capacities)
        known = column(topology.links, "delay_s")
        in_picoseconds = {delay: round(delay * units.PICOSECONDS_PER_SECOND) for delay in {*known} - {None}}
        delays = [in_picoseconds.get(delay, 0) for delay in known]
        queues: list[Queue] = [section.queue] * len(known)
        costs: list[float] = [cost or DEFAULT_COST for cost in column(topology.links, "cost")]
        overrides = _by_link(section.override, names)
        duration = units.duration(case.variant.run.duration)
        schedules = Schedules(duration)
        varying: defaultdict[int, dict[str, Any]] = defaultdict(dict)
        is_special = [bool(own) or delay is None for own, delay in zip(overrides, known, strict=True)]
        for number, link in compress(enumerate(topology.links), is_special) if any(is_special) else ():
            own = overrides[number]
            delay = next((o.delay for o in own if o.delay), None)
            jitter = next((o.jitter for o in own if o.jitter), None)
            if jitter is not None:
                varying[number]["jitter"] = jitter.compiled() | {"reorder": jitter.reorder}
            shaper = next((o.shaper for o in own if o.shaper), None)
            if shaper is not None:
                varying[number]["shaper"] = shaper.compiled()
            capacity = next((o.capacity for o in own if o.capacity), None)
            if isinstance(capacity, Schedule):
                varying[number]["rate_schedule"] = schedules.index_of(capacity.compiled())
            if isinstance(delay, Schedule):
                varying[number]["delay_schedule"] = schedules.index_of(delay.compiled())
                delays[number] = schedules.mean(varying[number]["delay_schedule"])
            elif delay is not None or link.delay_s is None:
                delays[number] = min(units.LARGEST, link_delay(delay or section.delay, link))
            queues[number] = next((o.queue for o in own if o.queue), section.queue)
            costs[number] = next((o.cost for o in own if o.cost), costs[number])
        for number, changes in changes_of_links(case.variant.events, names).items():
            rate_steps, delay_steps = steps_of_changes(changes, rates[number], delays[number], duration)
            if rate_steps is not None:
                varying[number]["rate_schedule"] = schedules.index_of(rate_steps)
                rates[number] = max(LEAST_RATE, schedules.mean(varying[number]["rate_schedule"]))
            if delay_steps is not None:
                varying[number]["delay_schedule"] = schedules.index_of(delay_steps)
                delays[number] = schedules.mean(varying[number]["delay_schedule"])
        impaired = _by_link(case.variant.impairments, names)
        self.rates, self.delays, self._queues, self._costs, self._varying = rates, delays, queues, costs, varying
        self.has_bdp = any(units.queue_limit(limit).unit == "bdp" for limit in {queue.limit for queue in queues})
        """Whether a queue is as long as the longest round trip."""
        self._losses = [
            _loss(own[0].loss if own else loss or 0.0)
            for own, loss in zip(impaired, column(topology.links, "loss"), strict=True)
        ]
        self._schedules = schedules.all

    def _with_queues(self, round_trip: int) -> list[dict[str, Any]]:
        compiled: dict[tuple[int, int], dict[str, Any]] = {}  # large networks have few kinds of queues and rates
        for queue, rate in zip(self._queues, self.rates, strict=True):
            if (id(queue), rate) not in compiled:
                compiled[id(queue), rate] = _queue(queue, rate, round_trip)
        nodes = self.names.node_index
        columns = zip(self.names.links, self.rates, self.delays, self._costs, self._queues, self._losses, strict=True)
        links = [
            {
                "src": nodes[source],
                "dst": nodes[target],
                "rate": rate,
                "delay": delay,
                "cost": float(cost),
                "queue": compiled[id(queue), rate],
                "loss": loss,
            }
            for (source, target), rate, delay, cost, queue, loss in columns
        ]
        for number, schedule in self._varying.items():
            links[number] |= schedule
        return links


same_for_all_seeds = lru_cache(maxsize=8)(SameForAllSeeds)
"""Of the variants asked for last: a run and its warnings need the same, and so do all seeds."""


class Schedules:
    """The schedules of a run, each once: many links may follow a table of many rows."""

    def __init__(self, duration: int) -> None:
        """None yet; the run has this duration, picoseconds."""
        self.all: list[dict[str, Any]] = []
        self._places: dict[int, int] = {}
        self._means: dict[int, int] = {}
        self._duration = duration

    def index_of(self, schedule: dict[str, Any]) -> int:
        """The index of a schedule; the same table is added once."""
        if id(schedule) not in self._places:
            self._places[id(schedule)] = len(self.all)
            self.all.append(schedule)
        return self._places[id(schedule)]

    def mean(self, index: int) -> int:
        """The mean of a schedule over the run."""
        if index not in self._means:
            self._means[index] = mean(self.all[index], self._duration)
        return self._means[index]


def changes_of_links(events: Sequence[Event], names: Names) -> dict[int, list[tuple[int, Change]]]:
    """For each link that changes, when and how, in the order of time."""
    found: dict[int, list[tuple[int, Change]]] = {}
    for event in sorted(events, key=lambda event: units.duration(event.at)):
        if event.change is not None:
            for number in names.links_between(event.change.link, event.change.one_way):
                found.setdefault(number, []).append((units.duration(event.at), event.change))
    return found


def steps_of_changes(
    changes: list[tuple[int, Change]], rate: int, delay: int, duration: int
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The schedules of a link's rate and of its delay that its changes make; ``None`` where they change nothing."""
    rates, delays = {0: rate}, {0: delay}
    outages = []
    for at, change in changes:
        if change.capacity is not None:
            rates[at] = units.rate(change.capacity)
        if change.delay is not None:
            delays[at] = units.duration(change.delay)
        if change.outage is not None:
            outages.append((at, at + units.duration(change.outage)))
    transmits: dict[int, int] = {}
    for at in sorted({*rates, *(end for outage in outages for end in outage)}):
        is_out = any(begin <= at < end for begin, end in outages)
        transmits[at] = 0 if is_out else rates[max(begin for begin in rates if begin <= at)]
    has_rates = len(rates) > 1 or rates[0] != rate or bool(outages)
    has_delays = len(delays) > 1 or delays[0] != delay
    return _steps(transmits) if has_rates else None, _steps(delays) if has_delays else None


def _steps(values: dict[int, int]) -> dict[str, Any]:
    return {"kind": "steps", "at": list(values), "values": list(values.values()), "repeat": None}


def _action(event: Event, names: Names) -> tuple[Any, list[int]]:
    """The action of an event in the core's form, and the indexes of its links."""
    if event.impair is not None:
        return {"impair": _loss(event.impair.loss)}, names.links_between(event.impair.link, event.impair.one_way)
    action = "fail" if event.fail else "repair" if event.repair else "reroute"
    return action, names.links_between(event.fail or event.repair or [], event.one_way)


def _by_link(entries: Sequence[Any], names: Names) -> Sequence[Sequence[Any]]:
    """For each link the entries (with ``link`` and ``one_way``) that hold for it, the latest first."""
    if not entries:
        return [()] * len(names.links)
    found: list[list[Override | Impairment]] = [[] for _ in names.links]
    for entry in entries:
        for number in names.links_between(entry.link, entry.one_way):
            found[number].insert(0, entry)
    return found


def link_delay(delay: str | DelayFromLength, link: Link) -> int:
    """The delay that a value gives a link without its own, picoseconds."""
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


def _routing(
    name: str, routing: Routing, names: list[str], nodes: dict[str, int], stacks: Mapping[str, Stack]
) -> dict[str, Any]:
    granularity = routing.granularity
    return {
        "name": name,
        "hops": _hops(name, routing, nodes, stacks),
        "select": {"name": "hash"} if routing.select is None else routing.select.compiled(),
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
        "intervals": settings.intervals,
    }


def _direct(links: Sequence[Pair], nodes: dict[str, int]) -> dict[str, Any]:
    """The routing between neighbours: the explicit path of one link. It does not change when links fail."""
    paths = [[nodes[source], nodes[target]] for source, target in links]
    hops = {"kind": "explicit", "paths": paths, "weights": [1.0] * len(paths)}
    return _routing(DIRECT, Routing(), [], nodes, {}) | {"hops": hops}


def _hops(name: str, routing: Routing, nodes: dict[str, int], stacks: Mapping[str, Stack]) -> dict[str, Any]:
    def law(stack: str) -> dict[str, Any]:
        try:
            return goodput_law(stack, stacks[stack] if stack in stacks else preset_stack(stack))
        except ValueError as error:
            raise ValueError(f'routing.{name}.metric = "{routing.metric}": {error}') from None

    metric = metrics.compiled(routing.metric, law)
    if isinstance(routing.paths, Disjoint):
        return {
            "kind": "disjoint",
            "metric": metric,
            "paths": routing.paths.disjoint,
            "by": routing.paths.by,
        }
    if isinstance(routing.paths, Shortest):
        return {"kind": "k-shortest", "metric": metric, "paths": routing.paths.shortest}
    if isinstance(routing.paths, Within):
        return {
            "kind": "near-equal",
            "metric": metric,
            "threshold": routing.paths.within,
            "paths": routing.paths.most,
        }
    if routing.paths is None:
        return {
            "kind": "shortest" if routing.select is None else "equal-cost",
            "metric": metric,
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
