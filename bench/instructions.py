"""Count the engine's instructions per packet-hop, and compare with what was recorded.

Fails if the geometric mean over cases B, C, E, H and a paced flow has grown by more than 2 % and no reason was recorded (--record).
Case A is reported. The counts are callgrind's, of the engine's own code from the built run to its end: what the C library does
depends on the processor, so it is not in them.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from statistics import geometric_mean

from rich.console import Console
from rich.table import Table

from bench import program
from bench.peers import PeerError
from bench.peers.child import run_child
from bench.reference import CASES, EXTRAS, Case, fat_tree

RECORD = Path(__file__).with_suffix(".toml")
JUDGED = ("B", "C", "E", "H", "bbr")
"""Different networks, and a sender that paces; a dumbbell of equal round-trip times says little about others."""
KEYS = ("A", *JUDGED)
GROWTH = 0.02
COST_LINE = tuple("+-*0123456789")
"""How a line of costs begins: with a position, absolute or relative."""
PACKET_HOPS = 2_000_000
"""Enough that what happens once is not seen: slow start, losses and recovery are in it."""
SMALLER = {"H": {**fat_tree(8), "traffic[0].short.arrivals": "1250000/s"}}
"""Changes to cases that callgrind would take minutes to build: H with an eighth of its hosts and of its flows."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Count and compare."""
    parser = argparse.ArgumentParser(prog="python -m bench.instructions", description=__doc__)
    parser.add_argument("--record", metavar="REASON", help="write the counts down as what holds from now on")
    options = parser.parse_args(arguments)
    if shutil.which("valgrind") is None:
        print("instructions: not counted, valgrind is not installed (apt-get install valgrind)", file=sys.stderr)
        return 0
    try:
        counts = count()
    except PeerError as error:
        print(f"instructions: {error}", file=sys.stderr)
        return 1
    if options.record is not None:
        _write(counts, options.record)
    latest = tomllib.loads(RECORD.read_text(encoding="utf-8"))["record"][-1]
    table = Table("case", "recorded", "now", "growth", title="Instructions per packet-hop", title_justify="left")
    for key in KEYS:
        table.add_row(key, f"{latest[key]:.1f}", f"{counts[key]:.1f}", f"{counts[key] / latest[key] - 1:+.2%}")
    growth = judged(counts) / judged(latest) - 1
    table.add_row("mean without A", f"{judged(latest):.1f}", f"{judged(counts):.1f}", f"{growth:+.2%}")
    Console().print(table)
    if growth > GROWTH:
        print(
            f"instructions: the geometric mean has grown by more than {GROWTH:.0%}. Make it faster, or say why it must be: "
            "python -m bench.instructions --record REASON. "
            f"Recorded with {latest['compiler']}, counted with {_compiler()}.",
            file=sys.stderr,
        )
        return 1
    return 0


def judged(counts: Mapping[str, float]) -> float:
    """The geometric mean of the counts over the judged cases."""
    return geometric_mean(counts[key] for key in JUDGED)


def count() -> dict[str, float]:
    """Instructions per packet-hop of each case."""
    engine = program.build()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as workers:
        cases = [case for case in (*CASES, *EXTRAS) if case.key in KEYS]
        counts = workers.map(lambda case: _count(engine, case, Path(folder) / case.key), cases)
        return dict(zip((case.key for case in cases), counts, strict=True))


def _count(engine: Path, case: Case, folder: Path) -> float:
    folder.mkdir()
    spec, profile = folder / "spec.json", folder / "callgrind"
    spec.write_text(case.compiled(changes=SMALLER.get(case.key)), encoding="utf-8")
    tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", "--toggle-collect=*move_packets*"]
    run = run_child([*tool, str(engine), str(spec), "epochs", str(PACKET_HOPS)])
    return own_instructions(profile.read_text(), engine) / float(run.values["packet_hops"])


def own_instructions(profile: str, engine: Path) -> int:
    """The sum of the costs that callgrind gives to the code of one object file itself, not to what it calls elsewhere."""
    names: dict[str, str] = {}
    total, is_own, is_call = 0, False, False
    for line in profile.splitlines():
        key, _, value = line.partition("=")
        if key in ("ob", "cob"):
            number, _, name = value.partition(" ")  # the name stands where the number is first used
            is_of_engine = names.setdefault(number, name) == str(engine)
            is_own = is_of_engine if key == "ob" else is_own
        elif key == "calls":
            is_call = True  # the next line has what was called
        elif line[:1] in COST_LINE:
            if is_own and not is_call:
                total += int(line.split()[1])
            is_call = False
    return total


def _write(counts: dict[str, float], reason: str) -> None:
    today = datetime.now(UTC).date().isoformat()
    numbers = "".join(f"{key} = {counts[key]:.1f}\n" for key in KEYS)
    quoted = reason.replace("\\", "\\\\").replace('"', '\\"')
    with RECORD.open("a", encoding="utf-8") as file:
        file.write(f'\n[[record]]\ndate = {today}\n{numbers}compiler = "{_compiler()}"\nreason = "{quoted}"\n')


def _compiler() -> str:
    version = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
    return version.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
