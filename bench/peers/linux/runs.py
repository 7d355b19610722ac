"""Run a case in a guest of its own."""

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.peers.child import PeerError, measure_child
from bench.peers.linux.case import Case
from bench.peers.linux.kernel import BUILD_FOLDER, built

MEMORY = "512M"


@dataclass(frozen=True)
class FlowRun:
    """One flow."""

    goodput_bps: float
    """Payload that arrived after the warm-up, each byte counted once, over that time."""
    completed_s: float | None
    """When the last byte of a flow that ends arrived."""
    sent: int
    """Data segments, retransmissions included, over the whole run."""
    retransmits: int
    window_limited_s: float
    """Seconds for which the receive window held the sender back."""


@dataclass(frozen=True)
class LinuxRun:
    """One run."""

    flows: tuple[FlowRun, ...]
    timeouts: int
    """The timeouts of all flows."""
    drops: tuple[int, ...]
    """Packets that met a full queue, by link."""
    marks: tuple[int, ...]
    """Packets that met a queue at or above its threshold, by link."""
    losses: tuple[int, ...]
    """Packets lost on the wire, by link."""
    delays_s: tuple[float, ...]
    """Delays of the probes that arrived after the warm-up, in the order of their arrival."""


def run(case: Case) -> LinuxRun:
    """The results of a case, from an earlier run of the same guest if there was one: they depend on nothing else.

    Raises PeerMissing without a kernel, PeerError if the guest fails.
    """
    kernel, program = built()
    guest = hashlib.sha256(kernel.read_bytes() + program.read_bytes() + case.text().encode("ascii"))
    kept = BUILD_FOLDER / "linux-runs" / f"{guest.hexdigest()[:32]}.json"
    if not kept.exists():
        outcome = run_guest(kernel, program, case)
        kept.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=BUILD_FOLDER) as folder:
            fresh = Path(folder) / kept.name
            fresh.write_text(outcome, encoding="ascii")
            os.replace(fresh, kept)
    return _read(json.loads(kept.read_text(encoding="ascii")), case)


def run_guest(kernel: Path, program: Path, case: Case) -> str:
    """Run to the end of the virtual time; return what the guest writes."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        for name in ("dev", "proc"):
            (root / name).mkdir()
        shutil.copy(program, root / "init")
        (root / "case").write_text(case.text(), encoding="ascii")
        console, _, _ = measure_child(
            [
                "env",
                f"--chdir={root}",
                f"HOME={root}",  # where User Mode Linux keeps a folder for its process id
                "GLIBC_TUNABLES=glibc.pthread.rseq=0",  # or the host writes into memory that guests have unmapped
                str(kernel),
                "time-travel=inf-cpu",
                "time-travel-start=1000000000",  # nor the time of day
                f"mem={MEMORY}",
                "root=/dev/root",
                "rootfstype=hostfs",
                "hostfs=.",  # not its path: the kernel's random numbers come from the command line, among others
                "rw",
                "init=/init",
                "panic=-1",
                "random.trust_cpu=on",
                "con=null",
                "con0=null,fd:1",
            ]
        )
        result = root / "result"
        if not result.exists():
            raise PeerError(f"the Linux guest has no result; its last words: {console.strip()[-500:]}")
        return result.read_text(encoding="ascii")


def _read(values: Any, case: Case) -> LinuxRun:
    counted_s = case.duration_s - case.warm_up_s
    return LinuxRun(
        flows=tuple(
            FlowRun(
                goodput_bps=flow["arrived_bytes"] * 8 / counted_s,
                completed_s=flow["completed_ns"] / 1e9 or None,
                sent=flow["sent"],
                retransmits=flow["retransmits"],
                window_limited_s=flow["window_limited_us"] / 1e6,
            )
            for flow in values["flows"]
        ),
        timeouts=values["timeouts"],
        drops=tuple(link["drops"] for link in values["links"]),
        marks=tuple(link["marks"] for link in values["links"]),
        losses=tuple(link["losses"] for link in values["links"]),
        delays_s=tuple(delay_ns / 1e9 for delay_ns in values["delays_ns"]),
    )
