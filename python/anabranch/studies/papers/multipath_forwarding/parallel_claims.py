"""The rules for the verdicts on the paper's claims about parallel paths; ``claims.toml`` has the sentences."""

from __future__ import annotations

from itertools import pairwise

from anabranch.studies.papers import statements
from anabranch.studies.papers.multipath_forwarding import readings, schemes
from anabranch.studies.papers.multipath_forwarding.goodput import Ratios
from anabranch.studies.papers.statements import share
from anabranch.studies.papers.study import Claim

_CLAIMS = statements.beside(__file__)

PATHS = (1, 2, 3, 4, 5)
SEVERAL = PATHS[1:]
THRESHOLDS = (3, 6, 9, 12, 15)
LOSSES = (0.0, 0.001)


def claims(grid: Ratios, thresholds: Ratios, both: Ratios, ports: Ratios, read: Ratios) -> list[Claim]:
    """The claims, from relative goodput: by scheme, paths, difference and loss; by threshold; of both changes over a single path; by a
    hash of ports; and in other readings."""
    means = _Means(grid)
    return [
        _single_path_claim(both),
        *_figure_4_claims(thresholds),
        *_figure_5_claims(means, read),
        *_figures_6_to_8_claims(means, read),
        _figure_9_claim(means, ports),
    ]


class _Means:
    """Mean relative goodputs of the schemes over parallel paths."""

    def __init__(self, grid: Ratios) -> None:
        self.grid = grid
        self.differences: list[float] = sorted(grid.table["difference"].unique())
        self.unequal = [difference for difference in self.differences if difference > 0]

    def __call__(self, scheme: str, n: int, difference: float, loss: float = 0.0) -> float:
        return self.grid.at(scheme=scheme, paths=n, difference=difference, loss=loss).mean

    def row(self, scheme: str, difference: float, loss: float = 0.0) -> str:
        """The mean relative goodputs over two to five paths."""
        return _texts([self(scheme, n, difference, loss) for n in SEVERAL])

    def steps(self, scheme: str) -> list[bool]:
        """Whether each path from the third on adds at least half of what the second did, for all differences and losses."""
        found = []
        for difference in self.differences:
            for loss in LOSSES:
                first, *later = (
                    after - before for before, after in pairwise(self(scheme, n, difference, loss) for n in PATHS)
                )
                found += [step >= first / 2 for step in later]
        return found


def _single_path_claim(both: Ratios) -> Claim:
    lossless, lossy = (both.at(loss=loss) for loss in LOSSES)
    return _CLAIMS.claim("both-hurt-a-single-path", [lossless.mean < 1, lossy.mean < 1], lossless=lossless, lossy=lossy)


def _figure_4_claims(ratios: Ratios) -> list[Claim]:
    mean = {(n, t): ratios.at(paths=n, threshold=t, difference=100.0).mean for n in PATHS for t in THRESHOLDS}
    row = {n: _texts([mean[n, t] for t in THRESHOLDS]) for n in PATHS}
    to_best = {n: mean[n, 6 if n < 4 else 9] / max(mean[n, threshold] for threshold in THRESHOLDS) for n in SEVERAL}
    crosses = [mean[few, 6] > mean[many, 6] for few in (2, 3) for many in (4, 5)]
    crosses += [mean[many, 9] > mean[few, 9] for few in (2, 3) for many in (4, 5)]
    return [
        _CLAIMS.claim(
            "thresholds-help-over-several-paths",
            [mean[n, 15] > mean[n, 3] for n in SEVERAL],
            ends="; ".join(f"{n} paths {mean[n, 3]:.2f} and {mean[n, 15]:.2f}" for n in SEVERAL),
        ),
        _CLAIMS.claim(
            "thresholds-hurt-a-single-path", [mean[1, t] < mean[1, 6] for t in THRESHOLDS if t > 6], row=row[1]
        ),
        _CLAIMS.claim(
            "two-or-three-paths-need-six",
            [mean[n, t] <= 1.1 * mean[n, 6] for n in (2, 3) for t in THRESHOLDS if t > 6],
            two=row[2],
            three=row[3],
        ),
        _CLAIMS.claim(
            "four-or-five-paths-want-more",
            [mean[n, after] > mean[n, before] for n in (4, 5) for before, after in pairwise(THRESHOLDS)],
            four=row[4],
            five=row[5],
        ),
        _CLAIMS.claim(
            "six-for-few-nine-for-many",
            crosses,
            six=_texts([mean[n, 6] for n in SEVERAL]),
            nine=_texts([mean[n, 9] for n in SEVERAL]),
        ),
        _CLAIMS.claim(
            "equation-1-is-near-the-best",
            [value >= 0.9 for value in to_best.values()],
            to_best=", ".join(f"{100 * value:.0f} % over {n} paths" for n, value in to_best.items()),
        ),
    ]


