"""The routing tables of Linux routers: a table for each range of TCP ports and each source, chosen by policy rules that never change."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from anabranch.engines.kernel.linux_network.errors import NetworkError
from anabranch.engines.openflow.plan import (
    FIRST_REPLY_PORT,
    FIRST_REQUEST_PORT,
    FIRST_SOURCE_PORT,
    MOST_NODES,
    SOURCE_PORTS,
    address,
)
from anabranch.engines.openflow.routes import Chosen, Spread

DIRECT = 99
"""The table of the direct links, for STAMP's packets."""
_FIRST_TABLE, _TABLES = 1000, 100
LARGEST_WEIGHT = 256


class TableRoute(NamedTuple):
    """A route of a router to a host in one of its tables: next hops with their weights. Numbers are those of nodes."""

    node: str
    table: int
    target: int
    hops: tuple[tuple[int, int], ...]
    """Next hop and weight."""


def table(place: int, source: int) -> int:
    """The number of the table for the range of ports with this place, and the host with this number as source."""
    return _FIRST_TABLE + place * _TABLES + source


def rules(number: int, names: int, others: int, sources: Sequence[int]) -> Iterator[str]:
    """The policy rules of the router with this number, as lines of ``ip -batch``.

    Each of the ``names`` has its range of ports, of data or of its ACKs. Other packets take the routes of the range with the place ``others``.
    """
    yield f"rule add pref 100 to {address(number)} lookup main"
    yield f"rule add pref 200 ipproto udp dport {FIRST_REQUEST_PORT}-{FIRST_REPLY_PORT + MOST_NODES} lookup {DIRECT}"
    for place in range(names):
        first = FIRST_SOURCE_PORT + place * SOURCE_PORTS
        for source in sources:
            for field in ("sport", "dport"):
                match = f"from {address(source)} ipproto tcp {field} {first}-{first + SOURCE_PORTS - 1}"
                yield f"rule add pref 300 {match} lookup {table(place, source)}"
    for source in sources:
        yield f"rule add pref 400 from {address(source)} lookup {table(others, source)}"


def of_routes(chosen: Chosen, numbers: Mapping[str, int]) -> Iterator[TableRoute]:
    """The routes of pairs with one path, whose names have their ranges of ports in their order."""
    for place, routes in enumerate(chosen.values()):
        for (source, target), path in routes.items():
            for node, following in pairwise(path):
                yield TableRoute(node, table(place, numbers[source]), numbers[target], ((numbers[following], 1),))


def of_spread(place: int, spread: Spread, numbers: Mapping[str, int]) -> Iterator[TableRoute]:
    """The routes of pairs with several paths: the first router chooses a path for each flow by its hash.

    Raises:
        NetworkError: paths part again behind the first router, which a hash of the same fields cannot follow.
    """
    for (source, target), ways in spread.items():
        own = table(place, numbers[source]), numbers[target]
        first: dict[int, float] = {}
        behind: dict[str, int] = {}
        for weight, path in ways:
            first[numbers[path[1]]] = first.get(numbers[path[1]], 0.0) + weight
            for node, following in pairwise(path[1:]):
                if behind.setdefault(node, numbers[following]) != numbers[following]:
                    raise NetworkError(
                        f"the paths from {source} to {target} part at {node}: routers choose a path at the first node only; "
                        "give disjoint paths, or --to openflow"
                    )
        whole = sum(first.values())
        # The largest weights that the kernel has, unless all are equal.
        scale = 1 if len(set(first.values())) == 1 else LARGEST_WEIGHT
        yield TableRoute(
            source,
            *own,
            tuple((hop, max(1, round(scale * weight / whole))) for hop, weight in sorted(first.items())),
        )
        for node, hop in behind.items():
            yield TableRoute(node, *own, ((hop, 1),))
