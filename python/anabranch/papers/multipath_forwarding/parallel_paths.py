"""Figures 4 to 9: one to five parallel paths."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch import units
from anabranch.papers import charts
from anabranch.papers.multipath_forwarding import readings, schemes
from anabranch.papers.multipath_forwarding.goodput import Ratios, judged, relative, share, total
from anabranch.papers.multipath_forwarding.schemes import merged
from anabranch.papers.study import Claim, Experiment, Findings, Number, Picture

if TYPE_CHECKING:
    from anabranch.papers.study import Lab
    from anabranch.results import Result

SCENARIO = "parallel.toml"
PATHS = (1, 2, 3, 4, 5)
THRESHOLDS = (3, 6, 9, 12, 15)
LOSSES = (0.0, 0.001)
QUICK = {"run.duration": '"5s"', "run.warm_up": '"2s"', "run.seeds": "1"}

_DELAY = "10ms"
_GENERATE = "topology.generate"
_FULL_GRID = {
    f"{_GENERATE}.difference": '["0ms", "2.5ms", "5ms", "10ms"]',
    f"{_GENERATE}.loss": str(list(LOSSES)),
}
_QUICK_GRID = {f"{_GENERATE}.difference": '["0ms", "2.5ms", "10ms"]', f"{_GENERATE}.loss": str(list(LOSSES))}
_FIGURE_4 = {
    f"{_GENERATE}.difference": '["2.5ms", "10ms"]',
    f"{_GENERATE}.loss": str(LOSSES[-1]),
    "stacks.tcp.detection": f'{{ name = "dup-ack", threshold = {list(THRESHOLDS)} }}',
}
_KEYS = {
    f"{_GENERATE}.paths": "paths",
    f"{_GENERATE}.difference": "difference",
    f"{_GENERATE}.loss": "loss",
    "stacks.tcp.detection.threshold": "threshold",
}


def experiments(lab: Lab) -> list[Experiment]:
    """Each scheme over numbers of paths, differences and losses; and thresholds over numbers of paths."""

    def experiment(name: str, full: Mapping[str, str], quick: Mapping[str, str]) -> Experiment:
        return Experiment(name, lab.scenario(SCENARIO, full=full, quick=merged(quick, QUICK)))

    grids = [
        experiment(
            f"parallel-{scheme.name}",
            merged(scheme.settings(), _FULL_GRID),
            merged(scheme.settings(), _QUICK_GRID),
        )
        for scheme in schemes.ALL
    ]
    thresholds = merged(schemes.STANDARD.settings(), _FIGURE_4)
    ports = merged(schemes.FLOW_LEVEL.settings(), readings.ALL_FIELDS)
    return [*grids, experiment("figure-4", thresholds, thresholds), experiment("parallel-ports", ports, ports)]


def findings(lab: Lab, results: Mapping[str, Result]) -> Findings:
    """What the six figures say."""
    goodputs = {scheme: _with_percent(total(results[f"parallel-{scheme.name}"], _KEYS)) for scheme in schemes.ALL}
    standard = goodputs[schemes.STANDARD]
    single = standard.filter((pl.col("paths") == 1) & (pl.col("difference") == 0))
    grid = Ratios(
        pl.concat(
            relative(goodput, single, on=["loss"]).with_columns(scheme=pl.lit(scheme.label))
            for scheme, goodput in goodputs.items()
        )
    )
    lossy = single.filter(pl.col("loss") == LOSSES[-1])
    thresholds = Ratios(relative(_with_percent(total(results["figure-4"], _KEYS)), lossy))
    ports = Ratios(relative(total(results["parallel-ports"], _KEYS), single.filter(pl.col("loss") == 0)))
    differences = sorted(grid.table["difference"].unique())
    claims = [
        *_figure_4_claims(thresholds),
        *_figure_5_claims(grid, differences, readings.ratios(results)),
        *_figures_6_to_8_claims(grid, differences, readings.ratios(results)),
        *_figure_9_claims(grid, differences, ports),
    ]
    return Findings(claims, _numbers(grid), _pictures(grid, thresholds))


def _with_percent(table: pl.DataFrame) -> pl.DataFrame:
    """The differences in delay as percentages of the first path's delay."""
    percent = {
        text: round(100 * units.duration(text) / units.duration(_DELAY), 6) for text in table["difference"].unique()
    }
    return table.with_columns(pl.col("difference").replace_strict(percent, return_dtype=pl.Float64))


