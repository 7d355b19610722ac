"""How long OSPF takes after a link has failed: FRR's zebra and ospfd on every node of Abilene, and what a flow loses meanwhile.

Every router installs what ``anabranch routes --metric ospf`` computes, before the failure and after it; else this is an error. The time goes
into ``docs/validation/convergence.md``, with the goodput of a flow in the packet engine that reroutes after this time.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import tomlkit

from anabranch import Scenario
from anabranch.engineering.routes import Search
from anabranch.engines.kernel.linux_network.cables import LONGEST, Cables
from anabranch.engines.kernel.linux_network.devices import open_device
from anabranch.engines.kernel.linux_network.errors import NetworkError
from anabranch.engines.kernel.linux_network.namespace import NetworkNamespace
from anabranch.foundation.progress import Steps
from anabranch.network import topologies
from anabranch.network.topologies import Link, Topology

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "validation" / "convergence.md"
SCENARIO = ROOT / "scenarios" / "link-failure.toml"
DAEMONS = Path("/usr/lib/frr")
USER = "frr"
"""The user as whom the daemons run."""
BEGIN, END = "<!-- generated -->", "<!-- end -->"
FAILED = ("Denver", "Kansas City")
HELLO_S, DEAD_S = 1, 4
SILENT_S = 30
"""Until then, routers have found their first routes."""
CAPACITIES_BPS = (10_000_000, 20_000_000, 50_000_000)
SPEED = 2e8
_MOST_PATHS = 64
_PATIENCE_S = 60
_LOOK_S = 0.02
_BEGIN_S = 0.5
"""Seconds in which ``ip monitor`` begins."""
STAMP = re.compile(r"^\[(\S+)\]", re.MULTILINE)

NextHops = Mapping[tuple[str, str], frozenset[str]]
"""The next hops of a router to a target."""


def next_hops(topology: Topology) -> NextHops:
    """Next hops by ``routes --metric ospf``: the second node of each shortest path."""
    found = {}
    for route in Search(topology).shortest("ospf", _MOST_PATHS).routes:
        least = min(path.cost for path in route.paths)
        found[route.source, route.target] = frozenset(path.nodes[1] for path in route.paths if path.cost == least)
    return found


def without(topology: Topology, ends: tuple[str, str]) -> Topology:
    """The topology without the links between two nodes."""
    return replace(
        topology, links=tuple(link for link in topology.links if {link.source, link.target} != set(ends)), warnings=()
    )


@dataclass
class Router:
    """FRR in a namespace; its devices have the numbers of its neighbours."""

    name: str
    number: int
    namespace: NetworkNamespace

    @property
    def address(self) -> str:
        """The address by which others know it."""
        return f"10.8.0.{self.number}"


class Lab:
    """Routers joined by cables with the delays of the topology."""

    def __init__(self, topology: Topology, keep: ExitStack, silent: tuple[str, str] | None) -> None:
        """Build it, and start the daemons. The cables between these two nodes fall silent at :data:`SILENT_S`.

        Raises:
            NetworkError: FRR is absent, or Linux refuses something.
        """
        if not (DAEMONS / "ospfd").is_file():
            raise NetworkError("FRR is not on this system: apt-get install frr")
        self._keep = keep
        directory = Path(keep.enter_context(TemporaryDirectory(prefix="ospf-")))
        directory.chmod(0o755)
        self._directory = directory
        self.routers = {
            node.name: Router(node.name, number, keep.enter_context(NetworkNamespace()))
            for number, node in enumerate(topology.nodes, 1)
        }
        self._names = {router.number: name for name, router in self.routers.items()}
        for router in self.routers.values():
            router.namespace.configure(f"link set lo up\naddress add {router.address}/32 dev lo")
            router.namespace.set_sysctl("net.ipv4.ip_forward", "1")
        Cables(_cables(topology, silent), self._device, keep)
        self.began_s = time.time()
        self._changes: list[Path] = []
        for router in self.routers.values():
            own = directory / f"r{router.number}"
            own.mkdir()
            shutil.chown(own, USER, USER)
            self._start(router, topology, own)

    def _device(self, node: str, other: str) -> int:
        router, neighbour = self.routers[node].number, self.routers[other].number
        device = open_device(self.routers[node].namespace, _interface(neighbour), kind="tap")
        low, high = sorted((router, neighbour))
        address = f"10.9.{low}.{4 * high + (1 if router == low else 2)}/30"
        self.routers[node].namespace.configure(f"address add {address} dev {_interface(neighbour)}")
        return device

    def _start(self, router: Router, topology: Topology, directory: Path) -> None:
        zebra, ospf = [], ["interface lo", " ip ospf area 0"]
        for link in topology.links:
            if link.source == router.name:
                interface = f"interface {_interface(self.routers[link.target].number)}"
                # ospfd computes its cost from this bandwidth (Mbit/s).
                zebra += [interface, f" bandwidth {(link.capacity_bps or 0) / 1e6:.0f}"]
                ospf += [interface, " ip ospf area 0", " ip ospf network point-to-point"]
                ospf += [f" ip ospf hello-interval {HELLO_S}", f" ip ospf dead-interval {DEAD_S}"]
        ospf += ["router ospf", f" ospf router-id {router.address}"]
        for daemon, lines in (("zebra", zebra), ("ospfd", ospf)):
            configuration = directory / f"{daemon}.conf"
            configuration.write_text("\n".join(lines) + "\n", encoding="utf-8")
            log = self._keep.enter_context((directory / f"{daemon}.log").open("wb"))
            command = [str(DAEMONS / daemon), "-P", "0", "--vty_socket", str(directory)]
            command += [
                "-z",
                str(directory / "zserv.api"),
                "-i",
                str(directory / f"{daemon}.pid"),
                "-f",
                str(configuration),
            ]
            process = router.namespace.start(command, stdout=log, stderr=log)
            while not (directory / "zserv.api").exists():
                if process.poll() is not None:
                    raise NetworkError(
                        f"{daemon} has ended: {(directory / f'{daemon}.log').read_text()[-200:].strip()}"
                    )
                time.sleep(_LOOK_S)

    def installed(self) -> NextHops:
        """The routes of OSPF that Linux has, between the routers' own addresses."""
        by_address = {router.address: name for name, router in self.routers.items()}
        found = {}
        for name, router in self.routers.items():
            for route in json.loads(router.namespace.run(_routes)):
                if route["dst"] in by_address:
                    hops = route.get("nexthops", [route])
                    found[name, by_address[route["dst"]]] = frozenset(
                        self._names[int(hop["dev"].removeprefix("to"))] for hop in hops
                    )
        return found

    def wait_for(self, wanted: NextHops) -> None:
        """Until all routers have these routes.

        Raises:
            NetworkError: they have others after a minute.
        """
        end = time.monotonic() + _PATIENCE_S
        while (found := self.installed()) != wanted:
            if time.monotonic() > end:
                wrong = [pair for pair in wanted if found.get(pair) != wanted[pair]]
                raise NetworkError(
                    f"FRR does not install the routes of {len(wrong)} pairs, such as {' -> '.join(wrong[0])}"
                )
            time.sleep(_LOOK_S)

    def watch(self) -> None:
        """Note when routes change, from now on."""
        for router in self.routers.values():
            changes = self._directory / f"changes-{router.number}"
            log = self._keep.enter_context(changes.open("wb"))
            router.namespace.start(["ip", "-tshort", "monitor", "route"], stdout=log, stderr=log)
            self._changes.append(changes)
        time.sleep(_BEGIN_S)

    def last_change_s(self) -> float:
        """When Linux changed the last route of any router, in seconds of the epoch."""
        stamps = [stamp for file in self._changes for stamp in STAMP.findall(file.read_text(encoding="utf-8"))]
        return max(datetime.fromisoformat(stamp).timestamp() for stamp in stamps)

    def take_down(self, ends: tuple[str, str]) -> None:
        """Take the devices at both ends of a cable down, as when light is lost."""
        for node, other in (ends, ends[::-1]):
            self.routers[node].namespace.configure(f"link set {_interface(self.routers[other].number)} down")


