"""Cables between Ethernet devices of namespaces: rate, delay, loss, queue and failures of each direction, as in a scenario."""

import json
import os
from collections.abc import Callable
from contextlib import ExitStack

from anabranch import _core
from anabranch.compile.run import compile_run
from anabranch.engines.kernel.linux_network.errors import NetworkError
from anabranch.scenario import Scenario

LONGEST = "19h"
"""The duration of a scenario whose cables are to stay."""
_PRIORITY = 50


class Cables:
    """The links of a scenario, carried by this process; they end with ``keep``."""

    def __init__(self, scenario: Scenario, device: Callable[[str, str], int], keep: ExitStack) -> None:
        """Lay them. The scenario's only traffic is UDP of the pattern ``neighbours``, which names the links and is not sent.

        ``device`` opens the TAP device of a node towards a neighbour (:func:`~anabranch.engines.kernel.linux_network.devices.open_device`); it is closed with
        ``keep``.

        Raises:
            NetworkError: Linux refuses a device, or this user has no SCHED_FIFO.
        """
        run = compile_run(scenario.cases[0], scenario.seeds[0])
        (neighbours,) = (group["pairs"] for group in run["traffic"])
        devices = []
        for source, target in neighbours:
            devices.append(device(run["nodes"][source], run["nodes"][target]))
            keep.callback(os.close, devices[-1])
        self._cables = _core.Cables(json.dumps(run), devices)
        self._ended = False
        keep.callback(self._stop)
        os.sched_setaffinity(self._cables.thread, {min(os.sched_getaffinity(0))})
        try:
            os.sched_setscheduler(self._cables.thread, os.SCHED_FIFO, os.sched_param(_PRIORITY))
        except PermissionError:
            raise NetworkError("cables need SCHED_FIFO, so that frames are not late: be root") from None

    def end(self) -> tuple[float, float, float, int, int]:
        """End them. Mean, 99th percentile and greatest lateness in seconds, frames, and frames that no device took."""
        self._ended = True
        return self._cables.end()

    def _stop(self) -> None:
        if not self._ended:
            self._cables.end()
