"""Exports for FRR: parsed by vtysh, and run by its daemons, whose routes and rules are read back and walked."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anabranch.engineering import robust, weights
from anabranch.engineering.routes.export import export, make_plan
from anabranch.engineering.routes.export.plan import AddressPlan
from anabranch.network.topologies import Link, Node, Topology
from tests.engineering.test_export_linux import decoded, hops, in_namespaces, missing, owner
from tests.export_routes import explicit, hop_by_hop, planned, topology

_DAEMONS = Path("/usr/lib/frr")
_PATIENCE_S = 120
needs_vtysh = pytest.mark.skipif(shutil.which("vtysh") is None, reason="no vtysh: apt install frr")

# With process numbers of its own: the daemons end with the script, even if it is killed.
_FLAGS = ("-mnpf", "--mount-proc", "--kill-child")
# Hosts are a pair of interfaces here; pbrd's rules are for packets that come in over one.
_LAB = """ip -batch lab.batch
install -d -o frr -g frr /run/frr
for node in $NODES; do
    ip netns exec $node sysctl -q -e -p $node.sysctl.conf >&2
    ip -n $node link add $node-host type veth peer name $node-out
    for interface in $(ip -n $node -o link | cut -d: -f2 | cut -d@ -f1); do ip -n $node link set $interface up; done
    install -d -o frr -g frr /run/frr/$node
    for daemon in zebra staticd $DAEMONS; do
        ip netns exec $node /usr/lib/frr/$daemon -d --vty_socket /run/frr/$node -z /run/frr/$node/zserv.api \\
            -i /run/frr/$node/$daemon.pid -f /dev/null --log file:/run/frr/$node/log </dev/null >/dev/null 2>&1
    done
done
for node in $NODES; do
    for try in $(seq 100); do
        ip netns exec $node vtysh --vty_socket /run/frr/$node -c 'show version' >/dev/null 2>&1 && break
        sleep 0.1
    done
    ip netns exec $node vtysh --vty_socket /run/frr/$node -f $PWD/$node.conf >&2
done
"""
_STATIC = """for node in $NODES; do
    wanted=$(grep '^ip route' $node.conf | cut -d' ' -f3 | sort -u | wc -l)
    rules=$(($(grep -c '^pbr-map' $node.conf || true) * $(grep -c 'pbr-policy' $node.conf || true)))
    for try in $(seq 100); do
        [ $(ip -n $node -4 -o route | grep -c nhid) = $wanted ] &&
            [ $(ip -n $node rule show | grep -c iif) = $rules ] && break
        sleep 0.1
    done
done
for node in $NODES; do ip -n $node -j rule show; ip -n $node -j -4 route show table all; done
"""
# Converged when the kernel has the wanted next hops; the test reads the routes again and judges them.
_IGP = """for node in $NODES; do
    until ip -n $node -j -4 route show proto $PROTOCOL | python3 -c 'import json, sys
for route in json.load(sys.stdin):
    for hop in route.get("nexthops", [route]):
        print(route["dst"], hop["gateway"])' | sort | grep /24 | cmp -s - $node.wanted; do sleep 0.3; done
done
for node in $NODES; do ip -n $node -j -4 route show proto $PROTOCOL; done
"""
# Converged when zebra has put every wanted route into the kernel and every router has heard of the labels of all.
_OSPF = """for node in $NODES; do
    until [ $(ip -n $node -4 route show proto ospf | sed -n 's/^\\([0-9.]*\\) .*via \\([0-9.]*\\) .*/\\1 \\2/p' | grep -cFxf $node.wanted) = \\
            $(grep -c . $node.wanted) ] && [ $(ip netns exec $node vtysh --vty_socket /run/frr/$node \\
            -c 'show ip ospf database segment-routing json' | grep -c srgbLabel) = $(echo $NODES | wc -w) ]; do
        sleep 0.1
    done
done
for node in $NODES; do
    ip -n $node -j -4 route show
    ip netns exec $node vtysh --vty_socket /run/frr/$node -c 'show ip ospf database segment-routing json'
    ip netns exec $node vtysh --vty_socket /run/frr/$node -c 'show running-config' | python3 -c \\
        'import json, sys; print(json.dumps(sys.stdin.read()))'
