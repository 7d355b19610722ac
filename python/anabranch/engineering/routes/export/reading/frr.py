"""Configurations of FRR read back: static routes with nexthop groups, SR policies, and the costs of OSPF and IS-IS."""

from anabranch.engineering.routes.export.errors import ExportError
from anabranch.engineering.routes.export.forwarding import NextHops, PairPaths
from anabranch.engineering.routes.export.frr import LARGEST_WEIGHT
from anabranch.engineering.routes.export.reading.addresses import Addresses, Costs, shares
from anabranch.engineering.routes.export.reading.segments import along, by_costs

_SUFFIX = ".conf"
_LARGEST_COST = 16_777_214  # RFC 5305, section 3.7


def next_hops(addresses: Addresses) -> NextHops:
    """The shares of next hops by router and destination, for packets that come in over an interface."""
    table: NextHops = {}
    for node in addresses.nodes:
        static: dict[str, dict[str, int]] = {}
        groups: dict[str, dict[str, int]] = {}
        chosen: dict[str, dict[str, int]] = {}
        group: dict[str, int] = {}
        target = ""
        for line in addresses.lines(node, _SUFFIX):
            match line.words:
                case ["ip", "route", prefix, _, interface]:
                    hops = static.setdefault(addresses.target(line, prefix), {})
                    hops[addresses.neighbour(line, node, interface)] = 1
                case ["nexthop-group", name]:
                    group = groups.setdefault(name, {})
                case ["nexthop", _, interface, "weight", weight]:
                    group[addresses.neighbour(line, node, interface)] = line.whole(weight, LARGEST_WEIGHT)
                case ["match", "dst-ip", prefix]:
                    target = addresses.target(line, prefix)
                case ["set", "nexthop-group", name]:
                    if name not in groups or not groups[name]:
                        raise line.wrong("names a group without next hops")
                    chosen[target] = groups[name]
        table[node] = {to: shares(weights) for to, weights in (static | chosen).items()}
    return table


def costs(addresses: Addresses) -> Costs:
    """The cost of each link in OSPF or IS-IS."""
    found: Costs = {}
    for node in addresses.nodes:
        interface = ""
        for line in addresses.lines(node, _SUFFIX):
            match line.words:
                case ["interface", name]:
                    interface = name
                case ["ip", "ospf", "cost", cost] | ["isis", "metric", cost]:
                    found[node, addresses.neighbour(line, node, interface)] = line.whole(cost, _LARGEST_COST)
    return found


def policies(addresses: Addresses) -> PairPaths:
    """The path of each pair by the labels of its policy, over the shortest paths by OSPF's costs."""
    shortest = by_costs(addresses, costs(addresses), str(addresses.directory))
    found: PairPaths = {}
    for node in addresses.nodes:
        lists: dict[str, list[int]] = {}
        listed: list[int] = []
        ways: dict[str, str] = {}
        endpoint = ""
        for line in addresses.lines(node, _SUFFIX):
            match line.words:
                case ["segment-list", name]:
                    listed = lists.setdefault(name, [])
                case ["index", _, "mpls", "label", label]:
                    listed.append(line.whole(label, 1_048_575))
                case ["policy", "color", _, "endpoint", router]:
                    endpoint = router
                case ["candidate-path", *_, "segment-list", name]:
                    ways[endpoint] = name
                case ["ip", "route", prefix, router, "color", _]:
                    target = addresses.target(line, prefix)
                    if ways.get(router) not in lists:
                        raise line.wrong("names an endpoint without a policy that has a segment list")
                    paths = along(addresses, shortest, node, lists[ways[router]], line.where)
                    if any(nodes[-1] != target for nodes, _ in paths):
                        raise line.wrong(f"has labels that lead to {paths[0][0][-1]!r}, not to {target!r}")
                    found[node, target] = tuple(paths)
    if not found:
        raise ExportError(f"{addresses.directory}: has no static route with a colour")
    return found
