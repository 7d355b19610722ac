"""Calibrate the predict engine's intervals on random scenarios, and judge it on others.

The truth of a flow is the mean goodput of jittered runs of the packet engine. Writes the intervals into
``crates/core/src/predict/network/solution/calibration.json``, and the verdict into ``docs/validation/predict.md``.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl
import vl_convert

from anabranch import Scenario, _core
from anabranch.compile.jitter import DELAY_SHARE, jittered
from anabranch.compile.run import compile_run
from anabranch.engines import predict
from anabranch.foundation.array_types import Floats
from anabranch.foundation.progress import Steps
from anabranch.results.statistics import known_quantile
from validation.predict.scenarios import (
    DURATION_S,
    FAMILIES,
    KINDS,
    OTHER_STACKS,
    SHORT_MEETS,
    STACKS,
    Spec,
    document,
    kind,
    short_document,
)  # fmt: skip

ROOT = Path(__file__).parents[2]
INTERVALS = ROOT / "crates" / "core" / "src" / "predict" / "network" / "solution" / "calibration.json"
PAGE = ROOT / "docs" / "validation" / "predict.md"
PICTURE = ROOT / "docs" / "images" / "predict.svg"
FIRST_OF_CALIBRATION, FIRST_OF_VERDICT = 100_000, 200_000
RUNS = 10
OUTSIDE = 0.05
"""Share of single runs on each side of an interval."""
LEAST_WIDTH = 0.005
"""The least distance of an interval's ends from the prediction, as a share of it."""
BUSY = 0.7
NEAR = 20
"""Of a class, the picture has one flow in each of this many parts of a decade, both ways."""
POINTS = 0.05
PATIENCE_S = 30
"""Short flows that start later than this before the end do not count. One that counts and has not finished has taken longer."""
LEAST_SHORT = 40
"""Short flows of a scenario that have a 95th percentile."""
SHORT_SCENARIOS = 200
Found = TypeVar("Found")
BEGIN, END = "<!-- generated -->", "<!-- end -->"


@dataclass(frozen=True)
class Judged:
    """The results of one scenario: a row for each flow, and one for each busy link."""

    flows: pl.DataFrame
    """``scenario``, ``flow``, ``limited_by``, ``predicted``, ``low``, ``high`` and ``runs``, in bit/s."""
    links: pl.DataFrame
    """``kind`` of the network, ``predicted`` and ``truth``: utilisations."""
    sums: pl.DataFrame
    """The sums of all flows, and of every second one: ``scenario``, ``name`` of the calibration, ``predicted``, ``low``, ``high`` and ``runs``."""
    converged: bool
    unique: bool


def _sums(seed: int, prediction: "_core.Prediction", runs: Floats) -> pl.DataFrame:
    flowlets = "flowlets" in prediction.flows()["limited_by"]
    divisions = ([0] * len(runs), [flow % 2 for flow in range(len(runs))])
    rows = []
    for kinds in divisions:
        found = prediction.sums(kinds, max(kinds) + 1)
        for number in range(max(kinds) + 1):
            members = np.array(kinds) == number
            if members.sum() > 1:
                rows.append(
                    {
                        "scenario": seed,
                        "name": "sum, flowlets" if flowlets else "sum",
                        "part": "all flows" if max(kinds) == 0 else "half of them",
                        **{name: float(found[f"{name}_bps"][number]) for name in ("low", "high")},
                        "predicted": float(found["goodput_bps"][number]),
                        "runs": runs[members].sum(axis=0).tolist(),
                    }
                )
    return pl.DataFrame(rows)


