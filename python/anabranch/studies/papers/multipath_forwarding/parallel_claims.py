"""The rules for the verdicts on the paper's claims about parallel paths; ``claims.toml`` has the sentences."""

from __future__ import annotations

from itertools import pairwise

from anabranch.studies.papers import statements
from anabranch.studies.papers.measures import Mean
from anabranch.studies.papers.multipath_forwarding import readings, schemes
from anabranch.studies.papers.multipath_forwarding.goodput import Ratios
from anabranch.studies.papers.multipath_forwarding.windows import Windows
from anabranch.studies.papers.study import Claim
from anabranch.studies.papers.verdicts import Truth, above, below, difference, every, negated, share

_CLAIMS = statements.beside(__file__)

PATHS = (1, 2, 3, 4, 5)
SEVERAL = PATHS[1:]
THRESHOLDS = (3, 6, 9, 12, 15)
LOSSES = (0.0, 0.001)


def claims(
    grid: Ratios, thresholds: Ratios, both: Ratios, ports: Ratios, read: Ratios, windows: Windows
) -> list[Claim]:
    """The claims, from relative goodput: by scheme, paths, difference and loss; by threshold; of both changes over a single path; by a
    hash of ports; and in other readings."""
    means = _Means(grid)
    return [
        _single_path_claim(both),
        *_figure_4_claims(thresholds),
        *_figure_5_claims(means, read),
        *_figures_6_to_8_claims(means, read, windows),
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

    def values(self, scheme: str, n: int, difference: float, loss: float = 0.0) -> list[float]:
        """The relative goodput of each seed."""
        return self.grid.values(scheme=scheme, paths=n, difference=difference, loss=loss)

    def above(self, threshold: float, scheme: str, n: int, difference: float, loss: float = 0.0) -> Truth:
        """Whether a relative goodput is above a threshold."""
        return above(Mean.of(self.values(scheme, n, difference, loss)), threshold)

    def row(self, scheme: str, difference: float, loss: float = 0.0) -> str:
        """The mean relative goodputs over two to five paths."""
        return _texts([self(scheme, n, difference, loss) for n in SEVERAL])

    def steps(self, scheme: str) -> list[Truth]:
        """Whether each path from the third on adds at least half of what the second did, for all differences and losses."""
        found = []
        for apart in self.differences:
            for loss in LOSSES:
                first, *later = (
                    difference(after, before)
                    for before, after in pairwise(self.values(scheme, n, apart, loss) for n in PATHS)
                )
                found += [above(difference(step.values, [half / 2 for half in first.values]), 0.0) for step in later]
        return found


def _single_path_claim(both: Ratios) -> Claim:
    lossless, lossy = (both.at(loss=loss) for loss in LOSSES)
    return _CLAIMS.claim(
        "both-hurt-a-single-path", [below(lossless, 1.0), below(lossy, 1.0)], lossless=lossless, lossy=lossy
    )


def _figure_4_claims(ratios: Ratios) -> list[Claim]:
    mean = {(n, t): ratios.at(paths=n, threshold=t, difference=100.0).mean for n in PATHS for t in THRESHOLDS}
    row = {n: _texts([mean[n, t] for t in THRESHOLDS]) for n in PATHS}
    to_best = {n: mean[n, _rule(n)] / max(mean[n, threshold] for threshold in THRESHOLDS) for n in SEVERAL}

    def more(one: tuple[int, int], other: tuple[int, int], factor: float = 1.0) -> Truth:
        keys = [{"paths": n, "threshold": t, "difference": 100.0} for n, t in (one, other)]
        return ratios.more(keys[0], keys[1], factor)

    crosses = [more((few, 6), (many, 6)) for few in (2, 3) for many in (4, 5)]
    crosses += [more((many, 9), (few, 9)) for few in (2, 3) for many in (4, 5)]
    return [
        _CLAIMS.claim(
            "thresholds-help-over-several-paths",
            [more((n, 15), (n, 3)) for n in SEVERAL],
            ends="; ".join(f"{n} paths {mean[n, 3]:.2f} and {mean[n, 15]:.2f}" for n in SEVERAL),
        ),
        _CLAIMS.claim("thresholds-hurt-a-single-path", [more((1, 6), (1, t)) for t in THRESHOLDS if t > 6], row=row[1]),
        _CLAIMS.claim(
            "two-or-three-paths-need-six",
            [negated(more((n, t), (n, 6), 1.1)) for n in (2, 3) for t in THRESHOLDS if t > 6],
            two=row[2],
            three=row[3],
        ),
        _CLAIMS.claim(
            "four-or-five-paths-want-more",
            [more((n, after), (n, before)) for n in (4, 5) for before, after in pairwise(THRESHOLDS)],
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
            [every(*(more((n, _rule(n)), (n, t), 0.9) for t in THRESHOLDS if t != _rule(n))) for n in SEVERAL],
            to_best=", ".join(f"{100 * value:.0f} % over {n} paths" for n, value in to_best.items()),
        ),
    ]


def _rule(paths: int) -> int:
    """The threshold by equation 1, for two to five paths."""
    return 6 if paths < 4 else 9


def _figure_5_claims(mean: _Means, read: Ratios) -> list[Claim]:
    default, threshold = schemes.STANDARD.label, schemes.THRESHOLD.label
    under = [negated(mean.above(1.0, default, n, apart)) for n in SEVERAL for apart in mean.unequal]
    five = {apart: mean.grid.at(scheme=threshold, paths=5, difference=apart, loss=0.0) for apart in (25.0, 0.0)}

    def pairs(loss: float) -> str:
        return ", ".join(f"{mean(threshold, n, 25, loss):.2f} and {mean(threshold, n, 100, loss):.2f}" for n in (4, 5))

    return [
        _CLAIMS.claim(
            "plain-tcp-below-a-single-path",
            under,
            little=mean.row(default, 25),
            much=mean.row(default, 100),
            below=share(under),
            few=read.at(reading=readings.FEW_FLOWS, scheme=default),
        ),
        _CLAIMS.claim(
            "threshold-grows-linearly",
            mean.steps(threshold),
            equal=mean.row(threshold, 0),
            much=mean.row(threshold, 100),
            lossy=mean.row(threshold, 100, 0.001),
        ),
        _CLAIMS.claim(
            "some-difference-helps",
            [
                mean.grid.more(
                    {"scheme": threshold, "paths": 5, "difference": 25.0, "loss": 0.0},
                    {"scheme": threshold, "paths": 5, "difference": 0.0, "loss": 0.0},
                )
            ],
            little=five[25.0],
            equal=five[0.0],
        ),
        _CLAIMS.claim(
            "much-difference-hurts",
            [
                above(difference(mean.values(threshold, n, 25, loss), mean.values(threshold, n, 100, loss)), 0.0)
                for n in (4, 5)
                for loss in LOSSES
            ],
            lossless=pairs(0.0),
            lossy=pairs(0.001),
        ),
    ]


def _figures_6_to_8_claims(mean: _Means, read: Ratios, windows: Windows) -> list[Claim]:
    standard, delayed, modified = (one.label for one in (schemes.STANDARD, schemes.DELAYED, schemes.MODIFIED))
    threshold, integrated = schemes.THRESHOLD.label, schemes.INTEGRATED.label
    degraded = [
        above(difference(mean.values(one, n, 0), mean.values(one, n, 100)), 0.0)
        for one in (standard, delayed)
        for n in SEVERAL
    ]
    under = [negated(mean.above(1.0, one, n, 100)) for one in (standard, delayed) for n in SEVERAL]
    few = [read.at(reading=readings.FEW_FLOWS, scheme=one) for one in (threshold, modified, integrated)]
    return [
        _CLAIMS.claim(
            "receivers-as-they-are-degrade",
            [*degraded, *under],
            standard=f"{mean.row(standard, 0)} and {mean.row(standard, 100)}",
            delayed=f"{mean.row(delayed, 0)} and {mean.row(delayed, 100)}",
            degraded=share(degraded),
            below=share(under),
        ),
        _CLAIMS.claim(
            "modified-delayed-ack-doubles",
            [mean.above(2.0, modified, n, apart) for n in (2, 3) for apart in mean.differences],
            two=min(mean(modified, 2, apart) for apart in mean.differences),
            three=min(mean(modified, 3, apart) for apart in mean.differences),
        ),
        _CLAIMS.claim(
            "modified-delayed-ack-stops-at-three",
            [
                above(
                    difference([1.1 * value for value in mean.values(modified, 3, d)], mean.values(modified, n, d)), 0.0
                )
                for n in (4, 5)
                for d in mean.unequal
            ],
            rows="; ".join(f"{mean.row(modified, apart)} at {apart:g} %" for apart in mean.unequal),
        ),
        _CLAIMS.claim(
            "modified-delayed-ack-with-loss",
            [
                every(
                    *(
                        above(difference(mean.values(modified, n, d, 0.001), mean.values(one, n, d, 0.001)), 0.0)
                        for one in (standard, delayed)
                    )
                )
                for n in SEVERAL
                for d in mean.unequal
            ],
            standard=mean.row(standard, 100, 0.001),
            delayed=mean.row(delayed, 100, 0.001),
            modified=mean.row(modified, 100, 0.001),
        ),
        _CLAIMS.claim(
            "integrated-is-best",
            windows.verdict(),
            best=windows.text(),
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
        values = [mean(label, n, apart, loss) for apart in mean.differences for loss in LOSSES]
        ends = [
            (apart, loss)
            for apart in mean.differences
            for loss in LOSSES
            if mean(label, n, apart, loss) in (max(values), min(values))
        ]
        high, low = sorted(ends, key=lambda end: -mean(label, n, *end))[:2]
        wide = [1.15 * value for value in mean.values(label, n, *low)]
        alike.append(above(difference(wide, mean.values(label, n, *high)), 0.0))
    return _CLAIMS.claim(
        "flow-level-grows-with-paths",
        [*linear, *alike],
        equal=mean.row(label, 0),
        much=mean.row(label, 100),
        lossy=mean.row(label, 100, 0.001),
        linear=share(linear),
        alike=share(alike),
        ports=_texts([ports.at(paths=n).mean for n in SEVERAL]),
    )


def _texts(values: list[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)
