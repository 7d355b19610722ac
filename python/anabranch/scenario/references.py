"""Names that a scenario uses and must define: nodes, links, stacks, routings."""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from anabranch import units
from anabranch.scenario.problems import MISSING, Path, Problem, suggest
from anabranch.scenario.stacks import PRESETS, preset_stack
from anabranch.scenario.traffic import Traffic
from anabranch.scenario.variant import IMPLICIT_ROUTINGS, Variant

if TYPE_CHECKING:
    from anabranch.topologies import Topology


def check(variant: Variant, topology: "Topology") -> Iterator[Problem]:
    """All names that point nowhere, and times beyond the run."""
    network = _Network(topology)
    for index, override in enumerate(variant.topology.override):
        yield from network.link(override.link, ("topology", "override", index, "link"))
    yield from _routings(variant, network)
    yield from _traffic(variant, network)
    for index, impairment in enumerate(variant.impairments):
        yield from network.link(impairment.link, ("impairments", index, "link"))
    duration = units.duration(variant.run.duration)
    for index, event in enumerate(variant.events):
        if units.duration(event.at) > duration:
            message = f'is after the end of the run (duration "{variant.run.duration}")'
            yield Problem(("events", index, "at"), message, event.at)
        for key, link in (("fail", event.fail), ("repair", event.repair)):
            if link is not None:
                yield from network.link(link, ("events", index, key))
    for index, captured in enumerate(variant.capture):
        yield from network.link(captured, ("capture", index))


class _Network:
    def __init__(self, topology: "Topology") -> None:
        self.nodes = [node.name for node in topology.nodes]
        self._known = set(self.nodes)
        self._links = {(link.source, link.target) for link in topology.links}

    def node(self, name: str, path: Path) -> Iterator[Problem]:
        if name not in self._known:
            yield Problem(path, f"no such node; {suggest(name, self.nodes)}", name)

    def link(self, link: list[str] | str, path: Path) -> Iterator[Problem]:
        if isinstance(link, str):
            return
        unknown = [problem for end, name in enumerate(link) for problem in self.node(name, (*path, end))]
        yield from unknown
        source, target = link
        if not unknown and (source, target) not in self._links and (target, source) not in self._links:
            neighbours = sorted(b for a, b in self._links if a == source)
            yield Problem(path, f"no such link; {source} has links to {', '.join(neighbours) or 'nowhere'}", link)

    def joined(self, source: str, target: str) -> bool:
        return (source, target) in self._links


def _routings(variant: Variant, network: _Network) -> Iterator[Problem]:
    for name, routing in variant.routing.items():
        path = ("routing", name)
        known = {*variant.routing, *IMPLICIT_ROUTINGS}
        if routing.acks is not None and routing.acks not in known:
            message = f"no such routing; {suggest(routing.acks, known)}"
            yield Problem((*path, "acks"), message, routing.acks)
        if not isinstance(routing.paths, list):
            continue
        for index, nodes in enumerate(routing.paths):
            place = (*path, "paths", index)
            unknown = [problem for i, node in enumerate(nodes) for problem in network.node(node, (*place, i))]
            yield from unknown
            if unknown:
                continue
            if len(set(nodes)) != len(nodes):
                yield Problem(place, "a path must not pass a node twice", nodes)
            for source, target in pairwise(nodes):
                if not network.joined(source, target):
                    yield Problem(place, f"there is no link from {source} to {target}", nodes)


def _traffic(variant: Variant, network: _Network) -> Iterator[Problem]:
    names: dict[str, int] = {}
    duration = units.duration(variant.run.duration)
    for index, entry in enumerate(variant.traffic):
        path = ("traffic", index)
        if entry.name is not None and names.setdefault(entry.name, index) != index:
            yield Problem((*path, "name"), f"is also the name of traffic[{names[entry.name]}]", entry.name)
        unknown = [
            problem
            for key, end in (("from", entry.from_), ("to", entry.to))
            for problem in _ends(end, (*path, key), network)
        ]
        yield from unknown
        if not unknown:
            yield from _pairs(entry, path, network)
        if units.duration(entry.start) >= duration:
            yield Problem(
                (*path, "start"), f'must be before the end of the run (duration "{variant.run.duration}")', entry.start
            )
        if entry.stop is not None and units.duration(entry.stop) <= units.duration(entry.start):
            yield Problem((*path, "stop"), f'must be later than start "{entry.start}"', entry.stop)
        yield from _policies(variant, entry, path)


def _policies(variant: Variant, entry: Traffic, path: Path) -> Iterator[Problem]:
    if entry.transport == "tcp":
        stack, known = variant.stack_of(entry), {*variant.stacks, *PRESETS}
        if stack is None:
            yield Problem((*path, "stack"), f"is missing; {suggest('', variant.stacks or PRESETS)}", MISSING)
        elif stack not in known:
            yield Problem((*path, "stack"), f"no such stack; {suggest(stack, known)}", stack)
        elif stack not in variant.stacks:
            try:
                preset_stack(stack)
            except ValueError as error:
                yield Problem((*path, "stack"), str(error), stack)
    routing, routings = variant.routing_of(entry), {*variant.routing, *IMPLICIT_ROUTINGS}
    if routing is None:
        yield Problem((*path, "routing"), f"is missing; {suggest('', routings)}", MISSING)
    elif routing not in routings:
        yield Problem((*path, "routing"), f"no such routing; {suggest(routing, routings)}", routing)


def _ends(end: str | list[str], path: Path, network: _Network) -> Iterator[Problem]:
    if isinstance(end, list):
        for index, name in enumerate(end):
            yield from network.node(name, (*path, index))
    elif end != "all":
        yield from network.node(end, path)


def _pairs(entry: Traffic, path: Path, network: _Network) -> Iterator[Problem]:
    try:
        pairs_of(entry, network.nodes, draw="")
    except ValueError as error:
        yield Problem(path, str(error), MISSING)


def pairs_of(entry: Traffic, nodes: list[str], draw: str) -> list[tuple[str, str]]:
    """The source and destination of each pair of a traffic group; ``draw`` decides random pairs.

    :class:`ValueError` if there is none.
    """
    sources, targets = (
        nodes if end == "all" else [end] if isinstance(end, str) else end for end in (entry.from_, entry.to)
    )
    if entry.pattern == "pairs":
        if len(sources) != len(targets):
            raise ValueError(f'pattern = "pairs" needs as many "from" as "to"; here {len(sources)} and {len(targets)}')
        pairs = list(zip(sources, targets, strict=True))
        same = next((source for source, target in pairs if source == target), None)
        if same is not None:
            raise ValueError(f"{same} cannot send to itself")
        return pairs
    product = [(source, target) for source in sources for target in targets if source != target]
    if not product:
        raise ValueError("no pair is left: a node cannot send to itself")
    if entry.pattern == "all-pairs":
        return product
    return [product[_draw(draw, index, len(product))] for index in range(entry.count or 0)]


def _draw(draw: str, index: int, below: int) -> int:
    """A uniform draw that is the same on every machine and in every version of Python."""
    from hashlib import sha256

    return int.from_bytes(sha256(f"random-pairs {draw} {index}".encode()).digest()[:16], "big") % below