def _figure_5_claims(mean: _Means, read: Ratios) -> list[Claim]:
    default, threshold = schemes.STANDARD.label, schemes.THRESHOLD.label
    below = [mean(default, n, difference) < 1 for n in SEVERAL for difference in mean.unequal]
    five = {
        difference: mean.grid.at(scheme=threshold, paths=5, difference=difference, loss=0.0)
        for difference in (25.0, 0.0)
    }

    def pairs(loss: float) -> str:
        return ", ".join(f"{mean(threshold, n, 25, loss):.2f} and {mean(threshold, n, 100, loss):.2f}" for n in (4, 5))

    return [
        _CLAIMS.claim(
            "plain-tcp-below-a-single-path",
            below,
            little=mean.row(default, 25),
            much=mean.row(default, 100),
            below=f"{sum(below)} of {len(below)}",
            few=read.at(reading=readings.FEW_FLOWS, scheme=default),
        ),
        _CLAIMS.claim(
            "threshold-grows-linearly",
            mean.steps(threshold),
            equal=mean.row(threshold, 0),
            much=mean.row(threshold, 100),
            lossy=mean.row(threshold, 100, 0.001),
        ),
        _CLAIMS.claim("some-difference-helps", [five[25.0].mean > five[0.0].mean], little=five[25.0], equal=five[0.0]),
        _CLAIMS.claim(
            "much-difference-hurts",
            [mean(threshold, n, 100, loss) < mean(threshold, n, 25, loss) for n in (4, 5) for loss in LOSSES],
            lossless=pairs(0.0),
            lossy=pairs(0.001),
        ),
    ]


def _figures_6_to_8_claims(mean: _Means, read: Ratios) -> list[Claim]:
    standard, delayed, modified = (one.label for one in (schemes.STANDARD, schemes.DELAYED, schemes.MODIFIED))
    threshold, integrated = schemes.THRESHOLD.label, schemes.INTEGRATED.label
    degraded = [mean(one, n, 100) < mean(one, n, 0) for one in (standard, delayed) for n in SEVERAL]
    below = [mean(one, n, 100) < 1 for one in (standard, delayed) for n in SEVERAL]
    few = [read.at(reading=readings.FEW_FLOWS, scheme=one) for one in (threshold, modified, integrated)]
    return [
        _CLAIMS.claim(
            "receivers-as-they-are-degrade",
            [*degraded, *below],
            standard=f"{mean.row(standard, 0)} and {mean.row(standard, 100)}",
            delayed=f"{mean.row(delayed, 0)} and {mean.row(delayed, 100)}",
            degraded=share(degraded),
            below=f"{sum(below)} of {len(below)}",
        ),
        _CLAIMS.claim(
            "modified-delayed-ack-doubles",
            [mean(modified, n, difference) > 2 for n in (2, 3) for difference in mean.differences],
            two=min(mean(modified, 2, difference) for difference in mean.differences),
            three=min(mean(modified, 3, difference) for difference in mean.differences),
        ),
        _CLAIMS.claim(
            "modified-delayed-ack-stops-at-three",
            [mean(modified, n, d) <= 1.1 * mean(modified, 3, d) for n in (4, 5) for d in mean.unequal],
            rows="; ".join(f"{mean.row(modified, difference)} at {difference:g} %" for difference in mean.unequal),
        ),
        _CLAIMS.claim(
            "modified-delayed-ack-with-loss",
            [
                mean(modified, n, d, 0.001) > max(mean(standard, n, d, 0.001), mean(delayed, n, d, 0.001))
                for n in SEVERAL
                for d in mean.unequal
            ],
            standard=mean.row(standard, 100, 0.001),
            delayed=mean.row(delayed, 100, 0.001),
            modified=mean.row(modified, 100, 0.001),
        ),
        _CLAIMS.claim(
            "integrated-is-best",
            [
                mean(integrated, n, d, loss) > max(mean(threshold, n, d, loss), mean(modified, n, d, loss))
                for n in SEVERAL
                for d in mean.differences
                for loss in LOSSES
            ],
            threshold=mean.row(threshold, 100),
            modified=mean.row(modified, 100),
            integrated=mean.row(integrated, 100),
            few="{}, {} and {}".format(*few),
        ),
    ]


def _figure_9_claim(mean: _Means, ports: Ratios) -> Claim:
    label = schemes.FLOW_LEVEL.label
    linear, alike = mean.steps(label), []
    for n in SEVERAL:
        values = [mean(label, n, difference, loss) for difference in mean.differences for loss in LOSSES]
        alike.append(max(values) <= 1.15 * min(values))
    return _CLAIMS.claim(
        "flow-level-grows-with-paths",
        [*linear, *alike],
        equal=mean.row(label, 0),
        much=mean.row(label, 100),
        lossy=mean.row(label, 100, 0.001),
        linear=share(linear),
        alike=f"{sum(alike)} of {len(alike)}",
        ports=_texts([ports.at(paths=n).mean for n in SEVERAL]),
    )


def _texts(values: list[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)
