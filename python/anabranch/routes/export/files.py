"""What a format makes of routes: files by name, and what is to be known of them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from anabranch.routes.export.plan import Plan, PlannedNode


@dataclass
class Files:
    """The files of an export before they are written."""

    texts: dict[str, str] = field(default_factory=dict)
    """By name."""
    largest_error: float = 0.0
    """The most by which a whole-number weight misses the share that was meant."""
    warnings: list[str] = field(default_factory=list)

    def missed(self, error: float) -> None:
        """Remember the error of some weights."""
        self.largest_error = max(self.largest_error, error)


def quoted(name: str) -> str:
    """A name for comments: one line of ASCII, whatever it holds."""
    return json.dumps(name)


def heading(node: PlannedNode, what: str, comment: str = "#") -> str:
    """The first line of a file for a node."""
    return f"{comment} {node.identifier} = node {quoted(node.name)}: {what}\n"


def error_note(error: float, comment: str = "#") -> str:
    """A line on the weights of a file; empty if they are exact."""
    return f"{comment} weights miss the shares by at most {error:.3g}\n" if error > 1e-12 else ""


def lab(plan: Plan) -> str:
    """For ``ip -batch``: a network namespace for each node, and a pair of virtual Ethernet interfaces for each link."""
    lines = [f"# {quoted(plan.topology.name)} in network namespaces\n"]
    lines += [f"netns add {node.identifier}\n" for node in plan.nodes.values()]
    for ends in plan.interfaces.values():
        for one in ends.values():
            if one.node.index < one.neighbour.index:
                other = plan.interface(one.neighbour.name, one.node.name)
                lines.append(
                    f"link add {one.name} netns {one.node.identifier} type veth "
                    f"peer name {other.name} netns {other.node.identifier}\n"
                )
    return "".join(lines)


def settings(plan: Plan, node: PlannedNode, general: Sequence[str], each: Sequence[str]) -> str:
    """For ``sysctl -p`` in the node's namespace; ``each`` are for every interface, which stands there as ``*``."""
    lines = [heading(node, "kernel settings"), *(f"{line}\n" for line in general)]
    for interface in plan.interfaces[node.name].values():
        lines += [f"{line.replace('*', interface.name)}\n" for line in each]
    return "".join(lines)


def addresses(plan: Plan, node: PlannedNode, ipv6: bool = False) -> str:
    """For ``ip -batch`` in the node's namespace: its addresses, and its interfaces up."""
    lines = [heading(node, "addresses"), "link set lo up\n", f"address replace {node.router}/32 dev lo\n"]
    for interface in plan.interfaces[node.name].values():
        lines.append(f"address replace {interface.address}/31 dev {interface.name}\n")
        if ipv6:
            lines.append(f"address replace {interface.address6}/127 dev {interface.name} nodad\n")
        lines.append(f"link set {interface.name} up\n")
    return "".join(lines)
