"""The topology section to a topology."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.foundation import units
from anabranch.foundation.suggest import suggest
from anabranch.scenario.network import TopologySection
from anabranch.scenario.problems import Problem

if TYPE_CHECKING:
    from anabranch.network.topologies import Topology


class Resolver:
    """Loads each topology once, however many variants share it."""

    def __init__(self, directory: Path) -> None:
        """``directory`` is where relative file names start."""
        self._directory = directory
        self.context = {"directory": directory}
        self._loaded: dict[str, tuple[Topology | None, list[Problem]]] = {}

    def resolve(self, section: TopologySection) -> tuple["Topology | None", list[Problem]]:
        """The topology, or what is wrong with it."""
        key = json.dumps(section.model_dump(mode="json"), sort_keys=True)
        if key not in self._loaded:
            self._loaded[key] = self._resolve(section)
        topology, problems = self._loaded[key]
        return topology, list(problems)

    def _resolve(self, section: TopologySection) -> tuple["Topology | None", list[Problem]]:
        topology: Topology | None
        if section.links is not None:
            topology, problems = _inline(section)
        else:
            topology, problems = self._load(section)
        return topology, problems

    def _load(self, section: TopologySection) -> tuple["Topology | None", list[Problem]]:
        if section.generate is not None:
            try:
                return section.generate.make(), []
            except ValueError as error:
                return None, [
                    Problem(("topology", "generate"), str(error), section.generate.model_dump(exclude_unset=True))
                ]
        from anabranch.network import topologies

        assert section.from_ is not None
        file = self._directory / section.from_
        try:
            return topologies.load(str(file) if os.path.isfile(file) else section.from_, part=section.part), []
        except topologies.TopologyError as error:
            known = error.source == section.from_ and error.element == "topology"
            message = error.expectation if known else str(error)  # else a place in the file
            return None, [Problem(("topology", "from"), message, section.from_)]
        except (ValueError, OSError) as error:
            return None, [Problem(("topology", "from"), str(error), section.from_)]


def _inline(section: TopologySection) -> tuple["Topology | None", list[Problem]]:
    from anabranch.network.topologies import Link, Node, Topology
    from anabranch.network.topologies.attributes import Attributes
    from anabranch.network.topologies.parallel import Bundle

    assert section.links is not None
    named = {node.name: Node(node.name, node.latitude, node.longitude) for node in section.nodes or []}
    problems = []
    if section.nodes is not None and len(named) != len(section.nodes):
        problems.append(Problem(("topology", "nodes"), "two nodes have the same name"))
    links: Bundle[int] = Bundle(
        lambda index: f"links[{index}] ({section.links[index].source} -> {section.links[index].target})",  # type: ignore[index]
        alike=True,
    )
    for index, link in enumerate(section.links):
        path = ("topology", "links", index)
        if link.source == link.target:
            problems.append(Problem((*path, "target"), "a link must join two different nodes", link.target))
        for key, end in (("source", link.source), ("target", link.target)):
            if section.nodes is None:
                named.setdefault(end, Node(end))
            elif end not in named:
                problems.append(Problem((*path, key), f"no such node; {suggest(end, named)}", end))
        for source, target in ((link.source, link.target), (link.target, link.source))[: 1 if link.directed else 2]:
            try:
                links.add(
                    (source, target),
                    Attributes(
                        capacity_bps=None if link.capacity is None else units.rate(link.capacity),
                        delay_s=None
                        if link.delay is None
                        else units.duration(link.delay) / units.PICOSECONDS_PER_SECOND,
                        length_m=None if link.length is None else float(units.length(link.length)),
                        loss=link.loss,
                        cost=link.cost,
                    ),
                    index,
                )
            except ValueError as error:
                problems.append(Problem(path, str(error)))
    if problems:
        return None, problems
    try:
        return Topology(
            "inline",
            tuple(named.values()),
            tuple(Link(source, target, *attributes) for source, target, attributes in links.links()),
            tuple(links.warnings()),
        ), []
    except ValueError as error:
        return None, [Problem(("topology", "links"), str(error))]
