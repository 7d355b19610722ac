"""Measure the packet engine's speed and memory beside ns-2 and ns-3 on one network.

Prints a table and writes it into docs/development/performance.md.
"""

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from anabranch import version
from anabranch.foundation.progress import Steps
from bench.page import write_part
from bench.peers import PeerError, ns2, ns3
from bench.peers.child import measure_child, run_child

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "development" / "performance.md"
SCENARIO = ROOT / "bench" / "scenarios" / "dumbbell.toml"
FLOWS = 16
SECONDS = 20.0
NS3_SECONDS = 2.0
MANY_FLOWS = 10_000
PACKET_BYTES = 32
"""The most memory of a packet in flight; the flows take the other growth."""


@dataclass(frozen=True)
class Run:
    """One run of one simulator."""

    packet_hops: int
    cpu_seconds: float
    peak_rss_bytes: int


@dataclass
class Simulator:
    """A simulator, how often it runs, and its runs so far."""

    name: str
    run: Callable[[], Run]
    rounds: int
    runs: list[Run] = field(default_factory=list)

    def hops_per_second(self) -> float:
        """The median of packet-hops per CPU second."""
        return median(run.packet_hops / run.cpu_seconds for run in self.runs)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m bench.bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="runs of each simulator, in turn (ns-3: at most 2)")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="the CPU that all runs share")
    options = parser.parse_args(arguments)
    try:
        text = _measure(options.rounds, options.cpu)
    except PeerError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    write_part(PAGE, "bench", text)
    return 0


def _measure(rounds: int, cpu: int) -> str:
    engine = Simulator("Anabranch, the engine alone", lambda: _engine(cpu), rounds)
    ours = Simulator("Anabranch, whole process", lambda: _anabranch(cpu), rounds)
    installed = Simulator("ns-2, as installed", lambda: _ns2(False, cpu), rounds)
    tuned = Simulator("ns-2, tuned", lambda: _ns2(True, cpu), rounds)
    third = Simulator(f"ns-3 ({NS3_SECONDS:g} s simulated)", lambda: _ns3(cpu), min(rounds, 2))
    ns3.build("dumbbell")
    _in_turn((engine, ours, installed, tuned, third))
    net = engine.hops_per_second()
    columns = (
        "simulator",
        "packet-hops",
        "CPU, s",
        "M packet-hops per CPU second",
        "engine alone is faster by",
        "peak memory, MB",
    )
    rows = [_row(simulator, net) for simulator in (engine, ours, tuned, installed, third)]
    table = Table(title="Reference dumbbell", title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right")
    for row in rows:
        table.add_row(*row)
    console = Console()
    console.print(table)
    whole = ours.hops_per_second()
    further = [
        f"Whole process against whole process, for a run of {SECONDS:g} s: {whole / installed.hops_per_second():.1f} times "
        f"ns-2 as installed, {whole / tuned.hops_per_second():.1f} times ns-2 tuned.",
        *_memory(cpu),
    ]
    for line in further:
        console.print(line, highlight=False)
    lines = [f"| {' | '.join(cells)} |" for cells in (columns, ["---"] * len(columns), *rows)]
    today = datetime.now(UTC).date().isoformat()
    source = (
        f"Anabranch {version()}, {today}, `python -m bench.bench --rounds {rounds}`, medians of {rounds} runs in "
        "turn on one CPU; "
        f"{machine()}."
    )
    return "\n".join([*lines, "", *(f"- {line}" for line in further), "", source])


def _in_turn(simulators: Sequence[Simulator]) -> None:
    """One run of each after the other, so that what disturbs the machine disturbs all alike."""
    with Steps(sum(simulator.rounds for simulator in simulators), "runs") as progress:
        for turn in range(max(simulator.rounds for simulator in simulators)):
            for simulator in simulators:
                if turn < simulator.rounds:
                    simulator.runs.append(simulator.run())
                    progress.advance()


def _anabranch(cpu: int) -> Run:
    """Run the dumbbell through the command line."""
    with tempfile.TemporaryDirectory() as folder:
        command = [_program(), "run", str(SCENARIO), "--set", f"run.duration={SECONDS:g}s", "--out", folder]
        _, cpu_seconds, peak_rss_bytes = measure_child(command, cpu)
        manifest = json.loads((Path(folder) / "manifest.json").read_text(encoding="utf-8"))
    return Run(manifest["runs"][0]["packet_hops"], cpu_seconds, peak_rss_bytes)


def _engine(cpu: int) -> Run:
    run = run_child([sys.executable, "-m", "bench.engine", f"{SECONDS:g}"], cpu)
    return Run(run.values["packet_hops"], run.values["cpu_seconds"], run.peak_rss_bytes)


def _ns2(tuned: bool, cpu: int) -> Run:
    run = ns2.run_dumbbell(FLOWS, SECONDS, tuned=tuned, cpu=cpu)
    return Run(run.packet_hops, run.cpu_seconds, run.peak_rss_bytes)


def _ns3(cpu: int) -> Run:
    run = ns3.run_dumbbell(FLOWS, NS3_SECONDS, cpu=cpu)
    return Run(run.packet_hops, run.cpu_seconds, run.peak_rss_bytes)


def _program() -> str:
    beside = Path(sys.executable).with_name("anabranch")
    program = str(beside) if beside.is_file() else shutil.which("anabranch")
    if program is None:
        raise PeerError("anabranch is not installed in this environment")
    return program


def _row(simulator: Simulator, engine: float) -> list[str]:
    speed = simulator.hops_per_second()
    return [
        simulator.name,
        f"{median(run.packet_hops for run in simulator.runs):,.0f}",
        f"{median(run.cpu_seconds for run in simulator.runs):.2f}",
        f"{speed / 1e6:.2f}",
        f"{engine / speed:.1f} times",
        f"{median(run.peak_rss_bytes for run in simulator.runs) / 1e6:.0f}",
    ]


def _memory(cpu: int) -> list[str]:
    """Memory of 10,000 flows over 10 Gbit/s, against 16 flows on the same network."""
    seconds = "2"
    few, many = (
        run_child([sys.executable, "-m", "bench.memory", str(flows), seconds], cpu).values
        for flows in (FLOWS, MANY_FLOWS)
    )
    grown = many["grown_bytes"] - few["grown_bytes"]
    packets = many["in_flight_packets"] - few["in_flight_packets"]
    flows = MANY_FLOWS - FLOWS
    return [
        f"Memory of a flow: {(grown - packets * PACKET_BYTES) / flows:.0f} bytes, and {PACKET_BYTES} for each packet "
        "in "
        f"flight ({grown / flows:.0f} bytes with these): {MANY_FLOWS} flows over 10 Gbit/s add "
        f"{many['grown_bytes'] / 1e6:.1f} MB "
        f"to the process with {many['in_flight_packets']} packets in flight, {FLOWS} flows "
        f"{few['grown_bytes'] / 1e6:.1f} MB with "
        f"{few['in_flight_packets']}; {seconds} s simulated."
    ]


def machine() -> str:
    """The machine on which the figures were measured."""
    return f"{_cpu_model()}, {os.cpu_count()} CPUs, {platform.system()}, Python {platform.python_version()}"


def _cpu_model() -> str:
    """The processor's name, and its family and model where it tells them: machines that are rented often share a name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    facts = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    name = facts.get("model name", platform.machine())
    if "cpu family" in facts and "model" in facts:
        return f"{name} (family {facts['cpu family']}, model {facts['model']})"
    return name


if __name__ == "__main__":
    sys.exit(main())
