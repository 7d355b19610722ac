"""The engine as a program of its own (crates/engine): built, run, and its instructions counted."""

import json
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.peers.child import PeerError, run_child

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class EngineRun:
    """One run of the engine alone."""

    values: dict[str, Any]
    peak_rss_bytes: int

    @property
    def clock_seconds(self) -> float:
        """Time from the built run to its end, on however many threads."""
        return float(self.values["clock_seconds"])

    @property
    def hops_per_second(self) -> float:
        """Packet-hops per CPU second of the engine; the time to build the run is not in it."""
        return float(self.values["packet_hops"] / self.values["cpu_seconds"])


def build() -> Path:
    """Compile the program; return its path."""
    cargo = shutil.which("cargo")
    if cargo is None:
        raise PeerError("there is no Rust compiler; see https://rustup.rs")
    # With the Python package, which is not built again: so the core that it was built with is used.
    command = [cargo, "build", "--release", "--package", "anabranch-engine", "--package", "anabranch-python"]
    result = subprocess.run(
        [*command, "--message-format=json-render-diagnostics"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        raise PeerError(f"compiling the engine failed: {result.stderr[-2000:]}")
    messages = (json.loads(line) for line in result.stdout.splitlines() if line.startswith("{"))
    return next(Path(message["executable"]) for message in messages if message.get("executable"))


def run(program: Path, spec: Path, *, by: str = "epochs", cpu: int | None = None) -> EngineRun:
    """Run a compiled run to its end: by ``epochs``, ``oracle``, or a number of threads."""
    child = run_child([str(program), str(spec), by], cpu)
    return EngineRun(child.values, child.peak_rss_bytes)


def instructions(program: Path, spec: Path) -> int | None:
    """Instructions of user code from the built run to its end; None where `perf` cannot count them."""
    whole, start = (_instructions([str(program), str(spec), "epochs", hops]) for hops in (str(2**63), "0"))
    return None if whole is None or start is None else whole - start


def _instructions(command: list[str]) -> int | None:
    if shutil.which("perf") is None:
        return None
    with tempfile.NamedTemporaryFile() as counts:
        perf = ["perf", "stat", "--field-separator", ",", "--output", counts.name, "--event", "instructions:u"]
        if subprocess.run([*perf, *command], capture_output=True, check=False).returncode != 0:
            return None
        fields = (line.split(",") for line in Path(counts.name).read_text().splitlines())
        found = next((words[0] for words in fields if len(words) > 2 and words[2].startswith("instructions")), "")
    return int(found) if found.isdigit() else None
