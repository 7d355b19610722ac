"""A run of one case with one stack, and its score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any

from anabranch.compile.run import compile_run
from anabranch.engines import packet
from anabranch.foundation.array_types import Columns
from anabranch.scenario import Scenario
from validation.fast_rto.cases import Case

SECONDS = 25
WARM_UP_SECONDS = 5
STEADY_SHARE = 0.90
UNSTEADY_WEIGHT = 0.25
STALLED_WEIGHT = 0.5
SAMPLES_PER_SECOND = 10


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run, as shares."""

    goodput: float
    """All flows' payload, as a share of what equal shares of the paths can carry."""
    unsteady: float
    """Share of the seconds after the warm-up in which less than 90 % of the flows' own mean arrived."""
    stalled: float
    """The longest stall of a flow (no delivery in order while data is outstanding), as a share of the time after the warm-up."""
    spurious: float
    """Share of the segments sent that the receiver had already."""
    fairness: float
    """Jain's index of the flows' goodput."""

    @property
    def score(self) -> float:
        """Goodput, fairly shared, less spurious retransmissions, a quarter of the unsteady seconds, half of the stall."""
        waiting = UNSTEADY_WEIGHT * self.unsteady + STALLED_WEIGHT * self.stalled
        return self.goodput * self.fairness - self.spurious - waiting


class _Samples:
    """Sums the goodput of all flows in each interval."""

    def __init__(self) -> None:
        self.goodput_bps: dict[float, float] = {}

    def flow_series(self, columns: Columns) -> None:
        for time_s, goodput in zip(columns["time_s"], columns["goodput_bps"], strict=True):
            self.goodput_bps[float(time_s)] = self.goodput_bps.get(float(time_s), 0.0) + float(goodput)

    def link_series(self, columns: Columns) -> None:
        pass

    def capture(self, link: int, piece: bytes) -> None:
        pass

    def progress(self, now_s: float, packet_hops: int) -> None:
        pass


def run(case: Case, stack: Mapping[str, Any], seed: int) -> Outcome:
    """Run a case once."""
    samples = _Samples()
    document = case.document(stack, SECONDS, WARM_UP_SECONDS, SAMPLES_PER_SECOND)
    flows = packet.simulate(compile_run(Scenario(document).cases[0], seed), samples, Event()).flows
    goodput = flows["goodput_bps"]
    total = float(goodput.sum())
    short = [rate for time_s, rate in samples.goodput_bps.items() if time_s > WARM_UP_SECONDS + 0.01]
    each = [sum(second) / SAMPLES_PER_SECOND for second in _chunks(short)]
    mean = sum(each) / len(each)
    return Outcome(
        goodput=total / case.bound_bps,
        unsteady=sum(rate < STEADY_SHARE * mean for rate in each) / len(each),
        stalled=float(flows["longest_stall_s"].max()) / (SECONDS - WARM_UP_SECONDS),
        spurious=float(flows["spurious_retransmits"].sum() / flows["segments_sent"].sum()),
        fairness=total**2 / (len(goodput) * float((goodput**2).sum())) if total else 0.0,
    )


def _chunks(rates: Sequence[float]) -> list[Sequence[float]]:
    """The intervals of each second."""
    return [rates[index : index + SAMPLES_PER_SECOND] for index in range(0, len(rates), SAMPLES_PER_SECOND)]
