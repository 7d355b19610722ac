"""Choose FastRTO's parameters by experiment; writes the tables of docs/models/fast-rto.md.

Prints what it finds. The page is left as it is with --quick.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console

from anabranch import _core, version
from validation.fast_rto import runs
from validation.fast_rto.cases import as_lines
from validation.fast_rto.runs import Outcome
from validation.fast_rto.search import (
    GROWTHS,
    RFC_6298,
    SENSITIVITY,
    Choice,
    Effort,
    Finalist,
    evaluate,
    fast_rto,
    follows_thesis,
    held_out,
    score,
    search,
    training,
)
from validation.section import Section

PAGE = Path(__file__).resolve().parents[2] / "docs" / "models" / "fast-rto.md"
NAMES = ("gamma", "srtt_factor", "rttvar_factor", "k", "k_diversity")
CASE_COLUMNS = ("case", "Mbit/s", "RTT of the paths, ms", "select", "queue", "loss", "slowest link", "flows")
MEASURES = ("goodput", "unsteady", "stalled", "spurious", "fairness", "score")
BEFORE = {"gamma": 1.5, "srtt_factor": 0.8, "rttvar_factor": 0.7, "k": 4.0, "k_diversity": 0.0}
"""The default before this experiment."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Search, and compare what was found on cases not seen before."""
    parser = argparse.ArgumentParser(prog="python -m validation.fast_rto", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer cases and choices; the page is left as it is")
    options = parser.parse_args(arguments)
    effort = Effort.of(options.quick)
    current = _defaults()
    finalists = search(effort, current)
    sections = [
        _cases(effort),
        _finalists(finalists, current),
        _held_out(effort, [finalist.choice for finalist in finalists], current),
        _sensitivity(effort, current),
    ]
    console = Console()
    for section in sections[1:]:
        section.show(console)
    if not options.quick:
        source = f"Anabranch {version()}, {datetime.now(UTC).date().isoformat()}, `python -m validation.fast_rto`"
        for section in sections:
            section.write(PAGE, source)
    return 0


def _defaults() -> Choice:
    """The defaults of the Rust core."""
    for algorithm in json.loads(_core.algorithms())["detection"]:
        if algorithm["name"] == "fast-rto":
            values = {parameter["name"]: parameter["default"] for parameter in algorithm["parameters"]}
            return {name: values[name] for name in NAMES}
    raise LookupError("the registry has no fast-rto")


def _section(
    key: str,
    title: str,
    how: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    verdict: str,
    holds: bool = True,
) -> Section:
    return Section(key, title, "", how, columns, rows, holds, verdict)


def _cases(effort: Effort) -> Section:
    return _section(
        "fast-rto-cases",
        "The cases",
        "Those of the thesis and the first random ones train; the last random ones are held out.",
        CASE_COLUMNS,
        as_lines(training(effort) + held_out(effort)),
        f"{len(training(effort))} cases train, {len(held_out(effort))} are held out",
    )


def _finalists(finalists: Sequence[Finalist], current: Choice) -> Section:
    rows = [
        [
            *(f"{finalist.choice[name]:g}" for name in NAMES),
            "yes" if follows_thesis(finalist.choice) else "no",
            f"{finalist.score:.4f}",
            f"{finalist.on_thesis:.4f}",
            "the defaults" if finalist.choice == current else "RFC 6298's" if finalist.choice == RFC_6298 else "",
        ]
        for finalist in finalists
    ]
    able = [finalist for finalist in finalists if follows_thesis(finalist.choice)]
    chosen = max(able, key=lambda finalist: finalist.on_thesis)
    return _section(
        "finalists",
        "The finalists in training",
        f"Mean score under {' and '.join(GROWTHS)} growth, on seeds other than those that chose them.",
        (*NAMES, "as the thesis", "score", "on its cases", ""),
        rows,
        f"of those that follow the thesis, {_name(chosen.choice)} is best on the thesis' cases; over all cases it is "
        f"{able[0].score - chosen.score:.3f} below the best",
        chosen.choice == current,
    )


def _held_out(effort: Effort, finalists: Sequence[Choice], current: Choice) -> Section:
    named: dict[str, Choice] = {"the defaults": current}
    for choice in finalists:
        kind = "best, not as the thesis"
        if follows_thesis(choice):
            kind = "best, K by diversity" if choice["k_diversity"] > 0 else "best, K fixed"
        named.setdefault(kind, choice)
    named |= {"before this experiment": BEFORE, "RFC 6298's factors": RFC_6298}
    stacks: dict[tuple[str, str], Mapping[str, Any]] = {
        (f"{name}: {_name(choice)}", growth): fast_rto(choice, growth)
        for name, choice in named.items()
        for growth in GROWTHS
    }
    stacks |= {
        (detection, growth): {"preset": growth, "detection": detection}
        for detection in ("rack-tlp", "dup-ack")
        for growth in GROWTHS
    }
    seeds = range(1, effort.seeds + 1)
    results = evaluate("FastRTO, held out", list(stacks.values()), held_out(effort), seeds)
    rows = [[*names, *_means(outcomes)] for names, outcomes in zip(stacks, results, strict=True)]
    return _section(
        "held-out",
        "On cases not seen before",
        f"Means over the held-out cases and {effort.seeds} seeds. Goodput is a share of what equal shares of the paths can carry. Unsteady is "
        f"the share of seconds below {runs.STEADY_SHARE * 100:.0f} % of the run's own mean, stalled the longest stall's share of the time. "
        "Spurious counts spurious retransmissions of all segments. Fairness is Jain's index.",
        ("detection: " + ", ".join(NAMES), "growth", *MEASURES),
        rows,
        "K, if fixed, is the fourth number; the fifth is what diversity adds to it",
    )


def _means(outcomes: Sequence[Outcome]) -> list[str]:
    return [
        f"{fmean(outcome.goodput for outcome in outcomes) * 100:.1f} %",
        f"{fmean(outcome.unsteady for outcome in outcomes) * 100:.1f} %",
        f"{fmean(outcome.stalled for outcome in outcomes) * 100:.1f} %",
        f"{fmean(outcome.spurious for outcome in outcomes) * 100:.3f} %",
        f"{fmean(outcome.fairness for outcome in outcomes):.3f}",
        f"{score(outcomes):.4f}",
    ]


def _sensitivity(effort: Effort, current: Choice) -> Section:
    varied = [(name, value) for name, values in SENSITIVITY.items() for value in values]
    stacks = [fast_rto({**current, name: value}) for name, value in varied]
    results = evaluate("FastRTO, sensitivity", stacks, training(effort), [1])
    rows = [[name, f"{value:g}", *_means(outcomes)] for (name, value), outcomes in zip(varied, results, strict=True)]
    return _section(
        "fast-rto-sensitivity",
        "One parameter at a time",
        "Around the defaults, over the training cases, newreno growth, one seed; max_rto in ms.",
        ("parameter", "value", *MEASURES),
        rows,
        f"the defaults are {_name(current)}, max_rto 500 ms",
    )


def _name(choice: Choice) -> str:
    return ", ".join(f"{choice[name]:g}" for name in NAMES)


if __name__ == "__main__":
    sys.exit(main())
