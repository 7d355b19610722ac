"""Measure what a sweep costs beside its engine: 10,000 small runs.

The runs are executed first by the engine alone, then by the sweep. The difference is what a run costs: its values, its compiled form, its
hash, its rows, the directory. Both are processor times, of worker processes as well, which other work on the machine changes little. It
fails beyond 2 ms a run.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event

import polars as pl

from anabranch.engines import packet
from anabranch.engines.registry import ENGINES
from anabranch.studies.sweep import Sweep, SweepResult
from anabranch.studies.sweep.tasks import Silent

SCENARIO = """\
topology.links = [{ source = "A", target = "B", capacity = "10Mbps", delay = "5ms" }]
traffic = [{ from = "A", to = "B", bulk = true, stack = "newreno" }]
impairments = [{ link = ["A", "B"], loss = 0.0 }]
run.duration = "200ms"
"""
PLAN = """\
scenario = "scenario.toml"
engines = ["{engine}"]
seeds = {seeds}

[treatments]
traffic.0.stack = ["newreno", "cubic"]

[conditions]
impairments.0.loss = {{ from = 1e-4, to = 1e-2, values = {values}, scale = "log" }}
"""
BOUND_MS = 2.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and fail beyond the bound."""
    parser = argparse.ArgumentParser(prog="python -m bench.sweep", description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000, help="how many (default 10000)")
    parser.add_argument(
        "--seeds", type=int, default=1, help="of each point (default 1, at which no run shares its values)"
    )
    parser.add_argument("--engine", choices=["packet", "predict"], default="packet")
    parser.add_argument("--jobs", type=int, default=1, help="processes of the sweep (default 1)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="anabranch-sweep-") as folder:
        place = Path(folder)
        (place / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
        values = max(2, options.runs // (2 * options.seeds))
        plan = PLAN.format(engine=options.engine, seeds=options.seeds, values=values)
        (place / "plan.toml").write_text(plan, encoding="utf-8")
        sweep = Sweep.load(place / "plan.toml")
        alone_s = _engine_s(sweep, options.engine)
        began, began_s = time.perf_counter(), _processor_s()
        result = sweep.execute(place / "out", jobs=options.jobs)
        swept_s, wall_s = _processor_s() - began_s, time.perf_counter() - began
        finished = result.runs()
        began = time.perf_counter()
        sweep.execute(place / "out", jobs=options.jobs)
        again_s = time.perf_counter() - began
        began = time.perf_counter()
        flows = SweepResult.load(place / "out").scan().filter(pl.col("loss") < 1e-3)
        flows.group_by("variant_stack").agg(pl.col("goodput_bps").mean()).collect()
        query_s = time.perf_counter() - began
        began = time.perf_counter()
        groups = SweepResult.load(place / "out").summary.height
        summary_s = time.perf_counter() - began
        size = sum(path.stat().st_size for path in (place / "out").rglob("*.parquet"))
    runs = sweep.planned
    each_ms = 1e3 * (swept_s - alone_s) / runs
    print(f"{sweep.size}, {finished} finished, {options.engine}, {options.jobs} at a time")
    print(
        f"engine alone {1e3 * alone_s / runs:.3f} ms a run, sweep {1e3 * swept_s / runs:.3f} ms a run ({wall_s:.0f} s)"
    )
    print(f"beyond the engine {each_ms:.3f} ms a run, at most {BOUND_MS} ms")
    print(
        f"the same command again {again_s:.2f} s, a query {query_s:.3f} s, a summary of {groups} rows {summary_s:.2f} s"
    )
    print(f"{size / runs:.0f} bytes a run")
    return 1 if each_ms > BOUND_MS else 0


def _engine_s(sweep: Sweep, engine: str) -> float:
    """The processor time that the engine takes for the runs, with nothing around it."""
    specs = [json.loads(json.dumps(sweep.compiled(sweep.run(number)))) for number in sweep.numbers()]
    stop, silent = Event(), Silent()
    began_s = _processor_s()
    for spec in specs:
        packet.simulate(spec, silent, stop, lambda spec: ENGINES[engine].simulation(spec, 1, stop))
    return _processor_s() - began_s


def _processor_s() -> float:
    """The processor time of this process and of its children that have ended, seconds."""
    return sum(os.times()[:4])


if __name__ == "__main__":
    sys.exit(main())
