"""Scenarios that measure many paths at once, each in its own copy of its links.

The testbed's pairs do not share the network: each has it for itself. Only a path's own links affect it. So a copy of these links, there
and back, is enough, and one run measures hundreds of paths. Links of one second join the copies, because a topology must be connected;
no packet takes them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from anabranch.foundation.output_files import write_text
from anabranch.network.topologies import Link, Topology
from anabranch.results.result import Result
from anabranch.results.statistics import jain_index
from anabranch.scenario import Scenario
from anabranch.studies.papers.measures import flows as flows_of
from anabranch.studies.papers.study import Lab
from anabranch.studies.papers.tcpbp.networks import Path

STACK = """[stacks.linux]
preset = "linux-cubic"
ack = "quick-ack"
detection = "rack-tlp"
spurious = "dsack"
f_rto = true
"""
"""TCP CUBIC as Linux has had it since the year of the testbed's kernel (section 5: Linux, TCP CUBIC, MSS of 1460 bytes)."""
QUEUE = "1000 packets"
"""NetEm's default limit; the paper does not give one."""


@dataclass(frozen=True)
class Copy:
    """A copy of a path: the links for data, and the links for ACKs."""

    name: str
    there: tuple[Link, ...]
    back: tuple[Link, ...]


def copy_of(label: str, topology: Topology, there: Path, back: Path | None = None) -> Copy:
    """A copy of the links of a path and of its way back, which is the reversed path by default."""
    links = {(link.source, link.target): link for link in topology.links}

    def along(way: Path) -> tuple[Link, ...]:
        return tuple(links[hop] for hop in pairwise(way))

    return Copy(label, along(there), along(back or there[::-1]))


def scenario(
    lab: Lab,
    file: str,
    why: str,
    copies: Sequence[Copy],
    *,
    flows: Sequence[int],
    duration_s: float,
    warm_up_s: float,
    seeds: int,
    capacity: str = "1Gbps",
    mss: Sequence[int] = (1460,),
) -> Scenario:
    """The scenario of these copies. It is written beside the results, so that it can be run by hand."""
    path = lab.directory / "scenarios" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    asked = seeds if lab.seeds is None else lab.seeds
    run = f'[run]\nduration = "{duration_s:g}s"\nwarm_up = "{warm_up_s:g}s"\nseeds = {asked}\n'
    write_text(path, text(why, copies, flows, capacity, mss) + run)
    return Scenario.load(path)


def text(why: str, copies: Sequence[Copy], flows: Sequence[int], capacity: str, mss: Sequence[int]) -> str:
    """The TOML text of the scenario, up to its last table."""
    links, joins = [], []
    for copy in copies:
        for way, mark in ((copy.there, ""), (copy.back, _mark(copy))):
            for link in way:
                source, target = (_node(copy, node, mark) for node in (link.source, link.target))
                links.append(link_line(source, target, link))
    starts, ends = ([_end(copy, place) for copy in copies] for place in (0, -1))
    for end, start in zip(ends, starts[1:], strict=False):
        joins.append(f'    {{ source = "{end}", target = "{start}", delay = "1s" }},')
    return "\n".join(
        [
            f"# {why}",
            "# Written by the study; every path has a copy of its links of its own. Links of 1 s only make one topology of them.",
            f'title = "{why}"',
            "",
            "[topology]",
            f'capacity = "{capacity}"',
            f'queue = {{ discipline = "drop-tail", limit = "{QUEUE}" }}',
            "links = [",
            *links,
            *joins,
            "]",
            "",
            STACK + f"mss = {_one_or_list([f'{size} bytes' for size in mss])}\n",
            "[[traffic]]",
            f"from = {json.dumps(starts)}",
            f"to = {json.dumps(ends)}",
            'pattern = "pairs"',
            f"flows = {_one_or_list(flows)}",
            "bulk = true",
            'stack = "linux"',
            "",
        ]
    )


def measured(result: Result) -> pl.DataFrame:
    """Mean goodput of a flow (``bps``) and Jain's index of the flows (``jain``), by ``copy``, number of ``flows`` and ``seed``."""
    table = flows_of(result)
    if "flows" not in table.columns:
        table = table.with_columns(flows=pl.len().over("run", "src").cast(pl.Int64))
    return (
        table.with_columns(copy=pl.col("src").str.split("/").list.first())
        .group_by("copy", "flows", "seed", maintain_order=True)
        .agg(bps=pl.col("goodput_bps").mean(), jain=jain_index(pl.col("goodput_bps")))
    )


def _mark(copy: Copy) -> str:
    """Suffix of the nodes on the way back: they are other nodes if the way back is another path."""
    there = [(link.source, link.target) for link in copy.there]
    back = [(link.target, link.source) for link in reversed(copy.back)]
    return "" if there == back else "'"


def _end(copy: Copy, place: int) -> str:
    return f"{copy.name}/{copy.there[0].source if place == 0 else copy.there[-1].target}"


def _node(copy: Copy, node: str, mark: str) -> str:
    inner = node not in (copy.there[0].source, copy.there[-1].target)
    return f"{copy.name}/{node}{mark if inner else ''}"


def link_line(source: str, target: str, link: Link) -> str:
    """A link of an inline topology in TOML."""
    values = f'delay = "{(link.delay_s or 0.0) * 1e12:.0f}ps", loss = {link.loss or 0.0:.9g}'
    return f'    {{ source = "{source}", target = "{target}", directed = true, {values} }},'


def _one_or_list(values: Sequence[int] | Sequence[str]) -> str:
    """The value in TOML; several values are a list, which makes a matrix."""
    return json.dumps(values[0] if len(values) == 1 else list(values))
