"""The laboratory for containerlab: its topology file, and all that it runs, run here in network namespaces instead of containers."""

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml  # type: ignore[import-untyped]  # of myst-parser

from anabranch.cli import status
from anabranch.engineering import robust, weights
from anabranch.engineering.routes import Path as RoutedPath
from anabranch.engineering.routes import Route, Routes
from anabranch.engineering.routes.export import ExportError, export, make, make_plan
from anabranch.engineering.routes.export.containerlab import ROUTERS, netem
from anabranch.network.topologies import Link, Node, Topology
from tests.engineering.test_export_frr import daemons as daemons  # a fixture
from tests.engineering.test_export_linux import decoded, in_namespaces
from tests.export_routes import explicit, hop_by_hop, topology

_FLAGS = ("-mnpf", "--mount-proc", "--kill-child")
_ECHO = """import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
    server.bind(("", 7))
    while True:
        data, peer = server.recvfrom(100)
        server.sendto(data, peer)
"""
_ASK = """import socket, sys, time
ends = time.monotonic() + 90
for target in sys.argv[2:]:
    answers = 0
    while answers < int(sys.argv[1]):
        assert time.monotonic() < ends, target
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(0.5)
            client.sendto(b"x", (target, 7))
            try:
                client.recv(100)
                answers += 1
            except OSError:
                pass
"""


def square(capacity_bps: int = 10**9) -> Topology:
    """Four nodes in a ring; delays and losses differ."""
    ends = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
    links = [
        Link(*pair, capacity_bps, 0.001 * number, None, 0.0005 * number)
        for number, (one, other) in enumerate(ends, 1)
        for pair in ((one, other), (other, one))
    ]
    return Topology("square 4", tuple(map(Node, "abcd")), tuple(links))


def ring(shares: tuple[float, float] = (0.75, 0.25)) -> Routes:
    """Every pair by its shortest path; a to c on both ways round."""
    routes = []
    for source in "abcd":
        for target in "abcd":
            if source != target:
                across = {"a": "bd", "c": "bd", "b": "ac", "d": "ac"}[source]
                ways = [(source, target)] if target in across else [(source, middle, target) for middle in across]
                if len(ways) == 2 and (source, target) != ("a", "c"):
                    ways = ways[:1]
                parts = shares if len(ways) == 2 else (1.0,)
                routes.append(Route(source, target, tuple(map(RoutedPath, ways, parts))))
    return Routes(square(), "own", "explicit", tuple(routes))


def lab_of(texts: dict[str, str]) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(texts["lab.clab.yml"])
    return document


def wired(texts: dict[str, str]) -> list[tuple[str, ...]]:
    return [tuple(link["endpoints"]) for link in lab_of(texts)["topology"]["links"]]


@pytest.mark.parametrize("routers", ROUTERS)
def test_the_file_has_every_node_link_and_bind(routers: str) -> None:
    """Names that no shell would like stay in comments; all that is mounted is there, and each interface has one end of one link."""
    on = topology()
    both_ways = Topology(on.name, on.nodes[:-1], tuple(link._replace(cost=1) for link in on.links[:-1]))
    routes = explicit(both_ways, False)
    if routers in ("frr-ospf", "frr-isis"):
        routes = weights.as_routes(robust.Network.of(both_ways, 1e9), np.ones(len(both_ways.links)))
    elif routers in ("frr", "ip-route"):
        routes = hop_by_hop(both_ways)
    options = {"routers": routers}
    texts = make(routes, "containerlab", **options).texts
    lab = lab_of(texts)
    assert re.fullmatch("[a-z0-9_]+", lab["name"])
    nodes = lab["topology"]["nodes"]
    assert list(nodes) == [f"{kind}{number}" for number in range(1, 11) for kind in "nh"]
    mounted = set()
    for name, node in nodes.items():
        group = lab["topology"]["groups"][node["group"]]
        assert (node["group"], group["kind"]) == ("routers" if name[0] == "n" else "hosts", "linux")
        assert ("cmd" in node) == (name[0] == "n" and routers in ("srv6", "ip-route"))
        for bind in node.get("binds", []):
            mounted.add(bind.partition(":")[0])
        for command in node["exec"]:
            assert shlex.split(command)[0] in ("sh", "ip", "tc")
    assert mounted | {"lab.clab.yml", "plan.json", "export.json"} == texts.keys()
    ends = [end for link in wired(texts) for end in link]
    assert len(set(ends)) == len(ends) == len(both_ways.links) + 2 * 10
    names = {
        f"{one.node.identifier}:{one.name}" for row in make_plan(both_ways).interfaces.values() for one in row.values()
    }
    assert {end for end in ends if end[0] == "n" and not end.endswith("-host")} == names


