"""The formats by name."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from anabranch.engineering.routes.export import (
    containerlab,
    frr,
    frr_igp,
    frr_segment_routing,
    ip_route,
    json_file,
    openflow,
    scenario_table,
    segment_lists,
    srv6,
)
from anabranch.engineering.routes.export.files import Files


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format: its purpose, and the function of routes, plan and options that makes its files."""

    help: str
    make: Callable[..., Files]

    @property
    def options(self) -> tuple[str, ...]:
        """The options it takes beside the prefixes."""
        return tuple(inspect.signature(self.make).parameters)[2:]


FORMATS: dict[str, ExportFormat] = {
    "ip-route": ExportFormat("Linux: ip -batch files with weighted next hops by destination", ip_route.files),
    "srv6": ExportFormat("Linux: ip -batch files with explicit paths by SRv6, weighted", srv6.files),
    "frr": ExportFormat("FRR: frr.conf with static routes and weighted nexthop groups by destination", frr.files),
    "frr-segment-routing": ExportFormat(
        "FRR: frr.conf with OSPF and SR-MPLS policies, one path a pair", frr_segment_routing.files
    ),
    "frr-ospf": ExportFormat(
        "FRR: frr.conf with OSPF and its interface costs, equal-cost multipath", frr_igp.ospf_files
    ),
    "frr-isis": ExportFormat(
        "FRR: frr.conf with IS-IS and its interface metrics, equal-cost multipath", frr_igp.isis_files
    ),
    "openflow13": ExportFormat(
        "OpenFlow 1.3 flows and groups for ovs-ofctl, by TCP source port as well", openflow.files13
    ),
    "openflow15": ExportFormat(
        "OpenFlow 1.5 flows and groups for ovs-ofctl, by TCP source port as well", openflow.files15
    ),
    "segment-routing": ExportFormat(
        "segment lists as JSON: SRv6 identifiers and SR-MPLS label stacks", segment_lists.files
    ),
    "containerlab": ExportFormat(
        "a laboratory for containerlab: routers with one of these configurations, hosts, and emulated links",
        containerlab.files,
    ),
    "json": ExportFormat("the routes as anabranch routes --json prints them", json_file.files),
    "scenario": ExportFormat("a [routing.NAME] table for a scenario of the packet engine", scenario_table.files),
}


def described() -> Iterable[str]:
    """A line on each format."""
    width = max(map(len, FORMATS))
    return (f"{name.ljust(width)}  {format.help}" for name, format in FORMATS.items())
