"""Exports with routes of their own for packets with a code point (DSCP): read back, in Open vSwitch, and in Linux."""

import json
import shutil
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from anabranch.cli import status
from anabranch.engineering.routes import Routes, Search
from anabranch.engineering.routes.export import ExportError, export, make_plan, read_back
from anabranch.network import topologies
from tests.engineering.test_export_linux import _LAB, _SETTLE, decoded, in_namespaces, namespaces, segment_routing
from tests.export_routes import explicit, planned, topology

__all__ = ["namespaces", "segment_routing"]
ABLE = ("ip-route", "srv6", "openflow13", "openflow15")
EF = 46


def two_routings(format: str) -> tuple[Routes, Routes]:
    """The default routes, and those of one code point."""
    if format == "ip-route":
        search = Search(topologies.load("tcpbp10"))
        delay, hops = (search.routes(metric, forwarding="hop-by-hop") for metric in ("delay", "hop-count"))
        return delay, hops
    on = topology()
    return explicit(on, True), explicit(on, False)


@pytest.mark.parametrize("format", ABLE)
def test_the_routes_of_a_code_point_come_back(format: str, tmp_path: Path) -> None:
    default, own = two_routings(format)
    export(default, format, tmp_path / "out", dscp={EF: own})
    assert planned(default) != planned(own)
    for code, routes in ((None, default), (EF, own), (10, default)):
        found = read_back(tmp_path / "out", routes.topology, code).paths
        meant = planned(routes)
        assert found.keys() == meant.keys()
        for pair, several in meant.items():
            assert dict(found[pair]) == pytest.approx(several, abs=0.02), (code, pair)


@pytest.mark.parametrize("format", ABLE)
def test_pairs_without_routes_of_the_code_point_take_the_others(format: str, tmp_path: Path) -> None:
    default, own = two_routings(format)
    few = Routes(
        own.topology, own.metric, own.forwarding, tuple(one for one in own.routes if one.target == own.routes[0].target)
    )
    export(default, format, tmp_path / "out", dscp={EF: few})
    found = read_back(tmp_path / "out", default.topology, EF).paths
    meant = planned(default) | planned(few)
    for pair, several in meant.items():
        assert dict(found[pair]) == pytest.approx(several, abs=0.02), pair


@pytest.mark.parametrize("change", [("fwmark 46", "fwmark 47"), ("dscp 46", "dscp 47")])
def test_what_was_changed_by_hand_in_linux_counts(change: tuple[str, str], tmp_path: Path) -> None:
    """Without a mark, or without a rule for it, packets of the code point take the default routes."""
    default, own = two_routings("ip-route")
    export(default, "ip-route", tmp_path / "out", dscp={EF: own})
    for suffix in (".nft", ".rules.batch"):
        for file in (tmp_path / "out").glob(f"*{suffix}"):
            file.write_text(file.read_text(encoding="utf-8").replace(*change), encoding="utf-8")
    found = read_back(tmp_path / "out", default.topology, EF).paths
    assert {pair: dict(ways) for pair, ways in found.items()} == planned(default)


