"""Judge that ``anabranch plan`` never has a worse plan for a more generous load: 30 networks times 6 loads, each load by a planner of its own.

A planner of its own is what a separate command has. Prints a table, and writes it into docs/validation/plan.md. The exit status is 1 if a plan is worse.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from rich.console import Console

from anabranch import robust, topologies
from anabranch.engineering.plan import Plan, Planner
from anabranch.engineering.plan.ties import in_order
from anabranch.network.topologies import Link, Node, Topology
from validation.section import Section

PAGE = Path(__file__).resolve().parents[1] / "docs" / "validation" / "plan.md"
CAPACITY_BPS, HOSE_BPS = 1e9, 200e6
FACTORS = (1.0, 1.02, 1.05, 1.1, 1.2, 1.4)
"""Loads, as multiples of the least."""
REAL = (
    *(f"topozoo/{name}" for name in ("Heanet", "Getnet", "Sanren", "Layer42", "Epoch", "Gridnet", "Abilene")),
    *("topozoo/Sprint", "topozoo/Compuserve", "sndlib/dfn-bwin", "sndlib/polska", "nsfnet"),
)
RANDOM = 18
TRADE = "trade"
"""More load for more single paths, where splits cost no throughput: the plan without loss has all pairs on single paths."""
_EQUAL = 1e-6
_ROUNDING = 1e-9


def real(name: str) -> robust.Problem:
    """The network with the same hose at every node."""
    network = robust.Network.of(in_order(topologies.load(name)), CAPACITY_BPS)
    return robust.Problem(network, robust.hose(network, HOSE_BPS), robust.shortest(network, 4, ties="delay"))


def random(seed: int) -> robust.Problem:
    """A ring of 6 to 9 nodes with 2 to 4 chords and delays of 1 to 10 ms; a hose that differs between nodes, or a matrix."""
    draws = np.random.default_rng(seed)
    nodes = 6 + seed % 4
    pairs = {(node, (node + 1) % nodes) for node in range(nodes)}
    chords = [(one, other) for one in range(nodes) for other in range(one + 2, nodes) if (other, one) not in pairs]
    pairs |= {chords[place] for place in draws.permutation(len(chords))[: 2 + seed % 3]}
    delays_s = {pair: float(draws.integers(1, 11)) / 1e3 for pair in sorted(pairs)}
    links = tuple(
        Link(str(source), str(target), round(CAPACITY_BPS), delay_s=delay_s)
        for pair, delay_s in delays_s.items()
        for source, target in (pair, pair[::-1])
    )
    topology = Topology(f"random-{seed}", tuple(Node(str(node)) for node in range(nodes)), links)
    network = robust.Network.of(in_order(topology))
    model: robust.TrafficModel
    if seed % 3 == 0:
        model = robust.pipe(network, draws.integers(1, 10, (nodes, nodes)) * 2e7)
    else:
        sent, received = (draws.integers(1, 5, nodes) * 1e8 for _ in range(2))
        model = robust.hose(network, sent, received)
    return robust.Problem(network, model, robust.shortest(network, 4, ties="delay"))


def change(tight: Plan, generous: Plan) -> str | None:
    """How the plan for the more generous load is worse, or trades load for single paths at equal throughput; None if neither."""
    gained = generous.total_bps / tight.total_bps - 1
    if gained < -_EQUAL:
        return "less throughput"
    if gained > _EQUAL:
        return None
    more_load = generous.worst_case_load > tight.worst_case_load * (1 + _ROUNDING)
    singles = generous.single_pairs - tight.single_pairs
    if more_load:
        return TRADE if singles > 0 else "more load"
    return "fewer single pairs" if singles < 0 else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the networks."""
    parser = argparse.ArgumentParser(prog="python -m validation.plan", description=__doc__)
    parser.add_argument(
        "--networks", type=int, default=len(REAL) + RANDOM, help="only the first so many, which the page says"
    )
    wanted = parser.parse_args(arguments)
    # So that the first few are of both kinds.
    places = [((place + 0.5) / RANDOM, f"random-{place}") for place in range(RANDOM)]
    places += [((place + 0.5) / len(REAL), name) for place, name in enumerate(REAL)]
    names = [name for _, name in sorted(places)]
    rows: list[tuple[str, ...]] = []
    worse = traded = 0
    began_s = time.process_time()
    for name in names[: wanted.networks]:
        problem = real(name) if name in REAL else random(int(name.removeprefix("random-")))
        least = Planner(problem).least.worst_case_load
        plans = [Planner(problem).plan(least * factor) for factor in FACTORS]
        found = [case for tight, generous in pairwise(plans) if (case := change(tight, generous)) is not None]
        traded += found.count(TRADE)
        worse += len(found) - found.count(TRADE)
        shares = (f"{plan.total_bps / plan.most_bps:.4f}" for plan in plans)
        rows.append((name, str(plans[0].pairs), *shares, ", ".join(found) or "-"))
        print(*rows[-1], file=sys.stderr, flush=True)
    section = Section(
        key="plan",
        title="A more generous load never gives a worse plan",
        model="the plans for less load",
        how=(
            f"Hose of {HOSE_BPS / 1e6:g} Mbit/s at every node of {sum(row[0] in REAL for row in rows)} networks, "
            f"hoses and matrices on {sum(row[0] not in REAL for row in rows)} random ones; "
            f"links of {CAPACITY_BPS / 1e9:g} Gbit/s, and a planner of its own for each load. "
            "Columns: throughput at multiples of the least load, as a share of the most."
        ),
        columns=("network", "pairs", *(f"x {factor:g}" for factor in FACTORS), "worse"),
        rows=rows,
        passed=worse == 0,
        verdict=(
            f"{worse} plans are worse than that of the next smaller load, on {len(rows)} networks x {len(FACTORS)} loads. "
            f"{traded} have more load for more single paths at equal throughput (trade)."
        ),
        notes=(f"{time.process_time() - began_s:.0f} CPU seconds.",),
    )
    section.show(Console())
    command = parser.prog if len(rows) == len(names) else f"{parser.prog} --networks {len(rows)}"
    lines = ["# Plans for more and for less load", "", f"Run again with `{command}`. {section.how}", ""]
    lines += ["| " + " | ".join(section.columns) + " |", "|---" * len(section.columns) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    PAGE.write_text("\n".join([*lines, "", f"**{section.mark}**: {section.verdict} {section.notes[0]}", ""]))
    return 0 if section.passed else 1


if __name__ == "__main__":
    sys.exit(main())
