"""Measure the packet engine on its reference work, cases A to I.

Prints a table and writes it into docs/development/performance.md.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from rich.console import Console
from rich.table import Table

from anabranch import version
from anabranch.foundation.progress import Steps
from bench import program
from bench.bench import PACKET_BYTES, PAGE, machine
from bench.page import write_part
from bench.peers import PeerError, PeerMissing, htsim, ns2, ns3
from bench.peers.work import Work
from bench.program import EngineRun
from bench.reference import CASES, EXTRAS, Case, fat_tree

PLAIN_ROUNDS = 3
PEERS: dict[str, Callable[..., float]] = {
    "ns-2 tuned": ns2.run_flows,
    "ns-2 as installed": partial(ns2.run_flows, tuned=False),
    "ns-3": ns3.run_flows,
}
NS2_SECONDS = {"A": 20.0, "B": 20.0, "C": 1.0, "E": 1.0, "F": 0.5, "H": 0.002}
PEER_SECONDS = {
    "ns-2 tuned": NS2_SECONDS,
    "ns-2 as installed": NS2_SECONDS,
    "ns-3": {"A": 1.0, "B": 2.0, "C": 0.05, "E": 0.2, "F": 0.1, "H": 0.002},
}
"""Simulated seconds of the cases that a peer has, too: a number that it simulates in some seconds."""
HTSIM_TOLERANCE = 0.25
"""Where the goodput of htsim differs by more than this share, it did other work, and its speed is not compared."""
EQUAL_WORK = ("B", "D", "E", "H")
"""The only cases whose speeds are compared with htsim's, if their goodput agrees too."""
NOT_COMPARED = "not compared"
PEER_CHANGES = {"H": {**fat_tree(8), "traffic[0].short.arrivals": "1250000/s", "run.duration": "2ms"}}
"""Changes where a case is too large for the peers."""
COLUMNS = (
    "case",
    "packet-hops",
    "M hops per CPU second",
    "oracle",
    *PEERS,
    "htsim",
    "instructions per hop",
    "events per hop",
    "bytes per flow",
    "peak memory, MB",
)
ON_THREADS = ("C", "D", "H")
"""The cases that also run on two threads."""
THREAD_COLUMNS = ("case on two threads", "seconds of the clock on one", "on two", "faster by")
EXTRA_COLUMNS = ("A with", "M hops per CPU second", "ns per hop", "of A's")


@dataclass(frozen=True)
class Described:
    """A case as htsim takes it: its file, and the payload bytes that arrived in the engine."""

    file: Path
    delivered_bytes: int


@dataclass
class Measured:
    """The runs of a case."""

    case: Case
    fast: list[EngineRun] = field(default_factory=list)
    oracle: list[EngineRun] = field(default_factory=list)
    threaded: list[EngineRun] = field(default_factory=list)
    peers: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in PEERS})
    """Packet-hops per CPU second of each peer."""
    described: Described | None = None
    htsim_runs: list[htsim.HtsimRun] = field(default_factory=list)
    instructions: int | None = None

    @property
    def values(self) -> dict[str, Any]:
        """The values that are the same in every run."""
        return self.fast[0].values

    @property
    def speed(self) -> float:
        """Packet-hops per CPU second of the engine alone."""
        return median(run.hops_per_second for run in self.fast)

    @property
    def htsim_goodput(self) -> float:
        """Goodput in htsim as a share of the engine's."""
        assert self.described is not None
        return self.htsim_runs[0].delivered_bytes / self.described.delivered_bytes

    def check(self) -> None:
        """All runs of both loops, on however many threads, must have the same results."""
        fingerprints = {run.values["fingerprint"] for run in (*self.fast, *self.oracle, *self.threaded)}
        if len(fingerprints) > 1:
            raise PeerError(f"case {self.case.key}: the loops differ, or two runs of one: {sorted(fingerprints)}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m bench.cases", description=__doc__)
    keys = [case.key for case in (*CASES, *EXTRAS)]
    parser.add_argument("--only", nargs="+", choices=keys, default=keys, help="these cases; the page is left as it is")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each case, in turn")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="the CPU that all runs share")
    options = parser.parse_args(arguments)
    chosen = [case for case in (*CASES, *EXTRAS) if case.key in options.only]
    try:
        measured = _measure(chosen, options.rounds, options.cpu)
    except PeerError as error:
        print(f"cases: {error}", file=sys.stderr)
        return 1
    rows = [_row(each) for each in measured if each.case in CASES]
    reference = next((each.speed for each in measured if each.case.key == "A"), None)
    extras = [_extra_row(each, reference) for each in measured if each.case in EXTRAS]
    _print("Reference work", COLUMNS, rows)
    mean = _mean_beside_htsim(measured)
    if mean:
        print(mean)
    threads = [_thread_row(each) for each in measured if each.threaded]
    _print("Case A with", EXTRA_COLUMNS, extras)
    _print("On two threads", THREAD_COLUMNS, threads)
    if len(chosen) == len(keys):
        write_part(PAGE, "cases", _text(((COLUMNS, rows), (EXTRA_COLUMNS, extras)), threads, mean, options.rounds))
    return 0


