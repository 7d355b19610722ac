"""``anabranch robust``."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from anabranch.cli.candidate_paths import candidate_paths, require_range, require_used
from anabranch.cli.exit_status import DONE, INTERRUPTED, UsageError
from anabranch.cli.exporting import Exporting
from anabranch.cli.lost_traffic import lost_lines
from anabranch.cli.options import (
    FAILURES,
    OUTPUT,
    PATHS,
    SEARCH,
    TRAFFIC,
    Capacity,
    Directed,
    Json,
    Part,
    Share,
    TopologyName,
    Whole,
    at_least,
    rate_bps,
    require_svg,
    seconds,
)
from anabranch.cli.output import json_text, load_text, say, tell
from anabranch.cli.robust_refined import Ruling, print_loads, print_second, record
from anabranch.cli.traffic import Traffic
from anabranch.foundation.extras import require
from anabranch.foundation.output_files import require_writable, write_text
from anabranch.foundation.progress import Steps

if TYPE_CHECKING:
    from anabranch.engineering.robust import Network, Problem, RobustRouting, TrafficModel
    from anabranch.engineering.robust.failures import AfterFailure, Failure
    from anabranch.engineering.robust.protection import Protected
    from anabranch.engineering.robust.refining import Refined

_SHOWN = 10
_REFINING = ("--max-paths", "--weights-in", "--then")
_UNUSED = {
    "--sweep": ("--single", "--limit", "--fail", "--protect", "--out", "--export", *_REFINING),
    "--protect": ("--limit", "--method", *_REFINING),
    "--judge": ("--single", "--sweep", "--protect", "--export", *_REFINING),
}
"""Options that would change nothing beside one of these."""


@Parameter(name="*", group=PATHS)
@dataclass(frozen=True)
class Candidates:
    """The paths to choose from."""

    paths: Annotated[
        str,
        Parameter(help='Candidate paths per pair: a number of shortest paths, "all", disjoint=N, or a file of paths.'),
    ] = "4"
    by: Annotated[Literal["hop-count", "delay"], Parameter(help="Path length to minimise.")] = "hop-count"
    ties: Annotated[
        Literal["links", "delay", "hop-count", "first-found"],
        Parameter(help="Order of equally short paths: by link numbers, delay, hops, or as networkx finds them."),
    ] = "links"
    judge: Annotated[
        str | None,
        Parameter(
            help="Judge a routing as it is: equal-cost multipath by hop-count, ospf, cost or delay, or a file of splits, "
            "routes, weights, or an export."
        ),
    ] = None
    single: Annotated[
        Share, Parameter(help="Pairs that use only their shortest path, longest candidates first: 0.4 or 40%.")
    ] = 0.0
    sweep: Annotated[
        bool, Parameter(negative="", help="Instead of --single, all of 0%, 20%, ..., 100%, as a table.")
    ] = False
    draws: Annotated[
        Whole, Parameter(help="With --sweep: number of random tie-breaks whose range of loads to show.")
    ] = 0


@Parameter(name="*", group=SEARCH)
@dataclass(frozen=True)
class Solving:
    """How, how well and for how long."""

    method: Annotated[Literal["auto", "compact", "exchange"], Parameter(help="How it is solved.")] = "auto"
    gap: Annotated[float, Parameter(help="Relative gap between the bounds at which the search ends.")] = 1e-6
    limit: Annotated[
        str | None, Parameter(help="Time limit of the search, such as 60s; prints the best result and its gap.")
    ] = None


@Parameter(name="*", group=FAILURES)
@dataclass(frozen=True)
class Failing:
    """The failures after which the load counts too."""

    fail: Annotated[
        str | None,
        Parameter(
            help='Also compute the load after failures: of "links" or "nodes", one at a time, of one or two links (links=2), '
            "or of groups of links in a file."
        ),
    ] = None
    protect: Annotated[
        bool,
        Parameter(
            negative="",
            help="With --fail: choose splits for all failures together; without it, splits are renormalised after each.",
        ),
    ] = False


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class Output:
    """The outputs of the splits."""

    out: Annotated[Path | None, Parameter(name=["--out", "-o"], help="Write the JSON document to this file.")] = None
    picture: Annotated[Path | None, Parameter(help="With --sweep: draw it into this SVG file.")] = None
    json: Json = False

    def show(self, document: "Callable[[], dict[str, Any]]", table: "Callable[[], None]") -> None:
        """Write the document, if it is wanted, then print it or the table: whoever reads the output may end before the last line."""
        text = json_text(document()) if self.json or self.out is not None else ""
        try:
            if self.out is not None:
                write_text(self.out, text + "\n")
        finally:  # a file that cannot be written costs no output
            if self.json:
                print(text)
            else:
                table()


def robust(
    topology: TopologyName,
    /,
    *,
    directed: Directed = None,
    part: Part = None,
    capacity: Capacity = None,
    traffic: Traffic = Traffic(),
    box: Annotated[
        str | None,
        Parameter(group=TRAFFIC, help="All matrices around the one of --matrix, from and to a factor: --box 0.5..2."),
    ] = None,
    candidates: Candidates = Candidates(),
    ruling: Ruling = Ruling(),
    solving: Solving = Solving(),
    failing: Failing = Failing(),
    exporting: Exporting = Exporting(),
    output: Output = Output(),
) -> int:
    """Minimise the maximum link utilisation over all matrices of a traffic model, by splitting each pair's traffic over paths.

    Prints the worst-case load with its certificate. Ctrl-C prints the best routing so far and ends with status 130.
    """
    from anabranch.engineering.robust import Network, as_routes, best_found, document, refine, verify
    from anabranch.engineering.robust.hybrid import with_single_paths
    from anabranch.engineering.robust.progress import BoundsProgress
    from anabranch.network.topologies.warned import load_warned

    _require_possible(candidates, solving)
    ruling.require_possible()
    _require_used(candidates, ruling, solving, failing, exporting, output)
    if output.picture is not None:
        require_svg("--picture", output.picture)
        require("--picture", "figures")
    for file in (output.out, output.picture):
        if file is not None:
            require_writable(file)
            traffic.refuse_as_output("--out" if file is output.out else "--picture", file)
    capacity_bps = None if capacity is None else rate_bps("--capacity", capacity)
    given = {"capacity_bps": None if capacity is None else f"--capacity {capacity}"}
    network = Network.of(load_warned(topology, directed, part, given), capacity_bps)
    exporting.require(network.topology.name, network.topology)
    model = traffic.model(network, box)
    limit_s = float("inf") if solving.limit is None else seconds("--limit", solving.limit)
    if candidates.judge is not None:
        from anabranch.cli.robust_judge import judge

        failures = _failures(network, failing.fail)
        return judge(
            candidates.judge,
            network,
            model,
            failures,
            lambda: _problem(network, model, candidates, ruling.stretch),
            solving,
            limit_s,
            output,
        )
    chosen = _problem(network, model, candidates, ruling.stretch)
    if candidates.sweep:
        return _sweep(chosen, candidates, solving, output)
    problem = with_single_paths(chosen, round(100 * candidates.single, 9))
    failures = _failures(network, failing.fail)
    if failing.protect:
        if failing.fail is None:
            raise UsageError("--protect: say against which failures, as in --fail links")
        return _protected(problem, failures, solving.gap, exporting, output)
    ends = time.monotonic() + limit_s
    refined: Refined | None = None
    with BoundsProgress() as progress:
        routing = best_found(problem, solving.method, solving.gap, progress, limit_s)
        closed = routing.gap
        if ruling.refines:
            left_s = 0.0 if routing.interrupted else ends - time.monotonic()
            refined = refine(routing, ruling.rules(), ruling.then, ruling.slack, left_s, progress)
            routing = refined.routing
    verify(routing)
    without_stretch = None if ruling.stretch is None else _without_stretch(network, model, candidates, solving, limit_s)
    after = _after_failures(routing, failures)
    interrupted = len(after) < len(failures)
    output.show(
        lambda: (
            document(routing, after)
            | ({} if refined is None else record(refined))
            | ({} if ruling.stretch is None else {"load_without_stretch": without_stretch})
            | {"interrupted": interrupted or routing.interrupted}
        ),
        lambda: _print(routing, after, refined, without_stretch),
    )
    if output.out is not None:
        say(f"Splits: {output.out}")
    exporting.write_loaded(as_routes(routing.splits), network, model, routing.worst_case_load)
    if interrupted:
        say(f"Interrupted: loads after {len(after)} of {len(failures)} failures.")
        return INTERRUPTED
    if routing.interrupted:
        say(f"Interrupted: the best routing so far, with a gap of {_gap(routing, refined):.2%}.")
        return INTERRUPTED
    if routing.out_of_time:
        say(f"Time is up: the best routing so far, with a gap of {_gap(routing, refined):.2%}.")
    else:
        _require_closed(solving.method, closed, solving.gap)
    return DONE


def _require_possible(candidates: Candidates, solving: Solving) -> None:
    """Refuse numbers out of their range.

    Raises:
        UsageError: names the option, its value and the range.
    """
    at_least(0, draws=candidates.draws)
    require_range(candidates.paths)
    if not 0 <= candidates.single <= 1:
        raise UsageError(f"--single {100 * candidates.single:g}%: must be from 0% to 100%")
    if not 0 <= solving.gap < 1:
        raise UsageError(f"--gap {solving.gap:g}: must be at least 0 and less than 1, such as 1e-6")


def _require_used(
    candidates: Candidates, ruling: Ruling, solving: Solving, failing: Failing, exporting: Exporting, output: Output
) -> None:
    """Refuse options that would change nothing.

    Raises:
        UsageError: names the option.
    """
    given = {
        f"--{field.name.replace('_', '-')}"
        for group in (candidates, ruling, solving, failing, exporting, output)
        for field in fields(group)
        if getattr(group, field.name) != field.default
    }
    for mode, unused in _UNUSED.items():
        for option in unused:
            if {mode, option} <= given:
                raise UsageError(f"{option} does not go with {mode}")
    for option in ("--draws", "--picture"):
        if option in given and not candidates.sweep:
            raise UsageError(f"{option} goes with --sweep")
    if ruling.stretch is not None and candidates.paths == "all":
        raise UsageError(
            "--stretch goes with candidate paths, not with --paths all; give many of them, as in --paths 50"
        )
    require_used(candidates.paths, "--by" in given and ruling.stretch is None, "--ties" in given)


def _require_closed(method: str, gap: float, wanted: float) -> None:
    from anabranch.engineering.robust import RobustError

    if gap > wanted:
        raise RobustError(f"{method} ended with a gap of {gap:.2g}, above the {wanted:g} wanted")


def _sweep(problem: "Problem", candidates: Candidates, solving: Solving, output: Output) -> int:
    from anabranch.engineering.robust import verify
    from anabranch.engineering.robust.progress import BoundsProgress
    from anabranch.engineering.robust.sweep import PERCENTAGES, picture, records, sweep

    paths, by, draws = candidates.paths, candidates.by, candidates.draws
    if draws and not paths.isdecimal():
        raise UsageError(f"--draws {draws}: ranges over ties are of the shortest paths, such as --paths 2, not {paths}")
    with BoundsProgress() as progress:
        steps = sweep(
            problem,
            method=solving.method,
            gap=solving.gap,
            report=progress,
            ties=(int(paths), by, draws) if draws else None,
        )
    for step in steps:
        verify(step.routing)
    rows = records(steps)
    if output.picture is not None:
        picture(steps, f"{problem.network.topology.name}, by {by}", output.picture)
    if output.json:
        print(json_text({"topology": problem.network.topology.name, "by": by, "sweep": rows}))
    else:
        tell("single paths  worst-case load  lower bound" + ("  over ties" if draws else ""))
        for row in rows:
            over = row["over_ties"]
            span = f"  {load_text(over['least_found'], 4)} to {load_text(over['greatest_found'], 4)}" if over else ""
            tell(
                f"{row['single_percent']:10.0f} %  {load_text(row['worst_case_load']):>15}  {load_text(row['lower_bound']):>11}{span}"
            )
    if steps[-1].routing.interrupted:
        say(f"Interrupted: {len(steps) - 1} of {len(PERCENTAGES)} steps are complete.")
        return INTERRUPTED
    _require_closed(solving.method, max(row["gap"] for row in rows), solving.gap)
    return DONE


def _without_stretch(
    network: "Network", model: "TrafficModel", candidates: Candidates, solving: Solving, limit_s: float
) -> float | None:
    """The least load over the candidates of any length; None if Ctrl-C ends the search."""
    from anabranch.engineering.robust import best_found
    from anabranch.engineering.robust.hybrid import with_single_paths
    from anabranch.engineering.robust.progress import BoundsProgress

    whole = with_single_paths(_problem(network, model, candidates), round(100 * candidates.single, 9))
    with BoundsProgress() as progress:
        found = best_found(whole, solving.method, solving.gap, progress, limit_s)
    return None if found.interrupted else found.worst_case_load


def _gap(routing: "RobustRouting", refined: "Refined | None") -> float:
    return routing.gap if refined is None else refined.load_gap


def _problem(
    network: "Network", model: "TrafficModel", candidates: Candidates, stretch: float | None = None
) -> "Problem":
    from anabranch.engineering import robust

    if candidates.paths == "all":
        return robust.Problem.over_all_paths(network, model)
    chosen = candidate_paths(
        network, candidates.paths, candidates.by, candidates.ties, 'a number, "all", disjoint=N, or a file of paths'
    )
    if stretch is not None:
        chosen = robust.within_stretch(chosen, stretch, candidates.by)
    return robust.Problem(network, model, chosen)


def _failures(network: "Network", fail: str | None) -> "list[Failure]":
    from anabranch.engineering.robust.failures import failures_of

    return [] if fail is None else failures_of(fail, network)


def _protected(problem: "Problem", failures: "list[Failure]", gap: float, exporting: Exporting, output: Output) -> int:
    from anabranch.engineering.robust.documents import as_routes, protected_document
    from anabranch.engineering.robust.progress import BoundsProgress
    from anabranch.engineering.robust.protection import protect

    with BoundsProgress() as progress:
        found = protect(problem, failures, gap, progress)
    output.show(lambda: protected_document(found), lambda: _print_protection(found, len(failures)))
    exporting.write_loaded(as_routes(found.splits), problem.network, problem.model, found.load_before)
    if found.interrupted:
        say(f"Interrupted: the best splits so far, with a gap of {found.gap:.2%}.")
        return INTERRUPTED
    _require_closed("--protect", found.gap, gap)
    return DONE


def _print_protection(found: "Protected", failures: int) -> None:
    tell(f"worst-case load  {load_text(found.load)} over {failures} failures, {load_text(found.load_before)} without")
    tell(f"lower bound      {load_text(found.lower_bound)}   gap {found.gap:.2g}")
    _print_failures(found.problem.network, found.load_before, found.after)


def _after_failures(routing: "RobustRouting", failures: "list[Failure]") -> "list[AfterFailure]":
    """The loads after each failure. Ctrl-C leaves out the remaining failures: it must not cost the routing itself."""
    from anabranch.engineering.robust.failures import after

    found: list[AfterFailure] = []
    with suppress(KeyboardInterrupt), Steps(len(failures), "failures") as steps:
        for failure in failures:
            found += after(routing.problem.model, routing.splits, [failure])
            steps.advance()
    return found


def _print_failures(network: "Network", load_before: float, found: "Sequence[AfterFailure]") -> None:
    worst = sorted(found, key=lambda one: -one.load)[:_SHOWN]
    tell(f"after failures   {', '.join(f'{one.failure.name} {load_text(one.load, 4)}' for one in worst)}")
    for line in lost_lines(network, load_before, found):
        tell(line)


def _print(
    routing: "RobustRouting",
    failures: "list[AfterFailure]",
    refined: "Refined | None",
    without_stretch: float | None,
) -> None:
    from anabranch.engineering.robust.documents import document as as_document

    document = as_document(routing)
    sending = routing.problem.sending.tolist()
    single = sum(len(split["paths"]) == 1 for split, sends in zip(document["splits"], sending, strict=True) if sends)
    if refined is None:
        tell(f"worst-case load  {load_text(routing.worst_case_load)}")
        tell(f"lower bound      {load_text(routing.lower_bound)}   gap {routing.gap:.2g}")
    else:
        print_loads(refined)
    if without_stretch is not None:
        tell(f"any stretch      {load_text(without_stretch)}")
    tell(f"worst link       {' -> '.join(routing.worst_link)}")
    tell(f"worst traffic    {traffic_text(document['worst_matrix'])}")
    tell(f"pairs            {sum(sending)}, {single} of them on a single path")
    if refined is not None and refined.second is not None:
        print_second(refined.second)
    if failures:
        _print_failures(routing.problem.network, routing.worst_case_load, failures)
        for line in _ways_out(routing, failures):
            tell(line)


def _ways_out(routing: "RobustRouting", failures: "Sequence[AfterFailure]") -> "Iterator[str]":
    """What would carry the lost traffic: it is lost if no path in use is left, though there may be others."""
    from anabranch.engineering.robust.failures import cut_by, surviving

    network, splits = routing.problem.network, routing.splits
    by_candidates = by_others = 0
    for one in failures:
        if one.lost_pairs:
            left = set(splits.candidates.pair[surviving(splits, one.failure)].tolist())
            cut = cut_by(network, one.failure)
            by_candidates += sum(pair in left for pair in one.lost_pairs)
            by_others += sum(pair not in left and pair not in cut for pair in one.lost_pairs)
    if by_candidates:
        yield f"                 candidate paths are left for {by_candidates} of them: --protect uses these"
    if by_others:
        yield f"                 other paths are left for {by_others} of them: --paths disjoint=2 --protect uses these"


def traffic_text(matrix: "Sequence[dict[str, Any]]") -> str:
    """The greatest rates of a matrix in a document."""
    rates = sorted(matrix, key=lambda entry: -entry["rate_bps"])
    shown = ", ".join(
        f"{entry['src']} -> {entry['dst']} {entry['rate_bps'] / 1e6:g} Mbit/s" for entry in rates[:_SHOWN]
    )
    return shown + (f", and {len(rates) - _SHOWN} more" if len(rates) > _SHOWN else "")
