"""Names that a scenario uses and must define: nodes, links, stacks, routings."""

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from anabranch.foundation import units
from anabranch.foundation.suggest import suggest
from anabranch.foundation.toml_text import Path, format_path
from anabranch.network.metrics import stack_of as stack_of_metric
from anabranch.scenario import groups, pairs
from anabranch.scenario.arrivals import link_capacities, mean_size, per_second
from anabranch.scenario.demands import Demand, demands_of
from anabranch.scenario.network import Change
from anabranch.scenario.pairs import MOST_FLOWS, ends_of
from anabranch.scenario.problems import MISSING, Problem
from anabranch.scenario.routing import Routing
from anabranch.scenario.schedules import Schedule
from anabranch.scenario.stacks import PRESETS, differing
from anabranch.scenario.trace import FlowTrace
from anabranch.scenario.traffic import BY_RATE, RANDOM, Traffic, traffic_name, udp_packet
from anabranch.scenario.variant import DIRECT, IMPLICIT_ROUTINGS, MOST_SAMPLES, Variant

if TYPE_CHECKING:
    from anabranch.network.topologies import Topology

MOST_SEGMENTS = 2**32 - 2
MOST_PERIODS = 1000
"""Mean times on of an on-off source that one packet may take at the peak rate."""


def check(variant: Variant, topology: "Topology | None") -> Iterator[Problem]:
    """All names that point nowhere, and times beyond the run; nodes and links only where there is a topology."""
    network = _Network(variant, topology)
    for index, override in enumerate(variant.topology.override):
        yield from network.link(override.link, ("topology", "override", index, "link"), override.one_way)
    yield from _stacks(variant)
    yield from _routings(variant, network)
    too_many = list(_flows(variant, network))
    yield from too_many
    yield from _traffic(variant, network, with_pairs=not too_many)
    for index, impairment in enumerate(variant.impairments):
        yield from network.link(impairment.link, ("impairments", index, "link"), impairment.one_way)
    duration = units.duration(variant.run.duration)
    for index, event in enumerate(variant.events):
        if units.duration(event.at) > duration:
            message = f'is after the end of the run (duration "{variant.run.duration}")'
            yield Problem(("events", index, "at"), message, event.at)
        for key, link in (("fail", event.fail), ("repair", event.repair)):
            if link is not None:
                yield from network.link(link, ("events", index, key), event.one_way)
        if event.change is not None:
            path: Path = ("events", index, "change")
            yield from network.link(event.change.link, (*path, "link"), event.change.one_way)
            yield from _schedules(event.change, path, network)
        if event.impair is not None:
            yield from network.link(event.impair.link, ("events", index, "impair", "link"), event.impair.one_way)
    for index, captured in enumerate(variant.capture):
        yield from network.link(captured, ("capture", index))


class _Network:
    """Nodes and links by name; without a topology every name may be one."""

    def __init__(self, variant: Variant, topology: "Topology | None") -> None:
        self._variant = variant
        self._topology = topology
        self.known = topology is not None
        self.names = groups.Names.of(topology) if topology else groups.Names([], [])

    def node(self, name: str, path: Path) -> Iterator[Problem]:
        if self.known and name not in self.names.node_index:
            yield Problem(path, f"no such node; {suggest(name, self.names.nodes)}", name)

    def link(self, link: list[str] | str, path: Path, one_way: bool = False) -> Iterator[Problem]:
        if isinstance(link, str) or not self.known:
            return
        unknown = [problem for end, name in enumerate(link) for problem in self.node(name, (*path, end))]
        yield from unknown
        source, target = link
        ways = {(source, target)} if one_way else {(source, target), (target, source)}
        if not unknown and not any(way in self.names.link_index for way in ways):
            neighbours = sorted(b for a, b in self.names.links if a == source)
            yield Problem(path, f"no such link; {source} has links to {', '.join(neighbours) or 'nowhere'}", link)

    @cached_property
    def capacities(self) -> list[int]:
        """The capacities of the links, bit/s."""
        if self._topology is None:
            return []
        duration = units.duration(self._variant.run.duration)
        return link_capacities(self._variant.topology, self._topology, self.names, duration)

    @cached_property
    def scheduled(self) -> dict[str, dict[int, int]]:
        """For capacity and delay, the links that follow a schedule, each with the override that says so: the latest holds."""
        found: dict[str, dict[int, int]] = {"capacity": {}, "delay": {}}
        for index, override in enumerate(self._variant.topology.override):
            for what, links in found.items():
                value = getattr(override, what)
                for link in self.names.links_between(override.link, override.one_way) if value is not None else ():
                    links.pop(link, None)
                    if isinstance(value, Schedule):
                        links[link] = index
        return found

    def demands(self, entry: Traffic) -> list[Demand]:
        """The demands of a group, in a network that is known; :class:`ValueError` as :func:`demands_of`."""
        assert self._topology is not None
        return demands_of(entry, self._topology, self.names, self.capacities)

    def knows(self, link: list[str] | None) -> bool:
        """Whether a link, if one is given, and its capacity are known."""
        return self.known and (link is None or (link[0], link[1]) in self.names.link_index)

    def joined(self, source: str, target: str) -> bool:
        return not self.known or (source, target) in self.names.link_index


