"""Linux: a batch of ``ip route`` commands for each node, with weighted next hops.

Linux looks at nothing but the destination, and takes weights from 1 to 256 (``rtnh_hops`` is a byte that counts from 0). Packets with
a code point of their own (DSCP) have a routing table of their own.
"""

from collections.abc import Mapping

from anabranch.engineering.routes.export.classes import Dscp, by_dscp
from anabranch.engineering.routes.export.files import Files, error_note, heading
from anabranch.engineering.routes.export.forwarding import Shares, next_hops, undelivered
from anabranch.engineering.routes.export.linux import TABLE_OF, addresses, by_code, lab, settings
from anabranch.engineering.routes.export.plan import AddressPlan, PlannedNode
from anabranch.engineering.routes.export.shares import up_to
from anabranch.engineering.routes.model import Routes

LARGEST_WEIGHT = 256


def files(routes: Routes, plan: AddressPlan, dscp: Mapping[Dscp, Routes] | None = None) -> Files:
    """A batch of routes, one of addresses and kernel settings for each node, and a batch that makes a lab of namespaces.

    ``dscp`` has separate routes for packets with these code points.
    """
    made = Files({"lab.batch": lab(plan)})
    table = next_hops(routes)
    made.warnings += undelivered(table)
    classes = list(by_dscp(dscp or {}, routes))
    tables = {TABLE_OF + one.first: next_hops(one.routes) for one in classes}
    for one, own in zip(classes, tables.values(), strict=True):
        made.warnings += [f"{one.name}: {warning}" for warning in undelivered(own)]
    made.texts |= by_code(plan, [one.first for one in classes])
    for node in plan.nodes.values():
        made.texts[f"{node.identifier}.sysctl.conf"] = settings(plan, node)
        made.texts[f"{node.identifier}.addresses.batch"] = addresses(plan, node)
        lines, worst = _routes(plan, node, table.get(node.name, {}), "")
        for number, own in tables.items():
            more, error = _routes(plan, node, own.get(node.name, {}), f" table {number}")
            lines, worst = lines + more, max(worst, error)
        made.missed(worst)
        made.texts[f"{node.identifier}.routes.batch"] = heading(node, "routes") + error_note(worst) + "".join(lines)
    return made


def _routes(plan: AddressPlan, node: PlannedNode, by_target: dict[str, Shares], table: str) -> tuple[list[str], float]:
    """The lines of a table, and the greatest error of a weight."""
    lines = []
    worst = 0.0
    for target in sorted(by_target, key=lambda name: plan.nodes[name].index):
        hops = by_target[target]
        weights, error = up_to(list(hops.values()), LARGEST_WEIGHT)
        worst = max(worst, error)
        vias = [
            f"via {plan.interface(hop, node.name).address} dev {plan.interface(node.name, hop).name}" for hop in hops
        ]
        if len(vias) > 1:
            vias = [f"nexthop {via} weight {weight}" for via, weight in zip(vias, weights, strict=True)]
        destination = plan.nodes[target].prefix
        lines.append(f"route replace {destination}{table} proto static src {node.router} {' '.join(vias)}\n")
    return lines, worst
