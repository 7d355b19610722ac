"""``anabranch weights``."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from anabranch.cli.exit_status import DONE, INTERRUPTED, UsageError
from anabranch.cli.exporting import Exporting
from anabranch.cli.lost_traffic import lost_lines
from anabranch.cli.options import (
    FAILURES,
    OUTPUT,
    SEARCH,
    TRAFFIC,
    Capacity,
    Directed,
    Json,
    Part,
    Share,
    TopologyName,
    Whole,
    between,
    rate_bps,
    seconds,
)
from anabranch.cli.output import json_text, load_text, say, tell
from anabranch.cli.traffic import named, named_matrices
from anabranch.foundation.output_files import require_writable, write_text
from anabranch.foundation.progress import Computing
from anabranch.foundation.text_table import TextTable, count, print_table

if TYPE_CHECKING:
    from anabranch.engineering.robust.judging import State
    from anabranch.engineering.weights import Found, TwoSegments

_MOST_WEIGHT = 65535
_TITLES = {"hop-count": "hop count", "inverse-capacity": "inverse capacity", "found": "weights found"}
_BY_SEGMENTS = ("segment-routing", "srv6", "frr-segment-routing")
"""The exports that have intermediate nodes."""


@Parameter(name="*", group=SEARCH)
@dataclass(frozen=True)
class Searching:
    """How far and for how long."""

    max_weight: Annotated[Whole, Parameter(help="The greatest weight; OSPF has 65535, the old IS-IS 63.")] = (
        _MOST_WEIGHT
    )
    labels: Annotated[
        Whole,
        Parameter(
            help="The most labels of a packet; with 2, traffic may go over one intermediate node (segment routing)."
        ),
    ] = 1
    limit: Annotated[str, Parameter(help="Time limit of the search.")] = "10s"
    gap: Annotated[Share, Parameter(help="The search ends within this share of the lower bound.")] = 0.001
    seed: Annotated[Whole, Parameter(help="Seed of the search.")] = 1


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class Output:
    """The outputs of the weights."""

    out: Annotated[
        Path | None,
        Parameter(name=["--out", "-o"], help="Write the topology, with the weights as costs of its links (JSON)."),
    ] = None
    json: Json = False


def weights(
    topology: TopologyName,
    /,
    *,
    directed: Directed = None,
    part: Part = None,
    capacity: Capacity = None,
    matrix: Annotated[
        list[str] | None,
        Parameter(
            negative="",
            group=TRAFFIC,
            help='A traffic matrix: a file, "demands" (the default), or gravity=TOTAL. May be repeated.',
        ),
    ] = None,
    fail: Annotated[
        str | None,
        Parameter(
            group=FAILURES,
            help='Also bear failures: of "links" or "nodes", one at a time, of every two (links=2), or of groups in a file.',
        ),
    ] = None,
    searching: Searching = Searching(),
    exporting: Exporting = Exporting(),
    output: Output = Output(),
) -> int:
    """Find OSPF weights that make the greatest link utilisation small, with equal-cost multipath.

    Prints it for hop count, for inverse capacity, for the weights found and for the optimal flow. Ctrl-C prints the best weights so far and ends with status 130.
    """
    import numpy as np

    from anabranch.engineering import weights as engineering
    from anabranch.engineering.robust import Network
    from anabranch.engineering.robust import matrices as model_of
    from anabranch.engineering.robust.failures import failures_of
    from anabranch.engineering.robust.files import pair_rates
    from anabranch.engineering.robust.judging import State, judge
    from anabranch.engineering.weights.documents import document
    from anabranch.engineering.weights.progress import SearchProgress
    from anabranch.network.topologies.export import to_json
    from anabranch.network.topologies.warned import load_warned

    between("--max-weight", searching.max_weight, searching.max_weight, 1, _MOST_WEIGHT)
    between("--labels", searching.labels, searching.labels, 1, 2)
    if searching.labels == 2 and exporting.export not in (None, *_BY_SEGMENTS):
        raise UsageError(
            f"--export {exporting.export}: has no segments of weights; with --labels 2 only {', '.join(_BY_SEGMENTS)} have"
        )
    limit_s = seconds("--limit", searching.limit)
    if not limit_s > 0:
        raise UsageError(f"--limit {searching.limit}: must be more than 0, such as 10s")
    if not 0 <= searching.gap < 1:
        raise UsageError(f"--gap {searching.gap:g}: must be at least 0 and less than 1, such as 0.001 or 0.1%")
    if searching.seed < 0:
        raise UsageError(f"--seed {searching.seed}: must be at least 0")
    if output.out is not None:
        if output.out.suffix != ".json":
            raise UsageError(f"--out {output.out}: must end in .json, the format of the topology")
        require_writable(output.out)
    given = {"capacity_bps": None if capacity is None else f"--capacity {capacity}"}
    loaded = load_warned(topology, directed, part, given)
    network = Network.of(loaded, None if capacity is None else rate_bps("--capacity", capacity))
    exporting.require(loaded.name, loaded)
    names, matrices = named_matrices(matrix or ["demands"]), []
    for source in names:
        with named("--matrix", source):
            matrices.append(pair_rates(source, network))
    failures = [] if fail is None else failures_of(fail, network)
    with SearchProgress() as progress:
        found = engineering.find(
            network,
            matrices,
            failures,
            largest=searching.max_weight,
            limit_s=limit_s,
            gap=searching.gap,
            seed=searching.seed,
            report=progress,
        )
    two, states = None, list[State]()
    if searching.labels == 2 and not found.interrupted:
        with Computing("shares of two segments"):
            two = engineering.two_segments(network, found.best.weights, np.stack(matrices), limit_s, searching.gap)
            states = judge(network, model_of(network, matrices), two.routing(), failures)
    try:  # before the table: whoever reads that may end before its last line
        if output.out is not None:
            write_text(output.out, to_json(engineering.with_costs(network, found.best.weights)))
    finally:  # a file that cannot be written costs no output
        if output.json:
            print(json_text(document(found, names, two)))
        else:
            _print(found, names, two, states)
    if output.out is not None:
        say(f"Topology with the weights: {output.out}")
    exporting.write_loaded(
        engineering.as_routes(network, found.best.weights),
        network,
        model_of(network, matrices),
        found.best.load_before if two is None else two.load,
        **({"routers": "frr-ospf"} if exporting.export == "containerlab" else {}),
        **({} if two is None else {"igp": "cost", "via": two.by_pair}),
    )
    if found.interrupted:
        say("Interrupted: the best weights so far.")
        return INTERRUPTED
    return DONE


def _print(found: "Found", names: list[str], two: "TwoSegments | None", states: "list[State]") -> None:
    failures = found.best.after
    head = ["", "load", *(["after a failure", "which"] if failures else []), "times the optimal flow"]
    rows = []
    for one in found.judged:
        times = f"{one.load / found.optimum:.4f}" if found.optimum else "-"
        worst = one.worst_failure
        cells = [] if worst is None else [load_text(worst.load), worst.failure.name]
        rows.append([_TITLES[one.name], load_text(one.load_before), *cells, times])
    if two is not None:
        whole, *after = states
        worst_state = max(after, key=lambda one: one.load, default=None)
        cells = [] if worst_state is None else [load_text(worst_state.load), worst_state.after.failure.name]
        load = max(one.load for one in states)
        times = f"{load / found.optimum:.4f}" if found.optimum else "-"
        rows.append(["weights found, two segments", load_text(whole.load), *cells, times])
    rows.append(["optimal flow", load_text(found.optimum_before), *_optimum_after(found), "1"])
    print_table(TextTable(head, rows, text_columns=1))
    tell()
    tell(f"lower bound      {load_text(found.lower_bound)}   of any routing")
    if found.flows < found.wanted_flows:
        tell(
            f"                 from {found.flows} of {count(found.wanted_flows, 'optimal flow')}: the time was too short for all"
        )
    tell(f"greatest load    {' -> '.join(found.network.link_name(found.best.link))}{_of_matrix(found, names)}")
    tell(f"weights          {int(found.best.weights.min())} to {int(found.best.weights.max())}, {found.tries:,} tried")
    if two is not None:
        tell(
            f"two segments     {count(two.routed, 'pair')} over intermediate nodes; none of these has a load below {load_text(two.lower_bound)}"
        )
    for line in lost_lines(found.network, found.best.load_before, failures):
        tell(line)


def _optimum_after(found: "Found") -> list[str]:
    return [load_text(found.optimum), ""] if found.best.after else []


def _of_matrix(found: "Found", names: list[str]) -> str:
    return f"   {names[int(found.best.loads.argmax())]}" if len(names) > 1 else ""
