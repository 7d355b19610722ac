"""Exports for Linux in its kernel: loaded by iproute2 into namespaces, read back and walked, and packets sent."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from ipaddress import ip_address, ip_network
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from anabranch.engineering.routes import Routes
from anabranch.engineering.routes.export import export, make_plan, read_back
from anabranch.engineering.routes.export.plan import AddressPlan
from anabranch.network.topologies import Topology
from tests.export_routes import explicit, hop_by_hop, planned, topology

_PATIENCE_S = 300
# A private /run, as `ip netns` keeps its names there.
_BEGIN = "set -e\nmount -t tmpfs none /run\ncd $1\n"
_LAB = """ip -batch lab.batch
for node in $NODES; do
    ip netns exec $node sysctl -q -p $node.sysctl.conf
    ip -n $node -batch $node.addresses.batch
done
for node in $NODES; do ip -n $node -batch $node.routes.batch; done
"""
# IPv6 addresses count once they are known to be unique.
_SETTLE = """for node in $NODES; do
    while ip -n $node -6 address show tentative | grep -q .; do sleep 0.1; done
done
"""
_READ = """for node in $NODES; do
    ip -n $node -j -4 route show proto static
    ip -n $node -j -6 route show
done
"""


def in_namespaces(script: str, directory: Path, plan: AddressPlan, flags: Sequence[str] = ("-rmn",)) -> str:
    """The output of a script in network, mount and (-r) user namespaces of its own."""
    nodes = " ".join(node.identifier for node in plan.nodes.values())
    done = subprocess.run(
        ["unshare", *flags, "bash", "-c", f"NODES='{nodes}'\n{_BEGIN}{script}", "bash", str(directory)],
        capture_output=True, text=True, timeout=_PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def missing(probe: str) -> str | None:
    """The reason why a script cannot run here, if there is one."""
    for program in ("ip", "unshare", "sysctl"):
        if shutil.which(program) is None:
            return f"no {program}: apt install iproute2 util-linux procps"
    script = (
        "mount -t tmpfs none /run && ip link add probe0 type veth peer name probe1 && ip link set probe0 up && " + probe
    )
    done = subprocess.run(["unshare", "-rmn", "bash", "-c", script], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"not possible in this kernel or container: {done.stderr.strip()}"


@pytest.fixture
def namespaces() -> None:
    reason = missing("ip netns add probe")
    if reason:
        pytest.skip(reason)


@pytest.fixture
def segment_routing(namespaces: None) -> None:
    reason = missing("ip -6 route add fd00::1/128 encap seg6local action End dev probe0")
    if reason:
        pytest.skip(reason)


def run_example(directory: Path, number: int, flags: Sequence[str]) -> str:
    """The output of a shell example of docs/guide/export.md, in namespaces, after the page's Python."""
    page = (Path(__file__).parents[2] / "docs" / "guide" / "export.md").read_text(encoding="utf-8")
    (python,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    shell = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)[number]
    done = subprocess.run([sys.executable, "-c", python], cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    done = subprocess.run(
        ["unshare", *flags, "bash", "-ec", shell], cwd=directory, capture_output=True, text=True, timeout=_PATIENCE_S,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def decoded(said: str) -> list[Any]:
    """JSON documents that stand one after another."""
    decoder, documents = json.JSONDecoder(), []
    said = said.strip()
    while said:
        document, end = decoder.raw_decode(said)
        documents.append(document)
        said = said[end:].lstrip()
    return documents


def tables(said: str, plan: AddressPlan) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """The IPv4 and IPv6 routes of each node, from two JSON documents for each."""
    documents = decoded(said)
    return dict(zip(plan.nodes, documents[0::2], strict=True)), dict(zip(plan.nodes, documents[1::2], strict=True))


def hops(route: dict[str, Any]) -> list[tuple[dict[str, Any], float]]:
    """The next hops of a route with their shares."""
    several = route.get("nexthops", [route])
    total = sum(hop.get("weight", 1) for hop in several)
    return [(hop, hop.get("weight", 1) / total) for hop in several]


def owner(plan: AddressPlan, gateway: str) -> str:
    """The node that has the address on a link."""
    return next(
        name
        for name, ends in plan.interfaces.items()
        for interface in ends.values()
        if ip_address(gateway) in (interface.address, interface.address6)
    )


@pytest.mark.parametrize(
    "routes", [explicit(topology(), False), hop_by_hop(topology())], ids=["explicit", "hop-by-hop"]
)
def test_routes_in_the_kernel_lead_over_the_planned_paths(routes: Routes, tmp_path: Path, namespaces: None) -> None:
    """Read back from iproute2 and walked for every pair; weights as close as the manifest says, at every hop."""
    plan = make_plan(routes.topology)
    export(routes, "ip-route", tmp_path / "out")
    error = json.loads((tmp_path / "out" / "export.json").read_text(encoding="utf-8"))["largest_error"]
    by_node, _ = tables(in_namespaces(_LAB + _READ, tmp_path / "out", plan), plan)
    for (source, target), several in planned(routes).items():
        found: dict[tuple[str, ...], float] = {}
        ahead: list[tuple[tuple[str, ...], float]] = [((source,), 1.0)]
        while ahead:
            nodes, share = ahead.pop()
            if nodes[-1] == target:
                found[nodes] = share
                continue
            (route,) = [one for one in by_node[nodes[-1]] if one["dst"] == str(plan.nodes[target].prefix)]
            assert route["prefsrc"] == str(plan.nodes[nodes[-1]].router)
            for hop, part in hops(route):
                following = owner(plan, hop["gateway"])
                assert hop["dev"] == plan.interface(nodes[-1], following).name
                ahead.append(((*nodes, following), share * part))
        assert found == pytest.approx(several, abs=1e-9 + error * len(max(several, key=len)))


def test_segment_routes_in_the_kernel_lead_over_the_planned_paths(tmp_path: Path, segment_routing: None) -> None:
    """Every segment followed through the routing tables that the kernel holds, router by router."""
    routes = explicit(topology(), True)
    plan = make_plan(routes.topology)
    export(routes, "srv6", tmp_path / "out")
    by_node, by_node6 = tables(in_namespaces(_LAB + _READ, tmp_path / "out", plan), plan)

    def follow(source: str, segments: list[str]) -> tuple[str, ...]:
        passed, left = [source], list(segments)
        while True:
            here = passed[-1]
            fitting = [
                route
                for route in by_node6[here]
                if route["dst"] != "default" and ip_address(left[0]) in ip_network(route["dst"])
            ]
            route = max(fitting, key=lambda route: ip_network(route["dst"]).prefixlen)
            if "encap" not in route:
                passed.append(owner(plan, route["gateway"]))
                continue
            assert route["encap"] == "seg6local"
            del left[0]
            if route["action"] == "End.DX4":
                assert not left
                return tuple(passed)
            if route["action"] == "End.X":
                passed.append(owner(plan, route["nh6"]))
            else:
                assert route["action"] == "End"

    adjacencies = 0
    for (source, target), several in planned(routes).items():
        (route,) = [one for one in by_node[source] if one["dst"] == str(plan.nodes[target].prefix)]
        found = {follow(source, hop["segs"]): share for hop, share in hops(route)}
        assert found == pytest.approx(several, abs=1 / 512)
        adjacencies += sum(":a:" in segment or ":e:" in segment for hop, _ in hops(route) for segment in hop["segs"])
    assert adjacencies > 10, "paths with links that are no only shortest path are among them"


_SEND = """
import socket, sys
for _ in range(int(sys.argv[3])):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.bind((sys.argv[1], 0))
        sender.sendto(b"x" * 100, (sys.argv[2], 9))
"""


def over_two_nodes(on: Topology) -> dict[tuple[str, str], list[tuple[str | None, float]]]:
    """Three pairs with an intermediate node for a part of their traffic, and the direct way for the rest."""
    names = [node.name for node in on.nodes]
    return {(names[0], names[5]): [(names[6], 0.75), (None, 0.25)], (names[1], names[9]): [(names[4], 1.0)],
            (names[7], names[2]): [(names[3], 0.5), (None, 0.5)]}  # fmt: skip


@pytest.mark.parametrize("format", ["ip-route", "srv6", "srv6 over two segments"])
def test_packets_take_the_planned_links(format: str, tmp_path: Path, segment_routing: None) -> None:
    """Real packets through the namespaces: those on each link are in proportion to the shares of its paths, and other links have none."""
    routes = explicit(topology(), True) if format == "srv6" else hop_by_hop(topology())
    plan = make_plan(routes.topology)
    if format == "srv6 over two segments":
        export(routes, "srv6", tmp_path / "out", via=over_two_nodes(routes.topology))
        found = read_back(tmp_path / "out", routes.topology).paths
        pairs = {pair: dict(found[pair]) for pair in (*over_two_nodes(routes.topology), *found)}
    else:
        export(routes, format, tmp_path / "out")
        pairs = planned(routes)
    chosen = [pair for pair, several in pairs.items() if len(several) > 1][:4]
    chosen += [pair for pair, several in pairs.items() if len(several) == 1][:3]
    script = _LAB + _SETTLE + "read -r -d '' SEND <<'END' || true" + _SEND + "END\n"
    count = 400
    read = "for node in $NODES; do ip -n $node -s -j link show type veth; done\n"
    # a first round lets the neighbours find each other
    for source, target in chosen:
        node, end = plan.nodes[source], plan.nodes[target]
        send = f'ip netns exec {node.identifier} {sys.executable} -c "$SEND" {node.router} {end.router} {count}\n'
        script += f"{send}sleep 0.2\n{read}{send}sleep 0.2\n{read}"
    documents = decoded(in_namespaces(script, tmp_path / "out", plan))
    size = len(plan.nodes)
    rounds = [
        {link["ifname"]: link["stats64"]["tx"]["packets"] for node in documents[at : at + size] for link in node}
        for at in range(0, len(documents), size)
    ]
    names = {
        interface.name: (node, other) for node, ends in plan.interfaces.items() for other, interface in ends.items()
    }
    for number, pair in enumerate(chosen):
        before, after = rounds[2 * number], rounds[2 * number + 1]
        carried = {names[name]: after[name] - before[name] for name in names}
        expected: dict[tuple[str, str], float] = {}
        for path, share in pairs[pair].items():
            for link in pairwise(path):
                expected[link] = expected.get(link, 0.0) + share
        for link, packets in carried.items():
            share = expected.get(link, 0.0)
            # flows are hashed: five standard deviations of a binomial, and some packets of the routers' own
            slack = 5 * (count * share * (1 - share)) ** 0.5 + 10
            assert abs(packets - count * share) <= slack, (pair, link, packets, share)


def test_the_worked_example_runs_as_it_stands_on_the_page(tmp_path: Path, namespaces: None) -> None:
    """docs/guide/export.md, by delay: from 1 to 10 over 5 and 4, as the TCPBP paper has it."""
    said = run_example(tmp_path, 2, ("-rmn",))
    assert re.match(r"10\.0\.10\.1 via 10\.128\.0\.3 dev n1-n5 src 10\.0\.1\.1", said)
    (route,) = json.loads(said[said.index("[") :])
    assert route["dev"] == "n5-n4"
