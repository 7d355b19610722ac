"""An export read back from its files: the paths with their shares as routers have them, or the costs of links.

It reads the configuration itself, with the addresses of ``plan.json``. So it has whole-number weights, and changes by hand.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from anabranch.engineering.routes.export.errors import ExportError
from anabranch.engineering.routes.export.forwarding import NextHops, PairPaths, walk
from anabranch.engineering.routes.export.reading import frr, linux, openflow, segments
from anabranch.engineering.routes.export.reading.addresses import Addresses, Costs
from anabranch.foundation.input_files import InputError, json_document
from anabranch.network.topologies import Topology

MANIFEST, PLAN = "export.json", "plan.json"


@dataclass
class ReadBack:
    """What the routers of an export do."""

    paths: PairPaths = field(default_factory=dict)
    costs: Costs | None = None
    """The costs of an interior gateway protocol by the ends of links, instead of paths."""


def read_back(directory: Path, topology: Topology, dscp: int | None = None) -> ReadBack:
    """The routes of an export, except of ``json`` and ``scenario``, on its topology.

    They are those of packets with the code point ``dscp``, or by default those of all packets that are in no class.

    Raises:
        ExportError: it cannot be read; names file, line and what is wrong.
    """
    try:
        manifest = json_document(directory / MANIFEST)
        known = isinstance(manifest, dict) and isinstance(manifest.get("format"), str)
        written = manifest.get("routers", manifest["format"]) if known else None
        if written not in _READERS:
            raise ExportError(f"{directory / MANIFEST}: format {written!r} must be one of {', '.join(_READERS)}")
        return _READERS[written](Addresses(directory, json_document(directory / PLAN), topology), dscp)
    except InputError as error:
        raise ExportError(str(error)) from None


def _delivered(table: NextHops) -> ReadBack:
    return ReadBack(
        {
            (source, target): tuple(walk(table, source, target))
            for source, by_target in table.items()
            for target in by_target
        }
    )


_READERS: dict[str, Callable[[Addresses, int | None], ReadBack]] = {
    "ip-route": lambda addresses, dscp: _delivered(linux.next_hops(addresses, dscp)),
    "srv6": lambda addresses, dscp: ReadBack(linux.segment_routes(addresses, dscp)),
    "frr": lambda addresses, _: _delivered(frr.next_hops(addresses)),
    "frr-ospf": lambda addresses, _: ReadBack(costs=frr.costs(addresses)),
    "frr-isis": lambda addresses, _: ReadBack(costs=frr.costs(addresses)),
    "frr-segment-routing": lambda addresses, _: ReadBack(frr.policies(addresses)),
    "openflow13": lambda addresses, dscp: ReadBack(openflow.paths(addresses, dscp)),
    "openflow15": lambda addresses, dscp: ReadBack(openflow.paths(addresses, dscp)),
    "segment-routing": lambda addresses, _: ReadBack(segments.paths(addresses)),
}
