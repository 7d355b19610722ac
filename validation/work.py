"""Many runs at once, with progress, and what is measured in a run of this engine."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev
from threading import Event
from typing import Any, TypeVar

from anabranch.compile.run import compile_run
from anabranch.engines import packet
from anabranch.foundation.array_types import Columns
from anabranch.foundation.progress import Steps
from anabranch.scenario import Scenario

Value = TypeVar("Value")


@dataclass(frozen=True)
class Measured:
    """The first flow of a run, counted after the warm-up; the series are empty without sampling."""

    goodput_bps: float
    sent: int
    retransmits: int
    spurious_retransmits: int
    timeouts: int
    recoveries: int
    series_times_s: tuple[float, ...] = ()
    series_goodput_bps: tuple[float, ...] = ()
    series_arrived_bps: tuple[float, ...] = ()
    """All that the links into the first flow's destination carried, headers and duplicates included."""


@dataclass(frozen=True)
class Sample:
    """A mean over seeds and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Sample":
        """The sample of one value for each seed."""
        return cls(fmean(values), stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0)

    @property
    def relative_error(self) -> float:
        """The standard error as a part of the mean."""
        return self.error / self.mean if self.mean else 0.0


class Unrecorded:
    """Keeps nothing of a run but its tables."""

    def flow_series(self, columns: Columns) -> None:
        """Drop the samples."""

    def link_series(self, columns: Columns) -> None:
        """Drop the samples."""

    def link_state(self, columns: Columns) -> None:
        """Drop the estimates."""

    def capture(self, link: int, piece: bytes) -> None:
        """Drop the packets."""

    def progress(self, now_s: float, packet_hops: int) -> None:
        """Say nothing."""


class _Samples(Unrecorded):
    """Keeps the series of the first flow, and of the links into its destination."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.times_s: list[float] = []
        self.goodput_bps: list[float] = []
        self.arrived_bps: dict[float, float] = {}
        destination = spec["traffic"][0]["pairs"][0][1]
        self._rates = {index: link["rate"] for index, link in enumerate(spec["links"]) if link["dst"] == destination}

    def flow_series(self, columns: Columns) -> None:
        """Keep the goodput of the first flow."""
        first = columns["flow"] == 0
        self.times_s += columns["time_s"][first].tolist()
        self.goodput_bps += columns["goodput_bps"][first].tolist()

    def link_series(self, columns: Columns) -> None:
        for time_s, link, utilisation in zip(columns["time_s"], columns["link"], columns["utilisation"], strict=True):
            if link in self._rates:
                carried = self.arrived_bps.get(time_s, 0.0) + utilisation * self._rates[link]
                self.arrived_bps[time_s] = carried


def measure(document: Mapping[str, Any], seed: int) -> Measured:
    """Run a scenario of one variant with one seed."""
    spec = compile_run(Scenario(document).cases[0], seed)
    samples = _Samples(spec)
    outcome = packet.simulate(spec, samples, Event())
    counts = {
        name: int(outcome.flows[column][0])
        for name, column in {
            "sent": "segments_sent",
            "retransmits": "retransmits",
            "spurious_retransmits": "spurious_retransmits",
            "timeouts": "timeouts",
            "recoveries": "recoveries",
        }.items()
    }
    return Measured(
        goodput_bps=float(outcome.flows["goodput_bps"][0]),
        series_times_s=tuple(samples.times_s),
        series_goodput_bps=tuple(samples.goodput_bps),
        series_arrived_bps=tuple(samples.arrived_bps[time_s] for time_s in samples.times_s),
        **counts,
    )


def in_parallel(label: str, jobs: Sequence[Callable[[], Value]]) -> list[Value]:
    """The results of all jobs in their order; a thread for each core, as both engines work outside the interpreter."""
    pool = ThreadPoolExecutor(os.cpu_count() or 1)
    with Steps(len(jobs), label) as progress, pool:
        futures = [pool.submit(job) for job in jobs]
        try:
            for future in as_completed(futures):
                future.result()
                progress.advance()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]


def one_link(
    stack: Mapping[str, Any],
    *,
    rate: str,
    round_trip_s: float,
    duration_s: float,
    warm_up_s: float,
    loss: Any = None,
    queue: str = "1000000 packets",
) -> dict[str, Any]:
    """A scenario: one bulk flow over one link; only data is lost, not ACKs."""
    document: dict[str, Any] = {
        "topology": {
            "links": [{"source": "A", "target": "B", "capacity": rate, "delay": seconds(round_trip_s / 2)}],
            "queue": {"discipline": "drop-tail", "limit": queue},
        },
        "stacks": {"stack": dict(stack)},
        "traffic": [{"from": "A", "to": "B", "bulk": True}],
        "run": {"duration": seconds(duration_s), "warm_up": seconds(warm_up_s)},
    }
    if loss is not None:
        document["impairments"] = [{"link": ["A", "B"], "one_way": True, "loss": loss}]
    return document


def seconds(time_s: float) -> str:
    """A time as a scenario writes it."""
    return f"{round(time_s * 1e9)}ns"
