"""Measure the resident memory that a run adds: python -m bench.memory FLOWS SECONDS [KEY=VALUE ...], one line of JSON."""

import json
import sys
from pathlib import Path

from anabranch import _core
from anabranch.compile.run import compile_run
from anabranch.scenario import Scenario

SCENARIO = Path(__file__).resolve().parent / "scenarios" / "dumbbell.toml"
PAIRS = 16


def main() -> None:
    """Run the dumbbell at 10 Gbit/s with this number of flows and other changes of the scenario; print the growth of the peak."""
    flows, seconds = int(sys.argv[1]), sys.argv[2]
    changes = {
        "topology.generate.access": "100Gbps",
        "topology.generate.bottleneck": "10Gbps",
        "topology.override[0].queue.limit": "30000 packets",
        "traffic[0].flows": str(flows // PAIRS),
        "traffic[0].stagger": "10us",
        "run.duration": f"{seconds}s",
        **dict(change.split("=", 1) for change in sys.argv[3:]),
    }
    spec = json.dumps(compile_run(Scenario.load(SCENARIO, changes).cases[0], 1))
    before = _peak_resident_bytes()
    simulation = _core.Simulation(spec)
    while simulation.advance(200_000):
        pass
    grown = _peak_resident_bytes() - before
    in_flight = int(simulation.flows()["cwnd_segments"].sum())  # bulk flows keep their windows full
    print(json.dumps({"flows": flows, "grown_bytes": grown, "in_flight_packets": in_flight}))


def _peak_resident_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("this system does not tell the peak of the resident memory")


if __name__ == "__main__":
    main()
