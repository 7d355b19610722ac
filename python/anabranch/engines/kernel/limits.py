"""What limits the flows of the kernel engine, as far as Linux knows it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from anabranch.engines.kernel.settings import LinuxStack

_PACING_CONTROLS = ("bbr",)


def may_pace(stack: Mapping[str, Any], linux: LinuxStack) -> bool:
    """Whether Linux may pace the flows of a stack, a compiled one and in Linux's terms; an eBPF program may."""
    return linux.paced or linux.congestion in _PACING_CONTROLS or "program" in stack["congestion"]


def limit_shares(times: Mapping[str, Any], time_s: Any, is_tcp: Any, paces: Any) -> dict[str, Any]:
    """The columns :data:`anabranch.results.limiting.LIMITS` of flows; NaN is unknown.

    ``times`` are Linux's (``tcp_chrono_start``), seconds: ``busy`` with data, and of this, ``window`` limited by the receive window and
    ``buffer`` by the send buffer. ``time_s`` is the measured time of each flow. The rest of the busy time waits for the congestion window, for
    pacing, or for an application that writes over time: where more than one is possible, they are unknown.
    """
    busy, window, buffer = (np.asarray(times[name], dtype=np.float64) for name in ("busy", "window", "buffer"))
    whole = np.maximum(time_s, busy)
    known = is_tcp & (whole > 0)
    is_bulk = known & (np.asarray(times["writes_over_time"]) == 0)

    def share(part: Any, where: Any) -> Any:
        return np.divide(part, whole, out=np.full(len(whole), np.nan), where=where)

    by_window = is_bulk & ~paces
    return {
        "limited_by_receive_window": share(window, known),
        "limited_by_application": share(buffer, is_bulk),
        "limited_by_congestion_window": share(np.maximum(busy - window - buffer, 0), by_window),
        "limited_by_pacing": share(np.zeros(len(whole)), by_window),
    }