def test_links_are_emulated_in_each_direction_with_delay_loss_and_rate() -> None:
    nodes = lab_of(make(ring(), "containerlab").texts)["topology"]["nodes"]
    assert (
        "tc qdisc replace dev n1-n2 root netem delay 1000us loss 0.05% rate 1000000000bit limit 1084"
        in nodes["n1"]["exec"]
    )
    assert (
        "tc qdisc replace dev n1-n4 root netem delay 4000us loss 0.2% rate 1000000000bit limit 1334"
        in nodes["n1"]["exec"]
    )
    assert netem(Link("a", "b")) == ""
    assert netem(Link("a", "b", None, 0.0, None, 0.5)) == "loss 50% limit 1000"


def test_routers_are_of_frr_where_next_hops_suffice_or_of_linux() -> None:
    """From d, what comes from a goes on to c, and d's own goes back over a: no next hop by destination does both."""
    routes = ring()
    assert '"routers": "frr"' in make(routes, "containerlab").texts["export.json"]
    crossing = tuple(
        Route("d", "c", (RoutedPath(("d", "a", "b", "c")),)) if (one.source, one.target) == ("d", "c") else one
        for one in routes.routes
    )
    made = make(Routes(routes.topology, "own", "explicit", crossing), "containerlab")
    assert '"routers": "srv6"' in made.texts["export.json"]
    with pytest.raises(ExportError, match="routers 'openflow13': must be one of frr, frr-ospf"):
        make(routes, "containerlab", routers="openflow13")


def test_the_interface_of_containerlab_is_not_taken(tmp_path: Path) -> None:
    rows = ["node,neighbour,interface,address"]
    for number, (one, other) in enumerate(["ab", "bc", "cd", "da"]):  # type: ignore[str-unpack]
        rows += [f"{one},{other},eth{number},192.0.2.{2 * number}/31", f"{other},{one},up,192.0.2.{2 * number + 1}/31"]
    (tmp_path / "i.csv").write_text("\n".join(rows), encoding="utf-8")
    with pytest.raises(ExportError, match="interface eth0 of node 'a': is the one of containerlab"):
        make(ring(), "containerlab", interfaces=tmp_path / "i.csv")


def test_weights_make_a_laboratory_with_ospf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.csv").write_text("source,target,rate\n1,2,10Mbps\n", encoding="utf-8")
    given = ["weights", "nsfnet", "--capacity", "500Mbps", "--matrix", "m.csv", "--limit", "0.1s"]
    assert status([*given, "--export", "containerlab", "--into", "lab"]) == 0
    assert "ip ospf cost" in Path("lab/n1.conf").read_text(encoding="utf-8")
    assert "rate 500000000bit" in Path("lab/lab.clab.yml").read_text(encoding="utf-8")


def script_of(directory: Path, lab: dict[str, Any]) -> str:
    """What containerlab and the containers' own start do, with the files where they are instead of where they are mounted."""
    nodes = lab["topology"]["nodes"]
    lines = [f"ip netns add {name}" for name in nodes]
    for link in lab["topology"]["links"]:
        (one, name), (other, other_name) = (end.split(":") for end in link["endpoints"])
        lines.append(f"ip link add {name} netns {one} type veth peer name {other_name} netns {other}")
        size = f"mtu {link['mtu']}" if "mtu" in link else ""
        lines += [f"ip -n {one} link set {name} up {size}", f"ip -n {other} link set {other_name} up {size}"]
    lines += [f"ip -n {name} link set lo up" for name in nodes]
    for name, node in nodes.items():
        binds = dict(reversed(bind.split(":")) for bind in node.get("binds", []))
        if "/etc/frr/daemons" in binds:
            lines += started(directory / binds["/etc/frr/daemons"], name, directory / binds["/etc/frr/frr.conf"])
    for name, node in nodes.items():
        binds = dict(reversed(bind.split(":")) for bind in node.get("binds", []))
        for command in node["exec"]:
            for inside, outside in binds.items():
                command = command.replace(inside, outside)
            tolerated = " 2>tc.said || grep -q 'qdisc kind is unknown' tc.said" if command.startswith("tc ") else ""
            lines.append(f"ip netns exec {name} {command} >&2{tolerated}")
    return "\n".join(lines) + "\n"


