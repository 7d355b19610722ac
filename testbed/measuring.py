"""The tests on the testbed, in their order, and the table of their results."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path as File
from threading import Timer

import polars as pl

from anabranch.studies.papers.tcpbp import networks
from anabranch.studies.papers.tcpbp.networks import DELAY, HOPS, TCPBP, Chosen, Pair, Path
from testbed.lab import Testbed
from testbed.plan import METRICS, SOURCE_PORTS, Plan, source_port

SHOWN: Pair = ("1", "10")
"""Table 4's pair."""
SECONDS, WARM_UP_S = 10, 5
BUSY = 0.9
"""Share of a processor from which on the switches delay packets. A test above it measures the machine, not the network."""
SCHEMA = {
    "source": pl.String, "target": pl.String, "path": pl.String, "metrics": pl.String, "flows": pl.Int64, "fewer_losses": pl.Float64,
    "goodput_bps": pl.Float64, "jain": pl.Float64, "retransmits": pl.Int64, "busy": pl.Float64, "changed": pl.Boolean,
}  # fmt: skip
"""``path`` is the path that the controller had installed. ``goodput_bps`` is a flow's mean in the paper's time, not in that of the slower
testbed. ``busy``: see :data:`BUSY`. ``changed``: the controller changed the route during the test."""


@dataclass(frozen=True)
class Test:
    """A test of a pair over one path, with the metrics that choose this path."""

    pair: Pair
    path: Path
    metrics: tuple[str, ...]
    flows: int

    @property
    def title(self) -> str:
        """The test as text."""
        return f"{'-'.join(self.pair)} over {networks.name(self.path)}, {self.flows} flows"

    @property
    def key(self) -> tuple[str, str, str, int]:
        """The key of the test in the table."""
        return (*self.pair, networks.name(self.path), self.flows)


def tests(chosen: Chosen, flows: Iterable[int], pairs: Iterable[Pair]) -> Iterator[Test]:
    """A test for each path of Table 4's pair, and of each pair for which TCPBP's path differs from hop-count's or delay's."""
    for count in flows:
        for pair in pairs:
            by_path: dict[Path, list[str]] = {}
            for metric in METRICS:
                by_path.setdefault(chosen[metric][pair], []).append(metric)
            own = chosen[TCPBP][pair]
            if pair == SHOWN or any(chosen[other][pair] != own for other in (HOPS, DELAY)):
                for path, metrics in by_path.items():
                    yield Test(pair, path, tuple(metrics), count)


class Log:
    """The table of results. It is written after each test, and its tests are not repeated."""

    def __init__(self, file: File) -> None:
        """Read the table, if the file exists."""
        self._file = file
        self.table = pl.read_csv(file, schema=SCHEMA) if file.exists() else pl.DataFrame(schema=SCHEMA)

    def has(self, test: Test, fewer_losses: float) -> bool:
        """Whether a test has been done."""
        keys = self.table.select("source", "target", "path", "flows", "fewer_losses").rows()
        return (*test.key, fewer_losses) in keys

    def was_too_fast(self, test: Test) -> bool:
        """Whether the switches were too busy in a test of the same path with fewer flows."""
        own = (pl.col("path") == networks.name(test.path)) & (pl.col("flows") < test.flows)
        return not self.table.filter(own, pl.col("busy") > BUSY).is_empty()

    def add(self, row: dict[str, object]) -> None:
        """Add the row of a test."""
        self.table = pl.concat([self.table, pl.DataFrame([row], schema=SCHEMA)])
        self.table.write_csv(self._file)


def measure(bed: Testbed, plan: Plan, test: Test, fewer_losses: float, number: int) -> dict[str, object]:
    """Run a test and return its row. ``number`` gives it other source ports than the tests before."""
    metric, begun = test.metrics[0], time.monotonic()
    at_warm: list[tuple[float, float]] = []
    timer = Timer(WARM_UP_S + 2, lambda: at_warm.append((time.monotonic(), bed.switches.processor_s())))
    timer.start()
    try:
        found = bed.hosts.measure(
            *test.pair,
            flows=test.flows,
            first_port=source_port(metric) + (number * test.flows) % (SOURCE_PORTS - test.flows),
            seconds=SECONDS,
            warm_up_s=WARM_UP_S,
        )
    finally:
        timer.cancel()
    ((warm_s, before),) = at_warm or [(begun, 0.0)]
    busy = (bed.switches.processor_s() - before) / (time.monotonic() - warm_s)
    routed = bed.routed()
    return {
        "source": test.pair[0], "target": test.pair[1], "path": networks.name(test.path), "metrics": " ".join(map(_word, test.metrics)),
        "flows": test.flows, "fewer_losses": fewer_losses, "goodput_bps": round(found.mean_bps * plan.slower, 1), "jain": round(found.jain, 5),
        "retransmits": found.retransmits, "busy": round(busy, 3), "changed": routed is None or routed.routes[metric][test.pair] != test.path,
    }  # fmt: skip


def _word(metric: str) -> str:
    return metric.replace(", ", "+")


def run(
    bed: Testbed, plan: Plan, todo: list[Test], log: Log, fewer_losses: float, show: Callable[[Test, int], None]
) -> None:
    """Run the tests that the log does not have. Skips a path that was too fast with fewer flows."""
    for number, test in enumerate(todo):
        if not log.has(test, fewer_losses) and not log.was_too_fast(test):
            show(test, number)
            log.add(measure(bed, plan, test, fewer_losses, number))