def judge(seed: int, document: Callable[[int], Spec] = document, count: int = RUNS) -> Judged | None:
    """Predict a scenario and run it with jitter ``count`` times; ``None`` if the engine refuses it."""
    scenario = Scenario(document(seed))
    spec = compile_run(scenario.cases[0], seed)
    try:
        prediction = predict.predicted(spec)
    except ValueError:
        return None
    goodputs, utilisations = [], []
    for run in range(count):
        simulation = _core.Simulation(json.dumps(jittered(spec, count * seed + run)))
        while simulation.advance(1_000_000):
            pass
        goodputs.append(simulation.flows()["goodput_bps"])
        utilisations.append(simulation.links()["utilisation"])
    flows = prediction.flows()
    runs = np.array(goodputs).T
    truth = np.mean(utilisations, axis=0)
    return Judged(
        pl.DataFrame(
            {
                "scenario": np.full(len(runs), seed),
                "flow": np.arange(len(runs)),
                "limited_by": flows["limited_by"],
                "predicted": flows["goodput_bps"],
                "low": flows["low_bps"],
                "high": flows["high_bps"],
                "runs": runs,
            }
        ),
        pl.DataFrame({"predicted": prediction.links()["utilisation"], "truth": truth})
        .filter(pl.col("truth") > BUSY)
        .with_columns(kind=pl.lit(kind(seed))),
        _sums(seed, prediction, runs),
        prediction.converged,
        prediction.unique,
    )


@dataclass(frozen=True)
class JudgedShort:
    """The results of one scenario for flows of one size."""

    times: pl.DataFrame
    """``meets``, ``share`` (of flows that are faster), ``predicted`` and ``truth``: completion times in s, null if unfinished flows decide it."""
    flows: pl.DataFrame
    """``scenario``, ``meets``, ``low`` and ``high``, and ``goodput`` in a run: bit/s."""


def judge_short(seed: int) -> JudgedShort | None:
    """Predict flows of one size, and run them; ``None`` if the engine refuses them, or they are few."""
    meets, scenario = short_document(seed)
    spec = compile_run(Scenario(scenario).cases[0], seed)
    try:
        predicted = predict.predicted(spec).flows()
    except ValueError:
        return None
    runs = []
    for run in range(RUNS):
        simulation = _core.Simulation(json.dumps(jittered(spec, RUNS * seed + run)))
        while simulation.advance(1_000_000):
            pass
        runs.append(simulation.flows())
    known = ~np.isnan(predicted["fct_s"])
    times = completions(runs)
    if not known.any() or len(times) < LEAST_SHORT:
        return None
    simulation = _core.Simulation(json.dumps(spec))  # with the arrivals that are predicted
    while simulation.advance(1_000_000):
        pass
    simulated = simulation.flows()
    judged = known & ~np.isnan(simulated["fct_s"])  # the goodput of an unfinished flow is unknown
    goodput = simulated["goodput_bps"][judged]
    return JudgedShort(
        pl.DataFrame(
            {
                "meets": [meets, meets],
                "share": [0.5, 0.95],
                "predicted": [float(np.median(predicted[column][known])) for column in ("fct_s", "fct_p95_s")],
                "truth": [known_quantile(times, [PATIENCE_S] * len(times), share) for share in (0.5, 0.95)],
            },
            schema_overrides={"truth": pl.Float64},
        ),
        pl.DataFrame(
            {
                "scenario": np.full(len(goodput), seed),
                "meets": [meets] * len(goodput),
                "low": predicted["low_bps"][judged],
                "high": predicted["high_bps"][judged],
                "goodput": goodput,
            }
        ).filter(pl.col("goodput") > 0),
    )


