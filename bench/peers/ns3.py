"""Build and run the ns-3 programs."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .child import PeerError, run_child
from .compiled import compile_program, has_header
from .results import PeerRun
from .work import Work

HERE = Path(__file__).resolve().parent
# Named one by one: the pkg-config files of some packages give flags the compiler cannot use.
LIBRARIES = ("core", "network", "internet", "point-to-point", "applications", "traffic-control", "nix-vector-routing")


@dataclass(frozen=True)
class SprayedRun:
    """One run of the spraying program: rates over each second, bits per second."""

    goodput_bps: tuple[float, ...]
    """Payload that the application received in order."""
    arrived_bps: tuple[float, ...]
    """IP packets that reached the receiving node, duplicates and all."""
    sent: int
    retransmitted: int
    recoveries: int
    timeouts: int
    drops: int


def build(name: str) -> Path:
    """Compile the program `name` if it is not already there; return its path."""
    if not _is_installed():
        raise PeerError("ns-3 is not installed; on Debian or Ubuntu: apt-get install libns3-dev")
    libraries = [f"-lns3-{library}" for library in LIBRARIES]
    return compile_program(f"ns3-{name}", HERE / f"{name}.cc", ["-DNDEBUG"], libraries)


def run_dumbbell(flows: int = 16, seconds: float = 20, *, cpu: int | None = None) -> PeerRun:
    """Run the reference dumbbell with `flows` NewReno flows for `seconds` of simulated time."""
    run = run_child([str(build("dumbbell")), f"--flows={flows}", f"--seconds={seconds}"], cpu)
    return PeerRun.of(run)


def run_flows(work: Work, seconds: float, *, cpu: int | None = None) -> float:
    """Run NewReno flows over any network; return packet-hops per CPU second, without the time to build the network."""
    # A sender fills its buffer at once: as much as a flow can use, and in sum no more than fits into the memory.
    buffer = min(16 << 20, max(128 << 10, (2 << 30) // len(work.flows)))
    nodes = 1 + max(max(link[:2]) for link in work.links)
    with tempfile.TemporaryDirectory() as folder:
        options = {**work.write(Path(folder)), "nodes": nodes, "seconds": seconds, "buffer": buffer}
        command = [str(build("flows")), *(f"--{name}={value}" for name, value in options.items())]
        values = run_child(command, cpu).values
    return float(values["packet_hops"] / values["cpu_seconds"])


def run_spraying(
    links: Sequence[tuple[int, int, int]],
    source: int,
    sink: int,
    *,
    congestion: str,
    select: str,
    seconds: float,
    seed: int,
    attributes: Mapping[str, str | int] | None = None,
) -> SprayedRun:
    """Run one bulk flow over links of (node, node, delay in ns).

    `select` is "first", "random", "round-robin" or "global" (see the program); `attributes` change ns-3's defaults.
    """
    command = [
        str(build("spraying")),
        "--links=" + ",".join(":".join(map(str, link)) for link in links),
        f"--source={source}",
        f"--sink={sink}",
        f"--congestion=ns3::{congestion}",
        f"--select={select}",
        f"--seconds={seconds}",
        f"--seed={seed}",
        *(f"--{name}={value}" for name, value in (attributes or {}).items()),
    ]
    values = run_child(command).values
    return SprayedRun(
        goodput_bps=tuple(values["goodput_bps"]),
        arrived_bps=tuple(values["arrived_bps"]),
        sent=values["sent"],
        retransmitted=values["retransmitted"],
        recoveries=values["recoveries"],
        timeouts=values["timeouts"],
        drops=values["drops"],
    )


@cache
def _is_installed() -> bool:
    return has_header("ns3/core-module.h")