def _stacks(variant: Variant) -> Iterator[Problem]:
    """Stacks with the name of a preset that are another product: readers of a result would take them for the preset."""
    for name, stack in variant.stacks.items():
        keys = differing(name, stack) if name in PRESETS else []
        if keys:
            other = f"{name}-{stack.detection.name}" if keys == ["detection"] else f"my-{name}"
            message = (
                f"is the name of a preset with another {', '.join(keys)}; give this stack another name, such as "
                f'"{other}"'
            )
            yield Problem(("stacks", name), message, MISSING)


def _routings(variant: Variant, network: _Network) -> Iterator[Problem]:
    for name, routing in variant.routing.items():
        path: Path = ("routing", name)
        if name == DIRECT and any(entry.pattern == "neighbours" for entry in variant.traffic):
            yield Problem(path, "is what traffic between neighbours takes; give this routing another name", MISSING)
        yield from _link_state(variant, routing, path)
        known = {*variant.routing, *IMPLICIT_ROUTINGS}
        if routing.acks is not None and routing.acks not in known:
            message = f"no such routing; {suggest(routing.acks, known)}"
            yield Problem((*path, "acks"), message, routing.acks)
        stack, stacks = stack_of_metric(routing.metric), {*variant.stacks, *PRESETS}
        if stack is not None and stack not in stacks:
            message = f"names no stack; {suggest(stack, stacks)}"
            yield Problem((*path, "metric"), message, routing.metric)
        if not isinstance(routing.paths, list):
            continue
        wrong = [
            problem
            for index, nodes in enumerate(routing.paths)
            for problem in _path(nodes, (*path, "paths", index), network)
        ]
        if routing.from_ is None:
            yield from wrong
        elif wrong:  # the paths do not stand in the scenario
            message = wrong[0].describe().removeprefix(format_path(path) + ".")
            more = (
                f"; the file has {len(wrong) - 1} more problems and may be for another topology"
                if len(wrong) > 1
                else ""
            )
            yield Problem((*path, "from"), f"{routing.from_}: {message}{more}", routing.from_)


def _path(nodes: list[str], place: Path, network: _Network) -> Iterator[Problem]:
    unknown = [problem for index, node in enumerate(nodes) for problem in network.node(node, (*place, index))]
    yield from unknown
    if unknown:
        return
    if len(set(nodes)) != len(nodes):
        yield Problem(place, "a path must not pass a node twice", nodes)
    for source, target in pairwise(nodes):
        if not network.joined(source, target):
            yield Problem(place, f"there is no link from {source} to {target}", nodes)


def _schedules(change: Change, path: Path, network: _Network) -> Iterator[Problem]:
    """A change of what a table or a trace already determines."""
    changed = network.names.links_between(change.link, change.one_way)
    for key, what in (("capacity", "capacity"), ("outage", "capacity"), ("delay", "delay")):
        scheduled = network.scheduled[what]
        override = next((scheduled[link] for link in changed if link in scheduled), None)
        if getattr(change, key) is not None and override is not None:
            message = f"topology.override[{override}].{what} has a schedule for this link; put the change into its file"
            yield Problem((*path, key), message, getattr(change, key))


def _link_state(variant: Variant, routing: Routing, path: Path) -> Iterator[Problem]:
    for key in ("sample", "recompute") if routing.link_state else ():
        value = getattr(routing.link_state, key)
        if units.duration(variant.run.duration) > MOST_SAMPLES * units.duration(value):
            message = f'comes over a million times in "{variant.run.duration}"; give a longer one'
            yield Problem((*path, "link_state", key), message, value)


