"""Batches of ``ip route`` read back: next hops by destination, and paths by SRv6."""

from ipaddress import IPv6Address, IPv6Network

from anabranch.engineering.routes.export.errors import ExportError
from anabranch.engineering.routes.export.forwarding import NextHops, PairPaths, Shares, WeightedPath
from anabranch.engineering.routes.export.ip_route import LARGEST_WEIGHT
from anabranch.engineering.routes.export.reading.addresses import Addresses, ConfigLine, shares

_SUFFIX = ".routes.batch"
_Route6 = tuple[ConfigLine, str, Shares]
"""A line, what it does (``via``, or an action of segment routing), and the neighbours that packets go to, with their shares."""


def next_hops(addresses: Addresses, dscp: int | None = None) -> NextHops:
    """The shares of next hops by router and destination, for packets with a code point if one is given."""
    table: NextHops = {}
    for node in addresses.nodes:
        for line in _lines(addresses, node, dscp):
            weights: dict[str, int] = {}
            for hop, weight in _hops(line):
                following = addresses.neighbour(line, node, hop.after("dev"))
                weights[following] = weights.get(following, 0) + weight
            table.setdefault(node, {})[addresses.target(line, _prefix(line))] = shares(weights)
    return table


def segment_routes(addresses: Addresses, dscp: int | None = None) -> PairPaths:
    """The paths of each pair, followed from segment to segment over the IPv6 routes of all nodes."""
    table: dict[str, dict[IPv6Network, _Route6]] = {node: {} for node in addresses.nodes}
    policies: dict[tuple[str, str], ConfigLine] = {}
    for node in addresses.nodes:
        for line in _lines(addresses, node, dscp):
            if ":" in _prefix(line):
                table[node][_network(line)] = _route6(addresses, node, line)
            else:
                policies[node, addresses.target(line, _prefix(line))] = line
    found: PairPaths = {}
    for (node, target), line in policies.items():
        weights: dict[tuple[str, ...], float] = {}
        for hop, weight in _hops(line):
            for path, share in _follow(addresses, table, node, hop):
                if path[-1] != target:
                    raise line.wrong(f"has segments that lead to {path[-1]!r}, not to {target!r}")
                weights[path] = weights.get(path, 0.0) + weight * share
        total = sum(weights.values())
        found[node, target] = tuple((path, weight / total) for path, weight in weights.items())
    return found


def _lines(addresses: Addresses, node: str, dscp: int | None) -> list[ConfigLine]:
    """The routes of a node, those of the table of a code point after all others, which they replace."""
    own = None if dscp is None else _table(addresses, node, dscp)
    main, separate = [], []
    for line in addresses.lines(node, _SUFFIX):
        if "table" not in line.words:
            main.append(line)
        elif line.after("table") == own:
            separate.append(line)
    return main + separate


def _table(addresses: Addresses, node: str, dscp: int) -> str | None:
    """The table that packets with a code point are sent to, by the node's marks and rules."""
    if not addresses.has(node, ".nft"):
        return None
    mark = None
    for line in addresses.lines(node, ".nft"):
        if line.words[:2] == ["ip", "dscp"] and line.after("dscp") == str(dscp):
            mark = line.after("set")
    for line in addresses.lines(node, ".rules.batch"):
        if line.words[:2] != ["rule", "add"]:
            raise line.wrong('must begin with "rule add"')
        if line.after("fwmark") == mark:
            return line.after("lookup")
    return None


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
        weights: dict[str, int] = {}
        for hop, weight in _hops(line):
            weights[addresses.neighbour(line, node, hop.after("dev"))] = weight
        return line, "via", shares(weights)
    action = line.after("action")
    return line, action, {addresses.neighbour(line, node, line.after("dev")): 1.0} if action == "End.X" else {}


def _follow(
    addresses: Addresses, table: dict[str, dict[IPv6Network, _Route6]], source: str, hop: ConfigLine
) -> list[WeightedPath]:
    """The nodes that packets pass, with the shares of the ways over equal-cost paths."""
    try:
        segments = tuple(IPv6Address(text) for text in hop.after("segs").split(","))
    except ValueError as error:
        raise hop.wrong(f"has a wrong segment ({error})") from None
    arrived: list[WeightedPath] = []
    ahead: list[tuple[tuple[str, ...], tuple[IPv6Address, ...], float]] = [((source,), segments, 1.0)]
    while ahead:
        passed, left, share = ahead.pop()
        routes = [(net, route) for net, route in table[passed[-1]].items() if left and left[0] in net]
        if not routes or len(passed) > len(segments) * (len(addresses.nodes) + 1):
            raise ExportError(f"{hop.where}: its segments lead over {list(passed)} and end there")
        _, (line, action, following) = max(routes, key=lambda one: one[0].prefixlen)
        if action not in ("via", "End", "End.X", "End.DX4"):
            raise line.wrong(f"has the action {action}, which is none of End, End.X and End.DX4")
        rest = left if action == "via" else left[1:]
        if action == "End.DX4":
            if rest:
                raise line.wrong("ends the tunnel before the last segment")
            arrived.append((passed, share))
        elif action == "End":
            ahead.append((passed, rest, share))
        else:
            ahead += [((*passed, node), rest, share * part) for node, part in following.items()]
    return arrived