def completions(runs: Iterable[Mapping[str, Floats]]) -> list[float | None]:
    """The completion times in s of the flows with a size that start :data:`PATIENCE_S` before the end or earlier, null for unfinished ones."""
    found: list[float | None] = []
    for flows in runs:
        counted = ~np.isnan(flows["size_bytes"]) & (flows["start_s"] <= DURATION_S - PATIENCE_S)
        found += [None if np.isnan(time_s) else float(time_s) for time_s in flows["fct_s"][counted]]
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Calibrate, or judge with the intervals that are compiled in."""
    parser = argparse.ArgumentParser(prog="python -m validation.predict", description=__doc__)
    parser.add_argument("what", choices=("calibrate", "judge"), help="calibrate, then compile the core, then judge")
    parser.add_argument("--scenarios", type=int, default=450, help="how many (default 450)")
    options = parser.parse_args(arguments)
    first = FIRST_OF_CALIBRATION if options.what == "calibrate" else FIRST_OF_VERDICT
    judged = _all(judge, range(first, first + options.scenarios))
    short = _all(judge_short, range(first, first + SHORT_SCENARIOS))
    if options.what == "calibrate":
        former = json.loads(INTERVALS.read_text())
        found = former | _intervals(judged) | _short_intervals(short, former)
        INTERVALS.write_text(json.dumps(found, indent=2) + "\n")
        print(f"Written: {INTERVALS.relative_to(ROOT)}; compile the core, then judge")
        return 0
    text = _verdict(judged, options.scenarios) + _short_verdict(short)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    PICTURE.write_text(vl_convert.vegalite_to_svg(_picture(_flows(judged))), encoding="utf-8")
    print(text)
    return 0


def _all(judge: Callable[[int], Found | None], seeds: Sequence[int]) -> list[Found]:
    with Steps(len(seeds), "scenarios") as progress, ProcessPoolExecutor(os.cpu_count()) as pool:
        futures = {pool.submit(judge, seed): seed for seed in seeds}
        found = {}
        for future in as_completed(futures):
            found[futures[future]] = future.result()
            progress.advance()
    refused = sum(one is None for one in found.values())
    if refused:
        print(f"{refused} scenarios are refused", file=sys.stderr)
    return [one for seed in seeds if (one := found[seed]) is not None]


def _flows(judged: Sequence[Judged]) -> pl.DataFrame:
    """All flows that got anything, with the truth, its distance, and the weight of their scenario within their class."""
    flows = pl.concat([one.flows for one in judged]).with_columns(truth=pl.col("runs").arr.mean())
    flows = flows.filter(pl.col("truth") > 0, pl.col("predicted") > 0)
    single = pl.col("runs").arr.get(0)
    count = pl.col("runs").arr.len()
    others = (pl.col("truth") * count - single) / (count - 1)
    return flows.with_columns(
        error=(pl.col("predicted") / pl.col("truth") - 1).abs(),
        spread=(single / others - 1).abs(),
        weight=1 / pl.len().over("scenario", "limited_by"),
    )


def _quantile(values: pl.Series, weights: pl.Series, share: float) -> float:
    order = values.arg_sort()
    reached = weights.gather(order).cum_sum()
    return float(values.gather(order)[int((reached < share * float(reached[-1])).sum())])


def _intervals(judged: Sequence[Judged]) -> dict[str, dict[str, float]]:
    """The factors of each class between which 90 % of the single runs are (split conformal prediction, each scenario of one weight)."""
    found = {}
    for name, rows in _flows(judged).group_by("limited_by"):
        runs = rows.explode("runs").filter(pl.col("runs") > 0)
        ratios = runs["runs"] / runs["predicted"]
        inside = _inside(rows)
        low, high = (_quantile(ratios, runs["weight"], share) for share in (1 - inside, inside))
        found[str(name[0])] = _interval(low, high)
    return found


def _short_intervals(judged: Sequence[JudgedShort], former: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """The same for flows that end, by what they meet: factors of the ends that the model gives. ``former`` are the compiled factors."""
    flows = _short_flows(judged)
    found = {}
    for meets in SHORT_MEETS:
        name, rows = f"size, {meets}", flows.filter(pl.col("meets") == meets)
        inside = _inside(rows)
        of_end = {end: rows["goodput"] / rows[end] * former[name][end] for end in ("low", "high")}
        found[name] = _interval(
            _quantile(of_end["low"], rows["weight"], 1 - inside), _quantile(of_end["high"], rows["weight"], inside)
        )
    return found


def _short_flows(judged: Sequence[JudgedShort]) -> pl.DataFrame:
    return pl.concat([one.flows for one in judged]).with_columns(weight=1 / pl.len().over("scenario"))


def _inside(rows: pl.DataFrame) -> float:
    """The quantile for one scenario more than there are: the one to predict (Lei et al. 2018, section 2.2)."""
    scenarios = rows["scenario"].n_unique()
    return min(1.0, (1 - OUTSIDE) * (scenarios + 1) / scenarios)


def _interval(low: float, high: float) -> dict[str, float]:
    return {"low": round(min(low, 1 - LEAST_WIDTH), 4), "high": round(max(high, 1 + LEAST_WIDTH), 4)}


def _verdict(judged: Sequence[Judged], count: int) -> str:
    flows, links = _flows(judged), pl.concat([one.links for one in judged])
    lines = [
        f"{len(judged)} of {count} scenarios of {len(set(FAMILIES))} families, {flows.height} flows with {', '.join(STACKS + OTHER_STACKS)}, and bbr; {RUNS} runs of {DURATION_S} s each, link "
        f"delays within {100 * DELAY_SHARE:g} %. The solver converged in {sum(one.converged for one in judged)}, and two starts gave one solution in "
        f"{sum(one.unique for one in judged)}.",
        "",
        "| limited by | flows | error: median | 90 % | spread of one run: median | 90 % | in the interval |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, rows in sorted(flows.group_by("limited_by"), key=lambda item: str(item[0][0])):
        lines.append(_row(str(name[0]), rows))
    lines.append(_row("all", flows.with_columns(weight=1 / pl.len().over("scenario"))))
    totals = flows.group_by("scenario").agg(pl.len(), pl.col("predicted", "truth").sum(), weight=pl.lit(1.0))
    totals = totals.filter(pl.col("len") > 1).with_columns(error=(pl.col("predicted") / pl.col("truth") - 1).abs())
    of_bbr = pl.col("limited_by") == "BBR"
    shares_of_bbr = flows.group_by("scenario").agg(
        both=of_bbr.any() & ~of_bbr.all(),
        error=(
            pl.col("predicted").filter(of_bbr).sum() / pl.col("predicted").sum()
            - pl.col("truth").filter(of_bbr).sum() / pl.col("truth").sum()
        ).abs(),
    )
    points = shares_of_bbr.filter("both")["error"]
    near = links.with_columns(near=(pl.col("predicted") - pl.col("truth")).abs() < POINTS)
    shares = {str(kind): part["near"].mean() for (kind,), part in near.group_by("kind")}
    lines += [
        "",
        f"The sum over a scenario's flows is wrong by {100 * _quantile(totals['error'], totals['weight'], 0.5):.1f} % in the median and "
        f"{100 * _quantile(totals['error'], totals['weight'], 0.9):.1f} % at the 90th percentile. Of the links busier than {100 * BUSY:g} %, the utilisation is within "
        f"{100 * POINTS:g} points for "
        + ", ".join(f"{100 * float(shares.get(kind, 0)):.0f} % in {kind}" for kind in KINDS)
        + ".",
        f"The share of BBR beside other controls, in {points.len()} scenarios, is wrong by {_percent(points.quantile(0.5)).removesuffix(' %')} points in the median and "
        f"{_percent(points.quantile(0.9)).removesuffix(' %')} at the 90th percentile.",
        "",
    ]
    return "\n".join(lines)


def _short_verdict(judged: Sequence[JudgedShort]) -> str:
    flows = _short_flows(judged).with_columns(
        inside=((pl.col("goodput") >= pl.col("low")) & (pl.col("goodput") <= pl.col("high"))).cast(pl.Float64)
    )
    rows = pl.concat([one.times for one in judged]).with_columns(
        error=(pl.col("predicted") / pl.col("truth") - 1).abs()
    )
    lines = [
        f"Completion times of flows of one size, from 1.5 kB to 1 MB, in {len(judged)} further scenarios: the error of their median and of their 95th percentile, each in the median "
        f"over the scenarios, and at the 90th percentile. Flows that start in the last {PATIENCE_S} s do not count; a percentile that unfinished flows decide is left out. And how many flows of a run have a goodput in their interval.",
        "",
        "| they meet | scenarios | median: error | 90 % | 95th percentile: error | 90 % | in the interval |",
        "|---|---|---|---|---|---|---|",
    ]
    for meets in SHORT_MEETS:
        parts = [rows.filter(pl.col("meets") == meets, pl.col("share") == share)["error"] for share in (0.5, 0.95)]
        figures = [f"{_percent(part.quantile(share))}" for part in parts for share in (0.5, 0.9)]
        met = flows.filter(pl.col("meets") == meets)
        covered = float(np.average(met["inside"].to_numpy(), weights=met["weight"].to_numpy()))
        known = " and ".join(dict.fromkeys(str(part.count()) for part in parts))
        lines.append(f"| {meets} | {known} | {' | '.join(figures)} | {100 * covered:.0f} % |")
    return "\n".join([*lines, ""])


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _row(name: str, rows: pl.DataFrame) -> str:
    single = rows.explode("runs")
    inside = single.select(((pl.col("runs") >= pl.col("low")) & (pl.col("runs") <= pl.col("high"))).cast(pl.Float64))
    covered = float(np.average(inside.to_series().to_numpy(), weights=single["weight"].to_numpy()))
    figures = [
        f"{100 * _quantile(rows[what], rows['weight'], share):.1f} %"
        for what in ("error", "spread")
        for share in (0.5, 0.9)
    ]
    return f"| {name} | {rows.height} | {' | '.join(figures)} | {100 * covered:.0f} % |"


_COLOURS = [
    *("#4c78a8", "#f58518", "#e45756", "#72b7b2", "#54a24b", "#eeca3b", "#b279a2", "#ff9da6", "#9d755d", "#bab0ac"),
    *("#222222", "#1f3fd6", "#8bd100"),
]
"""Vega's own ten, and three more: there are more classes."""


