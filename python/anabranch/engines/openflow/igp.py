"""Delays and losses that an interior gateway protocol advertises: RFC 7471 for OSPF, RFC 8570 for IS-IS; by daemons of FRR."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from anabranch.engines.openflow.link_state import LEAST_DELAY_S, CableEstimate
from anabranch.engines.openflow.routes import Pair

Igp = Literal["ospf", "isis"]
DAEMONS: Mapping[Igp, str] = {"ospf": "ospfd", "isis": "isisd"}
DATABASES: Mapping[Igp, str] = {
    "ospf": "show ip ospf mpls-te database json",
    "isis": "show isis mpls-te database json",
}
"""The command of vtysh that prints the links of all routers with their attributes. Both daemons have the same format."""
SUPPRESSED = 0.1
"""A change of the delay by at most this share is not advertised: small changes must not flood the network (RFC 7471, section 6; RFC 8570, section 6)."""
_LARGEST_US = 2**24 - 1
_PERCENT = 0.01


class Advertised(NamedTuple):
    """What is advertised of one direction of a link: the mean delay in seconds and the share of lost packets. ``None``: not advertised."""

    delay_s: float | None
    loss: float | None


def links(database: Mapping[str, Any], nodes: Mapping[str, str]) -> dict[Pair, Advertised]:
    """The advertised links of FRR's traffic engineering database; ``nodes`` are the routers by their addresses.

    FRR has delays in microseconds and losses in percent, as both RFCs define them.
    """
    found = {}
    for edge in database["ted"].get("edges", ()):
        own = edge.get("edge-attributes", {})
        ends = own.get("local-address"), own.get("remote-address")
        if ends[0] in nodes and ends[1] in nodes:
            delay, loss = own.get("delay"), own.get("loss")
            found[nodes[ends[0]], nodes[ends[1]]] = Advertised(
                None if delay is None else delay * 1e-6, None if loss is None else loss * _PERCENT
            )
    return found


def replaced(estimate: CableEstimate, advertised: Advertised | None) -> CableEstimate:
    """The estimate with the advertised values in place of its own. They have no interval."""
    if advertised is None:
        return estimate
    delay_s, loss = advertised
    if delay_s is not None:
        delay_s = max(LEAST_DELAY_S, delay_s)
        estimate = estimate._replace(delay_s=delay_s, delay_low_s=delay_s, delay_high_s=delay_s)
    if loss is not None:
        estimate = estimate._replace(loss=loss, loss_low=loss, loss_high=loss)
    return estimate


def configuration(igp: Igp, number: int, router: str, devices: Mapping[str, str]) -> str:
    """The daemon's configuration for the router with this number and address; ``devices`` lead to its neighbours."""
    if igp == "ospf":
        interface = (
            " ip ospf area 0\n ip ospf network point-to-point\n ip ospf hello-interval 2\n ip ospf dead-interval 10\n"
        )
        daemon = f"router ospf\n ospf router-id {router}\n capability opaque\n"
    else:
        interface = " ip router isis LAB\n isis network point-to-point\n isis hello-interval 2\n"
        daemon = f"router isis LAB\n net 49.0001.0000.0000.{number:04d}.00\n is-type level-2-only\n metric-style wide\n lsp-gen-interval 1\n"
    text = "".join(f"interface {device}\n{interface}exit\n" for device in devices.values())
    return f"{text}{daemon} mpls-te on\n mpls-te router-address {router}\n mpls-te export\nexit\n"


def parameters(device: str, delay_s: float) -> str:
    """The configuration that lets a router advertise the delay of an interface."""
    microseconds = min(_LARGEST_US, max(1, round(delay_s * 1e6)))
    return f"interface {device}\n link-params\n  enable\n  delay {microseconds}\n exit-link-params\nexit\n"
