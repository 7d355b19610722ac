"""Switches of Open vSwitch in user space, each in a namespace, and a separate network between them and the controller."""

import os
import socket
import subprocess
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from anabranch.engines.kernel.linux_network.devices import join
from anabranch.engines.kernel.linux_network.errors import NetworkError
from anabranch.engines.kernel.linux_network.namespace import NetworkNamespace
from anabranch.engines.openflow.plan import CONTROLLER_PORT, HOST_PORT, LabPlan, mac

SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
_PATIENCE_S = 30
_PRIORITY = 50
"""Real-time priority, the same as that of the cables. So a burst passes each switch as a whole, not packet by packet."""
_CONTROL = "control"


class Switches:
    """A switch for each node, with its own daemon. They end with ``keep``.

    A daemon polls all of its ports for each packet. So one daemon for ten switches carries a fifth of the traffic of ten daemons.
    """

    def __init__(self, plan: LabPlan, keep: ExitStack) -> None:
        """Make the namespaces of the switches and of the controller.

        Raises:
            NetworkError: Open vSwitch or privileges are missing.
        """
        if not SCHEMA.is_file():
            raise NetworkError("Open vSwitch is not on this system: apt-get install openvswitch-switch")
        self._keep = keep
        self._daemons: list[int] = []
        self.controller = keep.enter_context(NetworkNamespace())
        self.namespaces: dict[str, NetworkNamespace] = {}
        for node, number in plan.numbers.items():
            namespace = self.namespaces[node] = keep.enter_context(NetworkNamespace())
            namespace.configure("link set lo up")
            namespace.set_sysctl("net.ipv6.conf.all.disable_ipv6", "1")
            join(namespace, _CONTROL, self.controller, f"s{number}")
            namespace.configure(f"address add {_control_address(number, 0)}/31 dev {_CONTROL}")
            self.controller.configure(f"address add {_control_address(number, 1)}/31 dev s{number}")

    def host_gateway(self, _: int, other: int) -> str:
        """The MAC address to which a host sends packets for the one with the number ``other``."""
        return mac(other)

    def start(self, plan: LabPlan, directory: Path) -> None:
        """Start the switches, with ports to neighbours and hosts, whose devices must exist.

        Raises:
            NetworkError: Open vSwitch refuses something.
        """
        for node, number in plan.numbers.items():
            ports = {plan.port_name(node, other): plan.numbers[other] for other in plan.neighbours(node)}
            own = directory / f"s{number}"
            own.mkdir()
            self._start(node, number, ports | {host_port(number): HOST_PORT}, own)
        # Only now: a daemon with this priority that waits for Linux's lock of network devices may keep those who hold the lock from the processor.
        for daemon in self._daemons:
            os.sched_setscheduler(daemon, os.SCHED_FIFO, os.sched_param(_PRIORITY))
            os.sched_setaffinity(daemon, {max(os.sched_getaffinity(0))})

    def processor_s(self) -> float:
        """Processor time of all daemons, s. They share one processor: packets wait when this grows almost as fast as real time."""
        ticks = 0
        for daemon in self._daemons:
            fields = Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def _start(self, node: str, number: int, ports: Mapping[str, int], directory: Path) -> None:
        name, namespace = f"s{number}", self.namespaces[node]
        environment = os.environ | {"OVS_RUNDIR": str(directory), "OVS_LOGDIR": str(directory)}
        database, remote = directory / "switch.db", directory / "database.sock"

        def start(*command: str) -> int:
            log = self._keep.enter_context((directory / f"{command[0]}.log").open("wb"))
            return namespace.start(command, env=environment, stdout=log, stderr=log).pid

        def run(*command: str) -> None:
            done = namespace.run(
                lambda: subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            )
            if done.returncode:
                raise NetworkError(f"switch {name}: {command[0]}: {done.stderr.strip()}")

        run("ovsdb-tool", "create", str(database), str(SCHEMA))
        start("ovsdb-server", str(database), f"--remote=punix:{remote}")
        _wait_for(remote)
        control = ("ovs-vsctl", f"--timeout={_PATIENCE_S}", f"--db=unix:{remote}")
        run(*control, "--no-wait", "init")
        daemon = start("ovs-vswitchd", f"unix:{remote}", "--disable-system")
        self._daemons.append(daemon)
        bridge = ["add-br", name, "--", "set", "bridge", name, "datapath_type=netdev", "protocols=OpenFlow13"]
        bridge += [f"other-config:datapath-id={number:016x}", "fail_mode=secure", "--"]
        bridge += ["set-controller", name, f"tcp:{_control_address(number, 1)}:{CONTROLLER_PORT}", "--"]
        bridge += ["set", "controller", name, "connection_mode=out-of-band"]
        for device, port in ports.items():
            bridge += ["--", "add-port", name, device, "--", "set", "interface", device, f"ofport_request={port}"]
        run(*control, *bridge)


def _wait_for(server: Path) -> None:
    """Wait until a server listens at this socket. The file of the socket exists a moment earlier."""
    end = time.monotonic() + _PATIENCE_S
    # The address of a socket has at most 107 bytes, and directories may be longer.
    directory = os.open(server.parent, os.O_PATH)
    try:
        while True:
            with socket.socket(socket.AF_UNIX) as client:
                try:
                    client.connect(f"/proc/self/fd/{directory}/{server.name}")
                except OSError as error:
                    if time.monotonic() > end:
                        raise NetworkError(f"Open vSwitch's database does not start: {server}: {error}") from error
                else:
                    return
            time.sleep(0.02)
    finally:
        os.close(directory)


def host_port(number: int) -> str:
    """The device of a switch's port to its host."""
    return f"s{number}-host"


def _control_address(number: int, end: int) -> str:
    """IP address of a switch (0) or of the controller (1) in the network between the two."""
    return f"172.16.0.{2 * number + end}"
