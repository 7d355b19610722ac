"""The reference work of the packet engine, cases A to I, each in its full length and shortened to a moment."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from anabranch.compile.run import compile_run
from anabranch.scenario import Scenario

SCENARIOS = Path(__file__).resolve().parent / "scenarios"
FAT_TREE_PORTS = 16


@dataclass(frozen=True)
class Case:
    """A scenario of the reference work."""

    key: str
    what: str
    scenario: str
    """The file in bench/scenarios."""
    changes: Mapping[str, str] = field(default_factory=dict)
    short: Mapping[str, str] = field(default_factory=dict)
    """Further changes that make a moment of it, with something of everything that happens in it."""
    is_large: bool = False
    """The oracle takes long for it."""

    def compiled(self, *, short: bool = False, changes: Mapping[str, str] | None = None) -> str:
        """The run that the engine takes, a JSON text."""
        changes = {**self.changes, **(self.short if short else {}), **(changes or {})}
        return json.dumps(compile_run(Scenario.load(SCENARIOS / f"{self.scenario}.toml", changes).cases[0], 1))


def hosts(ports: int) -> str:
    """The hosts of a fat tree, a list in TOML."""
    half = ports // 2
    pods, switches, places = range(1, ports + 1), range(1, half + 1), range(1, half + 1)
    names = (f'"p{pod}e{switch}h{place}"' for pod in pods for switch in switches for place in places)
    return f"[{', '.join(names)}]"


def fat_tree(ports: int) -> dict[str, str]:
    """The changes that make H a fat tree of switches with this number of ports."""
    return {
        "topology.generate.k": str(ports),
        "traffic[0].from": hosts(ports),
        "traffic[0].to": hosts(ports),
    }


CASES = (
    Case(
        "A",
        "dumbbell, 16 flows, 20 s",
        "dumbbell",
        short={"run.duration": "1200ms"},
    ),
    Case(
        "B",
        "A with round-trip times of 10 to 80 ms, 0.1 % loss",
        "mixed",
        short={"run.duration": "1200ms"},
    ),
    Case(
        "C",
        "AttMpls, 600 flows between all pairs, 1 s",
        "backbone",
        short={"run.duration": "150ms"},
    ),
    Case(
        "D",
        "C, packets in turn over two disjoint paths",
        "backbone",
        {"traffic[0].routing": "spray"},
        short={"run.duration": "150ms"},
    ),
    Case(
        "E",
        "1,000 flows over 10 Gbit/s, 5 s",
        "many",
        short={"run.duration": "250ms"},
    ),
    Case(
        "F",
        "10,000 flows over 10 Gbit/s, 5 s",
        "many",
        {"traffic[0].flows": "1000", "traffic[0].stagger": "10us"},
        short={"run.duration": "150ms"},
    ),
    Case(
        "G",
        "100,000 flows over 100 Gbit/s, 1 s",
        "many",
        {
            "topology.generate.access": "1Tbps",
            "topology.generate.bottleneck": "100Gbps",
            "topology.override[0].queue.limit": "300000 packets",
            "traffic[0].flows": "10000",
            "traffic[0].stagger": "1us",
            "run.duration": "1s",
        },
        short={"run.duration": "40ms"},
        is_large=True,
    ),
    Case(
        "H",
        "fat tree, 1,024 hosts, 100,000 short flows in 10 ms",
        "fat-tree",
        fat_tree(FAT_TREE_PORTS),
        short={**fat_tree(4), "traffic[0].short.arrivals": "150000/s"},
        is_large=True,
    ),
    Case(
        "I",
        "H, a path per packet",
        "fat-tree",
        {**fat_tree(FAT_TREE_PORTS), "routing.ecmp.select": "round-robin", "routing.ecmp.per": "packet"},
        short={**fat_tree(4), "traffic[0].short.arrivals": "150000/s"},
        is_large=True,
    ),
)

EXTRAS = (
    Case("series", "time series of every flow and link at 10 ms", "dumbbell", {"run.sample": "10ms"}),
    Case("capture", "pcapng of the bottleneck", "dumbbell", {"capture": '[["left", "right"]]'}),
    *(
        Case(stack, f"{stack} instead of newreno", "dumbbell", {"stacks.sender.preset": stack})
        for stack in ("cubic", "mprc", "kikolo")
    ),
    Case(
        "bbr",
        "bbr with duplicate ACKs instead of newreno",
        "dumbbell",
        {"stacks.sender.preset": "bbr", "stacks.sender.detection": "dup-ack"},
    ),
    Case("rack-tlp", "newreno with rack-tlp", "dumbbell", {"stacks.sender.detection": "rack-tlp"}),
)
"""A with something more or other; the target is the time per packet-hop in multiples of A's."""