done
"""


@pytest.fixture
def daemons() -> None:
    if not (_DAEMONS / "pbrd").is_file():
        pytest.skip("no FRR daemons: apt install frr")
    if os.geteuid() != 0:
        pytest.skip("FRR's daemons want to be started by root")
    reason = missing("ip netns add probe")
    if reason:
        pytest.skip(reason)


@needs_vtysh
@pytest.mark.parametrize("format", ["frr", "frr-segment-routing", "frr-ospf", "frr-isis"])
def test_vtysh_finds_nothing_wrong(format: str, tmp_path: Path) -> None:
    """`vtysh --dryrun` goes through FRR's whole grammar; it names lines that it does not know."""
    on = topology()
    if format == "frr":
        routes = hop_by_hop(on)
    elif format in ("frr-ospf", "frr-isis"):
        network = robust.Network.of(Topology(on.name, on.nodes[:-1], on.links[:-1]), 1e9)
        routes = weights.as_routes(network, np.arange(1.0, network.links + 1))
    else:
        both_ways = Topology(on.name, on.nodes[:-1], on.links[:-1])
        routes = explicit(both_ways, False)
    export(routes, format, tmp_path / "out")
    for file in (tmp_path / "out").glob("*.conf"):
        if "sysctl" not in file.name:
            assert dry_run(file) == (0, "")
    wrong = tmp_path / "out" / "n1.conf"
    wrong.write_text(wrong.read_text(encoding="utf-8") + "ip route everywhere\n", encoding="utf-8")
    assert "Unknown command" in dry_run(wrong)[1], "the check can fail"


