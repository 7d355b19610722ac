"""The options of ``--export``, the same for ``robust``, ``plan``, ``weights`` and ``advise``."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from anabranch.cli.exit_status import UsageError
from anabranch.cli.options import EXPORT
from anabranch.cli.output import load_text, say
from anabranch.foundation.progress import Computing
from anabranch.foundation.text_table import count

if TYPE_CHECKING:
    from anabranch.engineering.robust import Network, TrafficModel
    from anabranch.engineering.routes import Routes
    from anabranch.network.topologies import Topology

FORMATS = (
    "ip-route", "srv6", "frr", "frr-ospf", "frr-isis", "frr-segment-routing", "openflow13", "openflow15", "segment-routing", "containerlab", "json",
    "scenario",
)  # fmt: skip
"""The names of all formats, for ``--help`` and completion, which do not import them."""
ExportFormat = Annotated[
    str | None,
    Parameter(completer=lambda _: FORMATS, help=f"Write the routes for real routers: {', '.join(FORMATS)}."),
]
Interfaces = Annotated[
    Path | None,
    Parameter(
        group=EXPORT,
        help="With --export: a CSV file node,neighbour,interface,address with the names and IPv4 addresses of interfaces.",
    ),
]


@Parameter(name="*", group=EXPORT)
@dataclass(frozen=True)
class Exporting:
    """Files for real routers."""

    export: ExportFormat = None
    into: Annotated[
        Path | None, Parameter(help="With --export: write into this directory (default TOPOLOGY-FORMAT).")
    ] = None
    interfaces: Interfaces = None

    def require(self, name: str, topology: "Topology | None" = None) -> None:
        """Refuse what cannot be exported before anything is searched. ``name`` is that of the network.

        Raises:
            UsageError: an unknown format, or an option without ``--export``.
            ExportError: the file of interfaces, or the directory, cannot be used.
        """
        from anabranch.engineering.routes.export import make_plan, require_target

        if self.export is None:
            for option, value in (("--into", self.into), ("--interfaces", self.interfaces)):
                if value is not None:
                    raise UsageError(f"{option} goes with --export")
            return
        require_format(self.export)
        require_target(self.directory(name))
        if topology is not None:
            make_plan(topology, interfaces=self.interfaces)

    def write(self, routes: "Routes", **options: Any) -> Path | None:
        """Write the routes, if ``--export`` is given, and say what weights and warnings there are. Returns the directory."""
        from anabranch.engineering.routes.export import export

        if self.export is None:
            return None
        directory = self.directory(routes.topology.name)
        with Computing(f"files of {self.export}"):
            written = export(routes, self.export, directory, interfaces=self.interfaces, **options)
        say_written(directory, len(written))
        return directory

    def write_loaded(
        self, routes: "Routes", network: "Network", model: "TrafficModel", load: float, **options: Any
    ) -> None:
        """Write the routes, read them back, and say the worst-case load beside ``load``, which they were to have."""
        from anabranch.engineering.robust.judged_files import routing_of
        from anabranch.engineering.robust.judging import judge

        capacities = zip(routes.topology.links, network.capacity.tolist(), strict=True)
        links = tuple(link._replace(capacity_bps=round(capacity)) for link, capacity in capacities)
        directory = self.write(replace(routes, topology=replace(routes.topology, links=links)), **options)
        if directory is None:
            return
        with Computing("the load of what was written"):
            (state,) = judge(network, model, routing_of(str(directory), network))
        say(f"Worst-case load, read back from {directory}: {load_text(state.load)} (planned {load_text(load)})")

    def directory(self, topology: str) -> Path:
        """Where the files go by default, or by ``--into``."""
        return self.into or Path(f"{Path(topology).name}-{self.export}")


def require_format(name: str) -> None:
    """Refuse what is no format.

    Raises:
        UsageError: names those that are.
    """
    from anabranch.engineering.routes.export import FORMATS

    if name not in FORMATS:
        raise UsageError(f"--export {name}: is no format; possible: {', '.join(FORMATS)}")


def say_written(directory: Path, files: int) -> None:
    """Say what an export has besides its files: warnings, and by how much whole-number weights miss the shares."""
    from anabranch.engineering.routes.export import manifest

    found = manifest(directory)
    for warning in found["warnings"]:
        say(f"{directory}: warning: {warning}")
    say(f"Wrote {count(files, 'file')} into {directory}")
    if found["largest_error"] > 0:
        say(
            f"The weights of {found['format']} are whole numbers: they miss the shares by at most {found['largest_error']:.3g}"
        )
