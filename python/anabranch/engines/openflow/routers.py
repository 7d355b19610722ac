"""Linux routers in place of switches, each in a namespace. Their routes come from the kernel, or from daemons of FRR."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from anabranch.engines.kernel.linux_network.errors import NetworkError
from anabranch.engines.kernel.linux_network.namespace import NetworkNamespace
from anabranch.engines.openflow.hysteresis import Estimates
from anabranch.engines.openflow.igp import DAEMONS as IGP_DAEMONS
from anabranch.engines.openflow.igp import DATABASES, SUPPRESSED, Advertised, Igp, configuration, links, parameters
from anabranch.engines.openflow.plan import LabPlan, address, mac
from anabranch.engines.openflow.routes import Pair
from anabranch.engines.openflow.rules import for_others
from anabranch.engines.openflow.scratch import scratch_directory
from anabranch.engines.openflow.switches import host_port
from anabranch.engines.openflow.table_routes import DIRECT, TableRoute, rules

DAEMONS = Path("/usr/lib/frr")
_PARENT = ("sh", "-c", '"$@"; exit', "sh")
"""A shell that ends with this process, and its daemon with it. A daemon by itself would stay: Linux forgets the parent of one that changes its user."""
_PATIENCE_S = 30
_SYSCTLS = {
    "net.ipv4.ip_forward": "1",
    # A packet may come over another interface than the one of the way back.
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.default.rp_filter": "0",
    "net.ipv4.conf.all.send_redirects": "0",
    "net.ipv4.conf.default.send_redirects": "0",
    # A route with several next hops keeps each flow on one of them.
    "net.ipv4.fib_multipath_hash_policy": "1",
    "net.ipv6.conf.all.disable_ipv6": "1",
}


class Routers:
    """A router for each node: routes in the kernel's tables, changed by ``ip``. They end with ``keep``."""

    def __init__(self, plan: LabPlan, keep: ExitStack) -> None:
        """Make the namespaces of the routers.

        Raises:
            NetworkError: privileges are missing.
        """
        self.plan = plan
        self._names = {number: name for name, number in plan.numbers.items()}
        self.namespaces: dict[str, NetworkNamespace] = {}
        for node in plan.numbers:
            namespace = self.namespaces[node] = keep.enter_context(NetworkNamespace())
            namespace.configure("link set lo up")
            for name, value in _SYSCTLS.items():
                namespace.set_sysctl(name, value)

    def host_gateway(self, number: int, _: int) -> str:
        """The MAC address to which the host with this number sends packets for another."""
        return f"02:00:00:00:01:{number:02x}"

    def start(self) -> None:
        """Set addresses, neighbours and policy rules. The devices must exist.

        Raises:
            NetworkError: Linux refuses something.
        """
        plan = self.plan
        for node, number in plan.numbers.items():
            host = host_port(number)
            lines = [
                f"address add {router(number)}/32 dev lo",
                f"link set {host} address {self.host_gateway(number, 0)}",
                f"neighbour add {address(number)} lladdr {mac(number)} dev {host} nud permanent",
                f"route add {address(number)}/32 dev {host}",
            ]
            for other in plan.neighbours(node):
                device, there = plan.port_name(node, other), plan.numbers[other]
                lines += [
                    f"link set {device} address {_mac(number)}",
                    f"address add {interface(number, there)} peer {interface(there, number)}/32 dev {device}",
                    f"neighbour add {interface(there, number)} lladdr {_mac(there)} dev {device} nud permanent",
                    f"route add {address(there)}/32 via {interface(there, number)} dev {device} table {DIRECT}",
                ]
            others = plan.metrics.index(for_others(plan.metrics))
            lines += rules(number, len(plan.names), others, list(plan.numbers.values()))
            self.namespaces[node].configure("\n".join(lines))

    def change(self, old: Iterable[TableRoute], new: Iterable[TableRoute]) -> None:
        """Replace old routes by new ones, router by router.

        Raises:
            NetworkError: Linux refuses a route.
        """
        lines: dict[str, list[str]] = {}
        wanted = {route[:3] for route in new}
        for route in new:
            lines.setdefault(route.node, []).append(f"route replace {self._line(route)}")
        for route in old:
            if route[:3] not in wanted:
                lines.setdefault(route.node, []).append(f"route del {address(route.target)} table {route.table}")
        for node, own in lines.items():
            self.namespaces[node].configure("\n".join(own))

    def _line(self, route: TableRoute) -> str:
        hops = [(f"via {self.gateway(route.node, hop)}", weight) for hop, weight in route.hops]
        if len(hops) == 1:
            return f"{address(route.target)} {hops[0][0]} table {route.table}"
        several = " ".join(f"nexthop {hop} weight {weight}" for hop, weight in hops)
        return f"{address(route.target)} table {route.table} {several}"

    def gateway(self, node: str, hop: int, word: str = "dev ") -> str:
        """The address of the neighbour with this number, and the router's device to it."""
        return f"{interface(hop, self.plan.numbers[node])} {word}{self.plan.port_name(node, self._names[hop])}"


