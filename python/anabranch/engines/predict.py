"""The predict engine: what every flow sends in the long run, by the equations of the Rust core, with the packet engine's tables."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from anabranch import _core
from anabranch.engines import predicted_sums
from anabranch.engines.packet import CompiledRun
from anabranch.foundation.array_types import Columns
from anabranch.foundation.json_text import json_text
from anabranch.foundation.units import PICOSECONDS_PER_SECOND
from anabranch.results.schema import TABLES

PLANNED = ("flow", "traffic", "src", "dst", "stack", "routing", "start_s", "size_bytes")
"""Columns of flows that the scenario says."""


_WAIT_S = 0.1
"""How long a wait for a prediction lasts before its progress is looked at."""


def expected_sum(spec: CompiledRun, threads: int = 1) -> tuple[float, float, float]:
    """The goodput of all flows together in bit/s, and its interval: over the hashes that choose paths, if they do.

    Raises:
        ValueError: names what the model does not know.
    """
    found = predicted(spec, threads)
    runs = [predicted(one, threads) for one in predicted_sums.hash_draws(spec, found)] or [found]
    sums = [run.sums([0] * len(run.flows()["goodput_bps"]), 1) for run in runs]
    value, low, high = (np.array([one[end][0] for one in sums]) for end in predicted_sums.ENDS)
    return float(value.mean()), float(np.quantile(low, 0.05)), float(np.quantile(high, 0.95))


def predicted(spec: CompiledRun, threads: int = 1) -> _core.Prediction:
    """The prediction of a compiled run, on at most ``threads`` threads.

    Raises:
        ValueError: names what the model does not know.
    """
    predictor = _core.Predictor(json_text(spec), threads)
    while (made := predictor.wait(_WAIT_S)) is None:
        pass
    return made


class PredictedRun:
    """A prediction with the methods of the packet engine's simulation. It has results once it is made, and no rows before."""

    def __init__(self, spec: CompiledRun, threads: int = 1) -> None:
        """Begin to predict a compiled run on at most ``threads`` threads.

        Raises:
            ValueError: a congestion control in Python cannot be loaded.
        """
        self._nodes: list[str] = spec["nodes"]
        self._spec, self._threads = spec, threads
        self._draws: Iterator[CompiledRun] = iter(())
        self._sums: list[predicted_sums.Sums] = []
        self._predictor = _core.Predictor(json_text(spec), threads)
        self._prediction: _core.Prediction | None = None
        self._end_s: float = spec["duration"] / PICOSECONDS_PER_SECOND
        self._measured_s = (spec["duration"] - spec["warm_up"]) / PICOSECONDS_PER_SECOND
        self._may_mark = np.array([may_mark(link["queue"], spec) for link in spec["links"]])
        self._warm_up_s = spec["warm_up"] / PICOSECONDS_PER_SECOND

    def advance(self, _events: int) -> bool:
        """Wait a moment; whether the prediction is not made yet.

        Raises:
            ValueError: names what the model does not know.
        """
        made = self._predictor.wait(_WAIT_S)
        if made is None:
            return True
        if self._prediction is None:
            self._prediction = made
            groups = [group["name"] for group in self._spec["traffic"]]
            self._parts = predicted_sums.Parts.of(made.planned_flows(), self._nodes, groups)
            self._draws = predicted_sums.hash_draws(self._spec, made)
        else:
            self._sums.append(self._parts.sums(made))
        following = next(self._draws, None)
        if following is not None:
            self._predictor = _core.Predictor(json_text(following), self._threads)
        return following is not None

    @property
    def now_s(self) -> float:
        """The run's end, seconds; before the prediction is made, the share of the work that is done as one of the run."""
        return self._end_s * (self._predictor.share if self._prediction is None else 1.0)

    @property
    def packet_hops(self) -> int:
        """None: there are no packets."""
        return 0

    def flows(self) -> Columns:
        """One row for each flow; NaN is what the model does not predict."""
        if self._prediction is None:
            return _empty("flows")
        planned = self._prediction.planned_flows()
        unknown = np.full(len(planned["flow"]), np.nan)
        columns: dict[str, Any] = {column.name: unknown for column in TABLES["flows"]}
        columns |= {name: planned[name] for name in PLANNED} | dict(self._prediction.flows())
        end_s = planned["start_s"] + columns["fct_s"]
        columns["end_s"] = np.where(end_s <= self._end_s, end_s, np.nan)
        ended = ~np.isnan(columns["end_s"])
        for name in ("fct_s", "fct_p95_s"):
            columns[name] = np.where(planned["start_s"] + columns[name] <= self._end_s, columns[name], np.nan)
        columns["idle_fct_s"] = planned["idle_fct_s"]
        columns["slowdown"] = columns["fct_s"] / columns["idle_fct_s"]
        last_s = np.where(ended, columns["end_s"], self._end_s)
        measured_s = np.maximum(last_s - np.maximum(planned["start_s"], self._warm_up_s), 0)
        columns["goodput_bps"] = np.where(measured_s > 0, columns["goodput_bps"], np.nan)
        columns["delivered_bytes"] = np.round(np.nan_to_num(columns["goodput_bps"]) * measured_s / 8)
        return columns

    def links(self) -> Columns:
        """One row for each directed link; NaN is what the model does not predict."""
        if self._prediction is None:
            return _empty("links")
        predicted = self._prediction.links()
        columns: dict[str, Any] = dict(self._prediction.planned_links())
        packets, drops, losses = (predicted[name] for name in ("packets", "drops", "losses"))
        columns["packets"] = np.round(packets * self._measured_s)
        columns["bytes"] = np.round(predicted["carried_bps"] * self._measured_s / 8)
        columns["utilisation"] = predicted["utilisation"]
        columns["queue_drops"] = np.round(drops * self._measured_s)
        columns["queue_drop_ratio"] = _ratio(drops, packets + drops)
        # The model does not tell marks from drops.
        for name in ("queue_drops", "queue_drop_ratio", "marks"):
            columns[name] = np.where(self._may_mark, np.nan, columns[name])
        columns["losses"] = np.round(losses * self._measured_s)
        columns["loss_ratio"] = _ratio(losses, packets)
        columns["queue_delay_mean_s"] = np.where(packets > 0, predicted["queue_delay_s"], np.nan)
        columns["queue_delay_max_s"] = np.full(len(packets), np.nan)
        return columns

    def facts(self) -> Mapping[str, Any]:
        """Facts about the run for the manifest."""
        if self._prediction is None:
            return {}
        planned = self._prediction.planned_links()
        ends = zip(planned["src"], planned["dst"], strict=True)
        links = [f"{self._nodes[src]} -> {self._nodes[dst]}" for src, dst in ends]
        return {
            "converged": self._prediction.converged,
            "unique": self._prediction.unique,
            "in_phase": [links[index] for index in self._prediction.in_phase],
            "sums": predicted_sums.rows(self._parts, self._parts.sums(self._prediction), self._sums),
        }

    def states(self) -> Mapping[str, Any]:
        """None: the model has no states of congestion controls."""
        return _empty("states")

    def routes(self) -> Mapping[str, Any]:
        """None: routings that measure links are refused."""
        return _empty("routes")

    def take_flow_series(self) -> Columns:
        """None: the model has no time."""
        return _empty("series_flows")

    def take_link_series(self) -> Columns:
        """None, as for flows."""
        return _empty("series_links")

    def take_link_state(self) -> Columns:
        """None, as for routes."""
        return _empty("link_state")

    @property
    def packets_without_route(self) -> int:
        """None: a pair without a route is refused."""
        return 0

    @property
    def packets_expired(self) -> int:
        """None: routes in a circle are refused."""
        return 0

    @property
    def threads(self) -> int:
        """Threads that have computed it."""
        return 1 if self._prediction is None else self._prediction.threads

    def take_capture(self, _link: int) -> bytes:
        """None: captures are refused."""
        return b""


def may_mark(queue: Mapping[str, Any], spec: CompiledRun) -> bool:
    """Whether a queue may mark packets of a run instead of dropping them."""
    marks = queue["discipline"] == "ecn-threshold" or queue.get("ecn", False)
    return bool(marks) and any(stack["ecn"] for stack in spec["stacks"])


def _ratio(part: Any, whole: Any) -> Any:
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)


def _empty(table: str) -> dict[str, Any]:
    return {column.name: np.empty(0) for column in TABLES[table]}
