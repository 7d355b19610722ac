"""A host at each switch: Linux's CUBIC and iperf3."""

import array
import fcntl
import json
import socket
import struct
import subprocess
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from anabranch.engines.kernel.linux_network.devices import join
from anabranch.engines.kernel.linux_network.errors import NetworkError
from anabranch.engines.kernel.linux_network.namespace import NetworkNamespace
from anabranch.engines.kernel.linux_network.sockets import listening_ports
from anabranch.engines.openflow.plan import LabPlan, address, mac
from anabranch.engines.openflow.routers import Routers
from anabranch.engines.openflow.switches import Switches, host_port

DEVICE = "uplink"
CONGESTION_CONTROL = "cubic"
ATTEMPTS = 3
"""Attempts at a test: iperf3's control connection also crosses the lossy cables, and may fail."""
PATIENCE_S = 20
"""Seconds after its end at which a test without a report is repeated."""
SYSCTLS = {
    # A connection must not begin with the metrics of an earlier one.
    "net.ipv4.tcp_no_metrics_save": "1",
    # Ports from 32768 on belong to the routing metrics.
    "net.ipv4.ip_local_port_range": "1024 32767",
    "net.ipv6.conf.all.disable_ipv6": "1",
    # Buffers for 50 flows at 1 Gbit/s over 40 ms.
    "net.ipv4.tcp_rmem": "4096 131072 16777216",
    "net.ipv4.tcp_wmem": "4096 131072 16777216",
}
PORT = 5201
"""The port of iperf3's server."""
_LOOK_S = 0.02
_ETHTOOL = 0x8946
_OFF = {"checksums": 0x17, "scatter-gather": 0x19, "TCP segmentation": 0x1F, "generic segmentation": 0x24}
"""SIOCETHTOOL's commands that set an offload. Without offloads, a segment is a frame with its checksum. A switch in user space can
neither split segments nor compute checksums."""


@dataclass(frozen=True)
class FlowRates:
    """FlowRates of the flows of one test."""

    bps: tuple[float, ...]
    """Payload that each flow delivered, bit/s."""
    retransmits: int

    @property
    def mean_bps(self) -> float:
        """Mean over the flows."""
        return sum(self.bps) / len(self.bps)

    @property
    def jain(self) -> float:
        """Jain's index of the flows."""
        return sum(self.bps) ** 2 / (len(self.bps) * sum(rate**2 for rate in self.bps))


class Hosts:
    """A namespace for each node, joined to its switch or router. The namespaces end with ``keep``."""

    def __init__(self, plan: LabPlan, switches: Switches | Routers, keep: ExitStack) -> None:
        """Make the namespaces.

        Raises:
            NetworkError: Linux refuses a device or a setting.
        """
        self._plan = plan
        self.namespaces: dict[str, NetworkNamespace] = {}
        for node, number in plan.numbers.items():
            host = keep.enter_context(NetworkNamespace())
            join(host, DEVICE, switches.namespaces[node], host_port(number))
            for name, value in SYSCTLS.items():
                host.set_sysctl(name, value)
            host.run(_without_offloads)
            others = [
                f"neighbour add {address(other)} lladdr {switches.host_gateway(number, other)} dev {DEVICE} nud permanent"
                for other in plan.numbers.values()
                if other != number
            ]
            host.configure(
                "\n".join(
                    [
                        "link set lo up",
                        f"link set {DEVICE} address {mac(number)} txqueuelen 10000",
                        f"address add {address(number)}/32 dev {DEVICE}",
                        f"route add 10.0.0.0/24 dev {DEVICE} src {address(number)}",
                        *others,
                    ]
                )
            )
            self.namespaces[node] = host

    def begin(
        self,
        source: str,
        target: str,
        *,
        flows: int,
        first_port: int,
        seconds: int,
        warm_up_s: int = 0,
        control: str = CONGESTION_CONTROL,
        server_port: int = PORT,
    ) -> "RunningFlows":
        """Begin flows, whose TCP source ports begin at ``first_port``; ``control`` is Linux's name of a congestion control.

        Raises:
            NetworkError: iperf3 is absent.
        """
        command = ["iperf3", "--client", address(self._plan.numbers[target]), "--port", str(server_port)]
        command += ["--cport", str(first_port), "--json", "--congestion", control]
        command += ["--parallel", str(flows), "--time", str(seconds), "--omit", str(warm_up_s)]
        there = self.namespaces[target]
        server = there.start(
            ["iperf3", "--server", "--one-off", "--version4", "--port", str(server_port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while server.poll() is None and server_port not in there.run(listening_ports):
            time.sleep(_LOOK_S)
        client = self.namespaces[source].start(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return RunningFlows(client, server, time.monotonic() + seconds + warm_up_s + PATIENCE_S)

    def measure(self, source: str, target: str, **test: Any) -> FlowRates:
        """Measure flows as :meth:`begin` begins them.

        Raises:
            NetworkError: iperf3 is absent, or fails ``ATTEMPTS`` times.
        """
        problem = ""
        for _ in range(ATTEMPTS):
            try:
                return self.begin(source, target, **test).end()
            except FlowsError as error:
                problem = str(error)
        raise NetworkError(f"iperf3 from {source} to {target} failed {ATTEMPTS} times: {problem}")


class FlowsError(NetworkError):
    """iperf3 has no report; it may have one at another attempt."""


@dataclass(frozen=True)
class RunningFlows:
    """A client of iperf3 with its server."""

    client: "subprocess.Popen[str]"
    server: "subprocess.Popen[bytes]"
    until_s: float
    """The latest time at which the client has its report, by the monotonic clock."""

    def end(self) -> FlowRates:
        """Wait for the report.

        Raises:
            FlowsError: there is none, and why.
        """
        try:
            said, _ = self.client.communicate(timeout=max(0.0, self.until_s - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.client.kill()
            said, _ = self.client.communicate()
        self.server.kill()
        self.server.wait()
        report = _report(said)
        if "end" not in report or "error" in report:
            raise FlowsError(report.get("error", "no report"))
        return _throughput(report)


def _report(said: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(said)
    except json.JSONDecodeError:
        return {"error": said.strip() or f"no report {PATIENCE_S} s after its end"}
    return found


def _throughput(report: Mapping[str, Any]) -> FlowRates:
    streams = report["end"]["streams"]
    return FlowRates(
        tuple(stream["receiver"]["bits_per_second"] for stream in streams),
        sum(stream["sender"]["retransmits"] for stream in streams),
    )


def _without_offloads() -> None:
    with socket.socket() as any_socket:
        for what, command in _OFF.items():
            value = array.array("B", struct.pack("II", command, 0))
            request = struct.pack("16sP", DEVICE.encode("ascii"), value.buffer_info()[0])
            try:
                fcntl.ioctl(any_socket, _ETHTOOL, request)
            except OSError as error:
                raise NetworkError(f"device {DEVICE}: {what} cannot be switched off: {error.strerror}") from None
