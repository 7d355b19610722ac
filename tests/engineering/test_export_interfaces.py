"""Interfaces from a file: names and addresses in every format, and what is wrong named by file, line and value."""

import re
from pathlib import Path

import pytest

from anabranch.engineering.routes import Path as RoutedPath
from anabranch.engineering.routes import Route, Routes
from anabranch.engineering.routes.export import ExportError, make, make_plan
from anabranch.network.topologies import Link, Node, Topology

ROWS = (
    "node,neighbour,interface,address",
    "A,B,eth1,192.0.2.0/31",
    "B,A,eth1,192.0.2.1/31",
    "B,C,eth2.7,192.0.2.9/29",
    "C,B,ens1f0np0,192.0.2.14/29",
    "C,,lan,198.51.100.1/24",
)


def line() -> Topology:
    ends = (("A", "B"), ("B", "A"), ("B", "C"), ("C", "B"))
    return Topology("line", tuple(map(Node, "ABC")), tuple(Link(one, other, 10**9, cost=1) for one, other in ends))


def routes() -> Routes:
    pairs = ("AC", "CA", "AB", "BA", "BC", "CB")
    ways = {"AC": ("A", "B", "C"), "CA": ("C", "B", "A")}
    return Routes(
        line(),
        "cost",
        "explicit",
        tuple(Route(pair[0], pair[1], (RoutedPath(ways.get(pair, tuple(pair))),)) for pair in pairs),
    )


def written(tmp_path: Path, rows: tuple[str, ...]) -> Path:
    file = tmp_path / "interfaces.csv"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return file


def test_names_and_addresses_are_those_of_the_file(tmp_path: Path) -> None:
    file = written(tmp_path, ROWS)
    plan = make_plan(line(), interfaces=file)
    assert (plan.interface("C", "B").name, str(plan.interface("C", "B").within)) == ("ens1f0np0", "192.0.2.14/29")
    hosts = plan.nodes["C"]
    assert (str(hosts.prefix), str(hosts.router), str(hosts.host), hosts.host_interface) == (
        *("198.51.100.0/24", "198.51.100.1", "198.51.100.2", "lan"),
    )
    assert str(plan.nodes["A"].prefix) == "10.0.1.0/24", "without a row the plan's"
    texts = make(routes(), "ip-route", interfaces=file).texts
    assert (
        "route replace 198.51.100.0/24 proto static src 10.0.1.1 via 192.0.2.1 dev eth1\n" in texts["n1.routes.batch"]
    )
    assert "address replace 192.0.2.9/29 dev eth2.7\n" in texts["n2.addresses.batch"]
    assert "net/ipv4/conf/eth2.7/rp_filter = 0\n" in texts["n2.sysctl.conf"], "dots of the name are no separators"
    texts = make(routes(), "frr-ospf", interfaces=file).texts
    assert "interface lan\n ip address 198.51.100.1/24\n ip ospf area 0\n" in texts["n3.conf"]


def test_every_format_takes_the_file_or_says_why_not(tmp_path: Path) -> None:
    """Two nodes have an interface eth1; Open vSwitch has one name for each port of the machine."""
    file = written(tmp_path, ROWS)
    for format in ("srv6", "frr", "frr-isis", "frr-segment-routing", "segment-routing", "json", "scenario"):
        assert "198.51.100" in make(routes(), format, interfaces=file).texts["plan.json"]
    with pytest.raises(ExportError, match="interface eth1: is one of node 'A' and of node 'B'"):
        make(routes(), "openflow13", interfaces=file)
    own = (*ROWS[:2], ROWS[2].replace("eth1", "eth3"), *ROWS[3:])
    assert "add-port n2 eth3" in make(routes(), "openflow13", interfaces=written(tmp_path, own)).texts["lab.ovs-vsctl"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("node,neigh", "router,neigh", "the header is router,neighbour,interface,address; it must be node,neighbour,interf"),
        ("A,B,eth1,192.0.2.0/31", "", "has no row for node 'A', neighbour 'B'"),
        ("A,B,eth1", "D,B,eth1", "line 2: line has no node 'D'"),
        ("A,B,eth1", "A,C,eth1", "line 2: line has no link between 'A' and 'C'"),
        ("A,B,eth1,192.0.2.0/31", "A,B,eth1,192.0.2.0/31\nA,B,eth9,192.0.2.77/31", "line 3: node 'A', neighbour 'B': is in line 2"),
        ("B,C,eth2.7", "B,C,eth1", "line 4: interface eth1 of node 'B': is in line 3 already"),
        ("C,B,ens1f0np0,192.0.2.14", "C,B,ens1f0np0,192.0.2.9", "line 5: address 192.0.2.9: is in line 4 already"),
        ("192.0.2.14/29", "192.0.2.14", "line 5: address '192.0.2.14' must be an IPv4 address such as 192.0.2.0/31"),
        ("192.0.2.14/29", "192.0.2.300/29", "line 5: address '192.0.2.300/29' must be an IPv4 address"),
        ("192.0.2.14/29", "fd00::1/64", "line 5: address 'fd00::1/64' must be an IPv4 address"),
        ("192.0.2.14/29", "192.0.2.15/29", "it is the first or the last of its prefix"),
        ("192.0.2.14/29", "192.0.2.14/30", "are in different prefixes; both ends of a link need one"),
        ("198.51.100.1/24", "198.51.100.1/31", "line 6: address '198.51.100.1/31' must be an IPv4 address such as 192.0.2.1/24"),
        ("198.51.100.1/24", "192.0.2.200/24", "192.0.2.0/31 of the link .* overlaps with 192.0.2.0/24 of the hosts of node 'C'"),
        ("192.0.2.1/31", "10.0.2.1/31", "in different prefixes"),
        ("192.0.2.", "10.0.2.", "10.0.2.0/31 of the link 'B' -> 'A' .line 3. overlaps with 10.0.2.0/24 of the hosts of node 'B'"),
        ("eth2.7", "interface-number-7", "line 4: interface 'interface-number-7' must have 1 to 15 letters"),
        ("eth2.7", "ge/0", "line 4: interface 'ge/0' must have"),
        ("eth2.7", "$(reboot)", "must have 1 to 15 letters"),
        ("eth2.7,", "", "line 4: has 3 values; the header has 4"),
        ("A,B,eth1,192.0.2.0/31\nB,A,eth1,192.0.2.1/31", "A,B,eth1,192.0.2.10/29\nB,A,eth1,192.0.2.11/29", "is that of two links"),
    ],
)  # fmt: skip
def test_rows_that_are_wrong_are_named(old: str, new: str, message: str, tmp_path: Path) -> None:
    text = "\n".join(ROWS)
    assert old in text
    file = written(tmp_path, (text.replace(old, new),))
    with pytest.raises(ExportError, match=message) as refusal:
        make_plan(line(), interfaces=file)
    assert str(refusal.value).startswith(str(file))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=re.escape(f"{tmp_path / 'none.csv'}: cannot be read")):
        make_plan(line(), interfaces=tmp_path / "none.csv")
