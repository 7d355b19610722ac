"""Section 6: loads and TCP throughput of robust routings of NSFNET (figures 12 to 15), and of plans on the same axes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.network import topologies
from anabranch.studies.papers.fixed_robust_routing import choices, written
from anabranch.studies.papers.fixed_robust_routing.choices import LOAD_TOPOLOGIES, NSFNET_V2, TOPOLOGIES, Choice
from anabranch.studies.papers.measures import flows, over_seeds
from anabranch.studies.papers.study import Experiment, Lab

if TYPE_CHECKING:
    from anabranch.results.result import Result

NSFNET = TOPOLOGIES[0]
OTHER_STACKS = ("limited-transmit", "sack", "delayed-acks")
SHORT_QUEUE = "100 packets"
HOST_ACCESSES = ("50Mbps", "10.4Mbps")
"""Access rates of hosts: that of section 4, and one that keeps segments of 1,040 bytes 0.8 ms apart."""
HOST_DELAY = "0.2ms"
_LOAD_DRAWS = {False: 50, True: 10}
_FIT_DRAWS = {False: 3000, True: 1300}
_DRAWS = {False: 8, True: 0}
_MOVES_PER_PAIR = {False: 1600, True: 200}
_PLAN_LOADS: Mapping[bool, tuple[float, ...]] = {False: (1.0, 0.7, 0.65, 0.6, 0.55, 0.52, 0.0), True: (1.0, 0.65)}
_OPTIMA_X: Mapping[bool, tuple[int, ...]] = {False: (0, 20, 40, 60, 80), True: (0, 40)}
_COMPARED: Mapping[bool, tuple[str, ...]] = {
    False: ("all", "hop-0", "hop-20", "hop-40", "delay-0", "delay-20"),
    True: ("all", "hop-0", "delay-0"),
}
"""Routings that are also simulated with other transports, queues and hosts, in the full and the quick version."""
_QUICK = {"run.duration": "6s", "run.warm_up": "1s"}


def compared(lab: Lab) -> tuple[str, ...]:
    """The routings that are also simulated with other readings."""
    return _COMPARED[lab.quick]


def all_choices(lab: Lab) -> dict[str, dict[str, Choice]]:
    """Every routing of the study, by topology and name; computed once."""
    known = {topology: _paper(lab, topology) for topology in LOAD_TOPOLOGIES}
    draws, percentages = _DRAWS[lab.quick], _OPTIMA_X[lab.quick]
    loads, moves = _PLAN_LOADS[lab.quick], _MOVES_PER_PAIR[lab.quick]
    for topology in (NSFNET, NSFNET_V2):
        known[topology] |= _other_ties(lab, topology)
    known[NSFNET] |= lab.kept("draws", [NSFNET, draws], lambda: choices.of_random_ties(NSFNET, draws))
    known[NSFNET] |= lab.kept("optima", [NSFNET, percentages], lambda: choices.of_other_optima(NSFNET, percentages))
    if not lab.quick:
        known[NSFNET] |= lab.kept("optima-all", [NSFNET], lambda: choices.of_other_optima_over_all_paths(NSFNET))
    known[NSFNET] |= lab.kept("plans", [NSFNET, loads, moves], lambda: choices.plans(NSFNET, loads, moves))
    return known


def _paper(lab: Lab, topology: str) -> dict[str, Choice]:
    return dict(lab.kept("paper", [topology], lambda: choices.of_the_paper(topology)))


def _other_ties(lab: Lab, topology: str) -> dict[str, Choice]:
    return dict(lab.kept("ties", [topology], lambda: choices.of_other_ties(topology)))


def load_ranges(lab: Lab) -> dict[str, dict[str, list[float]]]:
    """The worst-case loads over ties, by topology, heuristic and X."""
    return {topology: _ranges(lab, topology) for topology in LOAD_TOPOLOGIES}


def _ranges(lab: Lab, topology: str) -> dict[str, list[float]]:
    draws = _LOAD_DRAWS[lab.quick]
    return dict(lab.kept("ranges", [topology, draws], lambda: choices.load_ranges(topology, draws)))


def fits(lab: Lab) -> Fits:
    """The orders of equally short paths on ``nsfnet-v2`` that give all loads of figure 12."""
    loads = [lab.published[f"load-hop-{percent}"].value or 0.0 for percent in choices.X]
    draws = _FIT_DRAWS[lab.quick]
    found = lab.kept("fits", [NSFNET_V2, loads, draws], lambda: choices.fitting_ties(NSFNET_V2, loads, draws))
    return Fits(draws, [one["loads"] for one in found])


def experiments(lab: Lab) -> list[Experiment]:
    """The experiments of section 6: one connection for each pair, over every routing."""
    known = all_choices(lab)
    text = (lab.folder / "scenarios" / "nsfnet.toml").read_text(encoding="utf-8")
    paper = choices.paper_names()
    plain = [name for name in known[NSFNET] if name not in paper]
    groups = {
        "ties": [name for name in plain if "-ties-" in name or "-draw-" in name],
        "optima": [name for name in plain if name.endswith(choices.OPTIMA)],
        "plan": [name for name in plain if name.startswith("plan-")],
    }
    seeds = {"run.seeds": "2"} | _QUICK if lab.quick else {}
    few = {"run.seeds": "1"} | _QUICK if lab.quick else {"run.seeds": "3", "run.duration": "10s", "run.warm_up": "2s"}
    one = few | {"run.seeds": "1"}
    chosen = list(compared(lab))
    listed = []
    for topology in TOPOLOGIES:
        names = chosen if lab.quick and topology != NSFNET else paper
        listed.append(_experiment(lab, topology, topology, known[topology], names, text, seeds))
    for group, names in groups.items():
        settings = seeds if group == "plan" else one if group == "ties" else few
        listed.append(_experiment(lab, f"{NSFNET}-{group}", NSFNET, known[NSFNET], names, text, settings))
    stacks = few | {"traffic[0].stack": written.listed(OTHER_STACKS)}
    queue = few | {"topology.queue.limit": SHORT_QUEUE}
    listed.append(_experiment(lab, f"{NSFNET}-stacks", NSFNET, known[NSFNET], chosen, text, stacks))
    listed.append(_experiment(lab, f"{NSFNET}-queue", NSFNET, known[NSFNET], chosen, text, queue))
    listed.append(_hosts(lab, known[NSFNET], chosen, text, few))
    return listed


def _experiment(
    lab: Lab,
    name: str,
    topology: str,
    known: Mapping[str, Choice],
    names: Sequence[str],
    text: str,
    settings: Mapping[str, str],
) -> Experiment:
    files = written.splits(lab, topology, {chosen: known[chosen]["splits"] for chosen in names})
    of_topology = {"topology.from": topology, "routing.fixed.from": written.listed(files)}
    return Experiment(name, written.scenario(lab, name, text, {**settings, **of_topology}))


def _hosts(
    lab: Lab, known: Mapping[str, Choice], names: Sequence[str], text: str, settings: Mapping[str, str]
) -> Experiment:
    """An experiment in which each connection has its own hosts, as in section 4."""
    longer = {f"{name}-hosts": [_with_hosts(record) for record in known[name]["splits"]] for name in names}
    files = written.splits(lab, NSFNET, longer)
    records = longer[f"{names[0]}-hosts"]
    links = [
        f'    {{ source = "{link.source}", target = "{link.target}", directed = true, capacity = "500Mbps", delay = "{(link.delay_s or 0) * 1e3:.9g}ms" }},'
        for link in topologies.load(NSFNET).links
    ]
    for record in records:
        path = record["paths"][0]["path"]
        links += [f'    {{ source = "{one}", target = "{other}" }},' for one, other in (path[:2], path[-2:])]
    head, begin, rest = text.partition("[topology.queue]")
    head = head.partition("[topology]")[0]
    ends = "".join(
        f"{key} = {json.dumps([record[end] for record in records])}\n" for key, end in (("from", "src"), ("to", "dst"))
    )
    rest = rest.replace('from = "all"\nto = "all"\n', f'{ends}pattern = "pairs"\n')
    topology = "\n".join(
        ["[topology]", f'capacity = "{HOST_ACCESSES[0]}"', f'delay = "{HOST_DELAY}"', "links = [", *links, "]", "", ""]
    )
    own = {"topology.capacity": written.listed(HOST_ACCESSES), "routing.fixed.from": written.listed(files)}
    name = f"{NSFNET}-hosts"
    return Experiment(name, written.scenario(lab, name, head + topology + begin + rest, {**settings, **own}))


def _with_hosts(record: Mapping[str, Any]) -> dict[str, Any]:
    ends = f"s-{record['src']}-{record['dst']}", f"d-{record['src']}-{record['dst']}"
    paths = [{"path": [ends[0], *part["path"], ends[1]], "fraction": part["fraction"]} for part in record["paths"]]
    return {"src": ends[0], "dst": ends[1], "paths": paths}


@dataclass(frozen=True)
class Fits:
    """Random orders of equally short paths that give all published loads of a figure."""

    draws: int
    """How many orders were tried."""
    loads: Sequence[Sequence[float]]
    """For each order that gives them, the loads for each X."""


@dataclass(frozen=True)
class Found:
    """The results of section 6."""

    choices: Mapping[str, Mapping[str, Choice]]
    ranges: Mapping[str, Mapping[str, list[float]]]
    fits: Fits
    throughput: pl.DataFrame
    """``topology``, ``name`` of the routing, ``reading``, ``seed``, ``mean`` of all connections in Mbit/s."""

    def load(self, name: str, topology: str = NSFNET) -> float:
        """The worst-case load of a routing."""
        return float(self.choices[topology][name]["load"])

    def single(self, name: str, topology: str = NSFNET) -> int:
        """The number of pairs on a single path."""
        return int(self.choices[topology][name]["single_pairs"])

    def rate(self, name: str, topology: str = NSFNET, reading: str = "") -> tuple[float, float | None]:
        """Mean throughput over connections and seeds, Mbit/s, and its half width over seeds."""
        return over_seeds(self.throughput.filter(topology=topology, name=name, reading=reading)["mean"].to_list())

    def rates(self, name: str, topology: str = NSFNET) -> list[float]:
        """Mean throughput over connections for each seed, Mbit/s."""
        rows = self.throughput.filter(topology=topology, name=name, reading="").sort("seed")
        return [float(value) for value in rows["mean"]]

    def measured(self, name: str, topology: str = NSFNET, reading: str = "") -> bool:
        """Whether a routing was simulated."""
        return not self.throughput.filter(topology=topology, name=name, reading=reading).is_empty()

    def with_other_ties(self, name: str, topology: str = NSFNET) -> list[str]:
        """The names of the same routing with other choices among equally short paths."""
        return [other for other in self.choices[topology] if other.startswith((f"{name}-ties-", f"{name}-draw-"))]

    def load_range(self, name: str, topology: str = NSFNET) -> tuple[float, float]:
        """The least and the greatest worst-case load over ties, also of routings that were not simulated."""
        known = [self.load(one, topology) for one in (name, *self.with_other_ties(name, topology))]
        loads = [*known, *self.ranges[topology][name]]
        return min(loads), max(loads)

    def below_one(self, heuristic: str) -> list[int]:
        """The percentages at which the worst-case load is less than 1."""
        return [percent for percent in choices.X if self.load(f"{heuristic}-{percent}") < 1]

    @property
    def plans(self) -> list[str]:
        """The names of the plans, by falling load."""
        names = [name for name in self.choices[NSFNET] if name.startswith("plan-")]
        return sorted(names, key=lambda name: -self.load(name))


def found(lab: Lab, results: Mapping[str, Result]) -> Found:
    """Read the results of section 6."""
    known = all_choices(lab)
    parts = []
    for name, result in results.items():
        topology = next((one for one in reversed(TOPOLOGIES) if name.startswith(one)), None)
        if topology is not None:
            parts.append(_throughput(result, topology, name.removeprefix(topology).removeprefix("-")))
    return Found(known, load_ranges(lab), fits(lab), pl.concat(parts))


def _throughput(result: Result, topology: str, group: str) -> pl.DataFrame:
    columns = {key: f"{key}_of_run" for key in result.keys}
    table = (
        flows(result, columns)
        .group_by([*columns.values(), "seed"], maintain_order=True)
        .agg(mean=pl.col("goodput_bps").mean() / 1e6)
    )
    name = pl.col("from_of_run").str.strip_prefix(f"{topology}-").str.strip_suffix(".json").str.strip_suffix("-hosts")
    return table.select(
        pl.lit(topology).alias("topology"), name.alias("name"), _reading(group).alias("reading"), "seed", "mean"
    )


def _reading(group: str) -> pl.Expr:
    if group == "stacks":
        return pl.col("stack_of_run")
    if group == "hosts":
        return pl.concat_str(pl.lit("hosts "), pl.col("capacity_of_run"))
    return pl.lit("queue" if group == "queue" else "")
