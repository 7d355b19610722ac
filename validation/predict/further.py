"""Calibrate and judge the intervals of flows that tolerate losses or reordering, and of sums of flows.

As :mod:`validation.predict`, with the scenarios of :mod:`validation.predict.resilient`. Sums are also those of the other scenarios, in shorter runs.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial

import numpy as np
import polars as pl

from validation.predict import resilient, scenarios
from validation.predict.__main__ import (
    FIRST_OF_CALIBRATION,
    FIRST_OF_VERDICT,
    INTERVALS,
    PAGE,
    ROOT,
    Judged,
    _all,
    _flows,
    _inside,
    _intervals,
    _quantile,
    _row,
    judge,
)  # fmt: skip

RUNS, RUNS_FOR_SUMS = 4, 3
SHORTER_S = 60
FAR_APART = 60
"""Scenarios with paths whose delays are far apart, for the class :data:`FAR` alone."""
FAR = "BBR, delays far apart"
NAMES = (
    "BBR, sprayed", "BBR, sprayed, counting", FAR, "BBR, random loss", "flowlets",
)  # fmt: skip
"""The classes of flows that these scenarios calibrate."""
SUMS = ("sum", "sum, flowlets")
BEGIN, END = "<!-- further -->", "<!-- end of further -->"


def shorter(seed: int) -> scenarios.Spec:
    """A scenario of the other kinds, in a shorter run."""
    found = scenarios.document(seed)
    return found | {"run": found["run"] | {"duration": f"{SHORTER_S}s"}}


def main(arguments: Sequence[str] | None = None) -> int:
    """Calibrate, or judge with the intervals that are compiled in."""
    parser = argparse.ArgumentParser(prog="python -m validation.predict.further", description=__doc__)
    parser.add_argument("what", choices=("calibrate", "judge"), help="calibrate, then compile the core, then judge")
    parser.add_argument("--scenarios", type=int, default=200, help="how many (default 200)")
    parser.add_argument("--others", type=int, default=54, help="how many of the other kinds, for sums (default 54)")
    options = parser.parse_args(arguments)
    first = FIRST_OF_CALIBRATION if options.what == "calibrate" else FIRST_OF_VERDICT
    judged = _all(partial(judge, document=resilient.document, count=RUNS), range(first, first + options.scenarios))
    far = _all(partial(judge, document=resilient.far_apart, count=RUNS), range(first, first + FAR_APART))
    others = _all(partial(judge, document=shorter, count=RUNS_FOR_SUMS), range(first, first + options.others))
    if options.what == "calibrate":
        former = json.loads(INTERVALS.read_text())
        found = _intervals(judged) | {FAR: _intervals(far)[FAR]}
        new = {name: found[name] for name in NAMES if name in found} | _of_sums([*judged, *others], former)
        INTERVALS.write_text(json.dumps(former | new, indent=2) + "\n")
        print(f"Written: {INTERVALS.relative_to(ROOT)}; compile the core, then judge")
        return 0
    text = _verdict(judged, far, options.scenarios) + _verdict_of_sums([*judged, *others])
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    print(text)
    return 0


def _sums(judged: Sequence[Judged]) -> pl.DataFrame:
    sums = pl.concat([one.sums for one in judged if one.sums.height])
    sums = sums.with_columns(truth=pl.col("runs").list.mean(), weight=1 / pl.len().over("scenario"))
    return sums.filter(pl.col("truth") > 0).with_columns(error=(pl.col("predicted") / pl.col("truth") - 1).abs())


def _of_sums(judged: Sequence[Judged], former: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """The factors of the model's spread with which the intervals of sums hold 90 % of the single runs."""
    sums, found = _sums(judged), {}
    for name in SUMS:
        rows = sums.filter(pl.col("name") == name)
        runs = rows.explode("runs")
        inside = _inside(rows)
        needed = {
            "low": (runs["predicted"] - runs["runs"]) / (runs["predicted"] - runs["low"]),
            "high": (runs["runs"] - runs["predicted"]) / (runs["high"] - runs["predicted"]),
        }
        found[name] = {
            end: round(max(0.05, former[name][end] * _quantile(ratio, runs["weight"], inside)), 4)
            for end, ratio in needed.items()
        }
    return found


def _verdict(judged: Sequence[Judged], far: Sequence[Judged], count: int) -> str:
    flows, of_far = (_flows(some) for some in (judged, far))
    flows = pl.concat([flows.filter(pl.col("limited_by") != FAR), of_far.filter(limited_by=FAR)])
    lines = [
        f"{len(judged)} of {count} further scenarios, and {FAR_APART} with delays far apart; {flows.height} flows with {', '.join([*resilient.BBR_STACKS, *resilient.LOSS_STACKS])}; {RUNS} runs of {resilient.DURATION_S} s each.",
        "",
        "| limited by | flows | error: median | 90 % | spread of one run: median | 90 % | in the interval |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [_row(name, rows) for name in NAMES if (rows := flows.filter(pl.col("limited_by") == name)).height]
    return "\n".join([*lines, "", ""])


def _verdict_of_sums(judged: Sequence[Judged]) -> str:
    sums = _sums(judged)
    lines = [
        f"Sums of several flows in {sums['scenario'].n_unique()} of these scenarios and of those above ({RUNS_FOR_SUMS} runs of {SHORTER_S} s):",
        "",
        "| sum | of | sums | error: median | 90 % | half of the intervals are narrower than | in the interval |",
        "|---|---|---|---|---|---|---|",
    ]
    for (name, part), rows in sorted(sums.group_by("name", "part"), key=lambda item: str(item[0])):
        runs = rows.explode("runs")
        inside = runs["runs"].is_between(runs["low"], runs["high"]).cast(pl.Float64)
        covered = float(np.average(inside.to_numpy(), weights=runs["weight"].to_numpy()))
        width = np.median(((rows["high"] - rows["low"]) / rows["predicted"]).to_numpy())
        errors = [f"{100 * _quantile(rows['error'], rows['weight'], share):.1f} %" for share in (0.5, 0.9)]
        kind = "with flowlets" if name == "sum, flowlets" else "others"
        lines.append(
            f"| {kind} | {part} | {rows.height} | {' | '.join(errors)} | {100 * width:.0f} % | {100 * covered:.0f} % |"
        )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
