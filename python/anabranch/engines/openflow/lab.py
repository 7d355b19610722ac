"""The whole network: cables, switches or routers, hosts, and the controller."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal

from anabranch.engines.kernel.linux_network.cables import Cables
from anabranch.engines.kernel.linux_network.devices import open_device
from anabranch.engines.kernel.linux_network.errors import NetworkError
from anabranch.engines.openflow import routes
from anabranch.engines.openflow.hosts import Hosts
from anabranch.engines.openflow.igp import Igp
from anabranch.engines.openflow.link_state import CableEstimate
from anabranch.engines.openflow.plan import MOST_NAMES, MOST_NODES, ControlFiles, LabPlan
from anabranch.engines.openflow.router_control import RouterControl
from anabranch.engines.openflow.routers import FrrRouters, Routers
from anabranch.engines.openflow.routes import Chosen
from anabranch.engines.openflow.scratch import scratch_directory
from anabranch.engines.openflow.switches import Switches
from anabranch.foundation.extras import require
from anabranch.foundation.output_files import write_json

_CONTROLLER = "anabranch.engines.openflow.controller"

Target = Literal["openflow", "linux", "frr"]
"""Where a controller's routes go."""


@dataclass(frozen=True)
class Routed:
    """The controller's link state and routes at their last computation."""

    time_s: float
    changes: int
    """Number of rule changes since the first routes."""
    links: dict[tuple[str, str], CableEstimate]
    """By direction of a cable. Empty if the routes were given."""
    routes: Chosen


class Lab:
    """The live network. It exists until the ``with`` block ends, and leaves nothing behind."""

    def __init__(
        self, plan: LabPlan, given: Chosen | None = None, to: Target = "openflow", igp: Igp | None = None
    ) -> None:
        """Build the network. The controller installs the ``given`` routes at once and keeps them, or else measures.

        ``to`` is where routes go: rules of Open vSwitch, tables of Linux, or static routes of FRR. Only switches take ``given`` routes. With an ``igp``, which
        needs FRR, the controller takes the values that routers advertise.

        Raises:
            MissingExtraError: os-ken is not installed.
            NetworkError: names the program or privilege that is missing, or the bound that the network exceeds.
        """
        if to == "openflow":
            require("an OpenFlow controller", "openflow")
        _check(plan)
        self._plan = plan
        self._keep = ExitStack()
        try:
            self.files = ControlFiles(scratch_directory(self._keep))
            write_json(self.files.network, plan.described())
            if given is not None:
                write_json(self.files.routes, {"routes": routes.written(given)})
            nodes: Switches | Routers
            if to == "frr":
                nodes = FrrRouters(plan, self._keep, igp)
            else:
                nodes = Switches(plan, self._keep) if to == "openflow" else Routers(plan, self._keep)
            devices = {
                (node, other): open_device(nodes.namespaces[node], plan.port_name(node, other), kind="tap")
                for node in plan.numbers
                for other in plan.neighbours(node)
            }
            self.hosts = Hosts(plan, nodes, self._keep)
            if isinstance(nodes, Switches):
                self.switches = nodes
                self._problem = self._start_controller(nodes)
                nodes.start(plan, self.files.directory)
            else:
                nodes.start()
                self._problem = self._keep.enter_context(RouterControl(plan, nodes, self.files)).problem
            # The time of the cables, and so of events, begins with the controller's, once all switches run.
            self.cables = Cables(plan.scenario, lambda node, other: devices[node, other], self._keep)
        except BaseException:
            self._keep.close()
            raise

    def _start_controller(self, switches: Switches) -> Callable[[], str | None]:
        """Start the controller. Returns a function that says why it has ended."""
        process = switches.controller.start(
            [sys.executable, "-m", _CONTROLLER, str(self.files.directory)],
            stdout=subprocess.DEVNULL,
            stderr=(self._keep.enter_context((self.files.directory / "controller.err").open("wb"))),
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )

        def problem() -> str | None:
            if process.poll() is None:
                return None
            said = (self.files.directory / "controller.err").read_text(encoding="utf-8").strip().splitlines()
            return said[-1] if said else str(process.returncode)

        return problem

    def routed(self) -> Routed | None:
        """The last routes; ``None`` if there are none yet.

        Raises:
            NetworkError: the controller has ended.
        """
        if (problem := self._problem()) is not None:
            raise NetworkError(f"the controller has ended: {problem}")
        if not self.files.state.exists():
            return None
        state: dict[str, Any] = json.loads(self.files.state.read_text(encoding="utf-8"))
        links = {(source, target): CableEstimate(*values) for source, target, *values in state["links"]}
        return Routed(state["time_s"], state["changes"], links, routes.read(state["routes"]))

    def wait_for_routes(self, time_s: float) -> Routed:
        """Wait for the first routes from this time of the controller on.

        Raises:
            NetworkError: there are none long after this time.
        """
        late_s = time_s + 3 * self._plan.probing.interval_s
        end = time.monotonic() + late_s
        while time.monotonic() < end:
            routed = self.routed()
            if routed is not None and routed.time_s >= time_s:
                return routed
            time.sleep(0.2)
        raise NetworkError(f"the controller has computed no routes in {late_s:.0f} s")

    def lateness(self) -> str:
        """End the cables. A sentence about their frames, and how late they were."""
        mean, late, greatest, frames, refused = self.cables.end()
        return (
            f"{frames:,} frames, late by {1e6 * mean:.0f} us in the mean, {1e6 * late:.0f} us at the 99th percentile and "
            f"{1e3 * greatest:.1f} ms at most; {refused} not taken by a device"
        )

    def __enter__(self) -> "Lab":
        """Return the network."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the network down."""
        self._keep.close()


def _check(plan: LabPlan) -> None:
    for what, number, most in (
        ("nodes", len(plan.topology.nodes), MOST_NODES),
        ("metrics and other routings", len(plan.names), MOST_NAMES),
    ):
        if number > most:
            raise NetworkError(f"{plan.topology.name} has {number} {what}: a live network has at most {most}")
