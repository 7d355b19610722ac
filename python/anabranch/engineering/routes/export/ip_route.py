"""Linux: a batch of ``ip route`` commands for each node, with weighted next hops.

Linux looks at nothing but the destination, and takes weights from 1 to 256 (``rtnh_hops`` is a byte that counts from 0).
"""

from anabranch.engineering.routes.export.files import Files, error_note, heading
from anabranch.engineering.routes.export.forwarding import Shares, next_hops, undelivered
from anabranch.engineering.routes.export.linux import addresses, lab, settings
from anabranch.engineering.routes.export.plan import AddressPlan, PlannedNode
from anabranch.engineering.routes.export.shares import up_to
from anabranch.engineering.routes.model import Routes

LARGEST_WEIGHT = 256


def files(routes: Routes, plan: AddressPlan) -> Files:
    """A batch of routes, one of addresses and kernel settings for each node, and a batch that makes a lab of namespaces."""
    made = Files({"lab.batch": lab(plan)})
    table = next_hops(routes)
    made.warnings += undelivered(table)
    for node in plan.nodes.values():
        made.texts[f"{node.identifier}.sysctl.conf"] = settings(plan, node)
        made.texts[f"{node.identifier}.addresses.batch"] = addresses(plan, node)
        made.texts[f"{node.identifier}.routes.batch"] = _routes(plan, node, table.get(node.name, {}), made)
    return made


def _routes(plan: AddressPlan, node: PlannedNode, by_target: dict[str, Shares], made: Files) -> str:
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
        lines.append(f"route replace {destination} proto static src {node.router} {' '.join(vias)}\n")
    made.missed(worst)
    return heading(node, "routes") + error_note(worst) + "".join(lines)