def _print(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = Table(title=title, title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right")
    for row in rows:
        table.add_row(*row)
    if rows:
        Console().print(table)


def _measure(cases: Sequence[Case], rounds: int, cpu: int) -> list[Measured]:
    engine = program.build()
    measured = [Measured(case) for case in cases]
    with tempfile.TemporaryDirectory() as folder:
        specs = {}
        for case in cases:
            specs[case.key] = Path(folder) / f"{case.key}.json"
            specs[case.key].write_text(case.compiled(), encoding="utf-8")
        in_htsim = _describe(measured, specs)
        steps = [
            step
            for turn in range(rounds)
            for each in measured
            for step in _turn(each, turn, engine, specs, cpu, in_htsim)
        ]
        with Steps(len(steps), "runs") as progress:
            for step in steps:
                step()
                progress.advance()
    for each in measured:
        each.check()
    return measured


def _describe(measured: Sequence[Measured], specs: dict[str, Path]) -> Path | None:
    """Write the cases down for htsim; return the program that runs them, or None, and say why."""
    try:
        program = htsim.build()
    except PeerMissing as missing:
        print(f"cases: without htsim: {missing}", file=sys.stderr)
        return None
    for each in measured:
        if each.case in CASES:
            description = htsim.describe(specs[each.case.key].read_text(encoding="utf-8"))
            file = specs[each.case.key].with_suffix(".htsim")
            file.write_text(description.text, encoding="utf-8")
            each.described = Described(file, description.delivered_bytes)
    return program


def _turn(
    each: Measured, turn: int, engine: Path, specs: dict[str, Path], cpu: int, in_htsim: Path | None
) -> list[Callable[[], None]]:
    """The runs of a case in this turn, one after the other, so that a disturbance of the machine affects all alike."""
    key = each.case.key
    steps: list[Callable[[], None]] = []

    def count() -> None:
        each.instructions = program.instructions(engine, specs[key])

    steps.append(lambda: each.fast.append(program.run(engine, specs[key], cpu=cpu)))
    if each.case in EXTRAS:
        return steps
    if key in ON_THREADS:
        steps.append(lambda: each.threaded.append(program.run(engine, specs[key], by="2")))
    if turn < (1 if each.case.is_large else PLAIN_ROUNDS):
        steps.append(lambda: each.oracle.append(program.run(engine, specs[key], by="oracle", cpu=cpu)))
        if in_htsim is not None and each.described is not None:
            run = partial(htsim.run, in_htsim, each.described.file, cpu=cpu)
            steps.append(lambda: each.htsim_runs.append(run()))
    for name, seconds in PEER_SECONDS.items():
        if key in seconds:
            steps.append(partial(_run_peer, each, name, seconds[key], cpu))
    if turn == 0:
        steps.append(count)
    return steps


def _run_peer(each: Measured, name: str, seconds: float, cpu: int) -> None:
    changes = PEER_CHANGES.get(each.case.key, {})
    work = Work.of(json.loads(each.case.compiled(changes=changes)))
    each.peers[name].append(PEERS[name](work, seconds, cpu=cpu))


def _row(each: Measured) -> list[str]:
    grown = median(run.values["grown_bytes"] for run in each.fast)
    of_flows = grown - PACKET_BYTES * each.values["in_flight_packets"]
    hops = each.values["packet_hops"]
    return [
        f"{each.case.key}: {each.case.what}",
        f"{hops:,}",
        f"{each.speed / 1e6:.1f}",
        f"{median(run.hops_per_second for run in each.oracle) / 1e6:.1f}",
        *(_beside(each.speed, runs) for runs in each.peers.values()),
        _beside_htsim(each),
        "" if each.instructions is None else f"{each.instructions / hops:.0f}",
        f"{each.values['events'] / hops:.3f}",
        f"{of_flows / each.values['flows']:,.0f}" if each.values["flows"] >= 1000 else "",
        f"{median(run.peak_rss_bytes for run in each.fast) / 1e6:.0f}",
    ]


def _beside(speed: float, runs: list[float]) -> str:
    """A peer's speed, and how many times faster the engine is; empty for a case that the peer does not have."""
    return f"{median(runs) / 1e6:.2f} ({speed / median(runs):.1f}x)" if runs else ""


def _times_htsim(each: Measured) -> float | None:
    """The engine's speed as a multiple of htsim's; ``None`` if the two did not do the same work."""
    if each.case.key not in EQUAL_WORK or not each.htsim_runs or abs(each.htsim_goodput - 1) > HTSIM_TOLERANCE:
        return None
    return each.speed / median(run.hops_per_second for run in each.htsim_runs)


def _beside_htsim(each: Measured) -> str:
    """htsim's speed, the ratio of the engine's speed to it if both did the same work, and its goodput as a share of the engine's."""
    if not each.htsim_runs:
        return ""
    speed = median(run.hops_per_second for run in each.htsim_runs)
    times = _times_htsim(each)
    faster = NOT_COMPARED if times is None else f"{times:.1f}x"
    return f"{speed / 1e6:.2f} ({faster}, {each.htsim_goodput * 100:.0f} %)"


def _mean_beside_htsim(measured: Sequence[Measured]) -> str:
    """The sentence about all cases of equal work; empty without any."""
    times = {each.case.key: found for each in measured if (found := _times_htsim(each)) is not None}
    if not times:
        return ""
    return f"On equal work ({', '.join(times)}) the engine is {geometric_mean(times.values()):.1f} times as fast as htsim, in the geometric mean."


def _extra_row(each: Measured, reference: float | None) -> list[str]:
    times = "" if reference is None else f"{reference / each.speed:.2f} times"
    return [each.case.what, f"{each.speed / 1e6:.1f}", f"{1e9 / each.speed:.1f}", times]


def _thread_row(each: Measured) -> list[str]:
    one, two = (median(run.clock_seconds for run in runs) for runs in (each.fast, each.threaded))
    return [
        each.case.key,
        f"{one:.3f}",
        f"{two:.3f}",
        f"{one / two:.2f} times",
    ]


def _text(
    tables: Sequence[tuple[Sequence[str], Sequence[Sequence[str]]]],
    threads: Sequence[Sequence[str]],
    mean: str,
    rounds: int,
) -> str:
    today = datetime.now(UTC).date().isoformat()
    source = (
        f"Anabranch {version()}, {today}, `python -m bench.cases --rounds {rounds}`, medians of {rounds} runs (oracle "
        f"and htsim: {PLAIN_ROUNDS}, on G, H and I 1) in turn on one CPU, two threads on both; {machine()}."
    )
    lines = (line for columns, cells in tables for line in (*_markdown(columns, cells), ""))
    on_two = "; ".join(f"{case} {one} on one, {two} on two ({faster})" for case, one, two, faster in threads)
    of_htsim = (mean, "") if mean else ()
    return "\n".join([*lines, *of_htsim, f"Seconds of the clock on threads: {on_two}.", "", source])


def _markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (columns, ["---"] * len(columns), *rows)]


if __name__ == "__main__":
    sys.exit(main())