def _figure_4_claims(ratios: Ratios) -> list[Claim]:
    mean = {(n, t): ratios.at(paths=n, threshold=t, difference=100.0).mean for n in PATHS for t in THRESHOLDS}
    rises = [mean[n, THRESHOLDS[-1]] > mean[n, 3] for n in PATHS[1:]]
    falls = [mean[1, t] < mean[1, 6] for t in THRESHOLDS if t > 6]
    settles = [mean[n, t] <= 1.1 * mean[n, 6] for n in (2, 3) for t in THRESHOLDS if t > 6]
    climbs = [mean[n, after] > mean[n, before] for n in (4, 5) for before, after in pairwise(THRESHOLDS)]
    crosses = [mean[few, 6] > mean[many, 6] for few in (2, 3) for many in (4, 5)]
    crosses += [mean[many, 9] > mean[few, 9] for few in (2, 3) for many in (4, 5)]

    chosen = {n: 6 if n < 4 else 9 for n in PATHS[1:]}
    to_best = {n: mean[n, t] / max(mean[n, other] for other in THRESHOLDS) for n, t in chosen.items()}

    def row(n: int) -> str:
        return ", ".join(f"{mean[n, t]:.2f}" for t in THRESHOLDS)

    where = "Section IV.A, Figure 4"
    return [
        Claim(
            "thresholds-help-over-several-paths",
            where,
            "Over several paths goodput generally rises with the duplicate-ACK threshold (delay difference 100 %, link loss 0.001).",
            judged(rises),
            "Relative goodput at thresholds 3 and 15: "
            + "; ".join(f"{n} paths {mean[n, 3]:.2f} and {mean[n, 15]:.2f}" for n in PATHS[1:])
            + ".",
        ),
        Claim(
            "thresholds-hurt-a-single-path",
            where,
            "Over a single path goodput falls when the threshold is greater than six.",
            judged(falls),
            f"Thresholds 3 to 15: {row(1)}.",
        ),
        Claim(
            "two-or-three-paths-need-six",
            where,
            "Over two or three paths a threshold beyond six brings not much (we say: at most 10 %).",
            judged(settles),
            f"Thresholds 3 to 15: two paths {row(2)}; three paths {row(3)}.",
        ),
        Claim(
            "four-or-five-paths-want-more",
            where,
            "Over four or five paths a greater threshold continuously brings more.",
            judged(climbs),
            f"{share(climbs)} of neighbouring thresholds. Thresholds 3 to 15: four paths {row(4)}; five paths {row(5)}.",
            ""
            if all(climbs)
            else "It rises as far as reordering reaches; when nothing is taken for lost any more, a greater threshold only waits longer.",
        ),
        Claim(
            "six-for-few-nine-for-many",
            where,
            "With six, two or three paths do better than four or five; with nine, four or five do better than two or three.",
            judged(crosses),
            f"At six: {', '.join(f'{mean[n, 6]:.2f}' for n in PATHS[1:])} over two to five paths; "
            f"at nine: {', '.join(f'{mean[n, 9]:.2f}' for n in PATHS[1:])}.",
        ),
        Claim(
            "equation-1-is-near-the-best",
            "Section IV.A, Equation (1)",
            "Six for two and three paths and nine for four and five suit the number of paths (we say: at least 90 % of the best threshold's).",
            judged([value >= 0.9 for value in to_best.values()]),
            "Of the best of 3 to 15: "
            + ", ".join(f"{100 * value:.0f} % over {n} paths" for n, value in to_best.items())
            + ".",
        ),
    ]


