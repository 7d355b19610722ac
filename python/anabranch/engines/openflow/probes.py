"""Random packets between all neighbours, by which the controller measures losses (TCPBP, section 5.1)."""

import socket
import time
from collections.abc import Callable

import numpy as np

from anabranch.engines.openflow.background import Background
from anabranch.engines.openflow.hosts import Hosts
from anabranch.engines.openflow.plan import FIRST_PROBE_PORT, LabPlan, address

_STEP_S = 0.01
_HEADERS = 28
"""Bytes of the IP and UDP headers."""


class Probes(Background):
    """Sends probes until the ``with`` block ends."""

    def __init__(self, plan: LabPlan, hosts: Hosts, seed: int) -> None:
        """Prepare the probes of every host to its neighbours."""
        self._senders: list[tuple[socket.socket, tuple[str, int]]] = []
        self._sockets: list[socket.socket] = []
        for node, host in hosts.namespaces.items():
            probe = host.run(_datagram_socket)
            self._sockets.append(probe)
            for other in plan.neighbours(node):
                number = plan.numbers[other]
                self._senders.append((probe, (address(number), FIRST_PROBE_PORT + number)))
        self._probing = plan.probing
        self._draws = np.random.default_rng(seed)
        super().__init__("probes")

    def _work(self) -> None:
        payload = bytes(self._probing.bytes - _HEADERS)
        mean = self._probing.packets / self._probing.interval_s * _STEP_S
        due = time.monotonic()
        while not self._stop.is_set():
            for (sender, target), count in zip(
                self._senders, self._draws.poisson(mean, len(self._senders)), strict=True
            ):
                for _ in range(count):
                    sender.sendto(payload, target)
            due += _STEP_S
            time.sleep(max(0.0, due - time.monotonic()))

    def _close(self) -> None:
        for probe in self._sockets:
            probe.close()


_datagram_socket: Callable[[], socket.socket] = lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)  # noqa: E731
