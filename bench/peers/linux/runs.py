"""Run a case in a guest of its own."""

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.peers.child import PeerError, measure_child
from bench.peers.linux.case import Case
from bench.peers.linux.kernel import built

MEMORY = "512M"


@dataclass(frozen=True)
class FlowRun:
    """One flow."""

    goodput_bps: float
    """Payload that arrived after the warm-up, each byte counted once, over that time."""
    sent: int
    """Data segments, retransmissions included, over the whole run."""
    retransmits: int
    window_limited_s: float
    """For how long the receive window held the sender back."""


@dataclass(frozen=True)
class LinuxRun:
    """One run."""

    flows: tuple[FlowRun, ...]
    timeouts: int
    """Of all flows."""
    drops: tuple[int, ...]
    """Packets that met a full queue, by link."""
    losses: tuple[int, ...]
    """Packets lost on the wire, by link."""
    cpu_seconds: float


def run(case: Case, cpu: int | None = None) -> LinuxRun:
    """Run to the end of the virtual time; raise PeerMissing without a kernel, PeerError if the guest fails."""
    kernel, program = built()
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        for name in ("dev", "proc"):
            (root / name).mkdir()
        shutil.copy(program, root / "init")
        (root / "case").write_text(case.text(), encoding="ascii")
        console, cpu_seconds, _ = measure_child(
            [
                "env",
                f"HOME={root}",  # where User Mode Linux keeps a folder for its process id
                "GLIBC_TUNABLES=glibc.pthread.rseq=0",  # or the host writes into memory that guests have unmapped
                str(kernel),
                "time-travel=inf-cpu",
                "time-travel-start=1000000000",  # or the kernel's random numbers come from the time of day
                f"mem={MEMORY}",
                "root=/dev/root",
                "rootfstype=hostfs",
                f"rootflags={root}",
                "rw",
                "init=/init",
                "panic=-1",
                "random.trust_cpu=on",
                "con=null",
                "con0=null,fd:1",
            ],
            cpu,
        )
        result = root / "result"
        if not result.exists():
            raise PeerError(f"the Linux guest has no result; its last words: {console.strip()[-500:]}")
        values = json.loads(result.read_text(encoding="ascii"))
    counted_s = case.duration_s - case.warm_up_s
    return LinuxRun(
        flows=tuple(
            FlowRun(
                goodput_bps=flow["arrived_bytes"] * 8 / counted_s,
                sent=flow["sent"],
                retransmits=flow["retransmits"],
                window_limited_s=flow["window_limited_us"] / 1e6,
            )
            for flow in values["flows"]
        ),
        timeouts=values["timeouts"],
        drops=tuple(link["drops"] for link in values["links"]),
        losses=tuple(link["losses"] for link in values["links"]),
        cpu_seconds=cpu_seconds,
    )
