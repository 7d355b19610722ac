"""``anabranch plan``."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from anabranch.cli.candidate_paths import candidate_paths, require_range, require_used
from anabranch.cli.exit_status import DONE, INTERRUPTED, UsageError
from anabranch.cli.exporting import Exporting
from anabranch.cli.options import (
    FAILURES,
    OUTPUT,
    PATHS,
    TRAFFIC,
    Capacity,
    Directed,
    Json,
    Part,
    TopologyName,
    rate_bps,
    seconds,
)
from anabranch.cli.output import json_text, load_text, mbps, say, tell
from anabranch.cli.plan_failures import backup_lines, failure_lines
from anabranch.cli.traffic import Traffic
from anabranch.foundation.output_files import require_directory
from anabranch.foundation.suggest import suggest
from anabranch.foundation.text_table import TextTable, print_table

if TYPE_CHECKING:
    from anabranch.engineering.plan.model import Plan
    from anabranch.engineering.plan.spray_stack import SprayStack

_SHOWN = 12


@Parameter(name="*", group=PATHS)
@dataclass(frozen=True)
class Allowed:
    """Among which paths, and up to which load."""

    load: Annotated[
        float, Parameter(help="The worst-case load that no link may exceed; above 1 if the network is too small.")
    ] = 0.9
    paths: Annotated[
        str, Parameter(help="Candidate paths per pair: a number of shortest paths, disjoint=N, or a file of paths.")
    ] = "4"
    by: Annotated[
        str | None,
        Parameter(
            help="Best candidates by hop-count, delay, tcpbp-exact or goodput:STACK: the last two for links that lose packets (default hop-count)."
        ),
    ] = None
    front: Annotated[
        bool, Parameter(negative="", help="Also plans for lower loads, down to the least possible one.")
    ] = False
    time: Annotated[
        str | None, Parameter(help="Stop the search after this time, such as 30s, with the best so far.")
    ] = None


@Parameter(name="*", group=TRAFFIC)
@dataclass(frozen=True)
class Transport:
    """Options of the transport, the same for every pair."""

    tolerant: Annotated[
        str | None,
        Parameter(
            help='Pairs whose hosts tolerate reordering: "none", "all", or a file with a line FROM TO for each. Splits cost '
            "them what --stack says; without it, nothing."
        ),
    ] = None
    stack: Annotated[
        str | None,
        Parameter(help="The stack of these hosts, such as linux-cubic: splits cost them its spray price (all, then)."),
    ] = None
    flow: Annotated[str, Parameter(help="Greatest rate of the application on a pair's TCP connection.")] = "10Mbps"


@Parameter(name="*", group=FAILURES)
@dataclass(frozen=True)
class Failing:
    """The failures after which the load must be allowed, too."""

    fail: Annotated[
        str | None,
        Parameter(
            help='Keep to the load after failures, too: of "links" or "nodes", one at a time, of one or two links (links=2), '
            "or of groups of links in a file."
        ),
    ] = None
    backup: Annotated[
        Literal["disjoint"] | None,
        Parameter(help="Give each pair on a single path a backup path that shares no link with it."),
    ] = None


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class Output:
    """The outputs of the plan."""

    out: Annotated[
        Path | None, Parameter(name=["--out", "-o"], help="Write the plan (plan.json, plan.toml) into this directory.")
    ] = None
    json: Json = False


def plan(
    topology: TopologyName,
    /,
    *,
    directed: Directed = None,
    part: Part = None,
    capacity: Capacity = None,
    traffic: Traffic = Traffic(),
    transport: Transport = Transport(),
    allowed: Allowed = Allowed(),
    failing: Failing = Failing(),
    exporting: Exporting = Exporting(),
    output: Output = Output(),
) -> int:
    """Find the routing with the most TCP throughput whose worst-case load is allowed: single paths wherever they fit.

    Ctrl-C and --time end the search: the best plan so far is printed and written, with its bounds. After Ctrl-C the status is 130.
    """
    from anabranch.engineering import robust
    from anabranch.engineering.plan import Connection, Planner
    from anabranch.engineering.plan.documents import as_routes
    from anabranch.engineering.plan.files import tolerant_pairs, write
    from anabranch.engineering.plan.planning import hybrid
    from anabranch.engineering.plan.progress import Moves
    from anabranch.engineering.plan.ties import in_order
    from anabranch.engineering.robust.failures import failures_of
    from anabranch.engineering.robust.lp import OutOfTime
    from anabranch.network.topologies.warned import load_warned

    if allowed.paths == "all":
        raise UsageError("--paths all: a plan chooses among candidates; give a number of them, as in --paths 4")
    require_range(allowed.paths)
    require_used(allowed.paths, allowed.by is not None, False)
    if failing.fail is not None and allowed.front:
        raise UsageError("--front does not go with --fail: less load is searched for one --load after another")
    _require_by(allowed.by)
    load = allowed.load
    if not 0 < load < float("inf"):
        raise UsageError(f"--load {load:g}: must be more than 0, such as 0.9; 1 is the whole capacity of a link")
    limit_s = float("inf") if allowed.time is None else seconds("--time", allowed.time)
    if output.out is not None:
        require_directory(output.out)
    capacity_bps = None if capacity is None else rate_bps("--capacity", capacity)
    given = {"capacity_bps": None if capacity is None else f"--capacity {capacity}"}
    network = robust.Network.of(in_order(load_warned(topology, directed, part, given)), capacity_bps)
    exporting.require(network.topology.name, network.topology)
    model = traffic.model(network)
    problem = robust.Problem(
        network, model, candidate_paths(network, allowed.paths, allowed.by or "hop-count", "delay")
    )
    stack = None if transport.stack is None else _spray_stack(transport.stack)
    connection = Connection(rate_bps("--flow", transport.flow), stack=stack)
    tolerating = tolerant_pairs(transport.tolerant or ("none" if stack is None else "all"), network)
    if stack is not None and not tolerating.any():
        raise UsageError(f"--stack {stack.name}: no pair has it; leave out --tolerant, or name the pairs there")
    failures = [] if failing.fail is None else failures_of(failing.fail, network)
    length: Literal["hop-count", "delay"] = "delay" if allowed.by == "delay" else "hop-count"
    backup = None if failing.backup is None else length
    with Moves() as progress:
        began_s = monotonic()
        planner = Planner(
            problem,
            connection,
            tolerating,
            progress,
            limit_s=limit_s,
            improved=progress.improved,
            failures=failures,
            backup=backup,
        )
        plans = planner.front(load) if allowed.front else [planner.plan(load)]
        chosen = plans[0]
        interrupted = any(one.interrupted for one in plans)
        out_of_time = any(one.out_of_time for one in plans)
        rivals: list[tuple[float, Plan] | None] = []
        if not interrupted and not out_of_time and not failures:  # the paper's heuristic knows no failures
            try:
                two = robust.Problem(network, model, robust.shortest(network, 2, ties="delay"))
                loads = [load, *(one.worst_case_load for one in plans if allowed.front)]
                for one in loads:
                    left_s = limit_s - (monotonic() - began_s)
                    rivals.append(hybrid(two, one, connection, tolerating, left_s))
            except KeyboardInterrupt:
                interrupted = True
            except OutOfTime:
                out_of_time = True
        rival = rivals[0] if rivals else None
    try:  # before the table: whoever reads that may end before its last line
        if output.out is not None:
            write(chosen, output.out, topology, directed, part, capacity_bps)
    finally:  # files that cannot be written cost no output
        if output.json:
            _print_json(chosen, plans if allowed.front else [], rival)
        else:
            _print(chosen, rival, above=bool(rivals))
            for line in chain(failure_lines(chosen), backup_lines(chosen)):
                tell(line)
            if allowed.front:
                _print_front(plans, rivals[1:])
    if output.out is not None:
        say(f"Plan: {output.out}")
    if exporting.export is not None and backup is not None:
        say(f"Backup paths: {exporting.export} files have none; plan.json (--out) and --json have them")
    exporting.write_loaded(as_routes(chosen), network, model, chosen.worst_case_load)
    if interrupted:
        say(f"Interrupted: the search was cut short. {_best_so_far(chosen)}")
        return INTERRUPTED
    if out_of_time:
        say(f"Time is up: the search was cut short. {_best_so_far(chosen)}")
    return DONE


def _spray_stack(name: str) -> "SprayStack":
    from anabranch.engineering.plan.spray_stack import SprayStack
    from anabranch.scenario.stacks import PRESETS

    if name not in PRESETS:
        raise UsageError(f"--stack {name}: there is no stack of this name; {suggest(name, PRESETS)}")
    return SprayStack.of(name, PRESETS[name])


def _require_by(by: str | None) -> None:
    """Refuse what candidates do not go by.

    Raises:
        UsageError: names the value and what would be right.
    """
    from anabranch.foundation.suggest import suggest
    from anabranch.network import metrics
    from anabranch.scenario.stacks import PRESETS

    if by in (None, "hop-count", "delay", "tcpbp-exact"):
        return
    if metrics.stack_of(by) is None:
        raise UsageError(
            f"--by {by}: must be hop-count, delay, tcpbp-exact or {metrics.GOODPUT}, such as goodput:linux-cubic"
        )
    try:
        metrics.metric(by)
    except ValueError as error:
        raise UsageError(f"--by {by}: {error}") from None
    stack = metrics.stack_of(by)
    if stack not in PRESETS:
        raise UsageError(f'--by {by}: there is no stack "{stack}"; {suggest(str(stack), list(PRESETS))}')


def _best_so_far(chosen: "Plan") -> str:
    return (
        f"The best plan so far has {mbps(chosen.total_bps)}; no plan has more than {mbps(chosen.most_bps)} (gap {chosen.gap:.2%}). "
        f"Its load is {load_text(chosen.greatest_load)}; none is below {load_text(chosen.lower_bound)}."
    )


def _print_json(chosen: "Plan", plans: "Sequence[Plan]", rival: "tuple[float, Plan] | None") -> None:
    from anabranch.engineering.plan.documents import document, summary

    text = document(chosen)
    text["front"] = [summary(one) for one in plans]
    text["hybrid"] = None if rival is None else {"single_percent": rival[0], **summary(rival[1])}
    print(json_text(text))


_HEAD = ("", "load", "single-path pairs", "throughput, total", "mean", "worst pair")


def _print(chosen: "Plan", rival: "tuple[float, Plan] | None", above: bool) -> None:
    network = chosen.problem.network
    rows = [("plan", *_cells(chosen))]
    if rival is not None:
        rows.append((f"HYBRID-HOP, X = {rival[0]:g}", *_cells(rival[1])))
    elif not chosen.states.failures:
        rows.append(("HYBRID-HOP", "above" if above else "-", "-", "-", "-", "-"))
    print_table(TextTable(_HEAD, rows, text_columns=1))
    tell()
    tell(f"load allowed  {chosen.allowed_load:g}")
    if chosen.greatest_load > 1:
        tell(f"too small     links need {chosen.greatest_load:.4g} times their capacity for this plan")
    if chosen.offered_bps is not None and chosen.carried_bps is not None:
        carried = f"{mbps(chosen.carried_bps)} predicted over connections of {mbps(chosen.connection.rate_bps)}"
        tell(f"traffic       {mbps(chosen.offered_bps)} offered, {carried}")
    tell(f"throughput    gap {chosen.gap:.2%} to {mbps(chosen.most_bps)}, the most of any load")
    tell(f"lower bound   {load_text(chosen.lower_bound)}   of any routing over these candidates")
    tell(f"worst link    {' -> '.join(chosen.worst_link)}")
    tell(f"worst pair    {network.pair_name(chosen.worst_pair)}  {mbps(chosen.worst_bps)}")
    split = (~chosen.single & chosen.sending).nonzero()[0]
    worst_first = split[chosen.throughput_bps[split].argsort(kind="stable")]
    if len(split):
        tell(f"split pairs   {len(split)}, those of least throughput first")
    for pair in worst_first[:_SHOWN].tolist():
        stack = "tolerant transport" if chosen.connection.stack is None else chosen.connection.stack.name
        transport = stack if chosen.tolerant[pair] else "any transport"
        ways = ", ".join(
            f"{chosen.splits.shares[path]:.0%} {' '.join(chosen.splits.candidates.nodes_of(path))}"
            for path in _used(chosen, pair)
        )
        tell(f"  {network.pair_name(pair)}  {mbps(chosen.throughput_bps[pair])}  {transport}: {ways}")
    if len(split) > _SHOWN:
        tell(f"  and {len(split) - _SHOWN} more: --json or --out has all")


def _used(chosen: "Plan", pair: int) -> list[int]:
    first = chosen.splits.candidates.first
    return [path for path in range(int(first[pair]), int(first[pair + 1])) if chosen.splits.shares[path] > 0]


def _print_front(plans: "Sequence[Plan]", rivals: "Sequence[tuple[float, Plan] | None]") -> None:
    tell()
    rows = []
    for one, rival in zip_longest(plans, rivals):
        paper = "-" if rival is None else f"X = {rival[0]:g}, {mbps(rival[1].mean_bps)}"
        rows.append(("front", *_cells(one), paper))
    print_table(TextTable((*_HEAD, "HYBRID-HOP there, mean"), rows, text_columns=1))


def _cells(one: "Plan") -> tuple[str, ...]:
    return (
        load_text(one.worst_case_load, 4),
        f"{one.single_pairs} of {one.pairs}",
        mbps(one.total_bps),
        mbps(one.mean_bps),
        mbps(one.worst_bps),
    )
