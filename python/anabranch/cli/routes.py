"""``anabranch routes``."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from anabranch.cli.exit_status import DONE, UsageError
from anabranch.cli.exporting import ExportFormat, Interfaces, require_format, say_written
from anabranch.cli.options import (
    COMPARISON,
    EXPORT,
    OUTPUT,
    PATHS,
    TOPOLOGY,
    Capacity,
    Directed,
    Json,
    Part,
    Share,
    TopologyName,
    Whole,
    at_least,
    require_svg,
)
from anabranch.cli.output import json_text, say
from anabranch.foundation.output_files import require_writable, write_text
from anabranch.foundation.text_table import print_table
from anabranch.network import metrics

if TYPE_CHECKING:
    from anabranch.engineering.routes.writing import RouteStream


@Parameter(name="*", group=TOPOLOGY)
@dataclass(frozen=True)
class Completion:
    """Values for links whose attributes the topology does not give."""

    directed: Directed = None
    part: Part = None
    capacity: Capacity = None
    loss: Annotated[Share | None, Parameter(help="Loss ratio of links without their own.")] = None
    random_loss: Annotated[str | None, Parameter(help="Loss ratios drawn for links without their own: 1e-5..1e-2.")] = (
        None
    )
    seed: Annotated[Whole, Parameter(help="Seed of --random-loss.")] = 1
    loss_floor: Annotated[Share, Parameter(help="Least loss ratio of any link.")] = 0.0

    def given(self) -> dict[str, str | None]:
        """The options for links without an attribute, by attribute."""
        loss = None if self.loss is None else f"--loss {self.loss}"
        return {
            "capacity_bps": None if self.capacity is None else f"--capacity {self.capacity}",
            "loss": loss if self.random_loss is None else f"--random-loss {self.random_loss}",
        }


@Parameter(name="*", group=PATHS)
@dataclass(frozen=True)
class Selection:
    """The pairs, and the paths to find for each of them."""

    metric: Annotated[
        str,
        Parameter(help=f"{', '.join(metrics.NAMES)}; or several, the first decides: hop-count,delay."),
    ] = "tcpbp-exact"
    sources: Annotated[
        list[str] | None, Parameter(name="--from", negative="", help="Only from this node. May be repeated.")
    ] = None
    targets: Annotated[
        list[str] | None, Parameter(name="--to", negative="", help="Only to this node. May be repeated.")
    ] = None
    shortest: Annotated[Whole | None, Parameter(help="The K shortest loopless paths of each pair.")] = None
    disjoint: Annotated[
        Whole | None,
        Parameter(
            help="Greatest number of paths that share no link but access links; by predicted throughput, the best set of them."
        ),
    ] = None
    node_disjoint: Annotated[
        Whole | None, Parameter(help="Greatest number of paths that share no node in between.")
    ] = None
    within: Annotated[
        Share | None, Parameter(help="All paths that cost at most this much more than the best: 0.05 or 5%.")
    ] = None
    pareto: Annotated[
        bool, Parameter(negative="", help="All paths that are Pareto-optimal in delay, loss and capacity.")
    ] = False
    spray: Annotated[
        bool,
        Parameter(
            negative="",
            help="With --disjoint or --node-disjoint: what spraying a flow packet by packet costs with each loss detector; by goodput:STACK over which paths to spray.",
        ),
    ] = False
    crossover: Annotated[
        str | None,
        Parameter(help="With one --from and one --to: the best path by the size of a transfer with this stack."),
    ] = None
    hop_by_hop: Annotated[
        bool,
        Parameter(
            negative="",
            help="For --export and --json: each router forwards by its own route, not along the source's path.",
        ),
    ] = False
    certify: Annotated[bool, Parameter(negative="", help="Prove that no path by tcpbp-exact is better.")] = False


@Parameter(name="*", group=COMPARISON)
@dataclass(frozen=True)
class Comparing:
    """Metrics side by side."""

    compare: Annotated[
        bool, Parameter(negative="", help="All metrics side by side: differences, misses, hop-by-hop forwarding.")
    ] = False
    against: Annotated[
        list[str] | None, Parameter(negative="", help="With --compare: these metrics instead of all. May be repeated.")
    ] = None
    once: Annotated[bool, Parameter(negative="", help="With --compare: every two nodes in one direction only.")] = False
    rows: Annotated[Whole, Parameter(help="With --compare: greatest number of rows of pairs that differ.")] = 20


@Parameter(name="*", group=EXPORT)
@dataclass(frozen=True)
class Exporting:
    """Files for real routers."""

    export: ExportFormat = None
    out: Annotated[
        Path | None,
        Parameter(
            name=["--out", "-o"],
            help="Write the routes to this file instead: .csv, .parquet, .jsonl, .json or .txt. With --export a directory (default TOPOLOGY-FORMAT).",
        ),
    ] = None
    interfaces: Interfaces = None
    source_port: Annotated[
        list[str] | None,
        Parameter(
            negative="",
            help="With an OpenFlow export: flows from this TCP port by another metric, 5001=delay; with --crossover by the path of a size, 5001=10kB. May be repeated.",
        ),
    ] = None
    dscp: Annotated[
        list[str] | None,
        Parameter(
            negative="",
            help="With an export for OpenFlow or Linux: packets with this code point by another metric, 46=delay; with --crossover by the path of a size, 46=10kB. May be repeated.",
        ),
    ] = None


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class Output:
    """Output besides the table of routes."""

    picture: Annotated[Path | None, Parameter(help="Draw the routes on the map into this SVG file.")] = None
    json: Json = False


def routes(
    topology: TopologyName,
    /,
    *,
    completion: Completion = Completion(),
    selection: Selection = Selection(),
    comparing: Comparing = Comparing(),
    exporting: Exporting = Exporting(),
    output: Output = Output(),
) -> int:
    """Find routes by a metric, or compare metrics; by default by delay x sqrt(loss), that is, for the most TCP throughput.

    A pair without a path gets a row that says so.
    """
    from anabranch.cli.routes_answer import answer, network
    from anabranch.cli.traffic_classes import TrafficClasses
    from anabranch.engineering.routes.writing import RouteStream
    from anabranch.foundation.progress import Computing
    from anabranch.network.topologies.warned import load_warned

    at_least(0, rows=comparing.rows)
    if output.picture is not None:
        require_svg("--picture", output.picture)
        require_writable(output.picture)
    if selection.hop_by_hop and exporting.export is None and not output.json:
        raise UsageError("--hop-by-hop goes with --export or --json: it changes what routers do, not the paths planned")
    file = exporting.out if exporting.export is None else None
    if file is not None:
        _require_file(file, selection, comparing, output)
    given = {"--source-port": exporting.source_port, "--dscp": exporting.dscp, "--interfaces": exporting.interfaces}
    for option, value in given.items():
        if exporting.export is None and value is not None:
            raise UsageError(f"{option} goes with --export")
    if completion.loss is not None and completion.random_loss is not None:
        raise UsageError("--loss and --random-loss both set the loss of links without their own: leave one out")
    if exporting.export is not None:
        require_format(exporting.export)
    loaded = load_warned(topology, completion.directed, completion.part, completion.given())
    needs_all = output.picture is not None or exporting.export is not None
    found = answer(selection, comparing, network(loaded, completion), needs_all=needs_all, to_file=file is not None)
    if isinstance(found, RouteStream):
        _write(found, file, output.json)
        return DONE
    if output.picture is not None:
        write_text(output.picture, found.drawing())
    if exporting.export is not None:
        directory = exporting.out or Path(f"{Path(topology).stem}-{exporting.export}")
        with Computing(f"files of {exporting.export}"):
            separate = TrafficClasses(exporting.source_port, exporting.dscp)
            written = found.export(exporting.export, directory, separate, exporting.interfaces)
        say_written(directory, len(written))
    if output.json:
        with Computing("the document"):
            text = json_text(found.document())
        print(text)
        return DONE
    if exporting.export is not None:
        return DONE
    with Computing("the table"):
        tables = list(found.tables(comparing.rows))
    for table in tables:
        print_table(table)
    if output.picture is not None:
        say(f"Picture: {output.picture}")
    return DONE


def _require_file(file: Path, selection: Selection, comparing: Comparing, output: Output) -> None:
    from anabranch.engineering.routes.writing import FORMATS

    others = {
        "--compare": comparing.compare,
        "--spray": selection.spray,
        "--crossover": selection.crossover,
        "--certify": selection.certify,
        "--picture": output.picture,
    }
    for option, value in (others | {"--json": output.json}).items():
        if value:
            instead = "; --out FILE.json writes the same document" if option == "--json" else ""
            raise UsageError(f"--out and {option} do not go together without --export{instead}")
    if file.suffix.lower() not in FORMATS:
        raise UsageError(f"--out {file}: must end in one of {', '.join(FORMATS)}, or be the directory of an --export")
    require_writable(file)


def _write(routes: "RouteStream", file: Path | None, as_json: bool) -> None:
    """Write routes to a file or to standard output, while they are found."""
    from anabranch.foundation.progress import Steps

    with Steps(routes.pairs, "searching") as steps:
        if file is not None:
            routes.write(file, steps.advance)
        for piece in () if file is not None else routes.json(steps.advance) if as_json else routes.table(steps.advance):
            if sys.stdout.isatty():
                steps.stop()  # the rows show the progress
            sys.stdout.write(piece)
    if file is not None:
        say(f"Wrote {file}")
