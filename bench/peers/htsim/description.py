"""A compiled run in the plain text that flows.cc reads."""

import json
import math
from dataclasses import dataclass
from typing import Any

from anabranch import _core
from bench.peers.child import PeerError
from bench.peers.work import loss_ratio

from .routes import Path, Routes

SECOND = 1_000_000_000_000
"""One second in picoseconds, the unit of a compiled run."""


@dataclass(frozen=True)
class Description:
    """A run for htsim, and what the engine has delivered in it."""

    text: str
    delivered_bytes: int
    """Payload that arrived in order, of all flows."""


def describe(compiled: str) -> Description:
    """Run a compiled run (JSON) in the engine to its end; describe it with the flows that it had."""
    spec = json.loads(compiled)
    if len(spec["stacks"]) != 1:
        raise PeerError(f"htsim has one segment size for all flows, and so takes one stack, not {len(spec['stacks'])}")
    simulation = _core.Simulation(compiled)
    while simulation.advance(1_000_000):
        pass
    table = simulation.flows()
    routes = [Routes(spec, routing) for routing in range(len(spec["routings"]))]
    numbers: dict[Path, int] = {}
    flows = []
    columns = (table[name].tolist() for name in ("routing", "src", "dst", "start_s", "size_bytes"))
    for routing, src, dst, start_s, size in zip(*columns, strict=True):
        words: list[int] = [round(start_s * SECOND), -1 if math.isnan(size) else int(size)]
        for paths in (routes[routing].paths(src, dst), routes[routing].paths(dst, src)):
            words += [len(paths), *(numbers.setdefault(path, len(numbers)) for path in paths)]
        flows.append(_line("flow", *words))
    stack = spec["stacks"][0]
    lines = [
        _line("end", spec["duration"]),
        _line("segment", stack["mss"], stack["header"]),
        *(_line("link", *_link(link)) for link in spec["links"]),
        *(_line("path", len(path), *path) for path in numbers),
        *flows,
    ]
    return Description("".join(lines), int(table["delivered_bytes"].sum()))


def _link(link: dict[str, Any]) -> tuple[object, ...]:
    return link["rate"], link["delay"], link["queue"]["limit"]["packets"], loss_ratio(link)


def _line(*words: object) -> str:
    return " ".join(map(str, words)) + "\n"