def _traffic(variant: Variant, network: _Network, with_pairs: bool) -> Iterator[Problem]:
    names = {traffic_name(entry, index): index for index, entry in enumerate(variant.traffic) if entry.name is None}
    duration = units.duration(variant.run.duration)
    routed = {
        name: {(nodes[0], nodes[-1]) for nodes in routing.paths}
        for name, routing in variant.routing.items()
        if isinstance(routing.paths, list)
    }
    for index, entry in enumerate(variant.traffic):
        path = ("traffic", index)
        if entry.name is not None and names.setdefault(entry.name, index) != index:
            yield Problem(
                (*path, "name"), f"is also the name of traffic[{names[entry.name]}]; give another one", entry.name
            )
        unknown = [
            problem
            for key, end in (("from", entry.from_), ("to", entry.to))
            for problem in _ends(end, (*path, key), network)
        ]
        yield from unknown
        if with_pairs and not unknown:
            yield from _pairs(entry, path, network)
            yield from _routed(entry, path, network, variant.routing_of(entry), routed)
        if units.duration(entry.start) >= duration:
            yield Problem(
                (*path, "start"), f'must be before the end of the run (duration "{variant.run.duration}")', entry.start
            )
        if entry.stop is not None and units.duration(entry.stop) <= units.duration(entry.start):
            yield Problem((*path, "stop"), f'must be later than start "{entry.start}"', entry.stop)
        yield from _load(entry, path, network)
        yield from _policies(variant, entry, path)


def _policies(variant: Variant, entry: Traffic, path: Path) -> Iterator[Problem]:
    if entry.transport == "tcp":
        stack, known = variant.stack_of(entry), {*variant.stacks, *PRESETS}
        if stack is None:
            yield Problem(
                (*path, "stack"), f"is missing, and [stacks] has several; {suggest('', variant.stacks)}", MISSING
            )
        elif stack not in known:
            yield Problem((*path, "stack"), f"no such stack; {suggest(stack, known)}", stack)
        segment = units.size(variant.all_stacks()[stack].mss) if stack in variant.all_stacks() else None
    else:
        segment = udp_packet(entry)
    if segment is not None:
        yield from _sizes(entry, path, segment)
    routing, routings = variant.routing_of(entry), {*variant.routing, *IMPLICIT_ROUTINGS, DIRECT}
    if routing is None:
        yield Problem(
            (*path, "routing"), f"is missing, and [routing] has several; {suggest('', routings - {DIRECT})}", MISSING
        )
    elif routing not in routings or entry.routing == DIRECT:
        yield Problem((*path, "routing"), f"no such routing; {suggest(routing, routings - {DIRECT})}", routing)


