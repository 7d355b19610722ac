"""Run compiled runs in htsim (github.com/Broadcom/csg-htsim), which this project neither has nor builds.

HTSIM names a checkout at :data:`COMMIT` in which htsim's library has been built. The library keeps the flags of its own makefile: -O3, with
assertions. ``flows.cc`` builds the network of a case from htsim's queues (without their
record of utilisation), pipes and TCP. Flows and their routes are the engine's. Only where
the engine chooses among equal-cost paths, paths are drawn for each flow and direction: one on H, and four on I, which packets take in turn.

A packet-hop is counted when a queue has sent a packet, so packets that the wire then loses count, too. CPU time excludes the building of the
network. Neither side delays ACKs. Both begin with ten segments, and send SYN and ACK first. Else htsim's TCP is not the engine's:

- Loss detection: three duplicate ACKs and NewReno, without SACK or limited transmit.
- The first slow start ends at 100 segments, htsim's default, and not at the first loss.
- Congestion avoidance adds whole bytes per ACK, rounded down: none above 1,000 segments.
- The retransmission timer has at least 250 ms, not 200 ms, and is looked at every 10 ms.
- The last segment of a flow is a full one.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bench.peers.child import PeerMissing, run_child
from bench.peers.compiled import compile_program

from .description import Description, describe

__all__ = ["COMMIT", "Description", "HtsimRun", "build", "describe", "run"]

COMMIT = "841d9e7be46bb968eece766aa4b6c044c7799f67"
SOURCE = Path(__file__).resolve().with_name("flows.cc")


@dataclass(frozen=True)
class HtsimRun:
    """One run; building its network is not in the time."""

    packet_hops: int
    """Packets (data or ACK) that a link has sent, summed over all links."""
    delivered_bytes: int
    """Payload that arrived in order, of all flows."""
    cpu_seconds: float

    @property
    def hops_per_second(self) -> float:
        """Packet-hops per CPU second."""
        return self.packet_hops / self.cpu_seconds


def build() -> Path:
    """Compile our program against the checkout that HTSIM names; PeerMissing says what keeps it from being used."""
    named = os.environ.get("HTSIM")
    if not named:
        raise PeerMissing(
            f"HTSIM must name a checkout of github.com/Broadcom/csg-htsim at commit {COMMIT[:7]} with its library built"
        )
    folder = Path(named)
    git = subprocess.run(
        ["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )  # fmt: skip
    if git.returncode != 0:
        raise PeerMissing(f"HTSIM={named} is no git checkout: {git.stderr.strip()}")
    if git.stdout.strip() != COMMIT:
        raise PeerMissing(f"HTSIM={named} is at commit {git.stdout.strip()[:7]}; figures are compared at {COMMIT[:7]}")
    library = folder / "sim" / "libhtsim.a"
    if not library.is_file():
        raise PeerMissing(f"HTSIM={named} has no sim/libhtsim.a: htsim's library has not been built there")
    return compile_program("htsim-flows", SOURCE, [f"-I{folder / 'sim'}"], [str(library)])


def run(program: Path, description: Path, *, cpu: int | None = None) -> HtsimRun:
    """Run the file of a :class:`Description`."""
    return HtsimRun(**run_child([str(program), str(description)], cpu).values)
