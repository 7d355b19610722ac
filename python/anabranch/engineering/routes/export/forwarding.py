"""Routes in the form that routers need: next hops by destination, or whole paths by pair.

Hop-by-hop routes are next hops; explicit ones are paths. One form can be made from the other where forwarding stays the same:
:func:`next_hops` and :func:`paths` check that, and refuse with the first pair for which it would change.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from anabranch.engineering.routes.export.errors import ExportError, pair
from anabranch.engineering.routes.model import Path, Route, Routes

Shares = dict[str, float]
"""Neighbours with their shares of the traffic; the shares add up to 1."""
NextHops = dict[str, dict[str, Shares]]
"""The shares of next hops by router, then by destination."""
WeightedPath = tuple[tuple[str, ...], float]
PairPaths = dict[tuple[str, str], tuple[WeightedPath, ...]]
"""The paths with their shares by source and destination."""

BY_PAIR = "openflow13, openflow15, srv6 and segment-routing"
"""The formats in which the source decides, with shares; for messages."""

_TOLERANCE = 1e-6
_MOST_PATHS = 4096


def checked(routes: Routes) -> Routes:
    """The same routes in the order of the topology's nodes, so that the same routes give the same files.

    Every path runs over links of the topology, without a node twice, and the weights of a pair add up to 1.

    Raises:
        ExportError: names the pair and what is wrong.
    """
    nodes = {node.name: number for number, node in enumerate(routes.topology.nodes)}
    links = {(link.source, link.target) for link in routes.topology.links}
    seen: set[tuple[str, str]] = set()
    for route in routes.routes:
        ends = (route.source, route.target)
        for end in ends:
            if end not in nodes:
                raise ExportError(f"route {pair(*ends)}: there is no node {end!r} in {routes.topology.name}")
        if route.source == route.target:
            raise ExportError(f"route {pair(*ends)}: joins a node to itself; a route needs two different ends")
        if ends in seen:
            raise ExportError(f"route {pair(*ends)}: appears twice; keep one, with all its paths")
        seen.add(ends)
        for path in route.paths:
            _check_path(route, path, links)
        total = sum(path.weight for path in route.paths)
        if route.paths and abs(total - 1) > _TOLERANCE:
            raise ExportError(f"route {pair(*ends)}: the weights of its paths add up to {total:g}; it must be 1")
    ordered = sorted(routes.routes, key=lambda route: (nodes[route.source], nodes[route.target]))
    return replace(routes, routes=tuple(ordered))


def _check_path(route: Route, path: Path, links: set[tuple[str, str]]) -> None:
    place = f"route {pair(route.source, route.target)}: path {list(path.nodes)}"
    if len(path.nodes) < 2 or (path.nodes[0], path.nodes[-1]) != (route.source, route.target):
        raise ExportError(f"{place}: must lead from {route.source!r} to {route.target!r}")
    if len(set(path.nodes)) != len(path.nodes):
        raise ExportError(f"{place}: visits a node twice; a path must be without loops")
    if not 0 < path.weight <= 1 + _TOLERANCE:
        raise ExportError(f"{place}: its weight is {path.weight!r}; it must be above 0 and at most 1")
    for step in pairwise(path.nodes):
        if step not in links:
            raise ExportError(f"{place}: there is no link {pair(*step)} in the topology")


def next_hops(routes: Routes) -> NextHops:
    """The next hops of each router for each destination.

    Raises:
        ExportError: explicit routes need other shares at a router for the same destination, by where the traffic has
            come from; it names the pair.
    """
    if routes.forwarding == "hop-by-hop":
        return _own_next_hops(routes)
    table: NextHops = {}
    owner: dict[tuple[str, str], tuple[str, str]] = {}
    for route in routes.routes:
        for prefix, shares in branches(route).items():
            router = prefix[-1]
            known = table.setdefault(router, {}).setdefault(route.target, shares)
            first = owner.setdefault((router, route.target), (route.source, route.target))
            if not _alike(known, shares):
                raise ExportError(
                    f"route {pair(route.source, route.target)}: at {router!r} it goes on to {_listed(shares)}, but "
                    f"{'it also goes' if first == (route.source, route.target) else f'route {pair(*first)} goes'} "
                    f"on to {_listed(known)} from there; routers that look at nothing but the destination cannot do both. "
                    f"{BY_PAIR} can; or take hop-by-hop routes, by which packets may go other ways than planned"
                )
    return table


def _own_next_hops(routes: Routes) -> NextHops:
    table: NextHops = {}
    for route in routes.routes:
        if route.reachable:
            shares = table.setdefault(route.source, {}).setdefault(route.target, {})
            for path in route.paths:
                shares[path.nodes[1]] = shares.get(path.nodes[1], 0.0) + path.weight
    return table


def branches(route: Route) -> dict[tuple[str, ...], Shares]:
    """For each way in which the paths of a route begin (from the source on), the shares of the nodes that come next."""
    reach: dict[tuple[str, ...], float] = {}
    ahead: dict[tuple[str, ...], Shares] = {}
    for path in route.paths:
        for length in range(1, len(path.nodes)):
            prefix, following = path.nodes[:length], path.nodes[length]
            reach[prefix] = reach.get(prefix, 0.0) + path.weight
            shares = ahead.setdefault(prefix, {})
            shares[following] = shares.get(following, 0.0) + path.weight
    return {
        prefix: {node: amount / reach[prefix] for node, amount in shares.items()} for prefix, shares in ahead.items()
    }


def _alike(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    return one.keys() == other.keys() and all(abs(one[node] - other[node]) <= _TOLERANCE for node in one)


def _listed(shares: Mapping[str, float]) -> str:
    return " and ".join(
        repr(node) if len(shares) == 1 else f"{node!r} ({100 * share:.4g} %)" for node, share in shares.items()
    )


def paths(routes: Routes) -> PairPaths:
    """The paths of every reachable pair with their shares, best first. For hop-by-hop routes these are the paths that packets take.

    Raises:
        ExportError: hop-by-hop routes do not take the packets of a pair to its destination; it names the pair.
    """
    if routes.forwarding == "explicit":
        return {
            (route.source, route.target): tuple((path.nodes, path.weight) for path in route.paths)
            for route in routes.routes
            if route.reachable
        }
    table = next_hops(routes)
    return {
        (route.source, route.target): tuple(sorted(walk(table, route.source, route.target), key=lambda path: -path[1]))
        for route in routes.routes
        if route.reachable
    }


def by_source(pairs: PairPaths) -> dict[str, dict[str, tuple[WeightedPath, ...]]]:
    """The same paths by source, then by destination."""
    table: dict[str, dict[str, tuple[WeightedPath, ...]]] = {}
    for (source, target), ways in pairs.items():
        table.setdefault(source, {})[target] = ways
    return table


def walk(table: NextHops, source: str, target: str) -> Iterator[WeightedPath]:
    """The paths that packets take by the next hops of routers, with their shares.

    Raises:
        ExportError: there is a loop, a router on the way without a route, or more than some thousands of paths.
    """
    found = 0
    open_paths: list[WeightedPath] = [((source,), 1.0)]
    while open_paths:
        nodes, share = open_paths.pop()
        if nodes[-1] == target:
            found += 1
            if found > _MOST_PATHS:
                raise ExportError(f"route {pair(source, target)}: takes more than {_MOST_PATHS} paths by next hops")
            yield nodes, share
            continue
        shares = table.get(nodes[-1], {}).get(target)
        if shares is None:
            raise ExportError(
                f"route {pair(source, target)}: comes to {nodes[-1]!r}, for which there is no route to {target!r}; "
                "hop-by-hop forwarding needs the routes of every router on the way"
            )
        for following, part in shares.items():
            if following in nodes:
                loop = [*nodes[nodes.index(following) :], following]
                raise ExportError(
                    f"route {pair(source, target)}: loops over {loop}, as every router goes by its own best path; "
                    "explicit routes do not loop"
                )
            open_paths.append(((*nodes, following), share * part))


def undelivered(table: NextHops) -> list[str]:
    """Warnings about destinations that packets do not reach from every router that has a route to them."""
    warnings = []
    for target in dict.fromkeys(target for by_target in table.values() for target in by_target):
        hops = {router: list(by_target[target]) for router, by_target in table.items() if target in by_target}
        known = hops.keys() | {target}
        missing = list(dict.fromkeys(node for nodes in hops.values() for node in nodes if node not in known))
        loop = _loop(hops, target)
        if loop:
            warnings.append(f"packets to {target!r} loop over {loop}; explicit routes do not loop")
        if missing:
            warnings.append(f"packets to {target!r} come to routers without a route to it: {missing}")
    return warnings


def _loop(hops: Mapping[str, list[str]], target: str) -> list[str] | None:
    """A circle in the graph of next hops, the first router last again, if there is one."""
    done = {target}
    for start in hops:
        trail: list[str] = []
        ahead = [iter([start])]
        while ahead:
            node = next(ahead[-1], None)
            if node is None:
                ahead.pop()
                if trail:
                    done.add(trail.pop())
            elif node in trail:
                return [*trail[trail.index(node) :], node]
            elif node not in done:
                trail.append(node)
                ahead.append(iter(hops.get(node, [])))
    return None
