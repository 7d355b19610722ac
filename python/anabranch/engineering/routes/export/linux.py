"""Parts of every export for Linux besides its routes: addresses, kernel settings, and a lab to try it in."""

from collections.abc import Sequence

from anabranch.engineering.routes.export.files import heading, quoted
from anabranch.engineering.routes.export.plan import AddressPlan, PlannedNode


def lab(plan: AddressPlan) -> str:
    """Lines for ``ip -batch``: a network namespace for each node, and a pair of virtual Ethernet interfaces for each link."""
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


def settings(plan: AddressPlan, node: PlannedNode, more: Sequence[str] = (), each: Sequence[str] = ()) -> str:
    """Lines for ``sysctl -p`` in the node's namespace. The lines of ``each`` are repeated for every interface, in place of its ``*``.

    Slashes part the names of ``each``, as that of an interface may have dots.
    """
    lines = [
        "net.ipv4.ip_forward = 1",
        # a next hop for each flow, not for each pair of addresses
        "net.ipv4.fib_multipath_hash_policy = 1",
        # or else flows that hash alike stay together from node to node; Linux has it from 6.11 on
        f"-net.ipv4.fib_multipath_hash_seed = {node.index}",
        "net.ipv4.conf.all.rp_filter = 0",
        *more,
    ]
    for interface in plan.interfaces[node.name].values():
        # paths there and back may differ
        lines += [line.replace("*", interface.name) for line in ("net/ipv4/conf/*/rp_filter = 0", *each)]
    return heading(node, "kernel settings") + "".join(f"{line}\n" for line in lines)


def addresses(plan: AddressPlan, node: PlannedNode, ipv6: bool = False) -> str:
    """Lines for ``ip -batch`` in the node's namespace: its addresses, and its interfaces up."""
    lines = [heading(node, "addresses"), "link set lo up\n", f"address replace {node.router}/32 dev lo\n"]
    for interface in plan.interfaces[node.name].values():
        lines.append(f"address replace {interface.within} dev {interface.name}\n")
        if ipv6:
            lines.append(f"address replace {interface.address6}/127 dev {interface.name} nodad\n")
        lines.append(f"link set {interface.name} up\n")
    return "".join(lines)