def _cables(topology: Topology, silent: tuple[str, str] | None) -> Scenario:
    links = [
        {"source": link.source, "target": link.target, "directed": True, "capacity": "1Gbps", "delay": f"{(link.delay_s or 0) * 1e12:.0f}ps"}
        for link in topology.links
    ]  # fmt: skip
    document = {
        "topology": {"links": links},
        "traffic": [{"from": "all", "to": "all", "pattern": "neighbours", "constant": "1Mbps", "transport": "udp"}],
        "events": [] if silent is None else [{"at": f"{SILENT_S}s", "fail": list(silent)}],
        "run": {"duration": LONGEST},
    }
    return Scenario.from_toml(tomlkit.dumps(document))


def _interface(number: int) -> str:
    """The device towards a neighbour."""
    return f"to{number}"


def _routes() -> str:
    command = ["ip", "-json", "-4", "route", "show", "proto", "ospf"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def network() -> Topology:
    """Abilene with delays by length, and capacities of three kinds, so that costs differ."""
    found = topologies.load("topozoo/Abilene")

    def filled(place: int, link: Link) -> Link:
        delay_s = 1e-3 + (link.length_m or 0) / SPEED
        return link._replace(delay_s=delay_s, capacity_bps=CAPACITIES_BPS[place // 2 % len(CAPACITIES_BPS)])

    return replace(found, links=tuple(filled(place, link) for place, link in enumerate(found.links)), warnings=())


def converge(topology: Topology, *, silently: bool) -> float:
    """Seconds from a failure until the last router has installed its last route."""
    before, after = next_hops(topology), next_hops(without(topology, FAILED))
    with ExitStack() as keep:
        lab = Lab(topology, keep, FAILED if silently else None)
        lab.wait_for(before)
        lab.watch()
        if silently:
            failed_s = lab.began_s + SILENT_S
            if time.time() > failed_s:
                raise NetworkError(f"FRR has taken over {SILENT_S} s to find its first routes")
            time.sleep(failed_s - time.time())
        else:
            failed_s = time.time()
            lab.take_down(FAILED)
        lab.wait_for(after)
        return lab.last_change_s() - failed_s


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m validation.convergence", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="of each kind of failure (default 5)")
    runs = parser.parse_args(arguments).runs
    topology = network()
    found: dict[bool, list[float]] = {False: [], True: []}
    try:
        with Steps(2 * runs, "failures") as steps:
            for silently in (False, True) * runs:
                found[silently].append(converge(topology, silently=silently))
                steps.advance()
    except NetworkError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    text = _table(found)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    print(text)
    return 0


def _table(found: Mapping[bool, Sequence[float]]) -> str:
    release = subprocess.run(
        [DAEMONS / "zebra", "--version"], capture_output=True, text=True, check=True
    ).stdout.split()[2]
    lines = [
        f"FRR {release}, {len(found[False])} failures of each kind between {' and '.join(FAILED)}, hello {HELLO_S} s, dead interval {DEAD_S} s. All routers then had the routes of "
        "`routes --metric ospf`, before and after.",
        "",
        "| failure | routes are new after: median | least | greatest | goodput of `scenarios/link-failure.toml` with this `reconverge`, Mbit/s |",
        "|---|---|---|---|---|",
    ]
    for silently, times_s in found.items():
        what = "no frame gets through" if silently else "both devices go down"
        wait_s = median(times_s)
        lines.append(
            f"| {what} | {1e3 * wait_s:.0f} ms | {1e3 * min(times_s):.0f} ms | {1e3 * max(times_s):.0f} ms | {_goodput_bps(wait_s) / 1e6:.2f} |"
        )
    lines += ["", f"Without rerouting the flow gets {_goodput_bps(None) / 1e6:.2f} Mbit/s.", ""]
    return "\n".join(lines)


def _goodput_bps(reconverge_s: float | None) -> float:
    """The goodput of the scenario's flow by the packet engine."""
    document = tomlkit.parse(SCENARIO.read_text(encoding="utf-8")).unwrap()
    routing = "static" if reconverge_s is None else "rerouting"
    document["traffic"][0]["routing"] = routing
    if reconverge_s is not None:
        document["routing"][routing]["reconverge"] = f"{reconverge_s:.6f}s"
    return float(Scenario.from_toml(tomlkit.dumps(document)).run(seed=1).flows["goodput_bps"][0])


if __name__ == "__main__":
    sys.exit(main())