def _sizes(entry: Traffic, path: Path, segment: int) -> Iterator[Problem]:
    """Transfers of too many segments, and peak rates at which a segment takes too long."""
    message = f"must be at most {MOST_SEGMENTS} segments of {segment} bytes"
    if entry.size is not None and units.size(entry.size) > MOST_SEGMENTS * segment:
        yield Problem((*path, "size"), message, entry.size)
    if entry.short is not None and (largest := entry.short.points()[-1])[0] > MOST_SEGMENTS * segment:
        yield Problem((*path, "short", "sizes"), message, largest)
    if entry.trace is not None and (most := max(entry.trace.sizes)) > MOST_SEGMENTS * segment:
        yield Problem((*path, "trace"), f"{most} bytes: {message}")
    if entry.on_off is not None:
        bits = 8 * segment * units.PICOSECONDS_PER_SECOND
        least = -(-bits // (MOST_PERIODS * units.duration(entry.on_off.on)))
        if units.rate(entry.on_off.peak) < least:
            message = (
                f'a packet would take over {MOST_PERIODS} times on "{entry.on_off.on}"; give at least "{least} bps"'
            )
            yield Problem((*path, "on-off", "peak"), message, entry.on_off.peak)


def _ends(end: str | list[str], path: Path, network: _Network) -> Iterator[Problem]:
    places = [(path, end)] if isinstance(end, str) else [((*path, index), word) for index, word in enumerate(end)]
    for place, word in places:
        if not groups.is_one(word):
            yield from network.node(word, place)
        elif network.known:
            try:
                network.names.members(word)
            except ValueError as error:
                yield Problem(place, str(error), word)


def _known_ends(entry: Traffic, network: _Network) -> bool:
    """Whether it is known between which nodes a traffic group is."""
    words = [word for end in (entry.from_, entry.to) for word in ([end] if isinstance(end, str) else end)]
    return network.known or not any(map(groups.is_one, words))


def _pairs(entry: Traffic, path: Path, network: _Network) -> Iterator[Problem]:
    key = next((key for key in ("trace", *BY_RATE) if getattr(entry, key) is not None), None)
    needs_links = key is not None or entry.pattern == "neighbours"
    if not _known_ends(entry, network) or (needs_links and not network.known):
        return
    try:
        if entry.trace is not None:
            _check_trace(entry.trace, network)
        elif entry.has_rates:
            network.demands(entry)
        else:
            pairs.check(entry, network.names)
    except ValueError as error:
        yield Problem(path if key is None else (*path, key), str(error), MISSING)


def _check_trace(trace: FlowTrace, network: _Network) -> None:
    for ends in (trace.sources, trace.targets):
        for number, name in enumerate(ends):
            if name not in network.names.node_index:
                raise ValueError(f'{trace.place(number)}: no such node "{name}"; {suggest(name, network.names.nodes)}')


def _routed(
    entry: Traffic, path: Path, network: _Network, routing: str | None, ends: dict[str, set[tuple[str, str]]]
) -> Iterator[Problem]:
    """Pairs for which a routing of explicit paths, whose ``ends`` are given, has none; random pairs only the run knows."""
    if routing not in ends or entry.pattern in RANDOM or not network.known or any(_pairs(entry, path, network)):
        return
    nodes = network.names.nodes
    if entry.trace is not None:
        found = list(dict.fromkeys(zip(entry.trace.sources, entry.trace.targets, strict=True)))
    elif entry.has_rates:
        found = [(nodes[a], nodes[b]) for a, b, _ in network.demands(entry)]
    else:
        found = [(nodes[a], nodes[b]) for a, b in pairs.pairs_of(entry, network.names, draw="")]
    without = [pair for pair in found if pair not in ends[routing]]
    if without:
        more = f", nor for {len(without) - 1} other pairs of this traffic" if len(without) > 1 else ""
        message = f"has no path from {without[0][0]} to {without[0][1]}{more}; give one for every pair"
        yield Problem((*path, "routing"), message, routing)


def _load(entry: Traffic, path: Path, network: _Network) -> Iterator[Problem]:
    if entry.short is not None and entry.short.link is not None:
        yield from network.link(entry.short.link, (*path, "short", "link"), one_way=True)


def _flows(variant: Variant, network: _Network) -> Iterator[Problem]:
    """Too many flows, which would only be found when the memory is full."""
    total = 0
    for index, entry in enumerate(variant.traffic):
        if _known_ends(entry, network):
            with suppress(ValueError):  # said with the traffic
                total += _most_flows(entry, variant, network)
        if total > MOST_FLOWS:
            message = f"with this one there are {total} flows; at most {MOST_FLOWS} are possible"
            yield Problem(("traffic", index), message, MISSING)
            return


def _most_flows(entry: Traffic, variant: Variant, network: _Network) -> int:
    """The flows of a group, those of random arrivals on average; :class:`ValueError` if its nodes or links are unknown."""
    if entry.trace is not None:
        return len(entry.trace.sizes)
    last = units.duration(entry.stop or variant.run.duration)
    span = max(0, last - units.duration(entry.start))
    seconds = span / units.PICOSECONDS_PER_SECOND
    if entry.has_rates:
        demands = network.demands(entry) if network.known else []
        if entry.short is None:
            return len(demands) * entry.flows
        return int(seconds * sum(rate for _, _, rate in demands) / (8 * mean_size(entry.short)))
    if entry.short is not None:
        stack = variant.all_stacks().get(variant.stack_of(entry) or "")
        if entry.short.load is not None and (stack is None or not network.knows(entry.short.link)):
            return 0
        arrivals = per_second(entry.short, stack, network.names, network.capacities, ends_of(entry, network.names))
        return int(arrivals * seconds)
    epochs = 1 if entry.every is None else -(-span // units.duration(entry.every))
    return pairs.most_pairs(entry, network.names) * entry.flows * epochs
