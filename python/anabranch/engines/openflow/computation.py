"""Link state and routes of a network whose STAMP agents write their results to a file: the part that all controllers share."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from anabranch.engines.openflow import routes
from anabranch.engines.openflow.hysteresis import Estimates, Hysteresis
from anabranch.engines.openflow.igp import Advertised, replaced
from anabranch.engines.openflow.link_state import CableEstimate, Delay, MeasuredCable
from anabranch.engines.openflow.plan import measured, without_values
from anabranch.engines.openflow.routes import Chosen, Pair


class RouteComputation:
    """Samples of all directions of cables, and the routes of the metrics by their means."""

    def __init__(self, network: Mapping[str, Any]) -> None:
        """Begin without samples; ``network`` is that of :meth:`anabranch.engines.openflow.plan.LabPlan.described`."""
        self.topology = without_values(network)
        self.states: dict[Pair, MeasuredCable] = {
            (link.source, link.target): MeasuredCable(network["least_packets"], network["samples"])
            for link in self.topology.links
        }
        self._metrics: list[str] = network["metrics"]
        hysteresis = network["hysteresis"]
        self._hysteresis = None if hysteresis is None else {name: Hysteresis(**own) for name, own in hysteresis.items()}
        self._chosen: Chosen = {}
        self._stamp: dict[Pair, list[float]] = {}

    @property
    def by_stamp(self) -> bool:
        """Whether STAMP's agents measure, and routes have hysteresis."""
        return self._hysteresis is not None

    @property
    def is_known(self) -> bool:
        """Whether there are samples of all cables."""
        return all(state.is_known for state in self.states.values())

    def sample_stamp(self, file: Path) -> None:
        """Take the samples of an interval from what the agents have written, if they have begun."""
        if not file.exists():
            return
        for source, target, sent, received, *sums in json.loads(file.read_text(encoding="utf-8"))["sessions"]:
            before = self._stamp.get((source, target), [0, 0.0, 0.0])
            self._stamp[source, target] = sums
            number, sum_s, squares = (now - then for now, then in zip(sums, before, strict=True))
            mean_s = sum_s / max(1, number)
            delay = Delay(mean_s, max(0.0, squares / number - mean_s**2) / (number - 1)) if number > 1 else None
            self.states[source, target].sample(sent, received, delay)

    @property
    def estimates(self) -> dict[Pair, CableEstimate]:
        """The present estimates of all cables."""
        return {ends: state.estimate for ends, state in self.states.items()}

    def routes(self, advertised: Mapping[Pair, Advertised] = MappingProxyType({})) -> tuple[Chosen, Estimates]:
        """The routes of all metrics by the present estimates, with ``advertised`` values in their place, and these estimates."""
        values = {ends: replaced(own, advertised.get(ends)) for ends, own in self.estimates.items()}
        found = routes.chosen(measured(self.topology, values), self._metrics)
        if self._hysteresis is not None:
            found = {
                metric: {
                    pair: self._hysteresis[metric].route(metric, self._chosen.get(metric, {}).get(pair), best, values)
                    for pair, best in paths.items()
                }
                for metric, paths in found.items()
            }
        self._chosen = found
        return found, values


def written(time_s: float, changes: int, chosen: Chosen, values: Estimates) -> dict[str, Any]:
    """The last link state and routes for JSON, as :class:`anabranch.engines.openflow.lab.Routed` reads them."""
    return {
        "time_s": time_s,
        "changes": changes,
        "links": [[*ends, *state] for ends, state in values.items()],
        "routes": routes.written(chosen),
    }
