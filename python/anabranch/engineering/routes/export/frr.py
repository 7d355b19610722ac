"""FRR: a configuration for each router with static routes, and policy-based routing where the shares are unequal.

FRR's static routes have no weights. Its nexthop groups have (from 1 to 255), and pbrd sends packets to these groups. That holds for
packets that come in over an interface. Packets of the router itself follow its static routes in equal parts.
"""

from collections.abc import Callable

from anabranch.engineering.routes.export.errors import ExportError
from anabranch.engineering.routes.export.files import Files, error_note, quoted
from anabranch.engineering.routes.export.forwarding import Shares, next_hops, undelivered
from anabranch.engineering.routes.export.linux import lab, settings
from anabranch.engineering.routes.export.plan import AddressPlan, PlannedNode
from anabranch.engineering.routes.export.shares import up_to
from anabranch.engineering.routes.model import Routes

LARGEST_WEIGHT = 255
_MOST_SEQUENCES = 700
MAP = "WEIGHTED"


def files(routes: Routes, plan: AddressPlan) -> Files:
    """A configuration and kernel settings for each node, and a batch that makes a lab of namespaces."""
    made = Files({"lab.batch": lab(plan)})
    table = next_hops(routes)
    made.warnings += undelivered(table)
    weighted_nodes = 0
    for node in plan.nodes.values():
        by_target = table.get(node.name, {})
        weighted = {target: up_to(list(shares.values()), LARGEST_WEIGHT) for target, shares in by_target.items()}
        worst = max((error for _, error in weighted.values()), default=0.0)
        made.missed(worst)
        unequal = {target: weights for target, (weights, _) in weighted.items() if len(set(weights)) > 1}
        if len(unequal) > _MOST_SEQUENCES:
            raise ExportError(
                f"node {node.name!r}: has unequal shares for {len(unequal)} destinations; FRR's pbr-map has at most "
                f"{_MOST_SEQUENCES} entries; ip-route and OpenFlow have no such bound"
            )
        weighted_nodes += bool(unequal)
        body = _static(plan, node, by_target) + _weighted(plan, node, by_target, unequal)
        made.texts[f"{node.identifier}.sysctl.conf"] = settings(plan, node)
        made.texts[f"{node.identifier}.conf"] = (
            heading(node) + error_note(worst, "!") + _interfaces(plan, node, bool(unequal)) + body
        )
    if weighted_nodes:
        made.warnings.append(
            f"packets of {weighted_nodes} routers themselves divide in equal parts over their next hops; those of hosts follow the weights"
        )
    return made


def heading(node: PlannedNode) -> str:
    """The first lines of a configuration."""
    return f"! {node.identifier} = node {quoted(node.name)}\nfrr defaults traditional\nhostname {node.identifier}\n!\n"


def interfaces(plan: AddressPlan, node: PlannedNode, more: Callable[[str], str]) -> str:
    """The addresses of the interfaces; ``more`` returns further lines for the neighbour of this name ("" for none)."""
    text = f"interface lo\n ip address {node.router}/32\n{more('')}exit\n!\n"
    for neighbour, interface in plan.interfaces[node.name].items():
        text += f"interface {interface.name}\n ip address {interface.within}\n{more(neighbour)}exit\n!\n"
    return text


def preferred_source(node: PlannedNode, protocol: str = "static") -> str:
    """Packets of the router itself have its own address as source, which the other routers have a route to."""
    return f"route-map ROUTER permit 10\n set src {node.router}\nexit\n!\nip protocol {protocol} route-map ROUTER\n!\n"


def _interfaces(plan: AddressPlan, node: PlannedNode, weighted: bool) -> str:
    if not weighted:
        return interfaces(plan, node, lambda _: "")
    policy = f" pbr-policy {MAP}\n"
    host = f"interface {node.host_interface}\n{policy}exit\n!\n"
    return interfaces(plan, node, lambda neighbour: policy if neighbour else "") + host


def _static(plan: AddressPlan, node: PlannedNode, by_target: dict[str, Shares]) -> str:
    lines = [
        f"ip route {plan.nodes[target].prefix} {_hop(plan, node, hop)}\n"
        for target in by_target
        for hop in by_target[target]
    ]
    return preferred_source(node) + "".join(lines) + "!\n"


def _weighted(
    plan: AddressPlan, node: PlannedNode, by_target: dict[str, Shares], unequal: dict[str, tuple[int, ...]]
) -> str:
    groups: dict[str, str] = {}
    entries = ""
    for sequence, (target, weights) in enumerate(unequal.items(), 1):
        hops = "".join(
            f" nexthop {_hop(plan, node, hop)} weight {weight}\n"
            for hop, weight in zip(by_target[target], weights, strict=True)
        )
        group = groups.setdefault(hops, f"SPLIT-{len(groups) + 1}")
        entries += f"pbr-map {MAP} seq {sequence}\n match dst-ip {plan.nodes[target].prefix}\n"
        entries += f" set nexthop-group {group}\nexit\n!\n"
    return "".join(f"nexthop-group {name}\n{hops}exit\n!\n" for hops, name in groups.items()) + entries


def _hop(plan: AddressPlan, node: PlannedNode, hop: str) -> str:
    return f"{plan.interface(hop, node.name).address} {plan.interface(node.name, hop).name}"
