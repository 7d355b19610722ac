"""Link state of one direction of a cable: samples from the counters and delays of an interval, and their moving average."""

from collections import deque
from statistics import fmean

from anabranch.engines.openflow.plan import SAMPLES

LEAST_DELAY_S = 1e-6
"""Least delay of a sample: errors of the clocks may give less, but no cable is shorter."""


class MeasuredCable:
    """Link state of one direction of a cable. Delay in seconds and loss are means of the last three samples (section 5.1)."""

    def __init__(self, least_packets: float) -> None:
        """Begin without samples. An interval with fewer packets gives no sample of the loss."""
        self._least_packets = least_packets
        self._delays: deque[float] = deque(maxlen=SAMPLES)
        self._losses: deque[float] = deque(maxlen=SAMPLES)
        self._counts: tuple[int, int] | None = None

    def sample(self, sent: int, received: int, delay_s: float | None) -> None:
        """Add the samples of an interval, from the counters at both ends, and from the delay if it was measured."""
        before, self._counts = self._counts, (sent, received)
        if delay_s is not None:
            self._delays.append(max(LEAST_DELAY_S, delay_s))
        if before is not None and sent - before[0] >= self._least_packets:
            self._losses.append(1 - (received - before[1]) / (sent - before[0]))

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
        """Mean loss of the last samples.

        Switches are read one after another, so that a sample may lack packets of its interval which the next one has. Their mean is cut at 0, not each sample.
        """
        return max(0.0, fmean(self._losses))
