"""``anabranch topology``: list, show, plot."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from anabranch.cli.exit_status import DONE, FAILED
from anabranch.cli.options import OUTPUT, Directed, Json, Part, TopologyName, require_svg
from anabranch.cli.output import json_text, say, tell
from anabranch.foundation.text_table import TextTable, count, plain, print_table, quantity


def list_topologies(pattern: str = "", /, *, json: Json = False) -> int:
    """List the names for a scenario's "from" that contain PATTERN."""
    from anabranch.foundation.extras import command, missing
    from anabranch.network import topologies

    if missing("topologies"):
        say(f"Without TopoHub's topologies; to have them run: {command('topologies')}")
    names = [name for name in topologies.names() if pattern.lower() in name.lower()]
    if json:
        print(json_text({"topologies": names}))
    elif names:
        tell("\n".join(names))
    else:
        say(f'No name contains "{pattern}"; without a pattern all are listed.')
    return DONE if names else FAILED


def show_topology(
    topology: TopologyName, /, *, directed: Directed = None, part: Part = None, json: Json = False
) -> int:
    """Show the nodes and links of a topology."""
    from anabranch.network.topologies.warned import load_warned

    loaded = load_warned(topology, directed, part)
    if json:
        tables = {
            "nodes": [node._asdict() for node in loaded.nodes],
            "links": [link._asdict() for link in loaded.links],
        }
        print(json_text({"name": loaded.name} | tables))
        return DONE
    tell(f"{loaded.name}: {count(len(loaded.nodes), 'node')}, {count(len(loaded.links), 'directed link')}")
    rows = [
        (
            link.source,
            link.target,
            quantity(link.capacity_bps, "bit/s"),
            quantity(link.delay_s, "s"),
            quantity(link.length_m, "m"),
            plain(link.loss),
            plain(link.cost),
        )
        for link in loaded.links
    ]
    head = ("source", "target", "capacity", "delay", "length", "loss", "cost")
    print_table(TextTable(head, rows, text_columns=2))
    return DONE


def plot_topology(
    topology: TopologyName,
    /,
    *,
    directed: Directed = None,
    part: Part = None,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], group=OUTPUT, help="An SVG file (default standard output).")
    ] = None,
) -> int:
    """Draw a topology as SVG."""
    from anabranch.foundation.output_files import write_text
    from anabranch.network.topologies import plot
    from anabranch.network.topologies.warned import load_warned

    if output is not None:
        require_svg("--output", output)
    drawing = plot.svg(load_warned(topology, directed, part))
    if output is None:
        print(drawing, end="")
    else:
        write_text(output, drawing)
        tell(output)
    return DONE


topology = App(name="topology", help="Topologies by name or from a file: list, show, plot.")
topology.command(list_topologies, name="list")
topology.command(show_topology, name="show")
topology.command(plot_topology, name="plot")