class FrrRouters(Routers):
    """As :class:`Routers`, but the routes are static routes of FRR, changed by vtysh; zebra puts them into the kernel."""

    def __init__(self, plan: LabPlan, keep: ExitStack, igp: Igp | None = None) -> None:
        """Make the namespaces of the routers. With an ``igp``, they advertise the delays of their links by it.

        Raises:
            NetworkError: FRR or privileges are missing, or a spread has unequal weights.
        """
        if not (DAEMONS / "zebra").is_file() or shutil.which("vtysh") is None:
            raise NetworkError("FRR is not on this system: apt-get install frr")
        for name, spread in plan.spread.items():
            for (source, target), ways in spread.items():
                if len({weight for weight, _ in ways}) > 1:
                    raise NetworkError(
                        f"routing.{name}: the paths from {source} to {target} have unequal weights, which FRR's static routes have not: "
                        "give equal ones, or --to linux"
                    )
        super().__init__(plan, keep)
        self.igp = igp
        self._last: dict[Pair, float] = {}
        self._keep = keep
        self._directory = scratch_directory(keep, Path("/run"))
        self._directory.chmod(0o755)

    def start(self) -> None:
        """As that of :class:`Routers`, and start FRR's daemons."""
        super().start()
        for node, number in self.plan.numbers.items():
            own = self.directory(node)
            own.mkdir()
            shutil.chown(own, "frr", "frr")
            for daemon in self.daemons():
                log = self._keep.enter_context((own / f"{daemon}.out").open("wb"))
                command = [*_PARENT, str(DAEMONS / daemon), "--vty_socket", str(own), "-z", str(own / "zserv.api")]
                command += [
                    "-i",
                    str(own / f"{daemon}.pid"),
                    "-f",
                    "/dev/null",
                    "-P",
                    "0",
                    "--log",
                    f"file:{own / f'{daemon}.log'}",
                ]
                self.namespaces[node].start(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
                _wait_for(own / f"{daemon}.vty", f"router {node}: FRR's {daemon} does not start")
            if self.igp is not None:
                devices = {other: self.plan.port_name(node, other) for other in self.plan.neighbours(node)}
                self.configure(node, configuration(self.igp, number, router(number), devices))

    def directory(self, node: str) -> Path:
        """The directory of a router's daemons and of their sockets for vtysh."""
        return self._directory / f"r{self.plan.numbers[node]}"

    def daemons(self) -> list[str]:
        """The daemons of a router, in the order of their start. FRR before 10 has no mgmtd."""
        routing = [] if self.igp is None else [IGP_DAEMONS[self.igp]]
        return ["zebra", *(["mgmtd"] if (DAEMONS / "mgmtd").is_file() else []), "staticd", *routing]

    def advertise(self, estimates: Estimates) -> None:
        """Let routers advertise the delays of their links, where these have changed.

        Raises:
            NetworkError: FRR refuses a line.
        """
        lines: dict[str, list[str]] = {}
        for (node, other), estimate in estimates.items():
            last = self._last.get((node, other))
            if last is None or abs(estimate.delay_s - last) > SUPPRESSED * last:
                self._last[node, other] = estimate.delay_s
                lines.setdefault(node, []).append(parameters(self.plan.port_name(node, other), estimate.delay_s))
        for node, own in lines.items():
            self.configure(node, "".join(own))

    def advertised(self) -> dict[Pair, Advertised]:
        """The links that the first router knows by the protocol.

        Raises:
            NetworkError: it does not answer.
        """
        assert self.igp is not None
        node = next(iter(self.plan.numbers))
        done = subprocess.run(
            ["vtysh", "--vty_socket", str(self.directory(node)), "-c", DATABASES[self.igp]],
            capture_output=True,
            text=True,
            check=False,
        )
        try:
            database = json.loads(done.stdout)
        except json.JSONDecodeError:
            raise NetworkError(f"router {node}: vtysh: {(done.stdout + done.stderr).strip()}") from None
        addresses = {
            interface(self.plan.numbers[node], self.plan.numbers[other]): node
            for node in self.plan.numbers
            for other in self.plan.neighbours(node)
        }
        return links(database, addresses)

    def configure(self, node: str, text: str) -> None:
        """Let a router's daemons read lines of configuration.

        Raises:
            NetworkError: FRR refuses a line.
        """
        own = self.directory(node)
        file = own / "change.conf"
        file.write_text(text, encoding="utf-8")
        done = subprocess.run(
            ["vtysh", "--vty_socket", str(own), "-f", str(file)], capture_output=True, text=True, check=False
        )
        if done.returncode or "% " in done.stdout + done.stderr:
            raise NetworkError(f"router {node}: vtysh: {(done.stdout + done.stderr).strip()}")

    def change(self, old: Iterable[TableRoute], new: Iterable[TableRoute]) -> None:
        """As that of :class:`Routers`. The new next hop comes before the old one goes, so that no packet finds none."""
        lines: dict[str, list[str]] = {}
        added = {line for route in new for line in self._lines(route)}
        removed = {line for route in old for line in self._lines(route)}
        for sign, changed in (("", added - removed), ("no ", removed - added)):
            for node, line in sorted(changed):
                lines.setdefault(node, []).append(f"{sign}ip route {line}\n")
        for node, own in lines.items():
            self.configure(node, "".join(own))

    def _lines(self, route: TableRoute) -> list[tuple[str, str]]:
        return [
            (route.node, f"{address(route.target)}/32 {self.gateway(route.node, hop, '')} table {route.table}")
            for hop, _ in route.hops
        ]


def router(number: int) -> str:
    """The IP address of a router."""
    return f"10.1.0.{number}"


def interface(number: int, other: int) -> str:
    """The IP address of a router's device to the neighbour with the number ``other``. FRR's database tells links apart by it."""
    return f"10.{16 + number}.{other}.1"


def _mac(number: int) -> str:
    return f"02:00:00:00:02:{number:02x}"


def _wait_for(file: Path, otherwise: str) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not file.exists():
        if time.monotonic() > end:
            raise NetworkError(otherwise)
        time.sleep(0.02)
