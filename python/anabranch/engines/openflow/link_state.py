"""Link state of one direction of a cable: samples from the counters and delays of an interval, their moving average, and its uncertainty."""

from collections import deque
from math import sqrt
from statistics import fmean
from typing import NamedTuple

SAMPLES = 3
"""Number of samples in the moving average (TCPBP, section 5.1)."""

LEAST_DELAY_S = 1e-6
"""Least delay of a sample: errors of the clocks may give less, but no cable is shorter."""
_Z = 1.96
"""Of a 95 % interval."""


class Delay(NamedTuple):
    """The delay of an interval, s: its mean, and the variance of this mean (0 if it is not known)."""

    mean_s: float
    variance: float = 0.0


class CableEstimate(NamedTuple):
    """Delay in seconds and loss of a cable, each with the bounds of its 95 % interval."""

    delay_s: float
    delay_low_s: float
    delay_high_s: float
    loss: float
    loss_low: float
    loss_high: float


class MeasuredCable:
    """Link state of one direction of a cable. Delay and loss are means of the last samples."""

    def __init__(self, least_packets: float, samples: int = SAMPLES) -> None:
        """Begin without samples. An interval with fewer packets gives no sample of the loss."""
        self._least_packets = least_packets
        self._delays: deque[Delay] = deque(maxlen=samples)
        self._losses: deque[tuple[int, int]] = deque(maxlen=samples)
        self._counts: tuple[int, int] | None = None

    def sample(self, sent: int, received: int, delay: Delay | None) -> None:
        """Add the samples of an interval, from the counters at both ends, and from the delay if it was measured. The first call only begins the interval."""
        before, self._counts = self._counts, (sent, received)
        if before is None:
            return
        if delay is not None:
            self._delays.append(delay._replace(mean_s=max(LEAST_DELAY_S, delay.mean_s)))
        if sent - before[0] >= self._least_packets:
            self._losses.append((sent - before[0], received - before[1]))

    @property
    def is_known(self) -> bool:
        """Whether there are samples of delay and loss."""
        return bool(self._delays and self._losses)

    @property
    def estimate(self) -> CableEstimate:
        """The means of the last samples.

        Switches are read one after another, so that a sample may lack packets of its interval which the next one has. Their mean is cut at 0, not each sample.
        The interval of the loss is Wilson's, of all packets of the samples; that of the delay is normal.
        """
        delay_s = fmean(delay.mean_s for delay in self._delays)
        half_s = _Z * sqrt(sum(delay.variance for delay in self._delays)) / len(self._delays)
        loss = max(0.0, fmean(1 - received / sent for sent, received in self._losses))
        low, high = wilson(loss, sum(sent for sent, _ in self._losses))
        return CableEstimate(delay_s, max(LEAST_DELAY_S, delay_s - half_s), delay_s + half_s, loss, low, high)


def wilson(share: float, number: int) -> tuple[float, float]:
    """The 95 % interval of a share that was seen among ``number`` draws (Wilson 1927)."""
    squared = _Z * _Z / number
    centre = (share + squared / 2) / (1 + squared)
    half = sqrt(squared * share * (1 - share) + squared * squared / 4) / (1 + squared)
    return max(0.0, centre - half), min(1.0, centre + half)
