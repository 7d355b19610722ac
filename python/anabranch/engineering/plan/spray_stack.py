"""The stack of hosts that tolerate reordering, and the most that it reaches over a split: the spray price."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.engineering.predict.spray import (
    DETECTORS,
    WINDOWS,
    WIRE_BYTES,
    Detector,
    SprayedPath,
    Window,
    spray_price,
)
from anabranch.engineering.robust.errors import RobustError

LEAST_QUEUE = 8
"""Packets of the shortest queue."""
_COUNTING = ("dup-ack", "path-count")


@dataclass(frozen=True)
class SprayStack:
    """The part of a stack that decides what reordering costs."""

    name: str
    detector: Detector
    window: Window
    threshold: int = 3
    """Duplicate ACKs that signal a loss, if the detector counts them; of ``path-count``, those for one path."""

    @classmethod
    def of(cls, name: str, settings: Mapping[str, Any]) -> "SprayStack":
        """The stack of this name with these settings of a scenario's stack.

        Raises:
            RobustError: its window or its detector has no spray price.
        """
        detection = settings["detection"]
        options = detection if isinstance(detection, Mapping) else {"name": detection}
        detector = options["name"]
        window = str(settings["congestion"]).removeprefix("linux-")
        window = {"reno": "newreno"}.get(window, window)
        for what, found, known in (("congestion control", window, WINDOWS), ("loss detection", detector, DETECTORS)):
            if found not in known:
                raise RobustError(
                    f"--stack {name}: its {what} {found} has no spray price; possible: {', '.join(known)}"
                )
        return cls(name, detector, window, options.get("threshold", 3))  # type: ignore[arg-type] # checked above

    @property
    def counts(self) -> bool:
        """Whether the detector counts duplicate ACKs."""
        return self.detector in _COUNTING

    def duplicates(self, paths: int) -> int:
        """The duplicate ACKs that signal a loss over so many paths."""
        return self.threshold * paths.bit_length() if self.detector == "path-count" else self.threshold

    def most_bps(
        self, delays_s: Sequence[float], rates_bps: Sequence[float], shares: Sequence[float], loss: float
    ) -> float:
        """The goodput of one long flow alone, by the spray price.

        ``delays_s`` are those of the paths with the transmission of a packet on each link, ``rates_bps`` those of their slowest links. The price is
        one of equal shares. So each path gets the rate at which all together carry what the given shares allow.
        """
        carried = min(rate / share for rate, share in zip(rates_bps, shares, strict=True))
        rate = carried / len(shares)
        queue = max(LEAST_QUEUE, round(rate * 2 * max(delays_s) / (8 * WIRE_BYTES)))
        paths = [SprayedPath(delay_s, rate, queue) for delay_s in delays_s]
        return spray_price(paths, detector=self.detector, selector="random", window=self.window, loss=loss).goodput_bps