def _picture(flows: pl.DataFrame) -> dict[str, object]:
    """Predicted goodput over the truth, both in logarithms, by class. Of flows of a class that nearly cover one another, it draws one."""
    ends = [1e4, 1e8]
    flows = flows.filter(pl.col("truth") > ends[0], pl.col("predicted") > ends[0]).unique(
        ["limited_by", *((pl.col(name).log10() * NEAR).round() for name in ("truth", "predicted"))],
        keep="first",
        maintain_order=True,
    )
    scale = {"type": "log", "domain": ends}

    def axis(field: str, title: str) -> dict[str, object]:
        return {"field": field, "type": "quantitative", "scale": scale, "axis": {"format": "~s"}, "title": title}

    x, y = axis("truth", "goodput by the packet engine, bit/s"), axis("predicted", "predicted goodput, bit/s")
    return {
        "width": 420,
        "height": 420,
        "layer": [
            {
                "data": {"values": [{"truth": end, "predicted": end} for end in ends]},
                "mark": {"type": "line", "color": "#999999", "strokeDash": [4, 4], "clip": True},
                "encoding": {"x": x, "y": y},
            },
            {
                "data": {"values": flows.select("truth", "predicted", "limited_by").to_dicts()},
                "mark": {"type": "point", "filled": True, "size": 12, "opacity": 0.6, "clip": True, "aria": False},
                "encoding": {
                    "x": x,
                    "y": y,
                    "color": {
                        "field": "limited_by",
                        "type": "nominal",
                        "title": "limited by",
                        "scale": {"range": _COLOURS},
                    },
                },
            },
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