def _figure_5_claims(grid: Ratios, differences: list[float], read: Ratios) -> list[Claim]:
    default, threshold = schemes.STANDARD.label, schemes.THRESHOLD.label

    def mean(scheme: str, n: int, difference: float, loss: float = 0.0) -> float:
        return grid.at(scheme=scheme, paths=n, difference=difference, loss=loss).mean

    def row(scheme: str, difference: float, loss: float = 0.0) -> str:
        return ", ".join(f"{mean(scheme, n, difference, loss):.2f}" for n in PATHS[1:])

    unequal = [difference for difference in differences if difference > 0]
    below = [mean(default, n, difference) < 1 for n in PATHS[1:] for difference in unequal]
    few = read.at(reading=readings.FEW_FLOWS, scheme=default)
    linear = [_linear([mean(threshold, n, d, loss) for n in PATHS]) for d in differences for loss in LOSSES]
    degrades = [mean(threshold, 5, 100) < mean(threshold, 5, 25), mean(threshold, 4, 100) < mean(threshold, 4, 25)]
    best = mean(threshold, 5, 25) > mean(threshold, 5, 0)
    where = "Section IV.B, Figure 5"
    return [
        Claim(
            "plain-tcp-below-a-single-path",
            where,
            "With the default threshold, several paths of different delay bring even less than a single path.",
            judged(below),
            f"Two to five paths: {row(default, 25)} at 25 %; {row(default, 100)} at 100 %.",
            ""
            if all(below)
            else "A hundred flows have three to four segments in flight each on the single path, and reordering cannot take a window "
            "below the four that three duplicate ACKs need. Where windows are large it is so: with ten flows instead of a hundred, "
            f"three paths bring {few} of a single path, and over the vBNS it is below 1 too.",
        ),
        Claim(
            "threshold-grows-linearly",
            where,
            "With the threshold by the number of paths goodput grows linearly with that number, whatever their delays, with link loss as well.",
            judged(linear),
            f"Two to five paths: {row(threshold, 0)} at equal delays; {row(threshold, 100)} at 100 %; {row(threshold, 100, 0.001)} "
            f"with loss. {share(linear)}: each path from the third on adds at least half of what the second did.",
        ),
        Claim(
            "some-difference-helps",
            where,
            "Five paths that differ by 25 % do better than five of the same delay.",
            judged([best]),
            f"Threshold by paths: {grid.at(scheme=threshold, paths=5, difference=25.0, loss=0.0)} at 25 %, "
            f"{grid.at(scheme=threshold, paths=5, difference=0.0, loss=0.0)} at equal delays.",
        ),
        Claim(
            "much-difference-hurts",
            where,
            "A large difference in delay costs goodput, with the threshold by the number of paths too (four and five paths).",
            judged(degrades),
            f"Five paths: {mean(threshold, 5, 25):.2f} at 25 %, {mean(threshold, 5, 100):.2f} at 100 %; four: "
            f"{mean(threshold, 4, 25):.2f} and {mean(threshold, 4, 100):.2f}.",
        ),
    ]


