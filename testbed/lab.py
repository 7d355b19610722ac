"""The whole testbed: cables, switches, hosts, and the controller."""

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from anabranch.engines.kernel.linux_network.cables import Cables
from anabranch.engines.kernel.linux_network.devices import open_device
from anabranch.engines.kernel.linux_network.errors import NetworkError
from anabranch.foundation.output_files import write_json
from anabranch.studies.papers.tcpbp.networks import Chosen
from testbed import cabling
from testbed.hosts import Hosts
from testbed.plan import INTERVAL_S, Files, Plan, port_name
from testbed.switches import Switches

_CONTROLLER = "testbed.controller"
_LATE_S = 3 * INTERVAL_S


@dataclass(frozen=True)
class Routed:
    """The controller's link state and routes at their last computation."""

    time_s: float
    changes: int
    """Number of rule changes since the first routes."""
    links: dict[tuple[str, str], tuple[float, float]]
    """Delay in seconds, and loss, by direction of a cable."""
    routes: Chosen


class Testbed:
    """The live testbed. It exists until the ``with`` block ends, and leaves nothing behind."""

    def __init__(self, plan: Plan, seed: int) -> None:
        """Build the testbed.

        Raises:
            NetworkError: names the program or privilege that is missing.
        """
        if find_spec("os_ken") is None:
            raise NetworkError("os-ken is not installed: pip install os-ken")
        self._keep = ExitStack()
        try:
            self._files = Files(Path(self._keep.enter_context(TemporaryDirectory(prefix="testbed-"))))
            write_json(
                self._files.topology,
                {
                    "nodes": list(plan.numbers),
                    "links": [[link.source, link.target] for link in plan.topology.links],
                },
            )
            switches = self.switches = Switches(plan, self._keep)
            self.cables = Cables(
                cabling.scenario(plan, seed),
                lambda node, other: open_device(switches.namespaces[node], port_name(node, other), kind="tap"),
                self._keep,
            )
            self.hosts = Hosts(plan, switches, self._keep)
            self._controller = switches.controller.start(
                [sys.executable, "-m", _CONTROLLER, str(self._files.directory)],
                stdout=subprocess.DEVNULL,
                stderr=(self._keep.enter_context((self._files.directory / "controller.err").open("wb"))),
                env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            )
            switches.start(plan, self._files.directory)
        except BaseException:
            self._keep.close()
            raise

    def routed(self) -> Routed | None:
        """The last routes; ``None`` if there are none yet.

        Raises:
            NetworkError: the controller has ended.
        """
        if self._controller.poll() is not None:
            said = (self._files.directory / "controller.err").read_text(encoding="utf-8").strip().splitlines()
            raise NetworkError(f"the controller has ended: {said[-1] if said else self._controller.returncode}")
        if not self._files.state.exists():
            return None
        state: dict[str, Any] = json.loads(self._files.state.read_text(encoding="utf-8"))
        return Routed(
            state["time_s"],
            state["changes"],
            {(source, target): (delay, loss) for source, target, delay, loss in state["links"]},
            {
                metric: {(source, target): tuple(path) for source, target, path in routes}
                for metric, routes in state["routes"].items()
            },
        )

    def wait_for_routes(self, time_s: float) -> Routed:
        """Wait for the first routes from this time of the controller on.

        Raises:
            NetworkError: there are none long after this time.
        """
        end = time.monotonic() + time_s + _LATE_S
        while time.monotonic() < end:
            routed = self.routed()
            if routed is not None and routed.time_s >= time_s:
                return routed
            time.sleep(0.2)
        raise NetworkError(f"the controller has computed no routes in {time_s + _LATE_S:.0f} s")

    def __enter__(self) -> "Testbed":
        """Return the testbed."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the testbed down."""
        self._keep.close()
