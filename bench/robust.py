"""Robust routing: the paper's table beside ours, and how long the solvers take.

    python -m bench.robust [--page] [--only paper|speed] [--long]

Everything runs one after the other, HiGHS on one thread; seconds are processor time of this process, so that other work on the
machine counts little. ``--page`` writes the tables into docs/models/robust.md, ``--long`` runs the case that takes minutes.
"""

import argparse
import os
import platform
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from anabranch import version
from anabranch.engineering import robust
from anabranch.engineering.robust.sweep import PERCENTAGES, Step, sweep
from anabranch.network import topologies

PAGE = Path(__file__).resolve().parents[1] / "docs" / "models" / "robust.md"
HOSE, PIPE, CAPACITY = 130e6, 50e6, 500e6
"""Table 1 of the paper, for all networks."""
PUBLISHED = {"hop-count": (0.68, 0.82, 0.98, 1.08, 1.08, 1.08), "delay": (0.88, 1.04, 1.24, 1.50, 1.56, 1.56)}
"""Figures 12 and 13."""
TOPOLOGIES = ("nsfnet", "nsfnet-1050", "nsfnet-v2")
DRAWS = 50
RULES = (("hop-count", "first-found"), ("hop-count", "delay"), ("hop-count", "links"), ("delay", "links"))
SPEED: tuple[tuple[str, str, str, float | None, float, float, bool], ...] = (
    ("gabriel/100/0", "4", "hop-count", PIPE, 1e-6, 15, False),
    ("gabriel/100/0", "4", "delay", PIPE, 1e-6, 15, False),
    ("gabriel/100/0", "4", "hop-count", None, 1e-6, 15, False),
    ("gabriel/200/0", "4", "hop-count", PIPE, 1e-6, 30, False),
    ("gabriel/200/0", "4", "delay", None, 1e-6, 30, False),
    ("topozoo/AttMpls", "all", "hop-count", PIPE, 1e-4, 15, False),
    ("topozoo/AttMpls", "all", "hop-count", None, 1e-4, 15, False),
    ("sndlib/germany50", "4", "hop-count", PIPE, 1e-6, 15, False),
    ("sndlib/germany50", "all", "hop-count", None, 1e-2, 60, True),
)
"""Topology, candidates, metric, pipe, gap, seconds wanted, whether it takes minutes."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print or write the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.robust", description=__doc__)
    parser.add_argument("--page", action="store_true", help=f"write the tables into {PAGE.name}")
    parser.add_argument("--only", choices=("paper", "speed"), help="one of the two tables")
    parser.add_argument("--long", action="store_true", help="also what takes minutes")
    options = parser.parse_args(arguments)
    for key, table in (("paper", paper()), ("speed", speed(options.long))):
        if options.only in (None, key):
            text = "\n".join(table)
            print(text, flush=True)
            if options.page:
                write(key, text)
    return 0


def write(key: str, text: str) -> None:
    """Replace a generated part of the page."""
    begin, end = f"<!-- written by python -m bench.robust: {key} -->", f"<!-- end of {key} -->"
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    PAGE.write_text(f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}", encoding="utf-8")


def paper() -> Iterator[str]:
    """The sweep over X for each set of links, beside the published loads."""
    yield "| links, metric, ties | " + " | ".join(f"X = {percent:g}" for percent in PERCENTAGES) + " |"
    yield "|---|" + "---|" * len(PERCENTAGES)
    for by, published in PUBLISHED.items():
        name = "HYBRID-HOP" if by == "hop-count" else "HYBRID-DELAY"
        yield f"| {name}, published | " + " | ".join(f"{load:.2f}" for load in published) + " |"
        for topology in TOPOLOGIES:
            network = robust.Network.of(topologies.load(topology), CAPACITY)
            model = robust.bounds(network, HOSE, HOSE, PIPE)
            for metric, ties in RULES:
                if metric != by:
                    continue
                problem = robust.Problem(network, model, robust.shortest(network, 2, metric, ties))
                last = (metric, ties) == [rule for rule in RULES if rule[0] == by][-1]
                steps = sweep(problem, ties=(2, metric, DRAWS) if last and by == "hop-count" else None)
                yield f"| {topology}, {by}, {ties} | " + " | ".join(map(_load, steps)) + " |"
                if steps[0].over_ties is not None:
                    yield f"| {topology}, {by}, range over ties | " + " | ".join(map(_range, steps)) + " |"
    for topology in TOPOLOGIES:
        network = robust.Network.of(topologies.load(topology), CAPACITY)
        problem = robust.Problem.over_all_paths(network, robust.bounds(network, HOSE, HOSE, PIPE))
        found = {method: robust.solve(problem, method).worst_case_load for method in ("compact", "auto")}
        listed = ", ".join(f"{method} {load:.6f}" for method, load in found.items())
        yield f"\nALL on {topology}: {listed}; published 0.455."


def _load(step: Step) -> str:
    return f"{step.routing.worst_case_load:.3f}"


def _range(step: Step) -> str:
    over = step.over_ties
    return "" if over is None else f"{over.least:.3f} to {over.greatest:.3f}"


def speed(long: bool) -> Iterator[str]:
    """How long `auto` takes to which gap."""
    yield f"Anabranch {version()}, {platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}.\n"
    yield "| topology | candidates | traffic | load | gap | wanted gap | processor time, s | wanted, s |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, count, by, pipe, gap, wanted, takes_minutes in SPEED:
        if takes_minutes and not long:
            continue
        began = time.process_time()
        network = robust.Network.of(topologies.load(name), CAPACITY)
        model = robust.bounds(network, HOSE, HOSE, pipe)
        if count == "all":
            problem = robust.Problem.over_all_paths(network, model)
        else:
            problem = robust.Problem(network, model, robust.shortest(network, int(count), by))
        found = robust.solve(problem, "auto", gap)
        took = time.process_time() - began
        robust.verify(found)
        chosen = "all paths" if count == "all" else f"{count} by {by}"
        traffic = "hose" if pipe is None else "hose, pipe"
        yield (
            f"| {name} | {chosen} | {traffic} | {found.worst_case_load:.6f} | {found.gap:.1e} | {gap:g} "
            f"| {took:.1f} | {wanted:g} |"
        )


if __name__ == "__main__":
    raise SystemExit(main())
