"""One run of a candidate in the packet engine, and its prediction."""

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np

from anabranch.compile.run import compile_run
from anabranch.engines.packet import RunOutcome, simulate
from anabranch.engines.predict import expected_sum, predicted
from anabranch.foundation.array_types import Columns
from anabranch.foundation.units import PICOSECONDS_PER_SECOND
from anabranch.scenario import Scenario
from anabranch.studies.advise.question import Objective

PRICES = ("retransmitted", "spurious", "reassembly_bytes", "stall_s", "jain")
"""Shares of segments sent, the most bytes that a receiver held beyond a hole, the longest stall in seconds, and Jain's index."""


@dataclass(frozen=True)
class Trial:
    """What a run of a candidate has shown."""

    value: float
    """Of the objective, greater is better: bit/s in the second half of the run; for completions, one over the mean of seconds."""
    growth: float
    """The value over that of the first half; 1 for completions."""
    price: Mapping[str, float]
    """What the candidate costs besides: :data:`PRICES`."""


@dataclass(frozen=True)
class PredictedValue:
    """A prediction of a candidate's value, with its interval (90 %)."""

    value: float
    low: float
    high: float


class Laboratory:
    """Runs candidates of one scenario, whose stacks and routings have the numbers of its compiled run."""

    def __init__(self, scenario: Scenario, objective: Objective) -> None:
        """``scenario`` defines the stacks and routings of all candidates."""
        self._scenario, self._objective = scenario, objective
        self._compiled: dict[int, dict[str, Any]] = {}
        first = self.compiled(1)
        self._stacks = {stack["name"]: stack for stack in first["stacks"]}
        self._routings = {routing["name"]: routing for routing in first["routings"]}

    @property
    def is_rate(self) -> bool:
        """Whether values are bit/s."""
        return self._objective != "completion"

    def compiled(self, seed: int) -> dict[str, Any]:
        """The compiled run of a seed, with the first stack and routing."""
        if seed not in self._compiled:
            self._compiled[seed] = compile_run(self._scenario.cases[0], seed)
        return self._compiled[seed]

    def _spec(self, stack: str, routing: str, seed: int, seconds: float) -> dict[str, Any]:
        spec = self.compiled(seed)
        traffic = [
            group | {"routing": 0} | ({"transport": {"tcp": {"stack": 0}}} if "tcp" in group["transport"] else {})
            for group in spec["traffic"]
        ]
        alone = {"stacks": [self._stacks[stack]], "routings": [self._routings[routing]], "traffic": traffic}
        duration = round(seconds * PICOSECONDS_PER_SECOND)
        half = 0 if self._objective == "completion" else duration // 2
        return spec | alone | {"duration": duration, "warm_up": half, "sample": half or None}

    def run(self, stack: str, routing: str, seed: int, seconds: float, stop: Event) -> Trial | None:
        """A run of some virtual seconds; ``None`` if it was stopped."""
        half = _Half()
        outcome = simulate(self._spec(stack, routing, seed, seconds), half, stop)
        return self._trial(outcome, half.goodput_bps, seconds) if outcome.complete else None

    def estimate(self, stack: str, routing: str, seconds: float) -> PredictedValue | None:
        """The prediction; ``None`` where the model does not describe the candidate."""
        spec = self._spec(stack, routing, 1, seconds)
        try:
            if self._objective == "goodput":
                return PredictedValue(*expected_sum(spec))
            flows = predicted(spec).flows()
        except ValueError:
            return None
        if self._objective == "completion":
            times = flows["fct_s"]
            return None if np.isnan(times).any() else PredictedValue(1 / times.mean(), 0.0, np.inf)
        return PredictedValue(*(float(np.min(flows[name])) for name in ("goodput_bps", "low_bps", "high_bps")))

    def _trial(self, outcome: RunOutcome, before: Any, seconds: float) -> Trial:
        flows = outcome.flows
        sent = max(1, flows["segments_sent"].sum())
        prices = (
            flows["retransmits"].sum() / sent,
            flows["spurious_retransmits"].sum() / sent,
            np.nanmax(flows["reassembly_peak_bytes"], initial=0.0),
            np.nanmax(flows["longest_stall_s"], initial=0.0),
            _jain(flows["goodput_bps"]),
        )
        price = dict(zip(PRICES, map(float, prices), strict=True))
        if self._objective == "completion":
            times = np.where(np.isnan(flows["fct_s"]), seconds - flows["start_s"], flows["fct_s"])
            return Trial(1 / float(times.mean()), 1.0, price)
        combine = np.nansum if self._objective == "goodput" else np.nanmin
        first, second = combine(before), combine(flows["goodput_bps"])
        return Trial(float(second), float(second / first) if first > 0 else 2.0, price)


class _Half:
    """A recorder that keeps the goodput of the flows in the first half of the run."""

    def __init__(self) -> None:
        self.goodput_bps: Any = np.zeros(1)

    def flow_series(self, columns: Columns) -> None:
        """The first sample ends the first half."""
        if len(columns["flow"]) and len(self.goodput_bps) == 1:
            first = columns["time_s"] == columns["time_s"].min()
            self.goodput_bps = np.asarray(columns["goodput_bps"])[first]

    def link_series(self, columns: Columns) -> None:
        """Not needed."""

    def link_state(self, columns: Columns) -> None:
        """Not needed."""

    def capture(self, link: int, piece: bytes) -> None:
        """Not needed."""

    def progress(self, now_s: float, packet_hops: int) -> None:
        """Not needed."""


def _jain(rates: Any) -> float:
    """Jain's index of fairness."""
    total, squares = np.nansum(rates), np.nansum(np.square(rates))
    return float(total**2 / (np.count_nonzero(~np.isnan(rates)) * squares)) if squares > 0 else 1.0
