"""Clients and servers of iperf3, from the start of their flow to the end of the run."""

import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.engines.kernel.iperf3.flows import Iperf3Flow
from anabranch.engines.kernel.iperf3.report import Report, read
from anabranch.engines.kernel.linux_network.errors import NetworkError
from anabranch.engines.kernel.linux_network.sockets import listening_ports

_PATIENCE_S = 10
_LOOK_S = 0.02
_PIPES: Mapping[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}


class Iperf3Processes:
    """A server and a client for each flow. They end with their namespaces at the latest."""

    def __init__(self, flows: Sequence[Iperf3Flow]) -> None:
        """Start the servers, which then listen.

        Raises:
            NetworkError: iperf3 is absent, or does not listen.
        """
        self._flows = sorted(flows, key=lambda flow: flow.start_s)
        self._servers = {flow.number: flow.server.start(flow.server_command, **_PIPES) for flow in flows}
        self._clients: dict[int, subprocess.Popen[str]] = {}
        self._stop = threading.Event()
        self._starter: threading.Thread | None = None
        self._problem: NetworkError | None = None
        ends = time.monotonic() + _PATIENCE_S
        for flow in flows:
            while flow.port not in flow.server.run(listening_ports):
                if self._servers[flow.number].poll() is not None or time.monotonic() > ends:
                    raise NetworkError(f"flow {flow.number}: iperf3's server does not listen on port {flow.port}")
                time.sleep(_LOOK_S)

    def begin(self, now_s: float) -> None:
        """Start each client when it is due, in a thread. The run's time is ``now_s`` now."""
        zero = time.monotonic() - now_s
        self._starter = threading.Thread(target=self._start_clients, args=(zero,), name="iperf3", daemon=True)
        self._starter.start()

    def _start_clients(self, zero: float) -> None:
        try:
            for flow in self._flows:
                if self._stop.wait(max(0.0, zero + flow.start_s - time.monotonic())):
                    return
                self._clients[flow.number] = flow.client.start(flow.client_command, **_PIPES)
        except NetworkError as problem:
            self._problem = problem

    def end(self, now_s: float) -> dict[int, Report]:
        """Interrupt all clients and servers. Returns the measurements so far of the flows that were started.

        Raises:
            NetworkError: iperf3 has failed.
        """
        self._stop.set()
        if self._starter is not None:
            self._starter.join()
        if self._problem is not None:
            raise self._problem
        ended = {number for number, client in self._clients.items() if client.poll() is not None}
        for number, client in self._clients.items():
            client.terminate()
            self._servers[number].terminate()
        reports = {}
        for flow in self._flows:
            if flow.number not in self._clients:
                continue
            sent, received = (_said(each[flow.number]) for each in (self._clients, self._servers))
            if flow.number in ended:
                raise NetworkError(f"flow {flow.number}: iperf3 has ended: {sent.strip()[-200:]}")
            reports[flow.number] = read(flow, sent, received, now_s)
        return reports


def _said(process: "subprocess.Popen[str]") -> str:
    try:
        said, _ = process.communicate(timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        said, _ = process.communicate()
    return said
