"""Files that carry out an answer: a scenario, the routes, and the settings and eBPF objects of Linux hosts."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path as FilePath

from anabranch import programs
from anabranch.engineering.routes.model import Path, Route, Routes
from anabranch.foundation.extras import MissingExtraError
from anabranch.foundation.output_files import write_bytes
from anabranch.network.topologies import Topology
from anabranch.scenario import Scenario
from anabranch.studies.advise import page
from anabranch.studies.advise.answer import Advice
from anabranch.studies.advise.candidates import LINUX_STACKS, RoutingCandidate

SCENARIO, ROUTES, SYSCTL, PAGE = "advice.toml", "routes.json", "sysctl.conf", "advice.html"


def write(advice: Advice, directory: FilePath) -> list[FilePath]:
    """Write the scenario (the answer beside the baseline), the routes of the answer, and, for a stack that Linux can have, its settings.

    A congestion control of this package comes with its eBPF object. The page with the Pareto fronts is left out where vl-convert is not installed.

    Raises:
        FileError: the directory cannot be written.
    """
    document = advice.scenario_document()
    scenario = Scenario(document, source=SCENARIO, directory=advice.question.directory)
    routes = routes_of(advice.best.routing, advice.topology, advice.pairs)
    files = {SCENARIO: scenario.to_toml().encode(), ROUTES: json.dumps(routes.document(), indent=1).encode() + b"\n"}
    if in_linux(advice.best.stack):
        files[SYSCTL] = sysctl(advice.best.stack).encode()
    program = program_of(advice.best.stack)
    if program is not None:
        files[program.name] = program.read_bytes()
    with suppress(MissingExtraError):
        files[PAGE] = page.html(advice).encode()
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_bytes(directory / name, content)
    return [directory / name for name in files]


def program_of(stack: str) -> FilePath | None:
    """The eBPF object of a stack, if its congestion control is one of this package."""
    return programs.find(f"anabranch_{stack}")


def in_linux(stack: str) -> bool:
    """Whether Linux can have the congestion control of a stack."""
    return stack in LINUX_STACKS or program_of(stack) is not None


def sysctl(stack: str) -> str:
    """The settings that select a congestion control in Linux."""
    program = program_of(stack)
    if program is not None:
        load = f"# first, as root: anabranch congestion-control load {program.name} --persist\n"
        return f"{load}# loss detection stays that of Linux\nnet.ipv4.tcp_congestion_control = {stack}\n"
    control = stack.removeprefix("linux-")
    pacing = "net.core.default_qdisc = fq\n" if control == "bbr" else ""
    return f"# modprobe tcp_{control}, if it is no part of the kernel\n{pacing}net.ipv4.tcp_congestion_control = {control}\n"


def routes_of(routing: RoutingCandidate, topology: Topology, pairs: Sequence[tuple[str, str]]) -> Routes:
    """The paths of a candidate with equal shares."""
    names = [node.name for node in topology.nodes]
    links = {(link.source, link.target): link for link in topology.links}
    found = []
    for (source, target), paths in zip(pairs, routing.routes, strict=False):
        made = []
        for path in paths:
            nodes = tuple(names[node] for node in path)
            hops = [links[hop] for hop in pairwise(nodes)]
            arriving = 1.0
            for link in hops:
                arriving *= 1 - (link.loss or 0.0)
            delay_s = sum(link.delay_s or 0.0 for link in hops)
            made.append(Path(nodes, 1 / len(paths), delay_s, 1 - arriving, None))
        found.append(Route(source, target, tuple(made)))
    return Routes(topology, routing.name, "explicit", tuple(found))


def exported(advice: Advice) -> tuple[Routes, list[str]]:
    """The routes of the answer for routers, there and back, and warnings about what routers cannot do.

    ACKs go back over the same paths where all their links go both ways.
    """
    routing, pairs = advice.best.routing, set(advice.pairs)
    topology = replace(advice.topology, name=FilePath(advice.question.name).stem)
    there = routes_of(routing, topology, advice.pairs)
    links = {(link.source, link.target) for link in topology.links}
    back = []
    one_way = []
    for route in there.routes:
        if (route.target, route.source) not in pairs:
            if all((b, a) in links for path in route.paths for a, b in pairwise(path.nodes)):
                paths = (Path(path.nodes[::-1], path.weight) for path in route.paths)
                back.append(Route(route.target, route.source, tuple(paths)))
            else:
                one_way.append(f"{route.source!r} -> {route.target!r}")
    warnings = []
    if one_way:
        warnings.append(
            f"paths go one way, so there are no routes back for {', '.join(one_way)}: give them to the routers otherwise"
        )
    if routing.paths > 1 and routing.per != "flow":
        warnings.append(
            f"the answer chooses a path for each {routing.per} ({routing.name}); these routers choose one for each flow"
        )
    return replace(there, routes=(*there.routes, *back)), warnings
