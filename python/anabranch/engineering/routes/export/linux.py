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


_NFT, _PRIORITY = "anabranch", 1000
TABLE_OF = 100
"""The routing table of a class by its code point: this number and the code point."""


def by_code(plan: AddressPlan, codes: Sequence[int]) -> dict[str, str]:
    """Files of each node that send packets with a code point to the routes of their class: ``nN.nft`` marks them, and ``nN.rules.batch`` sends
    marked ones to a table of their own. Destinations that are not in it follow the other routes.

    Linux has no rule for the upper half of an IPv4 code point before version 6.13.
    """
    texts: dict[str, str] = {}
    for node in plan.nodes.values() if codes else ():
        marks = "".join(f"        ip dscp {code} meta mark set {code}\n" for code in codes)
        chains = "".join(
            f"    chain {name} {{\n        type {kind} priority mangle; policy accept;\n{marks}    }}\n"
            for name, kind in (("forwarded", "filter hook prerouting"), ("own", "route hook output"))
        )
        # the first two lines make a second load replace the first
        texts[f"{node.identifier}.nft"] = heading(node, "marks by DSCP") + (
            f"table ip {_NFT}\ndelete table ip {_NFT}\ntable ip {_NFT} {{\n{chains}}}\n"
        )
        texts[f"{node.identifier}.rules.batch"] = heading(node, "rules by mark") + "".join(
            f"rule add fwmark {code} lookup {TABLE_OF + code} priority {_PRIORITY + code}\n" for code in codes
        )
    return texts