@pytest.mark.slow("compares the paths of a pair for all sizes, 6 s")
def test_the_crossover_is_written_by_code_point(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Packets with the code point AF11 (10) take the path of 10 kB, all others that of the largest transfers."""
    arguments = ["routes", "tcpbp10", "--from", "1", "--to", "10", "--crossover", "linux-cubic", "--dscp", "10=10kB"]
    assert status([*arguments, "--export", "ip-route", "--out", str(tmp_path / "out")]) == 0
    on = topologies.load("tcpbp10")
    small, large = (read_back(tmp_path / "out", on, code).paths["1", "10"] for code in (10, None))
    assert small == ((("1", "5", "4", "10"), 1.0),)
    assert large == ((("1", "3", "4", "10"), 1.0),)
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--export", "frr", "--dscp", "46=delay"], "--dscp goes with --export ip-route, srv6, openflow13 or openflow15, not with frr"),
        (["--export", "srv6", "--dscp", "46"], "--dscp 46: must be DSCP=METRIC, such as 46=delay"),
        (["--export", "srv6", "--dscp", "64=delay"], "--dscp 64=delay: DSCP '64': must be a number from 1 to 63, such as 46 for EF"),
        (["--export", "srv6", "--dscp", "0=delay"], "0 is that of all other packets"),
        (["--export", "srv6", "--dscp", "EF=delay"], "must be a number from 1 to 63"),
        (["--export", "srv6", "--dscp", "46=fast"], '--dscp 46=fast: "fast" is not a metric'),
        (["--export", "srv6", "--dscp", "46=delay", "--dscp", "46=loss"], "--dscp 46=loss: overlaps with 46"),
        (["--dscp", "46=delay"], "--dscp goes with --export"),
        (["--crossover", "linux-cubic", "--from", "1", "--to", "10", "--export", "srv6", "--dscp", "46=delay"], "--dscp 46=delay: with --crossover, a class has a size"),
    ],
)  # fmt: skip
def test_what_is_no_class_is_refused(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(tmp_path / "out")] if "--export" in arguments else []
    assert status(["routes", "tcpbp10", *arguments, *out]) == 2
    assert message in capsys.readouterr().err


def test_routes_of_another_network_are_refused(tmp_path: Path) -> None:
    other = Search(topologies.load("nsfnet")).routes("hop-count")
    with pytest.raises(ExportError, match="DSCP 46: its routes are on another topology"):
        export(explicit(topology(), True), "srv6", tmp_path / "out", dscp={EF: other})


_SEND = """
import socket, sys
for port in range(40000, 40000 + int(sys.argv[3])):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, int(sys.argv[4]) << 2)
        sender.bind((sys.argv[1], port))
        sender.sendto(b"x" * 100, (sys.argv[2], 9))
"""


@pytest.mark.parametrize("format", ["ip-route", "srv6"])
def test_packets_of_the_code_point_take_their_links(format: str, tmp_path: Path, segment_routing: None) -> None:
    """Real packets through namespaces: with the code point over the links of its path, without it over those of the default path."""
    if shutil.which("nft") is None:
        pytest.skip("no nft: apt install nftables")
    search = Search(topologies.load("tcpbp10"))
    forwarding = "hop-by-hop" if format == "ip-route" else "explicit"
    default, own = (search.routes(metric, forwarding=forwarding) for metric in ("delay", "hop-count"))  # type: ignore[arg-type] # one of both
    plan = make_plan(default.topology)
    export(default, format, tmp_path / "out", dscp={EF: own})
    ways = [read_back(tmp_path / "out", default.topology, code).paths for code in (None, EF)]
    chosen = [pair for pair in ways[0] if not set(pairwise(ways[0][pair][0][0])) & set(pairwise(ways[1][pair][0][0]))][
        :2
    ]
    assert len(chosen) == 2
    rules = "for node in $NODES; do ip netns exec $node nft -f $node.nft; ip -n $node -batch $node.rules.batch; done\n"
    script = _LAB + rules + rules.replace("ip -n $node -batch $node.rules.batch", "true") + _SETTLE
    script += "read -r -d '' SEND <<'END' || true" + _SEND + "END\n"
    read = "for node in $NODES; do ip -n $node -s -j link show type veth; done\n"
    count = 100
    for source, target in chosen:
        node, end = plan.nodes[source], plan.nodes[target]
        for code in (0, EF):
            send = f'ip netns exec {node.identifier} {sys.executable} -c "$SEND" {node.router} {end.router} {count} {code}\n'
            script += f"{send}sleep 0.2\n{read}{send}sleep 0.2\n{read}"
    documents = decoded(in_namespaces(script, tmp_path / "out", plan))
    size = len(plan.nodes)
    rounds = [
        {link["ifname"]: link["stats64"]["tx"]["packets"] for node in documents[at : at + size] for link in node}
        for at in range(0, len(documents), size)
    ]
    for number, pair in enumerate(chosen):
        for place, paths in enumerate(ways):
            before, after = rounds[4 * number + 2 * place : 4 * number + 2 * place + 2]
            on_path = {plan.interface(*hop).name for hop in pairwise(paths[pair][0][0])}
            carried = {name: after[name] - before[name] for name in after}
            assert {name for name, packets in carried.items() if packets > count / 2} == on_path, (pair, place)


def test_the_manifest_lists_the_files_of_the_classes(tmp_path: Path) -> None:
    default, own = two_routings("ip-route")
    export(default, "ip-route", tmp_path / "out", dscp={EF: own})
    listed = json.loads((tmp_path / "out" / "export.json").read_text(encoding="utf-8"))["files"]
    assert {"n1.nft", "n1.rules.batch"} <= set(listed)
    export(default, "ip-route", tmp_path / "out")
    assert not (tmp_path / "out" / "n1.nft").exists()