def _figures_6_to_8_claims(grid: Ratios, differences: list[float], read: Ratios) -> list[Claim]:
    standard, delayed, modified = (one.label for one in (schemes.STANDARD, schemes.DELAYED, schemes.MODIFIED))
    threshold, integrated = schemes.THRESHOLD.label, schemes.INTEGRATED.label

    def mean(scheme: str, n: int, difference: float, loss: float = 0.0) -> float:
        return grid.at(scheme=scheme, paths=n, difference=difference, loss=loss).mean

    def row(scheme: str, difference: float, loss: float = 0.0) -> str:
        return ", ".join(f"{mean(scheme, n, difference, loss):.2f}" for n in PATHS[1:])

    degraded = [mean(one, n, 100) < mean(one, n, 0) for one in (standard, delayed) for n in PATHS[1:]]
    below = [mean(one, n, 100) < 1 for one in (standard, delayed) for n in PATHS[1:]]
    doubled = [mean(modified, n, d) > 2 for n in (2, 3) for d in differences]
    unequal = [d for d in differences if d > 0]
    no_more = [mean(modified, n, d) <= 1.1 * mean(modified, 3, d) for n in (4, 5) for d in unequal]
    lossy = [
        mean(modified, n, d, 0.001) > max(mean(standard, n, d, 0.001), mean(delayed, n, d, 0.001))
        for n in PATHS[1:]
        for d in unequal
    ]
    together = [
        mean(integrated, n, d, loss) > max(mean(threshold, n, d, loss), mean(modified, n, d, loss))
        for n in PATHS[1:]
        for d in differences
        for loss in LOSSES
    ]
    few = {one: read.at(reading=readings.FEW_FLOWS, scheme=one) for one in (modified, threshold, integrated)}
    return [
        Claim(
            "receivers-as-they-are-degrade",
            "Section IV.B, Figure 6",
            "As the difference in delay grows, receivers without delay and with the standard delayed ACK lose, even below a single path.",
            judged([*degraded, *below]),
            f"Two to five paths, equal delays and 100 %: no delay {row(standard, 0)} and {row(standard, 100)}; delayed ACK "
            f"{row(delayed, 0)} and {row(delayed, 100)}. {share(degraded)} show the loss, {sum(below)} of {len(below)} are below a "
            "single path.",
            "" if all(below) else "Why not below it: see the default threshold above.",
        ),
        Claim(
            "modified-delayed-ack-doubles",
            "Section IV.B, Figure 6 (c)",
            "Over two or three paths the modified delayed ACK brings more than twice a single path, whatever the delays.",
            judged(doubled),
            f"Least of all differences: {min(mean(modified, 2, d) for d in differences):.2f} over two paths, "
            f"{min(mean(modified, 3, d) for d in differences):.2f} over three.",
        ),
        Claim(
            "modified-delayed-ack-stops-at-three",
            "Section IV.B, Figure 6 (c)",
            "With four or five paths the modified delayed ACK brings no more (we say: than 10 % beyond three, where delays differ).",
            judged(no_more),
            "Two to five paths: " + "; ".join(f"{row(modified, d)} at {d:g} %" for d in unequal) + ".",
            ""
            if all(no_more)
            else "Every second segment is acknowledged, so three duplicate ACKs stand for some six segments; what more paths reorder than that "
            "grows with their delays.",
        ),
        Claim(
            "modified-delayed-ack-with-loss",
            "Section IV.B, Figure 7",
            "With link loss 0.001 the modified delayed ACK does better than the two other receivers.",
            judged(lossy),
            f"{share(lossy)}. Two to five paths at 100 %: no delay {row(standard, 100, 0.001)}; delayed "
            f"{row(delayed, 100, 0.001)}; modified {row(modified, 100, 0.001)}.",
        ),
        Claim(
            "integrated-is-best",
            "Section IV.B, Figure 8",
            "The integrated scheme does better than the sender's or the receiver's change alone.",
            judged(together),
            f"{share(together)}. Two to five paths at 100 %: threshold {row(threshold, 100)}; modified delayed ACK "
            f"{row(modified, 100)}; integrated {row(integrated, 100)}.",
            ""
            if all(together)
            else "Six duplicate ACKs of every second segment need twelve segments behind a loss. A hundred flows have fewer in flight, and wait for "
            f"their timers instead. With ten flows over three paths it is {few[threshold]}, {few[modified]} and {few[integrated]}.",
        ),
    ]


def _figure_9_claims(grid: Ratios, differences: list[float], ports: Ratios) -> list[Claim]:
    label = schemes.FLOW_LEVEL.label

    def mean(n: int, difference: float, loss: float) -> float:
        return grid.at(scheme=label, paths=n, difference=difference, loss=loss).mean

    linear = [_linear([mean(n, d, loss) for n in PATHS]) for d in differences for loss in LOSSES]
    alike = []
    for n in PATHS[1:]:
        values = [mean(n, d, loss) for d in differences for loss in LOSSES]
        alike.append(max(values) <= 1.15 * min(values))
    return [
        Claim(
            "flow-level-grows-with-paths",
            "Section IV.B, Figure 9",
            "Flow by flow, goodput grows in proportion to the number of paths, whatever delays and losses.",
            judged([*linear, *alike]),
            f"Two to five paths: {', '.join(f'{mean(n, 0, 0.0):.2f}' for n in PATHS[1:])} at equal delays; "
            f"{', '.join(f'{mean(n, 100, 0.0):.2f}' for n in PATHS[1:])} at 100 %; "
            f"{', '.join(f'{mean(n, 100, 0.001):.2f}' for n in PATHS[1:])} with loss as well. {share(linear)}: each path adds at least half "
            f"of what the second did; {sum(alike)} of {len(alike)} numbers of paths: all differences and losses within 15 %.",
            ""
            if all([*linear, *alike])
            else "Ten sources hashed onto four or five paths leave some path to one source, or to none; "
            f"by addresses and ports it is {', '.join(f'{ports.at(paths=n).mean:.2f}' for n in PATHS[1:])} (delays differ by 50 %).",
        )
    ]


