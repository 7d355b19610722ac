"""Batches of ``ip route`` read back: next hops by destination, and paths by SRv6."""

from ipaddress import IPv6Address, IPv6Network

from anabranch.engineering.routes.export.errors import ExportError
from anabranch.engineering.routes.export.forwarding import NextHops, PairPaths
from anabranch.engineering.routes.export.ip_route import LARGEST_WEIGHT
from anabranch.engineering.routes.export.reading.addresses import Addresses, ConfigLine, shares

_SUFFIX = ".routes.batch"
_Route6 = tuple[ConfigLine, str, str]
"""A line, what it does (``via``, or an action of segment routing), and the neighbour that packets go to, if any."""


def next_hops(addresses: Addresses) -> NextHops:
    """The shares of next hops by router and destination."""
    table: NextHops = {}
    for node in addresses.nodes:
        for line in addresses.lines(node, _SUFFIX):
            weights: dict[str, int] = {}
            for hop, weight in _hops(line):
                following = addresses.neighbour(line, node, hop.after("dev"))
                weights[following] = weights.get(following, 0) + weight
            table.setdefault(node, {})[addresses.target(line, _prefix(line))] = shares(weights)
    return table


def segment_routes(addresses: Addresses) -> PairPaths:
    """The paths of each pair, followed from segment to segment over the IPv6 routes of all nodes."""
    table: dict[str, dict[IPv6Network, _Route6]] = {node: {} for node in addresses.nodes}
    policies: list[tuple[str, ConfigLine]] = []
    for node in addresses.nodes:
        for line in addresses.lines(node, _SUFFIX):
            if ":" in _prefix(line):
                table[node][_network(line)] = _route6(addresses, node, line)
            else:
                policies.append((node, line))
    found: PairPaths = {}
    for node, line in policies:
        target, weights = addresses.target(line, _prefix(line)), dict[tuple[str, ...], int]()
        for hop, weight in _hops(line):
            path = _follow(addresses, table, node, hop)
            if path[-1] != target:
                raise line.wrong(f"has segments that lead to {path[-1]!r}, not to {target!r}")
            weights[path] = weights.get(path, 0) + weight
        total = sum(weights.values())
        found[node, target] = tuple((path, weight / total) for path, weight in weights.items())
    return found


def _prefix(line: ConfigLine) -> str:
    if line.words[:2] != ["route", "replace"]:
        raise line.wrong('must begin with "route replace"')
    return line.after("replace")


def _network(line: ConfigLine) -> IPv6Network:
    try:
        return IPv6Network(_prefix(line))
    except ValueError as error:
        raise line.wrong(f"has a wrong prefix ({error})") from None


def _hops(line: ConfigLine) -> list[tuple[ConfigLine, int]]:
    """The next hops of a route with their weights."""
    parts = line.text.split(" nexthop ")
    if len(parts) == 1:
        return [(line, 1)]
    hops = [ConfigLine(line.where, text) for text in parts[1:]]
    return [(hop, line.whole(hop.after("weight"), LARGEST_WEIGHT)) for hop in hops]


def _route6(addresses: Addresses, node: str, line: ConfigLine) -> _Route6:
    if "seg6local" not in line.words:
        return line, "via", addresses.neighbour(line, node, line.after("dev"))
    action = line.after("action")
    return line, action, addresses.neighbour(line, node, line.after("dev")) if action == "End.X" else ""


def _follow(
    addresses: Addresses, table: dict[str, dict[IPv6Network, _Route6]], source: str, hop: ConfigLine
) -> tuple[str, ...]:
    """The nodes that a packet passes."""
    try:
        left = [IPv6Address(text) for text in hop.after("segs").split(",")]
    except ValueError as error:
        raise hop.wrong(f"has a wrong segment ({error})") from None
    passed = [source]
    for _ in range(len(left) * (len(addresses.nodes) + 1)):
        routes = [(net, route) for net, route in table[passed[-1]].items() if left[0] in net]
        if not routes:
            break
        _, (line, action, following) = max(routes, key=lambda one: one[0].prefixlen)
        if action == "via":
            passed.append(following)
            continue
        del left[0]
        if action == "End.DX4":
            if left:
                raise line.wrong("ends the tunnel before the last segment")
            return tuple(passed)
        if action == "End.X":
            passed.append(following)
        elif action != "End":
            raise line.wrong(f"has the action {action}, which is none of End, End.X and End.DX4")
        if not left:
            break
    raise ExportError(f"{hop.where}: its segments lead over {list(passed)} and end there")
