"""Names and IPv4 addresses of interfaces from a CSV file with the header ``node,neighbour,interface,address``.

Each end of each link has a row. The address has the length of the link's prefix, such as ``192.0.2.0/31``, and both ends are in one
prefix. A row without a neighbour is the node's interface to its hosts. Its address is the node's own, and its prefix is that of the hosts.
Nodes without such a row keep the hosts of the addressing plan.
"""

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Interface, IPv4Network
from itertools import pairwise
from pathlib import Path

from anabranch.engineering.routes.export.errors import ExportError, pair
from anabranch.foundation import csv_text, input_files
from anabranch.foundation.suggest import suggest
from anabranch.network.topologies import Topology

COLUMNS = ("node", "neighbour", "interface", "address")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,14}")  # Linux's IFNAMSIZ is 16 with the final zero
_LONGEST_HOSTS = 30

End = tuple[str, IPv4Interface]
"""The name of an interface, and its address with the length of its prefix."""


@dataclass
class Given:
    """The rows of a file."""

    links: dict[tuple[str, str], End] = field(default_factory=dict)
    """By node and neighbour."""
    hosts: dict[str, End] = field(default_factory=dict)
    """By node."""
    places: dict[IPv4Interface, str] = field(default_factory=dict)
    """The line of each address of a link, for messages."""


def read(file: Path, topology: Topology) -> Given:
    """The interfaces of every end of every link, and those to hosts as far as the file has them.

    Raises:
        ExportError: a row is missing, unknown, twice there or wrong; it names file, line and value.
    """
    neighbours: dict[str, set[str]] = {node.name: set() for node in topology.nodes}
    for link in topology.links:
        neighbours[link.source].add(link.target)
        neighbours[link.target].add(link.source)
    given = Given()
    lines: dict[object, str] = {}
    for where, node, neighbour, interface, address in _rows(file):
        if node not in neighbours:
            raise ExportError(f"{where}: {topology.name} has no node {node!r}; {suggest(node, neighbours)}")
        if neighbour and neighbour not in neighbours[node]:
            known = suggest(neighbour, neighbours[node])
            raise ExportError(f"{where}: {topology.name} has no link between {node!r} and {neighbour!r}; {known}")
        if _NAME.fullmatch(interface) is None:
            raise ExportError(
                f"{where}: interface {interface!r} must have 1 to 15 letters, digits and . _ -, and begin with none of . and -"
            )
        end = interface, _address(where, address, hosts=not neighbour)
        what = f"neighbour {neighbour!r}" if neighbour else "hosts"
        for key, name in (
            (("row", node, neighbour), f"node {node!r}, {what}"),
            (("interface", node, interface), f"interface {interface} of node {node!r}"),
            (("address", end[1].ip), f"address {end[1].ip}"),
        ):
            if key in lines:
                raise ExportError(f"{where}: {name}: is in line {lines[key]} already")
            lines[key] = where.rpartition(" ")[2]
        if neighbour:
            given.links[node, neighbour] = end
            given.places[end[1]] = where
        else:
            given.hosts[node] = end
    for node, others in neighbours.items():
        for neighbour in others:
            if (node, neighbour) not in given.links:
                raise ExportError(
                    f"{file}: has no row for node {node!r}, neighbour {neighbour!r}; each end of a link needs one"
                )
    for (node, neighbour), (_, within) in given.links.items():
        other = given.links[neighbour, node][1]
        if other.network != within.network:
            raise ExportError(
                f"{given.places[within]}: address {within} of {pair(node, neighbour)} and {other} of its neighbour are in different "
                "prefixes; both ends of a link need one, such as 192.0.2.0/31 and 192.0.2.1/31"
            )
    return given


def require_disjoint(file: str, given: Given, hosts: Iterable[tuple[IPv4Network, str]]) -> None:
    """Refuse prefixes of links and hosts that overlap: a router could not say where an address is.

    Raises:
        ExportError: names the two.
    """
    links = {
        within.network: f"the link {pair(*ends)} ({given.places[within].rpartition(': ')[2]})"
        for ends, (_, within) in given.links.items()
    }
    listed = sorted([*links.items(), *hosts], key=lambda one: (int(one[0][0]), one[0].prefixlen))
    for (one, name), (other, other_name) in pairwise(listed):
        if one.overlaps(other):
            raise ExportError(
                f"{file}: {other} of {other_name} overlaps with {one} of {name}. The addressing plan gives hosts their prefix "
                "unless a row without a neighbour has another"
            )
    shared: dict[IPv4Network, set[frozenset[str]]] = {}
    for ends, (_, address) in given.links.items():
        shared.setdefault(address.network, set()).add(frozenset(ends))
        if len(shared[address.network]) > 1:
            raise ExportError(
                f"{given.places[address]}: address {address}: its prefix {address.network} is that of two links"
            )


def _rows(file: Path) -> Iterator[tuple[str, str, str, str, str]]:
    try:
        rows = csv_text.rows(input_files.text(file))
    except input_files.InputError as error:
        raise ExportError(str(error)) from None
    try:
        header = tuple(column.strip().replace("neighbor", "neighbour") for column in next(rows, []))
        if header != COLUMNS:
            raise ExportError(f"{file}: the header is {','.join(header) or 'missing'}; it must be {','.join(COLUMNS)}")
        for row in rows:
            if any(cell.strip() for cell in row):
                where = f"{file}: line {rows.line_num}"
                if len(row) != len(COLUMNS):
                    raise ExportError(f"{where}: has {len(row)} values; the header has {len(COLUMNS)}")
                node, neighbour, interface, address = (cell.strip() for cell in row)
                yield where, node, neighbour, interface, address
    except csv.Error as error:
        raise ExportError(f"{file}: line {rows.line_num} is not CSV ({error})") from None


def _address(where: str, text: str, hosts: bool) -> IPv4Interface:
    try:
        if "/" not in text:
            raise ValueError("it has no length of a prefix")
        address = IPv4Interface(text)
        network = address.network
        if network.prefixlen == 32 or (hosts and network.prefixlen > _LONGEST_HOSTS):
            raise ValueError("its prefix is too long")
        if network.prefixlen < 31 and address.ip in (network.network_address, network.broadcast_address):
            raise ValueError("it is the first or the last of its prefix")
    except ValueError as error:
        example = "192.0.2.1/24" if hosts else "192.0.2.0/31"
        raise ExportError(f"{where}: address {text!r} must be an IPv4 address such as {example} ({error})") from None
    return address
