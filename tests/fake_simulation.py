"""A stand-in for the core's ``Simulation``: numbers by rule, so that what happens around it can be tested."""

import signal
import time
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from anabranch.engines.packet import CompiledRun
from anabranch.foundation.interrupts import Interruptible
from anabranch.results.limiting import LIMITS

Columns = Mapping[str, npt.NDArray[Any]]
FLOW_DELAYS = (
    *("delay_mean_s", "delay_median_s", "delay_p95_s", "delay_p99_s", "delay_max_s", "jitter_s"),
    *("rtt_median_s", "rtt_p95_s", "rtt_p99_s"),
)
LINK_DELAYS = ("queue_delay_median_s", "queue_delay_p95_s", "queue_delay_p99_s")


def interrupt_runs() -> None:
    """Ctrl-C while runs go on; returns once the main thread has taken it."""
    runs: Interruptible = cast("Any", signal.getsignal(signal.SIGINT)).__self__
    signal.raise_signal(signal.SIGINT)
    while not runs.came:
        time.sleep(0.001)


class FakeSimulation:
    """One flow per pair; a tenth of the run for each call of ``advance``; goodput is 1 Mbit/s times the seed."""

    def __init__(
        self, spec: CompiledRun, on_advance: Callable[["FakeSimulation"], None] = lambda simulation: None
    ) -> None:
        self.spec = spec
        self.steps = 0
        self.on_advance = on_advance
        self.flow_count = sum(len(group["pairs"]) * group["flows_per_pair"] for group in self.spec["traffic"])

    def advance(self, events: int) -> bool:
        self.steps += 1
        self.on_advance(self)
        return self.steps < 10

    @property
    def now_s(self) -> float:
        return float(self.spec["duration"]) / 1e12 * self.steps / 10

    @property
    def threads(self) -> int:
        return 1

    @property
    def packet_hops(self) -> int:
        return 1000 * self.steps

    def flows(self) -> Columns:
        groups = [
            (number, pair, group)
            for number, group in enumerate(self.spec["traffic"])
            for pair in group["pairs"]
            for _ in range(group["flows_per_pair"])
        ]
        rows = len(groups)
        whole = np.arange(rows, dtype=np.uint64)
        unknown = np.full(rows, np.nan)
        columns: dict[str, npt.NDArray[Any]] = {
            "flow": whole.astype(np.uint32),
            "traffic": np.array([number for number, _, _ in groups], dtype=np.uint32),
            "src": np.array([pair[0] for _, pair, _ in groups], dtype=np.uint32),
            "dst": np.array([pair[1] for _, pair, _ in groups], dtype=np.uint32),
            "stack": np.array(
                [group["transport"].get("tcp", {"stack": 2**32 - 1})["stack"] for _, _, group in groups],
                dtype=np.uint32,
            ),
            "routing": np.array([group["routing"] for _, _, group in groups], dtype=np.uint32),
            "start_s": np.zeros(rows),
            "end_s": unknown,
            "fct_s": unknown,
            "idle_fct_s": unknown,
            "slowdown": unknown,
            "size_bytes": unknown,
            "longest_stall_s": np.zeros(rows),
            "goodput_bps": np.full(rows, 1e6 * self.spec["seed"]),
            "retransmit_ratio": np.full(rows, 0.01),
            "srtt_s": np.full(rows, 0.05),
            "min_rtt_s": np.full(rows, 0.04),
            "cwnd_segments": np.full(rows, 12.5),
            "reordering_extent_max": np.zeros(rows, dtype=np.uint32),
            "reordering_extent_mean": unknown,
            "marked_segments": np.zeros(rows, dtype=np.uint64),
        }
        counts = (
            "delivered_bytes",
            "timeouts",
            "recoveries",
            "undone",
            "reordered_segments",
            "marked_segments",
            "spurious_retransmits",
            "reassembly_peak_bytes",
        )
        columns |= {name: np.zeros(rows, dtype=np.uint64) for name in counts}
        columns |= dict.fromkeys((*LIMITS, *FLOW_DELAYS), unknown)
        columns["segments_sent"] = np.full(rows, 1000, dtype=np.uint64)
        columns["retransmits"] = np.full(rows, 10, dtype=np.uint64)
        return columns

    def states(self) -> Mapping[str, Any]:
        return {"flow": np.zeros(0), "stack": np.zeros(0), "state": [], "share": np.zeros(0)}

    def take_link_state(self) -> Columns:
        return {}

    def routes(self) -> Mapping[str, Any]:
        names = ("time_s", "routing", "src", "dst", "delay_s", "loss", "cost")
        return {name: np.zeros(0) for name in names} | {"path": []}

    @property
    def packets_without_route(self) -> int:
        return 0

    @property
    def packets_expired(self) -> int:
        return 0

    def links(self) -> Columns:
        links = self.spec["links"]
        rows = len(links)
        columns: dict[str, npt.NDArray[Any]] = {
            "link": np.arange(rows, dtype=np.uint32),
            "src": np.array([link["src"] for link in links], dtype=np.uint32),
            "dst": np.array([link["dst"] for link in links], dtype=np.uint32),
            "capacity_bps": np.array([link["rate"] for link in links], dtype=np.float64),
            "delay_s": np.array([link["delay"] / 1e12 for link in links]),
            "queue_delay_max_s": np.zeros(rows),
        }
        columns |= {
            name: np.zeros(rows, dtype=np.uint64)
            for name in ("packets", "bytes", "queue_drops", "losses", "marks", "trimmed")
        }
        ratios = ("utilisation", "queue_drop_ratio", "loss_ratio", "queue_delay_mean_s")
        columns |= dict.fromkeys(LINK_DELAYS, np.full(rows, np.nan))
        return columns | {name: np.zeros(rows) for name in ratios}

    def take_flow_series(self) -> Columns:
        rows = self.flow_count
        return {
            "time_s": np.full(rows, self.now_s),
            "flow": np.arange(rows, dtype=np.uint32),
            "cwnd_segments": np.full(rows, 10.0),
            "ssthresh_segments": np.full(rows, np.nan),
            "in_flight_segments": np.full(rows, 7, dtype=np.uint32),
            "srtt_s": np.full(rows, 0.05),
            "goodput_bps": np.full(rows, 1e6),
            "retransmits": np.zeros(rows, dtype=np.uint64),
        }

    def take_link_series(self) -> Columns:
        rows = len(self.spec["links"])
        return {
            "time_s": np.full(rows, self.now_s),
            "link": np.arange(rows, dtype=np.uint32),
            "queue_packets": np.zeros(rows, dtype=np.uint32),
            "utilisation": np.zeros(rows),
            "drops": np.zeros(rows, dtype=np.uint64),
        }

    def take_capture(self, link: int) -> bytes:
        return b"%d," % self.steps
