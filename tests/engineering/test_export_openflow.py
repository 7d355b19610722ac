"""OpenFlow exports in Open vSwitch itself: parsed, loaded into switches, read back, traced from switch to switch."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from anabranch.engineering.routes import Routes
from anabranch.engineering.routes.export import export, make_plan
from anabranch.engineering.routes.export.plan import AddressPlan
from tests.engineering.test_export_linux import missing, run_example
from tests.export_routes import explicit, hop_by_hop, planned, topology

_PATIENCE_S = 120
_SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
VERSIONS = ("openflow13", "openflow15")

needs_ofctl = pytest.mark.skipif(
    shutil.which("ovs-ofctl") is None, reason="no ovs-ofctl: apt install openvswitch-common"
)
needs_switch = pytest.mark.skipif(
    shutil.which("ovs-vswitchd") is None or not _SCHEMA.is_file(),
    reason="no ovs-vswitchd: apt install openvswitch-switch",
)


def call(*command: str | Path, **more: object) -> str:
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=_PATIENCE_S, check=False, **more
    )  # type: ignore[call-overload]
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return str(done.stdout)


def buckets(text: str) -> list[tuple[str, int]]:
    """The actions of a group's buckets with their weights; ovs-ofctl leaves out a weight of 1."""
    found = []
    for bucket in text.strip().split("bucket=")[1:]:
        weight = re.search(r"weight:(\d+)", bucket)
        found.append((bucket.split("actions=")[1].rstrip(","), int(weight[1]) if weight else 1))
    return found


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("routes", [explicit(topology(), True), hop_by_hop(topology())], ids=["explicit", "hop-by-hop"])
@needs_ofctl
def test_ovs_ofctl_parses_every_flow_and_group(version: str, routes: Routes, tmp_path: Path) -> None:
    """Each line of a file is one message, and its match is what stands there."""
    protocol = "OpenFlow13" if version == "openflow13" else "OpenFlow15"
    export(routes, version, tmp_path / "out")
    for file in (tmp_path / "out").glob("*.flows"):
        written = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        parsed = [line for line in call("ovs-ofctl", "-O", protocol, "parse-flows", file).splitlines() if "ADD" in line]
        assert len(parsed) == len(written)
        for line, message in zip(written, parsed, strict=True):
            assert re.findall(r"nw_dst=([\d./]+)", line) == re.findall(r"nw_dst=([\d./]+)", message)
    for file in (tmp_path / "out").glob("*.groups"):
        for line in file.read_text(encoding="utf-8").splitlines():
            if not line.startswith("#"):
                message = call("ovs-ofctl", "-O", protocol, "parse-group", line)
                assert buckets(message) == buckets(line)
                assert "ADD" in message


@dataclass(frozen=True)
class Lab:
    """Switches of Open vSwitch with dummy ports, joined by patch ports as the export says."""

    directory: Path
    plan: AddressPlan
    protocol: str

    def load(self, exported: Path) -> None:
        for node in self.plan.nodes.values():
            switch = self.directory / f"{node.identifier}.mgmt"
            for command in ("del-flows", "del-groups"):
                call("ovs-ofctl", "-O", self.protocol, command, switch)
            call("ovs-ofctl", "-O", self.protocol, "add-groups", switch, exported / f"{node.identifier}.groups")
            call("ovs-ofctl", "-O", self.protocol, "add-flows", switch, exported / f"{node.identifier}.flows")

    def trace(
        self, source: str, target: str, tcp_source_port: int = 40_000, hash_value: int = 1, dscp: int = 0
    ) -> tuple[str, ...]:
        """The nodes that a packet from a host passes, and whether it leaves to the host at the last with its address."""
        ends = self.plan.nodes[source], self.plan.nodes[target]
        flow = (
            f"in_port=1,dl_src={ends[0].host_mac},dl_dst={ends[0].router_mac},tcp,nw_src={ends[0].host},"
            f"nw_dst={ends[1].host},nw_ttl=64,nw_tos={dscp << 2},tp_src={tcp_source_port},tp_dst=80,dp_hash={hash_value}"
        )
        (control,) = self.directory.glob("ovs-vswitchd.*.ctl")
        said = call("ovs-appctl", "-t", control, "ofproto/trace", ends[0].identifier, flow)
        by_identifier = {node.identifier: node.name for node in self.plan.nodes.values()}
        passed = tuple(by_identifier[name] for name in re.findall(r'bridge\("(n\d+)"\)', said))
        changes = re.search(r"Datapath actions: (.*)", said)
        assert changes
        assert f"dst={ends[1].host_mac}" in changes[1], said
        assert f"ttl={64 - len(passed)}" in changes[1], said
        assert "vlan" not in changes[1].rsplit("pop_vlan", 1)[-1], said
        return passed


