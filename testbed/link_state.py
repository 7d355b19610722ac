"""Link state of one direction of a cable: samples from the counters and delays of an interval, and their moving average."""

from collections import deque
from statistics import fmean

from testbed.plan import SAMPLES

LEAST_PACKETS = 500
"""Least number of packets in an interval for a sample of the loss."""
LEAST_DELAY_S = 1e-6
"""Least delay of a sample: errors of the clocks may give less, but no cable is shorter."""


class LinkState:
    """Link state of one direction of a cable. Delay in seconds and loss are means of the last three samples (section 5.1)."""

    def __init__(self) -> None:
        """Begin without samples."""
        self._delays: deque[float] = deque(maxlen=SAMPLES)
        self._losses: deque[float] = deque(maxlen=SAMPLES)
        self._counts: tuple[int, int] | None = None

    def sample(self, sent: int, received: int, delay_s: float | None) -> None:
        """Add the samples of an interval, from the counters at both ends, and from the delay if it was measured."""
        before, self._counts = self._counts, (sent, received)
        if delay_s is not None:
            self._delays.append(max(LEAST_DELAY_S, delay_s))
        if before is not None and sent - before[0] >= LEAST_PACKETS:
            self._losses.append(max(0.0, 1 - (received - before[1]) / (sent - before[0])))

    @property
    def is_known(self) -> bool:
        """Whether there are samples of delay and loss."""
        return bool(self._delays and self._losses)

    @property
    def delay_s(self) -> float:
        """Mean delay of the last samples, s."""
        return fmean(self._delays)

    @property
    def loss(self) -> float:
        """Mean loss of the last samples."""
        return fmean(self._losses)