def _linear(means: list[float]) -> bool:
    """Whether each path from the third on adds at least half of what the second did."""
    steps = [after - before for before, after in pairwise(means)]
    return all(step >= steps[0] / 2 for step in steps)


def _numbers(grid: Ratios) -> list[Number]:
    """Every scheme where delays differ most, and what the text says of the modified delayed ACK."""
    numbers = []
    for name, n in (("figure-6-two-paths", 2), ("figure-6-three-paths", 3)):
        estimate = grid.at(scheme=schemes.MODIFIED.label, paths=n, difference=100.0, loss=0.0)
        numbers.append(Number(name, estimate.mean, estimate.half_width, remark="at 100 %"))
    figures = dict(zip(schemes.ALL, ("6 (a)", "6 (b)", "6 (c)", "5", "8", "9"), strict=True))
    for scheme, figure in figures.items():
        for n in (2, 3, 5):
            estimate = grid.at(scheme=scheme.label, paths=n, difference=100.0, loss=0.0)
            numbers.append(
                Number(
                    f"parallel-{scheme.name}-{n}",
                    estimate.mean,
                    estimate.half_width,
                    what=f"relative goodput, {scheme.label}, {n} paths, delays differ by 100 %",
                    where=f"Figure {figure}",
                )
            )
    return numbers


def _pictures(grid: Ratios, thresholds: Ratios) -> list[Picture]:
    def by_paths(scheme: schemes.Scheme, loss: float) -> Any:
        table = grid.summary("difference", "paths", scheme=scheme.label, loss=loss)
        return charts.lines(
            table.with_columns(pl.format("{} %", pl.col("difference").cast(pl.Int32)).alias("difference")),
            x="paths",
            colour="difference",
            x_title="paths",
            y_title="relative goodput",
            colour_title="delay difference",
        )

    def panels(pairs: Iterable[tuple[schemes.Scheme, float]]) -> Any:
        titled = [(f"{scheme.label}{', loss 0.001' if loss else ''}", by_paths(scheme, loss)) for scheme, loss in pairs]
        return charts.side_by_side(titled, one_scale=True)

    def by_threshold(difference: float) -> Any:
        table = thresholds.summary("paths", "threshold", difference=difference)
        return charts.lines(
            table.with_columns(pl.col("paths").cast(pl.String)),
            x="threshold",
            colour="paths",
            x_title="duplicate-ACK threshold",
            y_title="relative goodput",
            colour_title="paths",
        )

    titled = [(f"delays differ by {difference} %", by_threshold(difference)) for difference in (100, 25)]
    receivers = (schemes.STANDARD, schemes.DELAYED, schemes.MODIFIED)
    return [
        Picture(
            "figure-4",
            "Figure 4",
            "Goodput over that of a single path by threshold and number of paths, link loss 0.001; the paper has a difference of 100 %.",
            charts.side_by_side(titled, one_scale=True),
        ),
        Picture(
            "figure-5",
            "Figure 5",
            "The threshold of three, and by the number of paths; without and with link loss.",
            panels((one, loss) for one in (schemes.STANDARD, schemes.THRESHOLD) for loss in LOSSES),
        ),
        Picture(
            "figure-6",
            "Figure 6",
            "Three receivers, threshold 3, no link loss.",
            panels((one, 0.0) for one in receivers),
        ),
        Picture(
            "figure-7",
            "Figure 7",
            "Three receivers, threshold 3, link loss 0.001.",
            panels((one, 0.001) for one in receivers),
        ),
        Picture(
            "figure-8",
            "Figure 8",
            "Threshold by the number of paths and modified delayed ACK together.",
            panels((schemes.INTEGRATED, loss) for loss in LOSSES),
        ),
        Picture(
            "figure-9",
            "Figure 9",
            "Flow by flow, by a hash of the source address.",
            panels((schemes.FLOW_LEVEL, loss) for loss in LOSSES),
        ),
    ]
