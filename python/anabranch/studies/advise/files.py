"""Files that carry out an answer: a scenario, the routes, and the settings of Linux hosts."""

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path as FilePath

from anabranch.engineering.routes.model import Path, Route, Routes
from anabranch.foundation.output_files import write_text
from anabranch.network.topologies import Topology
from anabranch.scenario import Scenario
from anabranch.studies.advise.answer import Advice
from anabranch.studies.advise.candidates import LINUX_STACKS, RoutingCandidate

SCENARIO, ROUTES, SYSCTL = "advice.toml", "routes.json", "sysctl.conf"


def write(advice: Advice, directory: FilePath) -> list[FilePath]:
    """Write the scenario (the answer beside the baseline), the routes of the answer, and, for a stack of Linux, its sysctl settings.

    Raises:
        FileError: the directory cannot be written.
    """
    document = advice.scenario_document()
    scenario = Scenario(document, source=SCENARIO, directory=advice.question.directory)
    routes = routes_of(advice.best.routing, advice.topology, advice.pairs)
    texts = {SCENARIO: scenario.to_toml(), ROUTES: json.dumps(routes.document(), indent=1) + "\n"}
    if advice.best.stack in LINUX_STACKS:
        texts[SYSCTL] = sysctl(advice.best.stack)
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_text(directory / name, text)
    return [directory / name for name in texts]


def sysctl(stack: str) -> str:
    """The settings that select a congestion control of Linux."""
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
