"""STAMP's senders and reflectors in the hosts: a session for each direction of a cable, in one thread."""

import selectors
import socket
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from anabranch.engines.openflow.background import Background
from anabranch.engines.openflow.hosts import Hosts
from anabranch.engines.openflow.plan import FIRST_REPLY_PORT, FIRST_REQUEST_PORT, LabPlan, address
from anabranch.engines.openflow.stamp import Reflector, Sender
from anabranch.foundation.output_files import write_json

_WRITE_S = 0.25
"""Between two writes of the results."""
_LARGEST = 2048


class Agents(Background):
    """Sends probes at random times (Poisson), answers those of neighbours, and writes their results until the ``with`` block ends."""

    def __init__(self, plan: LabPlan, hosts: Hosts, seed: int, file: Path) -> None:
        """Prepare the sessions: the controller reads the ``file``."""
        self._file = file
        self._sessions: dict[tuple[str, str], Sender] = {}
        self._reflectors: dict[tuple[str, tuple[str, int]], Reflector] = {}
        self._selector = selectors.DefaultSelector()
        self._sockets: dict[str, socket.socket] = {}
        self._targets: dict[tuple[str, str], tuple[str, int]] = {}
        names = {address(number): node for node, number in plan.numbers.items()}
        for node, host in hosts.namespaces.items():
            number = plan.numbers[node]
            for first, take in ((FIRST_REQUEST_PORT, self._reflect), (FIRST_REPLY_PORT, self._learn)):
                own = host.run(_bound(first + number))
                self._selector.register(own, selectors.EVENT_READ, (take, node, own))
                self._sockets[node] = own  # the last one: that of the sender
            for other in plan.neighbours(node):
                self._sessions[node, other] = Sender()
                self._targets[node, other] = (address(plan.numbers[other]), FIRST_REQUEST_PORT + plan.numbers[other])
        self._names = names
        self._mean_s = 1 / (plan.probing.packets / plan.probing.interval_s * len(self._sessions))
        self._draws = np.random.default_rng(seed)
        super().__init__("stamp")

    def _work(self) -> None:
        sessions = list(self._sessions)
        due = written = time.monotonic()
        while not self._stop.is_set():
            now = time.monotonic()
            while due <= now:
                ends = sessions[self._draws.integers(len(sessions))]
                self._sockets[ends[0]].sendto(self._sessions[ends].request(), self._targets[ends])
                due += self._draws.exponential(self._mean_s)
            if now - written >= _WRITE_S:
                written = now
                write_json(self._file, {"sessions": [[*ends, *_row(one)] for ends, one in self._sessions.items()]})
            for key, _ in self._selector.select(max(0.0, due - time.monotonic())):
                take, node, own = key.data
                packet, sender = own.recvfrom(_LARGEST)
                take(node, own, packet, sender, time.time())

    def _reflect(self, node: str, own: socket.socket, packet: bytes, sender: tuple[str, int], now_s: float) -> None:
        session = self._reflectors.setdefault((node, sender), Reflector())
        own.sendto(session.answer(packet, now_s), sender)

    def _learn(self, node: str, own: socket.socket, packet: bytes, sender: tuple[str, int], now_s: float) -> None:
        self._sessions[node, self._names[sender[0]]].on_reply(packet, now_s)

    def _close(self) -> None:
        for key in list(self._selector.get_map().values()):
            key.data[2].close()
        self._selector.close()


def _row(session: Sender) -> tuple[int, int, int, float, float]:
    there = session.there
    return session.requests_known, session.reflected, there.number, there.sum_s, there.squares


def _bound(port: int) -> Callable[[], socket.socket]:
    def open_here() -> socket.socket:
        own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        own.bind(("", port))
        return own

    return open_here
