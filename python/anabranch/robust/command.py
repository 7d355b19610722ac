"""``anabranch robust``."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from anabranch.output_files import require_writable, write_text
from anabranch.robust.options import Capacity, Hose, Matrix, Pipe, TopologyName

if TYPE_CHECKING:
    from anabranch.robust import Network, Problem, RobustRouting, TrafficModel
    from anabranch.robust.failures import AfterFailure, Failure

DONE, INTERRUPTED = 0, 130
_SHOWN = 10


def robust(
    topology: TopologyName,
    /,
    *,
    hose: Hose = None,
    pipe: Pipe = None,
    matrix: Matrix = None,
    box: Annotated[
        str | None, Parameter(help="All matrices around the one of --matrix, from and to a factor: --box 0.5..2.")
    ] = None,
    directed: Annotated[bool | None, Parameter(help="Whether links of a CSV or SNDlib file are directed.")] = None,
    capacity: Capacity = None,
    paths: Annotated[
        str, Parameter(help='Candidates of a pair: so many of the shortest, "all", disjoint=N, or a file of paths.')
    ] = "4",
    by: Annotated[Literal["hop-count", "delay"], Parameter(help="What is short.")] = "hop-count",
    ties: Annotated[
        Literal["links", "delay", "hop-count", "first-found"],
        Parameter(
            help="Which of equally short paths comes first: of lower links, of less delay or hops, or networkx's."
        ),
    ] = "links",
    single: Annotated[
        float, Parameter(help="Percent of pairs that keep to their shortest path, those of longest candidates first.")
    ] = 0.0,
    sweep: Annotated[
        bool, Parameter(negative="", help="Instead of --single, all of 0, 20, ..., 100 percent, as a table.")
    ] = False,
    draws: Annotated[int, Parameter(help="With --sweep: the range of loads over so many random tie-breaks.")] = 0,
    picture: Annotated[Path | None, Parameter(help="With --sweep: draw it into this SVG file.")] = None,
    method: Annotated[Literal["auto", "compact", "exchange"], Parameter(help="How it is solved.")] = "auto",
    gap: Annotated[float, Parameter(help="At which relative gap between the bounds the search ends.")] = 1e-6,
    limit: Annotated[
        str | None, Parameter(help="End the search after so long, such as 60s, with the gap it has.")
    ] = None,
    fail: Annotated[
        str | None, Parameter(help='Also the load after failures: of "links", one at a time, or of groups in a file.')
    ] = None,
    protect: Annotated[
        bool, Parameter(negative="", help="With --fail: splits that bear every failure; else they are renormalised.")
    ] = False,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"], help="Write the JSON document to this file.")] = None,
    json: Annotated[bool, Parameter(name="--json", negative="", help="Print one JSON document.")] = False,
) -> int:
    """Split the traffic of every pair so that the worst case of a traffic model loads no link more than need be.

    Prints the worst-case load with its certificate. Ctrl-C prints the best routing so far and ends with status 130.
    """
    from anabranch.robust import Network, RobustError, best_found, verify
    from anabranch.robust.hybrid import with_single_paths
    from anabranch.robust.progress import Bounds
    from anabranch.topologies.warned import load_warned

    for file in (out, picture):
        if file is not None:
            require_writable(file)
    network = Network.of(load_warned(topology, directed), None if capacity is None else _rate(capacity, "--capacity"))
    model = _model(network, hose, pipe, matrix or [], box)
    chosen = _problem(network, model, paths, by, ties)
    if sweep:
        return _sweep(chosen, (paths, by, draws), method, gap, picture, json)
    problem = with_single_paths(chosen, single)
    failures = _failures(network, fail)
    if protect:
        if fail is None:
            raise RobustError("--protect: say against which failures, as in --fail links")
        return _protected(problem, failures, gap, out, json)
    with Bounds() as progress:
        routing = best_found(problem, method, gap, progress, _seconds(limit))
    verify(routing)
    text = _text(routing, failures)
    if json:
        print(text)
    else:
        _print(routing, failures)
    if out is not None:
        write_text(out, text + "\n")
        print(f"Splits: {out}", file=sys.stderr)
    if routing.interrupted:
        print(f"Interrupted: the best routing until then, with a gap of {routing.gap:.2%}.", file=sys.stderr)
        return INTERRUPTED
    if routing.out_of_time:
        print(f"Time is up: the best routing until then, with a gap of {routing.gap:.2%}.", file=sys.stderr)
    elif not routing.closed:
        raise RobustError(f"{method} ended with a gap of {routing.gap:.2g}, above the {gap:g} wanted")
    return DONE


def _sweep(
    problem: "Problem",
    ties: tuple[str, Literal["hop-count", "delay"], int],
    method: Literal["auto", "compact", "exchange"],
    gap: float,
    output: Path | None,
    json: bool,
) -> int:
    from json import dumps

    from anabranch.robust import RobustError
    from anabranch.robust.progress import Bounds
    from anabranch.robust.sweep import picture, records, sweep

    paths, by, draws = ties
    if draws and not paths.isdecimal():
        raise RobustError(
            f"--draws {draws}: ranges over ties are of the shortest paths, such as --paths 2, not {paths}"
        )
    with Bounds() as progress:
        steps = sweep(problem, method=method, gap=gap, report=progress, ties=(int(paths), by, draws) if draws else None)
    rows = records(steps)
    if output is not None:
        picture(steps, f"{problem.network.topology.name}, by {by}", output)
    if json:
        print(dumps({"topology": problem.network.topology.name, "by": by, "sweep": rows}, indent=1, allow_nan=False))
    else:
        print("single paths  worst-case load  lower bound" + ("  over ties" if draws else ""))
        for row in rows:
            over = row["over_ties"]
            span = f"  {over['least_found']:.4f} to {over['greatest_found']:.4f}" if over else ""
            print(f"{row['single_percent']:10.0f} %  {row['worst_case_load']:15.6f}  {row['lower_bound']:11.6f}{span}")
    return INTERRUPTED if steps[-1].routing.interrupted else DONE


def _model(
    network: "Network", hose: str | None, pipe: str | None, matrices: Sequence[str], box: str | None
) -> "TrafficModel":
    from anabranch import robust
    from anabranch.robust.files import hose_rates, pair_rates

    within = None
    if hose is not None or pipe is not None:
        sent, received = (None, None) if hose is None else hose_rates(hose, network)
        within = robust.bounds(network, sent, received, None if pipe is None else pair_rates(pipe, network))
    given = [pair_rates(source, network) for source in matrices]
    if box is not None:
        if len(given) != 1:
            raise robust.RobustError(f"--box {box}: goes with one --matrix; there are {len(given)}")
        least, dots, most = box.partition("..")
        try:
            factors = float(least), float(most)
        except ValueError:
            dots = ""
        if not dots:
            raise robust.RobustError(f"--box {box}: must be two factors, such as 0.5..2")
        return robust.box(network, given[0], *factors, within=within)
    if given:
        if within is not None:
            raise robust.RobustError(
                "--matrix without --box is the whole traffic model; it does not go with --hose or --pipe"
            )
        return robust.matrices(network, given)
    if within is None:
        raise robust.RobustError("no traffic model: give --hose, --pipe, both, or --matrix")
    return within


def _problem(
    network: "Network",
    model: "TrafficModel",
    paths: str,
    by: Literal["hop-count", "delay"],
    ties: Literal["links", "delay", "hop-count", "first-found"],
) -> "Problem":
    from anabranch import robust
    from anabranch.robust.files import path_lists

    if paths == "all":
        return robust.Problem.over_all_paths(network, model)
    kind, equals, number = paths.rpartition("=")
    if number.isdecimal() and kind in ("", "disjoint"):
        chosen = (
            robust.disjoint(network, int(number), by) if equals else robust.shortest(network, int(number), by, ties)
        )
    elif Path(paths).exists():
        try:
            chosen = robust.given(network, path_lists(Path(paths)))
        except robust.RobustError as error:
            raise robust.RobustError(f"--paths {paths}: {error}") from None
    else:
        raise robust.RobustError(f'--paths {paths}: must be a number, "all", disjoint=N, or a file of paths')
    return robust.Problem(network, model, chosen)


def _rate(text: str, option: str) -> float:
    from anabranch import units
    from anabranch.robust import RobustError

    try:
        return float(units.rate(text))
    except units.UnitError as error:
        raise RobustError(f"{option} {text}: {error}") from None


def _seconds(limit: str | None) -> float:
    from anabranch import units
    from anabranch.robust import RobustError

    try:
        return float("inf") if limit is None else units.duration(limit) / units.PICOSECONDS_PER_SECOND
    except units.UnitError as error:
        raise RobustError(f"--limit {limit}: {error}") from None


def _failures(network: "Network", fail: str | None) -> "list[Failure]":
    from anabranch.robust.failures import shared_risks, single_links

    if fail is None:
        return []
    return single_links(network) if fail == "links" else shared_risks(Path(fail), network)


def _protected(problem: "Problem", failures: "list[Failure]", gap: float, out: Path | None, json: bool) -> int:
    from json import dumps

    from anabranch.robust.document import protected_document
    from anabranch.robust.progress import Bounds
    from anabranch.robust.protection import protect

    with Bounds() as progress:
        found = protect(problem, failures, gap, progress)
    text = dumps(protected_document(found), indent=1, ensure_ascii=False, allow_nan=False)
    if json:
        print(text)
    else:
        print(f"worst-case load  {found.load:.6f} over {len(failures)} failures, {found.load_before:.6f} without")
        print(f"lower bound      {found.lower_bound:.6f}   gap {found.gap:.2g}")
        _print_failures(found.after)
    if out is not None:
        write_text(out, text + "\n")
    return INTERRUPTED if found.interrupted else DONE


def _text(routing: "RobustRouting", failures: "list[Failure]") -> str:
    import json

    from anabranch.robust.document import document

    return json.dumps(document(routing, failures), indent=1, ensure_ascii=False, allow_nan=False)


def _print_failures(found: "Sequence[AfterFailure]") -> None:
    worst = sorted(found, key=lambda one: -one.load)[:_SHOWN]
    print(f"after failures   {', '.join(f'{one.failure.name} {one.load:.4f}' for one in worst)}")
    lost = [one for one in found if one.lost_pairs]
    if lost:
        print(f"lost traffic     after {len(lost)} failures some pairs have no path left")


def _print(routing: "RobustRouting", failures: "list[Failure]") -> None:
    from anabranch.robust.document import document as as_document
    from anabranch.robust.failures import after

    document = as_document(routing)
    single = sum(len(split["paths"]) == 1 for split in document["splits"])
    print(f"worst-case load  {routing.worst_case_load:.6f}")
    print(f"lower bound      {routing.lower_bound:.6f}   gap {routing.gap:.2g}")
    print(f"worst link       {' -> '.join(routing.worst_link)}")
    rates = sorted(document["worst_matrix"], key=lambda entry: -entry["rate_bps"])
    shown = ", ".join(
        f"{entry['src']} -> {entry['dst']} {entry['rate_bps'] / 1e6:g} Mbit/s" for entry in rates[:_SHOWN]
    )
    more = f", and {len(rates) - _SHOWN} more" if len(rates) > _SHOWN else ""
    print(f"worst traffic    {shown}{more}")
    print(f"pairs            {len(document['splits'])}, {single} of them on a single path")
    if failures:
        _print_failures(after(routing.problem.model, routing.splits, failures))
