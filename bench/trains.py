"""How long packet trains are: runs of a flow's packets that enter a link one after another, equally spaced.

The engine moves such a run as one record (docs/development/decisions/0008-packet-trains.md). Captures every link of each case of the reference work for a
moment, and counts.
"""

import argparse
import json
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rich.console import Console
from rich.progress import track
from rich.table import Table

from anabranch import _core
from anabranch.units import PICOSECONDS_PER_SECOND
from bench.reference import CASES, Case

HOPS = 1_000_000
"""So many packet-hops of a case are looked at, from a third of its time on."""
ENHANCED_PACKET = 6
NANOSECOND_OF_ROUNDING = 1


@dataclass(frozen=True)
class Entry:
    """A packet that enters a link."""

    at: int
    """Nanoseconds."""
    flow: bytes
    """Addresses and ports."""
    number: int
    """Of its first byte, or of the byte that it acknowledges."""
    size: int


def entries(capture: bytes) -> Iterator[Entry]:
    """The packets of a piece of a pcapng file."""
    place = 0
    while place < len(capture):
        kind, length = struct.unpack_from("<II", capture, place)
        if kind == ENHANCED_PACKET:
            high, low = struct.unpack_from("<II", capture, place + 12)
            packet = place + 28
            (size,) = struct.unpack_from(">H", capture, packet + 2)
            sequence, acknowledged = struct.unpack_from(">II", capture, packet + 24)
            header = 20 + (capture[packet + 32] >> 4) * 4
            number = sequence if size > header else acknowledged
            yield Entry(high << 32 | low, capture[packet + 12 : packet + 24], number, size)
        place += length


@dataclass
class Count:
    """Of the packets of many links."""

    packets: int = 0
    runs: int = 0
    trains: int = 0

    def add(self, link: Sequence[Entry]) -> None:
        """Count a link's packets in their order."""
        self.packets += len(link)
        self.runs += bool(link)
        self.trains += bool(link)
        step: tuple[int, int] | None = None
        for before, entry in pairwise(link):
            is_of_run = entry.flow == before.flow
            here = (entry.at - before.at, entry.number - before.number)
            is_like = step is None or (abs(here[0] - step[0]) <= NANOSECOND_OF_ROUNDING and here[1] == step[1])
            is_of_train = is_of_run and entry.size == before.size and here[1] > 0 and is_like
            step = here if is_of_train else None
            self.runs += not is_of_run
            self.trains += not is_of_train


def count(case: Case) -> Count:
    """Of a moment of a case."""
    spec = json.loads(case.compiled())
    spec["captures"] = list(range(len(spec["links"])))
    simulation = _core.Simulation(json.dumps(spec))
    counted = Count()
    third = spec["duration"] / PICOSECONDS_PER_SECOND / 3
    while simulation.now_s < third and simulation.advance(HOPS // 10):
        for link in spec["captures"]:
            simulation.take_capture(link)
    links: dict[int, list[Entry]] = {link: [] for link in spec["captures"]}
    enough = simulation.packet_hops + HOPS
    while simulation.packet_hops < enough and simulation.advance(HOPS // 10):
        for link, found in links.items():
            found.extend(entries(simulation.take_capture(link)))
    for found in links.values():
        counted.add(found)
    return counted


def main(arguments: Sequence[str] | None = None) -> int:
    """Count."""
    parser = argparse.ArgumentParser(prog="python -m bench.trains", description=__doc__)
    keys = [case.key for case in CASES]
    parser.add_argument("--only", nargs="+", choices=keys, default=keys, help="these cases")
    options = parser.parse_args(arguments)
    table = Table("case", "packets looked at", "in a row of one flow", "and equally spaced", title="Packet trains")
    chosen = [case for case in CASES if case.key in options.only]
    for case in track(chosen, "Cases", console=Console(stderr=True)):
        found = count(case)
        run, train = (found.packets / max(1, number) for number in (found.runs, found.trains))
        table.add_row(case.key, f"{found.packets:,}", f"{run:.1f}", f"{train:.1f}")
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
