"""When a route changes: only if the new path is better by a share and, with intervals, whatever the true values within them are.

The packet engine has the same rule (``crates/core/src/packet/link_state/controller.rs``).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import prod, sqrt

from anabranch.engines.openflow.link_state import CableEstimate
from anabranch.engines.openflow.routes import Pair, Path

Estimates = Mapping[tuple[str, str], CableEstimate]


@dataclass(frozen=True)
class Hysteresis:
    """The rule of a metric."""

    share: float
    """A new path costs less by at least this share, as ``hysteresis`` of a scenario's ``link_state``."""
    intervals: bool
    """Whether the intervals of both costs are apart too, as ``intervals`` of a scenario's ``link_state``."""

    def route(self, metric: str, present: Path | None, best: Path, estimates: Estimates) -> Path:
        """The path to take: the present one, or the best one by the estimates.

        The links that both paths share have no part in the decision, so that their estimates count as exact. Among paths without loss, which have the
        same predicted throughput, the delay decides.
        """
        if present is None or present == best:
            return best
        shared = set(pairwise(present)) & set(pairwise(best))
        least, now, _ = cost(metric, present, estimates, shared)
        _, then, most = cost(metric, best, estimates, shared)
        if metric in ("tcpbp", "tcpbp-exact") and now == then:
            least, now, _ = cost("delay", present, estimates, shared)
            _, then, most = cost("delay", best, estimates, shared)
        return best if then < (1 - self.share) * now and (most < least or not self.intervals) else present


def cost(metric: str, path: Path, estimates: Estimates, exact: Iterable[Pair] = ()) -> tuple[float, float, float]:
    """Least, estimated and greatest cost of a path by delay, loss, tcpbp or tcpbp-exact.

    Errors of links are independent: their squares add up (delays, and logarithms of the shares that arrive). TCPBP's cost is delay times the
    square root of the loss; both ends of its interval are those of its parts.
    """
    known = set(exact)
    links = [estimates[link] for link in pairwise(path)]
    loose = [one for link, one in zip(pairwise(path), links, strict=True) if link not in known]
    delay_s = sum(one.delay_s for one in links)
    loss = 1 - prod(1 - one.loss for one in links)
    delays = (
        delay_s - sqrt(sum((one.delay_s - one.delay_low_s) ** 2 for one in loose)),
        delay_s,
        delay_s + sqrt(sum((one.delay_high_s - one.delay_s) ** 2 for one in loose)),
    )
    losses = (
        max(0.0, loss - sqrt(sum((one.loss - one.loss_low) ** 2 for one in loose))),
        loss,
        min(1.0, loss + sqrt(sum((one.loss_high - one.loss) ** 2 for one in loose))),
    )
    if metric == "delay":
        return delays
    if metric == "loss":
        return losses
    low, middle, high = (delay * sqrt(loss) for delay, loss in zip(delays, losses, strict=True))
    return low, middle, high
