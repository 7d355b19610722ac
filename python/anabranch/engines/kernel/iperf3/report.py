"""Reads the measurements of iperf3 for a flow, as columns of the tables."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anabranch.engines.kernel.iperf3.flows import Iperf3Flow
from anabranch.engines.kernel.linux_network.errors import NetworkError
from anabranch.results.limiting import LIMITS

LINUX_ONLY = (
    "segments_sent",
    "spurious_retransmits",
    "timeouts",
    "marked_segments",
    "min_rtt_s",
    "retransmit_ratio",
    "reordered_segments",
    "reordering_extent_max",
    "reordering_extent_mean",
    *LIMITS,
)
"""Columns of flows that the engine's own sender knows, and iperf3 does not report."""
_MICROSECONDS = 1e6
Intervals = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Report:
    """Measurements of client and server, interval by interval."""

    flow: Iperf3Flow
    sent: Intervals
    received: Intervals
    begin_s: float
    """The run's time when the times of the intervals begin."""

    def _sum(self, intervals: Intervals, what: str, start_s: float, end_s: float) -> float:
        """The sum of a counter between two times of the run. The count of an interval is spread evenly over the interval."""
        return sum(_shares(intervals, what, start_s - self.begin_s, end_s - self.begin_s))

    def columns(self, warm_up_s: float, end_s: float) -> dict[str, float]:
        """The flow's values by column of the table of flows; NaN is unknown."""
        start_s = max(self.flow.start_s, warm_up_s)
        last = self.sent[-1] if self.sent else {}
        delivered = round(self._sum(self.received, "bytes", start_s, end_s))
        return dict.fromkeys(LINUX_ONLY, np.nan) | {
            "delivered_bytes": delivered,
            "retransmits": round(self._sum(self.sent, "retransmits", start_s, end_s)),
            "srtt_s": last.get("rtt", np.nan) / _MICROSECONDS,
            "cwnd_segments": last.get("snd_cwnd", np.nan) / self.flow.payload,
            "goodput_bps": 8 * delivered / (end_s - start_s) if end_s > start_s else np.nan,
        }

    def samples(self, interval_s: float, end_s: float) -> Iterator[dict[str, float]]:
        """Rows of the table of flow samples, one for each interval since the flow has begun."""
        for index in range(1, int(end_s / interval_s + 1e-9) + 1):
            time_s = index * interval_s
            before = [one for one in self.sent if one["start"] + self.begin_s < time_s]
            if before:
                yield {
                    "time_s": time_s,
                    "flow": self.flow.number,
                    "cwnd_segments": before[-1].get("snd_cwnd", np.nan) / self.flow.payload,
                    "ssthresh_segments": np.nan,
                    "in_flight_segments": np.nan,
                    "srtt_s": before[-1].get("rtt", np.nan) / _MICROSECONDS,
                    "goodput_bps": 8 * self._sum(self.received, "bytes", time_s - interval_s, time_s) / interval_s,
                    "retransmits": round(self._sum(self.sent, "retransmits", time_s - interval_s, time_s)),
                }


def read(flow: Iperf3Flow, sent: str, received: str, now_s: float) -> Report:
    """The report of a flow, from what its client and server printed when they were interrupted, at this time of the run.

    Raises:
        NetworkError: it is no report of iperf3.
    """
    try:
        client, server = (
            [one["streams"][0] for one in json.loads(said)["intervals"] if one["streams"]] for said in (sent, received)
        )
        # iperf3's times begin with the data connection, and end with the interrupt.
        length_s = server[-1]["end"] if server else 0.0
    except (ValueError, KeyError, TypeError, IndexError):
        said = f"{sent.strip()[-200:]} {received.strip()[-200:]}".strip() or "nothing"
        raise NetworkError(f"flow {flow.number}: iperf3 has no report, but printed: {said}") from None
    return Report(flow, client, server, now_s - length_s)


def _shares(intervals: Intervals, what: str, start_s: float, end_s: float) -> Iterator[float]:
    for one in intervals:
        length_s = one["end"] - one["start"]
        common_s = min(one["end"], end_s) - max(one["start"], start_s)
        if length_s > 0 and common_s > 0:
            yield one.get(what, 0) * common_s / length_s
