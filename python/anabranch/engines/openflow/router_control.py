"""The controller of routers: a thread that computes routes from STAMP's results, and changes the routes that differ."""

import time

from anabranch.engines.kernel.linux_network.errors import NetworkError
from anabranch.engines.openflow.background import Background
from anabranch.engines.openflow.computation import RouteComputation, written
from anabranch.engines.openflow.igp import Advertised
from anabranch.engines.openflow.plan import ControlFiles, LabPlan
from anabranch.engines.openflow.routers import FrrRouters, Routers
from anabranch.engines.openflow.routes import Pair
from anabranch.engines.openflow.table_routes import TableRoute, of_routes, of_spread
from anabranch.foundation.output_files import write_json


class RouterControl(Background):
    """Controls routers until the ``with`` block ends."""

    def __init__(self, plan: LabPlan, routers: Routers, files: ControlFiles) -> None:
        """Prepare the routes that measure nothing.

        Raises:
            NetworkError: several paths part where routers cannot follow.
        """
        super().__init__("router-control")
        self._plan = plan
        self._routers = routers
        self._files = files
        self._computation = RouteComputation(plan.described())
        first = len(plan.metrics) + len(plan.fixed)
        self._standing = frozenset(
            route
            for place, spread in enumerate(plan.spread.values(), first)
            for route in of_spread(place, spread, plan.numbers)
        )
        self._installed: frozenset[TableRoute] = frozenset()
        self._changes = 0
        self._problem: str | None = None

    def problem(self) -> str | None:
        """Why it has ended by itself."""
        return self._problem

    def _work(self) -> None:
        began, samples = time.monotonic(), 0
        interval_s = self._plan.probing.interval_s
        while not self._stop.wait(max(0.0, began + (samples + 1) * interval_s - time.monotonic())):
            samples += 1
            self._computation.sample_stamp(self._files.stamp)
            if self._computation.is_known:
                try:
                    self._route(began)
                except NetworkError as error:
                    self._problem = str(error)
                    return

    def _route(self, began: float) -> None:
        advertised: dict[Pair, Advertised] = {}
        if isinstance(self._routers, FrrRouters) and self._routers.igp is not None:
            self._routers.advertise(self._computation.estimates)
            advertised = self._routers.advertised()
            if not self._installed and not all(
                ends in advertised and advertised[ends].delay_s is not None for ends in self._computation.states
            ):
                return  # the protocol has not converged
        found, values = self._computation.routes(advertised)
        chosen = {**found, **self._plan.fixed}
        wanted = self._standing | frozenset(of_routes(chosen, self._plan.numbers))
        self._routers.change(self._installed - wanted, wanted - self._installed)
        self._changes += bool(self._installed) and wanted != self._installed
        self._installed = wanted
        write_json(self._files.state, written(time.monotonic() - began, self._changes, chosen, values))
