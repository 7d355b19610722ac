"""Compare senders over queue disciplines, and write two parts of docs/models/who-survives-spraying.md: sprayed paths whose queues are managed, and
the share of Kikolo and MPRC beside CUBIC.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import polars as pl

from anabranch import Scenario
from anabranch.results.statistics import half_width
from anabranch.runs import execute
from bench.page import write_part
from bench.table import Table

PAGE = Path(__file__).parents[1] / "docs" / "models" / "who-survives-spraying.md"
COMMAND = "python -m bench.queues"
DISCIPLINES = ("drop-tail", "red", "ared", "codel", "pie", "fq-codel", "fq-pie", "fq", "sfq", "cake")
OF_PATHS = ("drop-tail", "codel", "pie", "fq-codel")
"""Disciplines of the sprayed paths."""
SPRAYED = ("linux-reno", "linux-cubic", "linux-bbr", "mprc", "cubic-fast-rto", "newreno-tcp-pr")
BESIDE_CUBIC = ("newreno", "kikolo", "mprc", "linux-cubic")
BRIEF = {"duration": "4s", "warm_up": "1s"}
"""Times of runs that only show that the command works."""
_PATH_PAYLOAD_BPS, _PATHS = 10e6 * 1460 / 1500, 4


def _run(duration: str = "40s", warm_up: str = "10s", *, seeds: int) -> str:
    return f'[run]\nduration = "{duration}"\nwarm_up = "{warm_up}"\nseeds = {seeds}\n'


def sprayed(queue: str, seeds: int, times: Mapping[str, str]) -> str:
    """One flow over four paths at random, of which the longest takes 20 ms more than the shortest, with and without loss before them."""
    limit = '"1 bdp"' if queue == "drop-tail" else '"1000 packets"'
    return f"""
[topology]
generate = {{ kind = "parallel", paths = {_PATHS}, delay = "20ms", difference = "20ms", rate = "10Mbps" }}
queue = {{ discipline = "{queue}", limit = {limit} }}

[[impairments]]
link = ["s1", "left"]
one_way = true
loss = [0.0, 0.001]

[routing]
random = {{ metric = "hop-count", select = "random" }}

[stacks]
cubic-fast-rto = {{ congestion = "cubic", detection = "fast-rto" }}
newreno-tcp-pr = {{ congestion = "newreno", detection = "tcp-pr" }}

[[traffic]]
from = "s1"
to = "d1"
stack = {list(SPRAYED)}

{_run(seeds=seeds, **times)}
"""


def shared(queue: str, stack: str, seeds: int, times: Mapping[str, str]) -> str:
    """A flow beside one of Linux's CUBIC, over 20 Mbit/s with a round trip of 40 ms."""
    limit = "200 packets" if queue in ("drop-tail", "red") else "1000 packets"
    return f"""
[topology]
links = [
    {{ source = "sender", target = "router", capacity = "1Gbps", delay = "10ms" }},
    {{ source = "router", target = "receiver", capacity = "20Mbps", delay = "10ms" }},
]
queue = {{ discipline = "{queue}", limit = "{limit}" }}

[[traffic]]
name = "flow"
from = "sender"
to = "receiver"
stack = "{stack}"

[[traffic]]
name = "beside"
from = "sender"
to = "receiver"
start = "100ms"
stack = "linux-cubic"

{_run(seeds=seeds, **times)}
"""


def in_several_queues(queue: str, seeds: int, times: Mapping[str, str]) -> str:
    """A flow over two paths that meet before a bottleneck of 20 Mbit/s, beside a flow over one of them. `entropy` decides whether a router takes the
    packets of the flow for one flow or for many.
    """
    limit = "200 packets" if queue == "drop-tail" else "1000 packets"
    return f"""
[topology]
links = [
    {{ source = "sender", target = "left", capacity = "1Gbps", delay = "1ms" }},
    {{ source = "left", target = "one", capacity = "100Mbps", delay = "8ms" }},
    {{ source = "left", target = "other", capacity = "100Mbps", delay = "8ms" }},
    {{ source = "one", target = "right", capacity = "100Mbps", delay = "1ms" }},
    {{ source = "other", target = "right", capacity = "100Mbps", delay = "1ms" }},
    {{ source = "right", target = "receiver", capacity = "20Mbps", delay = "10ms" }},
]
queue = {{ discipline = "{queue}", limit = "{limit}" }}

[routing]
spray = {{ metric = "hop-count", select = "hash", per = "packet" }}

[stacks]
one-value = {{ preset = "linux-cubic", entropy = "flow" }}
many-values = {{ preset = "linux-cubic", entropy = "oblivious" }}

[[traffic]]
name = "flow"
from = "sender"
to = "receiver"
stack = ["one-value", "many-values"]

[[traffic]]
name = "beside"
from = "sender"
to = "receiver"
start = "100ms"
stack = "one-value"

{_run(seeds=seeds, **times)}
"""


