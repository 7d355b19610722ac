"""The other reading of section 5.1: the flows of all three metrics at once, distinguished by their source ports."""

import json
from collections.abc import Mapping
from itertools import pairwise

import polars as pl

from anabranch.foundation.output_files import write_text
from anabranch.results.result import Result
from anabranch.scenario import Scenario
from anabranch.studies.papers.measures import flows as flows_of
from anabranch.studies.papers.measures import over_seeds
from anabranch.studies.papers.study import Experiment, Lab
from anabranch.studies.papers.tcpbp import copies
from anabranch.studies.papers.tcpbp.networks import DELAY, HOPS, TCPBP, Pair, name
from anabranch.studies.papers.tcpbp.throughput import FLOWS, Testbed

METRICS = {"tcpbp": TCPBP, "hop-count": HOPS, "delay": DELAY}


def pairs(bed: Testbed) -> list[Pair]:
    """The pairs whose routes are not all the same."""
    return [pair for pair in bed.pairs if len({bed.chosen[metric][pair] for metric in METRICS.values()}) > 1]


def experiments(lab: Lab) -> list[Experiment]:
    """The experiment: each pair with its three routes, in a copy of the routes' links."""
    path = lab.directory / "scenarios" / "together.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    duration, warm_up, seeds = (3, 1, 2) if lab.quick else (15, 5, 3)
    run = f'[run]\nduration = "{duration}s"\nwarm_up = "{warm_up}s"\nseeds = {lab.seeds or seeds}\n'
    write_text(path, _text(Testbed("0.0040")) + run)
    return [Experiment("together", Scenario.load(path))]


def gains(bed: Testbed, result: Result) -> Mapping[tuple[str, int], tuple[float, float | None]]:
    """Mean ratio of TCPBP over another metric on differing routes, by metric and number of flows."""
    table = flows_of(result).with_columns(pair=pl.col("src").str.split("/").list.first())
    means = table.group_by("pair", "traffic", "flows", "seed").agg(pl.col("goodput_bps").mean())
    rates = {(row["pair"], row["traffic"], row["flows"], row["seed"]): row["goodput_bps"] for row in means.to_dicts()}
    seeds = sorted(means["seed"].unique())
    found = {}
    for label in ("hop-count", "delay"):
        differing = [name(pair) for pair in bed.pairs if bed.chosen[TCPBP][pair] != bed.chosen[METRICS[label]][pair]]
        for flows in FLOWS:
            found[label, flows] = over_seeds(
                [
                    sum(rates[pair, "tcpbp", flows, seed] / rates[pair, label, flows, seed] for pair in differing)
                    / len(differing)
                    for seed in seeds
                ]
            )
    return found


def _text(bed: Testbed) -> str:
    links = {(link.source, link.target): link for link in bed.topology.links}
    lines, joins, parts = [], [], pairs(bed)
    for pair in parts:
        used = {
            hop
            for metric in METRICS.values()
            for way in (bed.chosen[metric][pair], bed.chosen[metric][pair][::-1])
            for hop in pairwise(way)
        }
        lines += [
            copies.link_line(f"{name(pair)}/{one}", f"{name(pair)}/{other}", links[one, other])
            for one, other in sorted(used)
        ]
    for one, other in pairwise(parts):
        joins.append(f'    {{ source = "{name(one)}/{one[1]}", target = "{name(other)}/{other[0]}", delay = "1s" }},')
    head = [
        "# The flows of TCPBP, hop-count and delay at once: every pair whose routes differ has a copy of their links of its own.",
        'title = "Three metrics at once"',
        "",
        "[topology]",
        'capacity = "1Gbps"',
        f'queue = {{ discipline = "drop-tail", limit = "{copies.QUEUE}" }}',
        "links = [",
        *lines,
        *joins,
        "]",
        "",
        copies.STACK,
    ]
    for label, metric in METRICS.items():
        ways = [
            way for pair in parts for way in ((bed.chosen[metric][pair], pair), (bed.chosen[metric][pair][::-1], pair))
        ]
        nodes = [[f"{name(pair)}/{node}" for node in way] for way, pair in ways]
        ends = [[f"{name(pair)}/{pair[end]}" for pair in parts] for end in (0, 1)]
        head += [
            f"[routing.{label}]",
            f"paths = {json.dumps(nodes)}",
            "",
            "[[traffic]]",
            f'name = "{label}"',
            f"from = {json.dumps(ends[0])}",
            f"to = {json.dumps(ends[1])}",
            'pattern = "pairs"',
            f"flows = {list(FLOWS)}",
            "bulk = true",
            'stack = "linux"',
            f'routing = "{label}"',
            "",
        ]
    return "\n".join(head)
