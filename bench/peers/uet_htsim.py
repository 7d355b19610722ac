"""Run htsim_uec, the simulator of the Ultra Ethernet Consortium (github.com/ultraethernet/uet-htsim), which this project neither has nor builds.

HTSIM_UEC names the program, built from :data:`COMMIT` by cmake. A completion time ends when the sender has the last acknowledgement.
"""

import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.peers.child import PeerError, PeerMissing, measure_child

COMMIT = "40ccb0526bb6297eeb22ab33f9934fb35278dbaf"
PACKET = 4150
"""Bytes on the wire of a full packet, by default."""
HEADER = 64
CONTROLS = {
    "nscc": ("-sender_cc_only",),
    "rccc": ("-receiver_cc_only", "-force_disable_oversubscribed_cc"),
    "both": ("-sender_cc", "-receiver_cc"),
}
SELECTORS = ("oblivious", "bitmap", "reps", "mixed")
_EVENT = re.compile(r"^Flow \S+ flowId (\d+) \S+ \d+ (starting|finished) at ([\d.e+-]+)", re.MULTILINE)


@dataclass(frozen=True)
class UetRun:
    """One run."""

    completions_s: list[float]
    """Of each flow, in their order."""
    cpu_seconds: float
    """Of the whole program."""


def program() -> Path:
    """The program that HTSIM_UEC names; :class:`PeerMissing` if there is none."""
    named = os.environ.get("HTSIM_UEC")
    if not named or not os.access(named, os.X_OK):
        raise PeerMissing(
            f"HTSIM_UEC must name htsim_uec of github.com/ultraethernet/uet-htsim at commit {COMMIT[:7]}, built by cmake"
        )
    return Path(named).resolve()


def run(
    topology: str,
    flows: Sequence[tuple[int, int, int, int]],
    hosts: int,
    *,
    control: str,
    selector: str,
    seed: int,
    end_us: int,
    trims: bool = True,
    slow: int = 0,
    cpu: int | None = None,
) -> UetRun:
    """Run flows (source, target, start in microseconds, bytes) over a ``.topo`` text at 100 Gbit/s.

    Raises:
        PeerError: the program failed, or a flow did not finish.
    """
    lines = [
        f"{source}->{target} id {number} start {start} size {size}"
        for number, (source, target, start, size) in enumerate(flows, 1)
    ]
    matrix = "\n".join([f"Nodes {hosts}", f"Connections {len(flows)}", *lines, ""])
    with tempfile.TemporaryDirectory() as named:
        folder = Path(named)
        (folder / "x.topo").write_text(topology, encoding="ascii")
        (folder / "x.cm").write_text(matrix, encoding="ascii")
        command = [
            str(program()),
            "-topo",
            "x.topo",
            "-tm",
            "x.cm",
            *CONTROLS[control],
            "-load_balancing_algo",
            selector,
        ]
        command += ["-paths", "64", "-seed", str(seed), "-end", str(end_us), "-o", "log.dat"]
        command += [*(() if trims else ("-disable_trim",)), *(("-failed", str(slow)) if slow else ())]
        output, cpu_seconds, _ = measure_child(command, cpu, cwd=folder)
    times: dict[str, dict[int, float]] = {"starting": {}, "finished": {}}
    for flow, event, at in _EVENT.findall(output):
        times[event][int(flow)] = float(at)
    missing = [number for number in range(1, len(flows) + 1) if number not in times["finished"]]
    if missing:
        raise PeerError(f"htsim_uec: flow {missing[0]} and {len(missing) - 1} others did not finish in {end_us} us")
    completions = [(at - times["starting"][flow]) * 1e-6 for flow, at in sorted(times["finished"].items())]
    return UetRun(completions, cpu_seconds)
