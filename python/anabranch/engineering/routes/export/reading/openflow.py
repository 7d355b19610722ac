"""OpenFlow flows and groups read back: the paths of packets from the hosts of each node, by the rules for any TCP port and one code point."""

import re
from dataclasses import dataclass, field

from anabranch.engineering.routes.export.errors import ExportError, pair
from anabranch.engineering.routes.export.forwarding import PairPaths, WeightedPath
from anabranch.engineering.routes.export.plan import HOST_PORT
from anabranch.engineering.routes.export.reading.addresses import Addresses, ConfigLine

_TAG = 0x1000
_Buckets = list[tuple[float, list[str]]]


@dataclass
class _Rule:
    """A rule: what it matches, and what it does."""

    priority: int
    match: dict[str, str]
    actions: list[str]


@dataclass
class _FlowTable:
    rules: dict[str, list[_Rule]] = field(default_factory=dict)
    """By the prefix of the destination."""
    groups: dict[str, _Buckets] = field(default_factory=dict)

    def action(self, source: str, target: str, tag: int) -> list[str] | None:
        """The actions for a packet between two prefixes; ``tag`` is its VLAN, 0 without one."""
        best: _Rule | None = None
        for rule in self.rules.get(target, ()):
            match = rule.match
            if (
                match.get("nw_src", source) == source
                and ("dl_vlan" not in match or match["dl_vlan"] == str(tag))
                and ("vlan_tci" not in match or tag)
                and (best is None or rule.priority > best.priority)
            ):
                best = rule
        return None if best is None else best.actions


def paths(addresses: Addresses, dscp: int | None = None) -> PairPaths:
    """The paths of every two nodes for which the first has a rule, with the shares of its groups."""
    switches = {node: _switch(addresses, node, dscp) for node in addresses.nodes}
    found: PairPaths = {}
    for source_prefix, source in addresses.prefixes.items():
        for target_prefix, target in addresses.prefixes.items():
            if source == target or switches[source].action(source_prefix, target_prefix, 0) is None:
                continue
            ways = _walk(addresses, switches, (source_prefix, target_prefix), source)
            if ways is not None:
                found[source, target] = tuple(ways.items())
    return found


def _walk(
    addresses: Addresses, switches: dict[str, _FlowTable], prefixes: tuple[str, str], source: str
) -> dict[tuple[str, ...], float]:
    target = addresses.prefixes[prefixes[1]]
    ways: dict[tuple[str, ...], float] = {}
    ahead: list[tuple[WeightedPath, int]] = [(((source,), 1.0), 0)]
    while ahead:
        (nodes, share), tag = ahead.pop()
        actions = switches[nodes[-1]].action(*prefixes, tag)
        if actions is None:
            raise ExportError(f"route {pair(source, target)}: comes to {nodes[-1]!r}, whose flows have no rule for it")
        if len(nodes) > len(addresses.nodes):
            raise ExportError(f"route {pair(source, target)}: loops over {list(nodes)}")
        for part, done in _chosen(switches[nodes[-1]], actions):
            port, left = _output(done, tag)
            if port == HOST_PORT:
                ways[nodes] = ways.get(nodes, 0.0) + share * part
                if nodes[-1] != target:
                    raise ExportError(f"route {pair(source, target)}: is delivered at {nodes[-1]!r}")
            elif (nodes[-1], port) in addresses.ports:
                ahead.append((((*nodes, addresses.ports[nodes[-1], port]), share * part), left))
            else:
                raise ExportError(
                    f"route {pair(source, target)}: leaves {nodes[-1]!r} over port {port}, which plan.json has not"
                )
    return ways


def _chosen(switch: _FlowTable, actions: list[str]) -> _Buckets:
    group = next((action.removeprefix("group:") for action in actions if action.startswith("group:")), None)
    return [(1.0, actions)] if group is None else switch.groups[group]


def _output(actions: list[str], tag: int) -> tuple[int, int]:
    """The port, and the VLAN afterwards."""
    port = 0
    for action in actions:
        if action.startswith("output:"):
            port = int(action.removeprefix("output:"))
        elif action.endswith("->vlan_vid"):
            tag = int(action.removeprefix("set_field:").removesuffix("->vlan_vid"), 0) & ~_TAG
        elif action == "pop_vlan":
            tag = 0
    return port, tag


def _switch(addresses: Addresses, node: str, dscp: int | None) -> _FlowTable:
    switch = _FlowTable()
    for line in addresses.lines(node, ".groups"):
        buckets = re.findall(r"bucket=(?:bucket_id:\d+,)?weight:(\d+),actions=(.*?)(?=,bucket=|$)", line.text)
        number = re.match(r"group_id=(\d+),", line.text)
        if number is None or not buckets:
            raise line.wrong("is no group with buckets")
        total = sum(int(weight) for weight, _ in buckets)
        switch.groups[number[1]] = [(int(weight) / total, done.split(",")) for weight, done in buckets]
    for line in addresses.lines(node, ".flows"):
        rule = _rule(line, switch, dscp)
        if rule is not None:
            switch.rules.setdefault(rule.match["nw_dst"], []).append(rule)
    return switch


def _rule(line: ConfigLine, switch: _FlowTable, dscp: int | None) -> _Rule | None:
    """A rule; nothing if it is for TCP ports alone, or for another code point."""
    matches, found, actions = line.text.strip().partition(",actions=")
    fields = dict(part.partition("=")[::2] for part in matches.split(","))
    if not found or not fields.get("priority", "").isdecimal() or "nw_dst" not in fields:
        raise line.wrong("is no flow with a priority, a destination and actions")
    done = actions.split(",")
    for action in done:
        if action.startswith("group:") and action.removeprefix("group:") not in switch.groups:
            raise line.wrong(f"names {action}, which is not among the groups")
        if action.startswith("output:"):
            line.whole(action.removeprefix("output:"), 0xFEFF)
    if "tp_src" in fields or fields.get("ip_dscp", str(dscp)) != str(dscp):
        return None
    return _Rule(int(fields["priority"]), fields, done)
