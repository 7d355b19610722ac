"""Measure what surrounds a large run: a scenario of 10,000 nodes and a million flows, step by step.

Prints a table and writes it into docs/development/performance.md.
"""

import argparse
import json
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from datetime import UTC, datetime
from functools import partial
from io import StringIO
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table

from anabranch import _core, version
from anabranch.compile.run import compile_run
from anabranch.engines import predict
from anabranch.runs import execute
from anabranch.scenario import Scenario
from bench.bench import PAGE, machine
from bench.page import write_part
from bench.peers.child import run_child

NODES, FLOWS = 10_000, 1_000_000
SOURCES = 1_000
"""Nodes that send the flows of the prediction, which do not end."""
DEGREE = 6
COLUMNS = ("step", "CPU, s")
PEAK = "peak memory, MB"
_Value = TypeVar("_Value")


def document(nodes: int, flows: int) -> dict[str, Any]:
    """A random network, connected, and flows of 10 kB between pairs drawn at random; they all start within a millisecond."""
    draw = random.Random(1)
    cables = {(draw.randrange(node), node) for node in range(1, nodes)}
    while len(cables) < nodes * DEGREE // 2:
        one, other = sorted(draw.sample(range(nodes), 2))
        cables.add((one, other))
    return {
        "title": "A large network",
        "topology": {
            "links": [{"source": f"n{one}", "target": f"n{other}"} for one, other in sorted(cables)],
            "capacity": "10Gbps",
            "delay": "1ms",
            "queue": {"discipline": "drop-tail", "limit": "1000 packets"},
        },
        "traffic": [
            {
                "from": "all",
                "to": "all",
                "pattern": "random-pairs",
                "count": flows,
                "size": "10kB",
                "stack": "newreno",
                "routing": "ospf",
                "stagger": f"{10**9 // flows}ps",
            }
        ],
        "run": {"duration": "5ms"},
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="runs of all steps, each in a process of its own")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="the CPU that all runs share")
    parser.add_argument("--steps", action="store_true", help="print one round's steps as JSON and write nothing")
    options = parser.parse_args(arguments)
    if options.steps:
        print(json.dumps(_steps()))
        return 0
    command = [sys.executable, "-m", "bench.scale", "--steps"]
    rounds = [run_child(command, options.cpu).values for _ in range(options.rounds)]
    peak = median(values.pop(PEAK) for values in rounds)
    rows = [[step, f"{median(values[step] for values in rounds):.2f}"] for step in rounds[0]]
    table = Table(title=f"{NODES:,} nodes, {FLOWS:,} flows", title_justify="left")
    for name, side in zip(COLUMNS, ("left", "right"), strict=True):
        table.add_column(name, justify=side)  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*row)
    Console().print(table)
    today = datetime.now(UTC).date().isoformat()
    source = f"Anabranch {version()}, {today}, `python -m bench.scale --rounds {options.rounds}`, medians; peak memory {peak:,.0f} MB; {machine()}."
    steps = "; ".join(f"{step} {seconds}" for step, seconds in rows)
    write_part(PAGE, "scale", f"{COLUMNS[1]}: {steps}.\n\n{source}")
    return 0


def _steps() -> dict[str, float]:
    """CPU seconds of every step, and the peak of the memory."""
    given = document(NODES, FLOWS)
    steps: dict[str, float] = {}

    def measured(step: str, work: Callable[[], _Value]) -> _Value:
        began = time.process_time()
        value = work()
        steps[step] = time.process_time() - began
        return value

    scenario = measured("the scenario, read and checked", lambda: Scenario(given))
    spec = measured("compiled", partial(compile_run, scenario.cases[0], 1))
    text = measured("as JSON", partial(json.dumps, spec))
    simulation = measured("built in the core: all routes, all flows", partial(_core.Simulation, text))
    measured("5 ms simulated", partial(_run, simulation))
    measured("the columns of both tables", partial(_columns, simulation))
    del spec, text, simulation
    long_run = compile_run(Scenario(_bulk(given)).cases[0], 1)
    prediction = measured(
        f"flows without end from {SOURCES:,} nodes, predicted, with all routes", partial(predict.predicted, long_run)
    )
    if not prediction.converged:
        raise RuntimeError("the prediction has not converged")
    del prediction, long_run
    with tempfile.TemporaryDirectory() as folder, redirect_stderr(StringIO()):
        measured(
            "all of `anabranch run --no-report` but the start", lambda: execute(Scenario(given), directory=Path(folder))
        )
    steps[PEAK] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return steps


def _bulk(given: dict[str, Any]) -> dict[str, Any]:
    """The same network, with flows that do not end."""
    [traffic] = given["traffic"]
    kept = {name: value for name, value in traffic.items() if name not in {"size", "stagger"}}
    changed = {"from": [f"n{node}" for node in range(SOURCES)], "stack": "linux-cubic"}
    return given | {"traffic": [kept | changed], "run": {"duration": "60s"}}


def _columns(simulation: _core.Simulation) -> None:
    simulation.flows()
    simulation.links()


def _run(simulation: _core.Simulation) -> None:
    while simulation.advance(200_000):
        pass


if __name__ == "__main__":
    sys.exit(main())