@pytest.fixture(scope="module", params=VERSIONS)
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    directory = tmp_path_factory.mktemp("ovs")
    protocol = "OpenFlow13" if request.param == "openflow13" else "OpenFlow15"
    on = topology()
    exported = directory / "any"
    export(explicit(on, False), request.param, exported)
    database, switch = directory / "db.pid", directory / "switch.pid"
    environment = {"OVS_RUNDIR": str(directory), "OVS_LOGDIR": str(directory), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    call("ovsdb-tool", "create", directory / "conf.db", _SCHEMA)
    socket = directory / "db.sock"
    try:
        daemon = ("--detach", "--no-chdir", "-vconsole:off")
        call(
            "ovsdb-server",
            directory / "conf.db",
            f"--remote=punix:{socket}",
            f"--pidfile={database}",
            *daemon,
            env=environment,
        )
        call(
            "ovs-vswitchd", "--enable-dummy=override", "--disable-system", f"unix:{socket}", f"--pidfile={switch}", *daemon,
            env=environment,
        )  # fmt: skip
        for line in (exported / "lab.ovs-vsctl").read_text(encoding="utf-8").splitlines():
            call("ovs-vsctl", "--timeout=60", f"--db=unix:{socket}", *line.split())
        yield Lab(directory, make_plan(on), protocol)
    finally:
        for file in (switch, database):
            if file.is_file():
                subprocess.run(["kill", file.read_text().strip()], check=False)


@pytest.mark.slow("sends thousands of packets through real switches")
@needs_switch
def test_packets_take_the_planned_paths_with_the_planned_shares(lab: Lab, tmp_path: Path) -> None:
    """Every pair, through all switches; of several paths each as many of 256 hash values as its weight says."""
    on = topology()
    routes = explicit(on, True)
    exported = tmp_path / "out"
    export(routes, f"openflow{lab.protocol[-2:]}", exported)
    lab.load(exported)
    split = 0
    for (source, target), several in planned(routes).items():
        if len(several) == 1:
            assert lab.trace(source, target) == next(iter(several))
            continue
        split += 1
        if split % 8 != 1:  # 256 traces each
            continue
        # hash value 0 means none to Open vSwitch; of 256 the last eight bits are the same
        taken = [lab.trace(source, target, hash_value=value) for value in range(1, 257)]
        assert set(taken) == set(several)
        for path, share in several.items():
            assert abs(taken.count(path) / 256 - share) <= 1 / 256, (path, share)
    assert split > 20


@needs_switch
def test_the_source_port_chooses_the_metric(lab: Lab, tmp_path: Path) -> None:
    """The testbed of the TCPBP paper, section 5.1: one set of flow tables, a metric for each TCP source port; and one for a code point."""
    on = topology()
    several, hops = explicit(on, True), hop_by_hop(on)
    ports = {5001: hops, (6000, 6100): explicit(on, False)}
    exported = tmp_path / "out"
    export(several, f"openflow{lab.protocol[-2:]}", exported, tcp_source_ports=ports, dscp={46: explicit(on, False)})
    lab.load(exported)
    for source, target in list(planned(several))[::7]:
        assert lab.trace(source, target, 40_000) in planned(several)[source, target]
        assert lab.trace(source, target, 5001) in planned(hops)[source, target]
        for port in (6000, 6063, 6100):
            assert lab.trace(source, target, port) == next(iter(planned(explicit(on, False))[source, target]))
        assert lab.trace(source, target, 6101) in planned(several)[source, target]
        assert lab.trace(source, target, 6101, dscp=46) == next(iter(planned(explicit(on, False))[source, target]))
        assert lab.trace(source, target, 6101, dscp=10) in planned(several)[source, target]
        assert lab.trace(source, target, 5001, dscp=46) in planned(hops)[source, target], (
            "a port goes before a code point"
        )


@needs_switch
def test_rules_read_back_are_the_planned_next_hops(lab: Lab, tmp_path: Path) -> None:
    """Hop-by-hop: from the tables that the switches hold, walked for each pair to all paths with their shares."""
    on = topology()
    routes = hop_by_hop(on)
    exported = tmp_path / "out"
    export(routes, f"openflow{lab.protocol[-2:]}", exported)
    lab.load(exported)

    @cache
    def groups(identifier: str) -> dict[str, list[tuple[int, int]]]:
        said = call("ovs-ofctl", "-O", lab.protocol, "dump-groups", lab.directory / f"{identifier}.mgmt")
        found = {}
        for line in said.splitlines():
            number = re.search(r"group_id=(\d+)", line)
            if number:
                found[number[1]] = [(int(action.removeprefix("output:")), weight) for action, weight in buckets(line)]
                if lab.protocol == "OpenFlow15":
                    assert f"selection_method=dp_hash,selection_method_param={int(identifier[1:]):#x}" in line or (
                        f"selection_method_param={identifier[1:]}," in line
                    )
        return found

    @cache
    def flows(identifier: str) -> list[tuple[str, str]]:
        said = call("ovs-ofctl", "-O", lab.protocol, "dump-flows", lab.directory / f"{identifier}.mgmt")
        return re.findall(r"priority=1000,ip,nw_dst=([\d./]+) actions=dec_ttl,(\S+)", said)

    def next_hops(node: str, target: str) -> dict[str, float]:
        address = ip_address(str(lab.plan.nodes[target].host))
        identifier = lab.plan.nodes[node].identifier
        (action,) = [action for prefix, action in flows(identifier) if address in ip_network(prefix)]
        kind, _, number = action.partition(":")
        chosen = groups(identifier)[number] if kind == "group" else [(int(number), 1)]
        by_port = {interface.port: name for name, interface in lab.plan.interfaces[node].items()}
        shares: dict[str, float] = {}
        for port, weight in chosen:
            shares[by_port[port]] = shares.get(by_port[port], 0) + weight / sum(weight for _, weight in chosen)
        return shares

    for (source, target), several in planned(routes).items():
        found: dict[tuple[str, ...], float] = {}
        ahead: list[tuple[tuple[str, ...], float]] = [((source,), 1.0)]
        while ahead:
            nodes, share = ahead.pop()
            if nodes[-1] == target:
                found[nodes] = share
            else:
                ahead += [((*nodes, hop), share * part) for hop, part in next_hops(nodes[-1], target).items()]
        assert found == pytest.approx(several, abs=len(max(several, key=len)) / 256)


@needs_switch
@pytest.mark.skipif(os.geteuid() != 0, reason="Open vSwitch's own ports want root")
def test_the_worked_example_sends_tcp_over_the_routes_of_its_source_port(tmp_path: Path) -> None:
    """The page's commands as they stand there: real TCP connections through ten switches, over two metrics' routes."""
    reason = missing("ip netns add probe && ip tuntap add probe2 mode tap")
    if reason:
        pytest.skip(reason)
    said = run_example(tmp_path, 4, ("-mnpf", "--mount-proc", "--kill-child"))
    assert said.count("b'from 10'") == 2
    passed = {
        kind: re.findall(rf"^(n\d+) .*n_packets=[1-9].* priority={priority},", said, re.MULTILINE)
        for kind, priority in (("tcpbp", 1000), ("delay", 2000))
    }
    assert passed == {"tcpbp": ["n1", "n3", "n4"], "delay": ["n1", "n4", "n5"]}