def started(daemons: Path, node: str, configuration: Path) -> list[str]:
    wanted = re.findall(r"^(\w+)=yes$", daemons.read_text(encoding="utf-8"), re.MULTILINE)
    lines = [f"install -d -o frr -g frr /run/frr /run/frr/{node}"]
    for daemon in wanted:
        if daemon != "vtysh_enable":
            lines.append(
                f"ip netns exec {node} /usr/lib/frr/{daemon} -d --vty_socket /run/frr/{node} -z /run/frr/{node}/zserv.api "
                f"-i /run/frr/{node}/{daemon}.pid -f /dev/null </dev/null >/dev/null 2>&1"
            )
    show = f"ip netns exec {node} vtysh --vty_socket /run/frr/{node}"
    lines.append(f"until {show} -c 'show version' >/dev/null 2>&1; do sleep 0.1; done")
    return [*lines, f"{show} -f {configuration} >&2"]


@pytest.mark.slow("waits for real routing daemons")
@pytest.mark.parametrize("routers", ["frr", "frr-ospf", "frr-isis", "ip-route", "srv6"])
def test_hosts_reach_each_other_over_the_planned_links(routers: str, tmp_path: Path, daemons: None) -> None:
    """Every host has answers from every other, and 400 flows from a to c divide over b and d as planned."""
    routes, share = ring(), 0.75
    if routers in ("frr-ospf", "frr-isis"):
        routes, share = weights.as_routes(robust.Network.of(square(), 1e9), np.ones(8)), 0.5
    options = {"routers": routers}
    export(routes, "containerlab", tmp_path / "out", **options)
    plan = make_plan(routes.topology)
    lab = lab_of({"lab.clab.yml": (tmp_path / "out" / "lab.clab.yml").read_text(encoding="utf-8")})
    (tmp_path / "out" / "echo.py").write_text(_ECHO, encoding="utf-8")
    (tmp_path / "out" / "ask.py").write_text(_ASK, encoding="utf-8")
    script = script_of(tmp_path / "out", lab)
    for node in plan.nodes.values():
        script += f"ip netns exec h{node.index} python3 echo.py &\n"
    for node in plan.nodes.values():
        others = " ".join(str(other.host) for other in plan.nodes.values() if other is not node)
        script += f"ip netns exec h{node.index} python3 ask.py 1 {others}\n"
    if share == 0.5:  # all neighbours know each other, not only those that suffice
        script += (
            f"until [ $(ip -n n1 route show {plan.nodes['c'].prefix} | grep -c nexthop) = 2 ]; do sleep 0.2; done\n"
        )
    count = 400
    read = "ip -n n1 -s -j link show type veth\n"
    script += f"{read}ip netns exec h1 python3 ask.py {count} {plan.nodes['c'].host}\n{read}kill $(jobs -p)\n"
    before, after = decoded(in_namespaces(script, tmp_path / "out", plan, _FLAGS))
    sent = {
        name: next(one for one in after if one["ifname"] == name)["stats64"]["tx"]["packets"]
        - next(one for one in before if one["ifname"] == name)["stats64"]["tx"]["packets"]
        for name in ("n1-n2", "n1-n4")
    }
    # hello packets of the routers are few beside 400
    slack = 5 * (count * share * (1 - share)) ** 0.5 + 20
    assert abs(sent["n1-n2"] - count * share) < slack, sent
    assert abs(sent["n1-n4"] - count * (1 - share)) < slack, sent