def _of_seeds(rows: pl.DataFrame, value: pl.Expr) -> str:
    """A value of each seed: the mean, and half of its 95 % interval."""
    values = rows.group_by("seed", maintain_order=True).agg(value.alias("value"))["value"].to_list()
    half = half_width(values)
    return f"{fmean(values):.1f} ± {half:.1f}" if half else f"{fmean(values):.1f}"


def _flows(text: str) -> pl.DataFrame:
    result = execute(Scenario.from_toml(text), show_progress=True)
    return result.flows.join(
        result.links.group_by("run").agg(drops=pl.col("queue_drops").sum()), on="run", maintain_order="left"
    )


def spraying(seeds: int, times: Mapping[str, str]) -> Table:
    """A row for each loss and sender: goodput over each discipline, spurious retransmissions, and reductions for each packet that a queue drops."""
    found = {queue: _flows(sprayed(queue, seeds, times)) for queue in OF_PATHS}
    whole = _PATHS * _PATH_PAYLOAD_BPS / 100
    sent, spurious = pl.col("segments_sent").sum(), pl.col("spurious_retransmits").sum()
    rows = []
    for loss in (0.0, 0.001):
        for stack in SPRAYED:
            cells = [flows.filter(loss=loss, variant_stack=stack) for flows in found.values()]
            rows.append(
                [
                    f"{100 * loss:g} %",
                    stack,
                    *(_of_seeds(cell, pl.col("goodput_bps").sum() / whole) for cell in cells),
                    *(f"{100 * float(cell.select(spurious / sent).item()):.2g}" for cell in cells[1:]),
                    *(_each(cell, "recoveries", "drops") if loss == 0 else "" for cell in cells[1:]),
                ]
            )
    head = ["loss", "stack", *(f"{queue}, %" for queue in OF_PATHS)]
    head += [f"spurious, {queue}, %" for queue in OF_PATHS[1:]]
    return Table([*head, *(f"reductions a drop, {queue}" for queue in OF_PATHS[1:])], rows)


def _each(rows: pl.DataFrame, part: str, whole: str) -> str:
    total = float(rows[whole].sum())
    return f"{float(rows[part].sum()) / total:.2f}" if total else "–"


def fairness(seeds: int, times: Mapping[str, str]) -> Table:
    """The share of each stack beside Linux's CUBIC, in per cent, by discipline."""
    share = pl.col("goodput_bps").filter(traffic="flow").sum() / pl.col("goodput_bps").sum() * 100
    rows = []
    for queue in DISCIPLINES:
        found = [_flows(shared(queue, stack, seeds, times)) for stack in BESIDE_CUBIC]
        total = fmean(float(flows["goodput_bps"].sum()) / seeds / 1e6 for flows in found)
        rows.append([queue, *(_of_seeds(flows, share) for flows in found), f"{total:.1f}"])
    return Table(["queue", *(f"{stack}, %" for stack in BESIDE_CUBIC), "both, Mbit/s"], rows)


def flow_queues(seeds: int, times: Mapping[str, str]) -> Table:
    """The share of a sprayed flow beside a flow on one path, in per cent, by discipline of their common queue."""
    share = pl.col("goodput_bps").filter(traffic="flow").sum() / pl.col("goodput_bps").sum() * 100
    rows = []
    for queue in DISCIPLINES:
        flows = _flows(in_several_queues(queue, seeds, times))
        cells = [flows.filter(variant_stack=stack) for stack in ("one-value", "many-values")]
        rows.append([queue, *(_of_seeds(cell, share) for cell in cells)])
    return Table(["common queue", "one value, %", "many values, %"], rows)


def parts(seeds: int, times: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The key and the text of each part of the page."""
    yield "queues", spraying(seeds, times).markdown()
    yield "flow queues", flow_queues(seeds, times).markdown()
    yield "fairness", fairness(seeds, times).markdown()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, and write the parts of the page."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="runs of each cell (default: %(default)s)")
    parser.add_argument("--brief", action="store_true", help="short runs; print the parts and leave the page as it is")
    options = parser.parse_args(arguments)
    for key, text in parts(options.seeds, BRIEF if options.brief else {}):
        if options.brief:
            print(f"{key}\n\n{text}\n")
        else:
            write_part(PAGE, key, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
