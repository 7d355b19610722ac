"""Tests of pairs over the paths of metrics, in their order, and the table of their results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path as File

import polars as pl

from anabranch.engines.openflow.routes import Chosen, Pair, Path
from anabranch.foundation.output_files import write_text
from anabranch.studies.testbed.network import MeasurementError

_ARROW = " > "
BUSY = 0.9
"""Share of a processor from which on the switches delay packets. A test above it measures the machine, not the network."""
SCHEMA = {
    "source": pl.String, "target": pl.String, "path": pl.String, "back": pl.String, "metrics": pl.String, "flows": pl.Int64,
    "repetition": pl.Int64, "seconds": pl.Int64, "warm_up_s": pl.Int64, "goodput_bps": pl.Float64, "jain": pl.Float64,
    "retransmits": pl.Int64, "busy": pl.Float64,
}  # fmt: skip
"""``goodput_bps``: mean of a flow. ``busy``: see :data:`BUSY`. ``metrics`` choose this ``path`` for data and ``back`` for ACKs."""


@dataclass(frozen=True)
class Test:
    """A test of a pair over one path, with the metrics that choose this path."""

    pair: Pair
    path: Path
    back: Path
    metrics: tuple[str, ...]
    flows: int
    repetition: int

    @property
    def title(self) -> str:
        """The test as text."""
        return f"{' to '.join(self.pair)} by {', '.join(self.metrics)}, repetition {self.repetition}"

    @property
    def key(self) -> tuple[str, str, str, str, int, int]:
        """The key of the test in the table."""
        return (*self.pair, joined(self.path), joined(self.back), self.flows, self.repetition)


def joined(path: Path) -> str:
    """The path as text in the table."""
    return _ARROW.join(path)


def parted(text: str) -> Path:
    """The path of :func:`joined`."""
    return tuple(text.split(_ARROW))


def pairs_of(texts: Sequence[str], nodes: Sequence[str]) -> list[Pair]:
    """The pairs that texts such as ``A-B,C-D`` name; names of nodes may have hyphens and commas.

    Raises:
        MeasurementError: names the text, and what would be right.
    """
    found: list[Pair] = []
    for text in texts:
        for one in [text] if _ends(text, nodes) else text.split(","):
            ends = _ends(one.strip(), nodes)
            if len(ends) != 1:
                raise MeasurementError(
                    f"--pairs {one.strip()}: must be two nodes with a hyphen, such as {nodes[0]}-{nodes[-1]}; the nodes are {', '.join(nodes)}"
                )
            found += ends
    return list(dict.fromkeys(found))


def _ends(text: str, nodes: Sequence[str]) -> list[Pair]:
    cuts = [place for place, letter in enumerate(text) if letter == "-"]
    ends = [(text[:cut].strip(), text[cut + 1 :].strip()) for cut in cuts]
    return [pair for pair in ends if pair[0] in nodes and pair[1] in nodes and pair[0] != pair[1]]


def each_path(chosen: Chosen, pairs: Sequence[Pair], flows: int, repetitions: int) -> Iterator[Test]:
    """A test for each pair and path; all of a repetition come before the next repetition, so that a part is of all pairs.

    Raises:
        MeasurementError: a pair has no path.
    """
    for repetition in range(1, repetitions + 1):
        for pair in pairs:
            by_path: dict[tuple[Path, Path], list[str]] = {}
            for metric, routes in chosen.items():
                if pair not in routes or pair[::-1] not in routes:
                    raise MeasurementError(f"--pairs {'-'.join(pair)}: no path joins these nodes")
                by_path.setdefault((routes[pair], routes[pair[::-1]]), []).append(metric)
            for (path, back), metrics in by_path.items():
                yield Test(pair, path, back, tuple(metrics), flows, repetition)


class Log:
    """The table of results. It is written after each test, and its tests are not repeated."""

    def __init__(self, file: File) -> None:
        """Read the table, if the file exists.

        Raises:
            MeasurementError: the file is no such table.
        """
        self._file = file
        self.table = pl.DataFrame(schema=SCHEMA)
        if file.exists():
            try:
                self.table = pl.read_csv(file, schema=SCHEMA)
            except pl.exceptions.PolarsError as error:
                raise MeasurementError(
                    f"{file}: is no table of tests ({error}); remove it, or choose another --out"
                ) from None

    def has(self, test: Test) -> bool:
        """Whether a test has been done."""
        return test.key in self.table.select("source", "target", "path", "back", "flows", "repetition").rows()

    def add(self, row: dict[str, object]) -> None:
        """Add the row of a test."""
        self.table = pl.concat([self.table, pl.DataFrame([row], schema=SCHEMA)])
        write_text(self._file, self.table.write_csv())
