"""Judge that ``anabranch plan`` never has a worse plan for a more generous load: networks times loads, each load by a planner of its own.

A planner of its own is what a separate command has. Prints a table, and writes it into docs/validation/plan.md. The exit status is 1 if a plan is worse.
"""

import argparse
import sys
import time
from itertools import pairwise
from pathlib import Path

from rich.console import Console

from anabranch import robust, topologies
from anabranch.engineering.plan import Plan, Planner
from anabranch.engineering.plan.ties import in_order
from validation.section import Section

PAGE = Path(__file__).resolve().parents[1] / "docs" / "validation" / "plan.md"
CAPACITY_BPS, HOSE_BPS = 1e9, 200e6
FACTORS = (1.0, 1.03, 1.08, 1.15, 1.25, 1.5)
"""Loads, as multiples of the least."""
NETWORKS = (
    *(f"topozoo/{name}" for name in ("Basnet", "Epoch", "Heanet", "Getnet", "Sanren", "Pacificwave", "Layer42", "Gridnet")),
    *("sndlib/dfn-bwin", "topozoo/Abilene", "sndlib/pdh", "topozoo/Sprint", "sndlib/polska", "topozoo/Compuserve"),
    *("sndlib/abilene", "topozoo/Gambia", "topozoo/Nsfnet", "topozoo/Restena", "topozoo/Navigata", "sndlib/nobel-us"),
    *("sndlib/atlanta", "topozoo/Spiralight", "sndlib/newyork", "topozoo/Garr199901", "sndlib/nobel-germany", "topozoo/Ans"),
    *(f"topozoo/{name}" for name in ("GtsRomania", "Noel", "Savvis", "Cesnet200304")),
)  # fmt: skip
"""From small to medium, up to 26 nodes."""
TRADE = "trade"
"""More load for more single paths, where splits cost no throughput: the plan without loss has all pairs on single paths."""
_EQUAL_BPS = 1.0
_ROUNDING = 1e-9


def problem_of(name: str) -> robust.Problem:
    """The network with a hose of every node."""
    network = robust.Network.of(in_order(topologies.load(name)), CAPACITY_BPS)
    return robust.Problem(network, robust.hose(network, HOSE_BPS), robust.shortest(network, 4, ties="delay"))


def change(tight: Plan, generous: Plan) -> str | None:
    """How the plan for the more generous load is worse, or trades load for single paths at equal throughput; None if neither."""
    gained = generous.total_bps - tight.total_bps
    if gained < -_EQUAL_BPS:
        return "less throughput"
    if gained > _EQUAL_BPS:
        return None
    more_load = generous.worst_case_load > tight.worst_case_load * (1 + _ROUNDING)
    singles = generous.single_pairs - tight.single_pairs
    if more_load:
        return TRADE if singles > 0 else "more load"
    return "fewer single pairs" if singles < 0 else None


def main(arguments: list[str] | None = None) -> int:
    """Run the networks until the time is up."""
    parser = argparse.ArgumentParser(prog="python -m validation.plan", description=__doc__)
    parser.add_argument("--time", type=float, default=float("inf"), metavar="SECONDS", help="begin no network after it")
    wanted = parser.parse_args(arguments)
    ends = time.monotonic() + wanted.time
    rows: list[tuple[str, ...]] = []
    cases = traded = 0
    for name in NETWORKS:
        if time.monotonic() > ends:
            break
        began_s = time.process_time()
        problem = problem_of(name)
        least = Planner(problem, limit_s=60.0).least.worst_case_load
        plans = [Planner(problem).plan(least * factor) for factor in FACTORS]
        found = [case for tight, generous in pairwise(plans) if (case := change(tight, generous)) is not None]
        traded += found.count(TRADE)
        cases += len(found) - found.count(TRADE)
        shares = (f"{plan.total_bps / plan.most_bps:.4f}" for plan in plans)
        taken = f"{time.process_time() - began_s:.0f}"
        rows.append((name, str(plans[0].pairs), *shares, ", ".join(found) or "0", taken))
        print(*rows[-1], file=sys.stderr, flush=True)
    passed = cases == 0 and len(rows) > 0
    section = Section(
        key="plan",
        title="A more generous load never gives a worse plan",
        model="the plans for less load",
        how=f"Hose of {HOSE_BPS / 1e6:g} Mbit/s, links of {CAPACITY_BPS / 1e9:g} Gbit/s, a planner of its own for each load. Columns: throughput at multiples of the least load, as a share of the most.",
        columns=("network", "pairs", *(f"x {factor:g}" for factor in FACTORS), "changes", "CPU s"),
        rows=rows,
        passed=passed,
        verdict=f"{cases} plans are worse than that of the next smaller load, on {len(rows)} of {len(NETWORKS)} networks x {len(FACTORS)} loads; {traded} trade load for single paths at equal throughput.",
    )
    section.show(Console())
    lines = ["# Plans for more and for less load", "", f"Run again with `{parser.prog}`. {section.how}", ""]
    lines += ["| " + " | ".join(section.columns) + " |", "|---" * len(section.columns) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    PAGE.write_text("\n".join([*lines, "", section.verdict, ""]))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
