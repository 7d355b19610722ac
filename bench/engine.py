"""CPU time of the engine alone on the reference dumbbell: python -m bench.engine SECONDS, one line of JSON."""

import json
import sys
import time
from pathlib import Path

from anabranch import _core
from anabranch.compile.run import compile_run
from anabranch.scenario import Scenario

SCENARIO = Path(__file__).resolve().parent / "scenarios" / "dumbbell.toml"


def main() -> None:
    """Build and run the simulation between two looks at the process's CPU clock."""
    spec = json.dumps(compile_run(Scenario.load(SCENARIO, {"run.duration": f"{sys.argv[1]}s"}).cases[0], 1))
    began = time.process_time()
    simulation = _core.Simulation(spec)
    while simulation.advance(200_000):
        pass
    spent = time.process_time() - began
    print(json.dumps({"packet_hops": simulation.packet_hops, "cpu_seconds": spent}))


if __name__ == "__main__":
    main()
