"""Link state: what counters and delays of an interval say of a direction of a cable, and the moving average of samples."""

from collections import deque
from statistics import fmean

from anabranch.papers.tcpbp.testbed.plan import SAMPLES

LEAST_PACKETS = 500
"""With fewer packets an interval says nothing of losses."""
LEAST_DELAY_S = 1e-6
"""No cable is shorter, though errors of the clocks may say so."""


class LinkState:
    """One direction of a cable. Delay in seconds and loss are those of the last three samples (section 5.1)."""

    def __init__(self) -> None:
        """Nothing is known."""
        self._delays: deque[float] = deque(maxlen=SAMPLES)
        self._losses: deque[float] = deque(maxlen=SAMPLES)
        self._counts: tuple[int, int] | None = None

    def sample(self, sent: int, received: int, delay_s: float | None) -> None:
        """An interval has ended, with these counters at both ends, and the delay if it was measured."""
        before, self._counts = self._counts, (sent, received)
        if delay_s is not None:
            self._delays.append(max(LEAST_DELAY_S, delay_s))
        if before is not None and sent - before[0] >= LEAST_PACKETS:
            self._losses.append(max(0.0, 1 - (received - before[1]) / (sent - before[0])))

    @property
    def is_known(self) -> bool:
        """Whether there is a sample of both."""
        return bool(self._delays and self._losses)

    @property
    def delay_s(self) -> float:
        """Mean of the last samples."""
        return fmean(self._delays)

    @property
    def loss(self) -> float:
        """Mean of the last samples."""
        return fmean(self._losses)