def dry_run(file: Path) -> tuple[int, str]:
    done = subprocess.run(
        ["vtysh", "--dryrun", "--inputfile", str(file)],
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow("waits for real routing daemons")
def test_the_daemons_install_the_planned_routes_and_shares(tmp_path: Path, daemons: None) -> None:
    """For every pair, through the kernel's rules and tables as zebra filled them, to all paths with their shares."""
    routes = hop_by_hop(topology())
    plan = make_plan(routes.topology)
    export(routes, "frr", tmp_path / "out")
    documents = decoded(in_namespaces("DAEMONS=pbrd\n" + _LAB + _STATIC, tmp_path / "out", plan, _FLAGS))
    rules = dict(zip(plan.nodes, documents[0::2], strict=True))
    tables = dict(zip(plan.nodes, documents[1::2], strict=True))
    error = json.loads((tmp_path / "out" / "export.json").read_text(encoding="utf-8"))["largest_error"]
    weighted = 0
    for (source, target), several in planned(routes).items():
        found: dict[tuple[str, ...], float] = {}
        ahead: list[tuple[tuple[str, ...], float]] = [((source,), 1.0)]
        while ahead:
            nodes, share = ahead.pop()
            if nodes[-1] == target:
                found[nodes] = share
                continue
            route, by_rule = look_up(plan, rules[nodes[-1]], tables[nodes[-1]], nodes, target)
            weighted += by_rule
            for hop, part in hops(route):
                following = owner(plan, hop["gateway"])
                assert hop["dev"] == plan.interface(nodes[-1], following).name
                ahead.append(((*nodes, following), share * part))
        assert found == pytest.approx(several, abs=1e-9 + error * len(max(several, key=len)))
    assert weighted > 20


def look_up(
    plan: AddressPlan, rules: list[dict[str, Any]], table: list[dict[str, Any]], nodes: tuple[str, ...], target: str
) -> tuple[dict[str, Any], bool]:
    """The route of a packet that has come this way, and whether a rule of pbrd sent it to a table of its own."""
    here = plan.nodes[nodes[-1]]
    incoming = here.host_interface if len(nodes) == 1 else plan.interface(nodes[-1], nodes[-2]).name
    prefix = plan.nodes[target].prefix
    for rule in sorted(rules, key=lambda rule: int(rule["priority"])):
        if rule.get("iif") == incoming and f"{rule.get('dst')}/{rule.get('dstlen')}" == str(prefix):
            (route,) = [one for one in table if str(one.get("table")) == str(rule["table"])]
            assert route["dst"] == "default"
            return route, True
    (route,) = [one for one in table if one["dst"] == str(prefix) and "table" not in one]
    return route, False


def square() -> robust.Network:
    """A square with a diagonal, whose weights make two equal paths from a to c and from d to b, and other costs back."""
    nodes = tuple(Node(name) for name in "abcd")
    costs = {"ab": 10, "bc": 20, "ad": 15, "dc": 15, "bd": 30, "ba": 7, "cb": 9, "da": 5, "cd": 40, "db": 15}
    links = (Link(ends[0], ends[1], 10**9, cost=cost) for ends, cost in costs.items())
    return robust.Network.of(Topology("square", nodes, tuple(links)))


@pytest.mark.slow("waits for real routing daemons")
@pytest.mark.parametrize("protocol", ["ospf", "isis"])
def test_the_daemons_find_the_equal_cost_paths_of_the_weights(protocol: str, tmp_path: Path, daemons: None) -> None:
    """With names and addresses of interfaces from a file; the kernel's next hops are those of the routes, with equal weights."""
    network = square()
    costs = np.array([float(link.cost or 0) for link in network.topology.links])
    routes = weights.as_routes(network, costs)
    rows = ["node,neighbour,interface,address", "c,,lan.7,198.51.100.1/24"]
    for number, (one, other) in enumerate([("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"), ("b", "d")]):
        rows += [
            f"{one},{other},to-{other},192.0.2.{4 * number + 1}/30",
            f"{other},{one},to-{one},192.0.2.{4 * number + 2}/30",
        ]
    file = tmp_path / "interfaces.csv"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    plan = make_plan(routes.topology, interfaces=file)
    export(routes, f"frr-{protocol}", tmp_path / "out", interfaces=file)
    script = f"DAEMONS={protocol}d\nPROTOCOL={protocol}\n" + _LAB.replace("$node-host", "$(cat $node.host)") + _IGP
    for node in plan.nodes.values():
        (tmp_path / "out" / f"{node.identifier}.host").write_text(node.host_interface, encoding="ascii")
        wanted = [
            f"{plan.nodes[route.target].prefix} {plan.interface(path.nodes[1], route.source).address}\n"
            for route in routes.routes
            if route.source == node.name
            for path in route.paths
        ]
        (tmp_path / "out" / f"{node.identifier}.wanted").write_text("".join(sorted(wanted)), encoding="ascii")
    documents = decoded(in_namespaces(script, tmp_path / "out", plan, _FLAGS))
    split = 0
    for source, table in zip(plan.nodes, documents, strict=True):
        for target, node in plan.nodes.items():
            if target != source:
                (route,) = [one for one in table if one["dst"] == str(node.prefix)]
                found = {owner(plan, hop["gateway"]): share for hop, share in hops(route)}
                assert all(
                    hop["dev"] == plan.interface(source, owner(plan, hop["gateway"])).name for hop, _ in hops(route)
                )
                assert route["prefsrc"] == str(plan.nodes[source].router)
                (planned_route,) = [one for one in routes.routes if (one.source, one.target) == (source, target)]
                assert found == {path.nodes[1]: path.weight for path in planned_route.paths}, (source, target)
                split += len(found) > 1
    assert split == 2


@pytest.mark.slow("waits for real OSPF daemons")
def test_ospf_and_the_policies_lead_over_the_planned_paths(tmp_path: Path, daemons: None) -> None:
    """For every pair the labels of its policy, each followed over the routes that ospfd found in a network of ten."""
    on = topology()
    routes = explicit(Topology(on.name, on.nodes[:-1], on.links[:-1]), False)
    plan = make_plan(routes.topology)
    export(routes, "frr-segment-routing", tmp_path / "out", igp="delay")
    for source, source_node in plan.nodes.items():
        paths = [(target, nodes) for (start, target), (nodes,) in planned(routes).items() if start == source]
        wanted = [
            f"{plan.nodes[target].router} {plan.interface(nodes[1], source).address}\n" for target, nodes in paths
        ]
        (tmp_path / "out" / f"{source_node.identifier}.wanted").write_text("".join(wanted), encoding="ascii")
    script = "DAEMONS='ospfd pathd'\n" + _LAB + _OSPF
    documents = decoded(in_namespaces(script, tmp_path / "out", plan, _FLAGS))
    tables = dict(zip(plan.nodes, documents[0::3], strict=True))
    databases = dict(zip(plan.nodes, documents[1::3], strict=True))
    running = dict(zip(plan.nodes, documents[2::3], strict=True))

    def owner_of(label: int, router: str) -> str:
        for other in databases[router]["srNodes"]:
            for prefix in other.get("extendedPrefix", []):
                if other["srgbLabel"] + prefix["sid"] == label or f"{label}" in str(prefix.get("inputLabel")):
                    address = prefix["prefix"].split("/")[0]
                    return next(name for name, node in plan.nodes.items() if str(node.router) == address)
        raise AssertionError(f"{router} knows no label {label}")

    for (source, target), several in planned(routes).items():
        identifier = plan.nodes[target].identifier
        passed = [source]
        policy = re.search(rf"segment-list {identifier}\n((?:   index .*\n)+)", running[source])
        assert policy
        for label in re.findall(r"mpls label (\d+)", policy[1]):
            end = owner_of(int(label), source)
            while passed[-1] != end:
                (route,) = [one for one in tables[passed[-1]] if one["dst"] == str(plan.nodes[end].router)]
                assert "nexthops" not in route
                passed.append(owner(plan, route["gateway"]))
        assert passed[-1] == target
        assert {tuple(passed): 1.0} == several
        assert f"policy color 1 endpoint {plan.nodes[target].router}" in running[source]
        assert f"ip route {plan.nodes[target].prefix} {plan.nodes[target].router} color 1" in running[source]
