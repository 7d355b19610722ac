"""What the paper says of parallel paths, and whether it is so."""

from __future__ import annotations

from itertools import pairwise

from anabranch.papers.multipath_forwarding import readings, schemes
from anabranch.papers.multipath_forwarding.goodput import Ratios, judged, share
from anabranch.papers.study import Claim

PATHS = (1, 2, 3, 4, 5)
THRESHOLDS = (3, 6, 9, 12, 15)
LOSSES = (0.0, 0.001)


def claims(grid: Ratios, thresholds: Ratios, ports: Ratios, read: Ratios) -> list[Claim]:
    """Of relative goodput by scheme, paths, difference and loss; by threshold; by a hash of ports; and in other readings."""
    differences = sorted(grid.table["difference"].unique())
    return [
        *_figure_4_claims(thresholds),
        *_figure_5_claims(grid, differences, read),
        *_figures_6_to_8_claims(grid, differences, read),
        *_figure_9_claims(grid, differences, ports),
    ]


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
    linear = [
        step for d in differences for loss in LOSSES for step in _growing([mean(threshold, n, d, loss) for n in PATHS])
    ]
    degrades = [mean(threshold, n, 100, loss) < mean(threshold, n, 25, loss) for n in (4, 5) for loss in LOSSES]
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
            else f"It is so in {sum(below)} of {len(below)} cases. A hundred flows have three to four segments in flight each on the single path, and reordering cannot take a window "
            "below the four that three duplicate ACKs need. Where windows are large it is so: with ten flows instead of a hundred, "
            f"three paths bring {few} of a single path, and over the vBNS it is below 1 too.",
        ),
        Claim(
            "threshold-grows-linearly",
            where,
            "With the threshold by the number of paths goodput grows linearly with that number, whatever their delays, with link loss as well.",
            judged(linear),
            f"Two to five paths: {row(threshold, 0)} at equal delays; {row(threshold, 100)} at 100 %; {row(threshold, 100, 0.001)} "
            f"with loss. {share(linear)}: a path from the third on adds at least half of what the second did.",
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
            f"Four and five paths at 25 % and 100 %: {mean(threshold, 4, 25):.2f} and {mean(threshold, 4, 100):.2f}, {mean(threshold, 5, 25):.2f} "
            f"and {mean(threshold, 5, 100):.2f}; with loss {mean(threshold, 4, 25, 0.001):.2f} and {mean(threshold, 4, 100, 0.001):.2f}, "
            f"{mean(threshold, 5, 25, 0.001):.2f} and {mean(threshold, 5, 100, 0.001):.2f}.",
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
            "" if all(below) else "Why so few are below it: see the default threshold above.",
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

    linear = [step for d in differences for loss in LOSSES for step in _growing([mean(n, d, loss) for n in PATHS])]
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
            f"{', '.join(f'{mean(n, 100, 0.001):.2f}' for n in PATHS[1:])} with loss as well. {share(linear)}: a path from the third on adds at least "
            f"half of what the second did; {sum(alike)} of {len(alike)} numbers of paths: all differences and losses within 15 %.",
            ""
            if all([*linear, *alike])
            else "Ten sources hashed onto four or five paths leave some path to one source, or to none; "
            f"by addresses and ports it is {', '.join(f'{ports.at(paths=n).mean:.2f}' for n in PATHS[1:])} (at 10 to 15 ms, without loss). "
            "A window that random loss keeps small brings less over a long path, so losses and delays tell together.",
        )
    ]


def _growing(means: list[float]) -> list[bool]:
    """Whether each path from the third on adds at least half of what the second did."""
    steps = [after - before for before, after in pairwise(means)]
    return [step >= steps[0] / 2 for step in steps[1:]]
