"""Tables 3 to 5: goodput of flows over the routes of each metric, in every reading that the paper leaves open."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import inf

import polars as pl

from anabranch.network.topologies import Topology
from anabranch.studies.papers.measures import over_seeds
from anabranch.studies.papers.study import Experiment, Lab
from anabranch.studies.papers.tcpbp import copies, networks
from anabranch.studies.papers.tcpbp.networks import DELAY, HOPS, METRICS, PLAIN_HOPS, TCPBP, Chosen, Pair, Path, name

FLOWS = (10, 25, 50)
SAME_AS_HOPS = 26
"""Number of TCPBP's routes that are hop-count's, by Table 2."""
OTHER_READING = "0.0044"


@dataclass(frozen=True)
class Rates:
    """Goodput of a flow and Jain's index, by path, number of flows and seed."""

    of: Mapping[tuple[Path, int, int], tuple[float, float]]
    seeds: Sequence[int]

    @classmethod
    def read(cls, table: pl.DataFrame, label: Callable[[Path], str], paths: Sequence[Path]) -> "Rates":
        """Read the rates of these paths from a table of :func:`copies.measured`; ``label`` names the copy of a path."""
        rows = {(row["copy"], row["flows"], row["seed"]): (row["bps"], row["jain"]) for row in table.to_dicts()}
        seeds = sorted(table["seed"].unique())
        numbers = sorted(table["flows"].unique())
        found = {
            (path, count, seed): rows[label(path), count, seed] for path in paths for count in numbers for seed in seeds
        }
        return cls(found, seeds)

    def bps(self, path: Path, flows: int, seed: int) -> float:
        """Mean goodput of a flow."""
        return self.of[path, flows, seed][0]

    def mean_bps(self, path: Path, flows: int) -> float:
        """Mean goodput of a flow, over all seeds."""
        return over_seeds([self.bps(path, flows, seed) for seed in self.seeds])[0]


@dataclass(frozen=True)
class Gain:
    """Throughput of one metric's routes over another's (Table 3). Each value has half of its interval over seeds."""

    differing: int
    on_differing: tuple[float, float | None]
    """Mean of the pairs' ratios, where the routes differ (DR)."""
    on_all: tuple[float, float | None]
    """Mean of the ratios of all pairs, 1 where routes are the same."""
    by_seed: Sequence[float]
    """The mean of the ratios of differing routes, for each seed."""
    of_sums: tuple[float, float | None]
    """One metric's sum over all pairs, divided by the other's."""


def gain(rates: Rates, chosen: Chosen, better: str, other: str, flows: int, pairs: Sequence[Pair]) -> Gain:
    """The gain of one metric over another."""
    differing = [pair for pair in pairs if chosen[better][pair] != chosen[other][pair]]

    def ratio(pair: Pair, seed: int) -> float:
        return rates.bps(chosen[better][pair], flows, seed) / rates.bps(chosen[other][pair], flows, seed)

    def total(metric: str, seed: int) -> float:
        return sum(rates.bps(chosen[metric][pair], flows, seed) for pair in pairs)

    ratios = {seed: [ratio(pair, seed) for pair in differing] for seed in rates.seeds}
    unchanged = len(pairs) - len(differing)
    by_seed = [sum(own) / len(own) if own else 1.0 for own in ratios.values()]
    return Gain(
        len(differing),
        over_seeds(by_seed),
        over_seeds([(sum(own) + unchanged) / len(pairs) for own in ratios.values()]),
        by_seed,
        over_seeds([total(better, seed) / total(other, seed) for seed in rates.seeds]),
    )


def jain(rates: Rates, chosen: Chosen, metric: str, flows: int, pairs: Sequence[Pair]) -> tuple[float, float | None]:
    """Jain's index averaged over the pairs (Table 5)."""
    means = [sum(rates.of[chosen[metric][pair], flows, seed][1] for pair in pairs) / len(pairs) for seed in rates.seeds]
    return over_seeds(means)


class Testbed:
    """The testbed in one reading: the routes of each metric, and the copies of paths that compare them."""

    def __init__(self, reading: str) -> None:
        """Compute the routes by the configured values."""
        self.reading = reading
        self.topology: Topology = networks.ten_nodes(reading)
        self.pairs = networks.pairs(self.topology)
        self.chosen = networks.chosen(self.topology, (*METRICS, PLAIN_HOPS))
        self.ties = networks.fewest_hops(self.topology)

    @cached_property
    def paths(self) -> list[Path]:
        """All paths that a metric chooses, and all tied paths of hop-count."""
        by_metric = {self.chosen[metric][pair] for metric in self.chosen for pair in self.pairs}
        return sorted(by_metric | {path for paths in self.ties.values() for path in paths})

    def label(self, path: Path) -> str:
        """The name of a path's copy: paths that the readings share have one copy."""
        touched = {"2", "3"} in [set(hop) for hop in pairwise(path)]
        return f"{name(path)}@{self.reading}" if touched and self.reading == OTHER_READING else name(path)

    def copies(self) -> list[copies.Copy]:
        """A copy for each path."""
        return [copies.copy_of(self.label(path), self.topology, path) for path in self.paths]


def experiments(lab: Lab) -> list[Experiment]:
    """The experiments: all pairs; all pairs with losses of data only; differing routes without a limit of capacity."""
    first, second = Testbed("0.0040"), Testbed(OTHER_READING)
    every = {copy.name: copy for bed in (first, second) for copy in bed.copies()}
    found = [
        Experiment(
            "pairs",
            copies.scenario(
                lab,
                "pairs.toml",
                "Tables 3 to 5: every path that a metric takes between two of the ten nodes",
                list(every.values()),
                flows=FLOWS,
                duration_s=5 if lab.quick else 30,
                warm_up_s=2 if lab.quick else 5,
                seeds=2 if lab.quick else 5,
            ),
        ),
        Experiment(
            "data-losses",
            copies.scenario(
                lab,
                "data-losses.toml",
                "The other reading of loss: links lose data and no ACKs",
                [replace(copy, back=tuple(link._replace(loss=0.0) for link in copy.back)) for copy in first.copies()],
                flows=FLOWS[:1],
                duration_s=6 if lab.quick else 30,
                warm_up_s=2 if lab.quick else 5,
                seeds=2 if lab.quick else 3,
            ),
        ),
    ]
    differing = {
        path
        for pair in first.pairs
        for other in (HOPS, DELAY)
        for path in (first.chosen[TCPBP][pair], first.chosen[other][pair])
        if first.chosen[TCPBP][pair] != first.chosen[other][pair]
    }
    found.append(
        Experiment(
            "capacity",
            copies.scenario(
                lab,
                "capacity.toml",
                "Differing routes with 50 flows where capacity is no limit",
                [copies.copy_of(name(path), first.topology, path) for path in sorted(differing)],
                flows=FLOWS[-1:],
                duration_s=4 if lab.quick else 15,
                warm_up_s=2 if lab.quick else 5,
                seeds=2 if lab.quick else 3,
                capacity="10Gbps",
            ),
        )
    )
    return found


@dataclass(frozen=True)
class TieBreaks:
    """Ranges of results over the ways to break hop-count's ties."""

    tied: int
    same: tuple[int, int]
    """The least and the greatest number of pairs with the route of TCPBP."""
    with_count: tuple[float, float] | None
    """The least and the greatest mean ratio on differing routes, over the ways that give Table 2's count."""
    without_outlier: tuple[float, float] | None
    """The same range if hop-count takes 3-4-5 between 3 and 5, as TCPBP does."""


OUTLIER: Pair = ("3", "5")
"""Over TCPBP's path 3-4-5, flows have thirty times the goodput of the tied path 3-1-5."""
SHOWN_TIE = (("1", "10"), ("1", "5", "10"))
"""The path that hop-count took of two tied paths, by Table 4."""


def tie_breaks(bed: Testbed, rates: Rates, flows: int) -> TieBreaks:
    """Counts over all ways to break ties, and the range of Table 3's ratio over the ways that agree with Tables 2 and 4."""
    options: dict[Pair, list[float | None]] = {}
    for pair, ties in bed.ties.items():
        own = bed.chosen[TCPBP][pair]
        rate = rates.mean_bps(own, flows)
        options[pair] = [None if path == own else rate / rates.mean_bps(path, flows) for path in ties]
    pair, path = SHOWN_TIE
    options[pair] = [options[pair][bed.ties[pair].index(path)]]
    free = [len(ties) for ties in bed.ties.values()]
    same = [[path == bed.chosen[TCPBP][pair] for path in ties] for pair, ties in bed.ties.items()]
    forced = options | {OUTLIER: [None]} if None in options[OUTLIER] else options
    return TieBreaks(
        sum(count > 1 for count in free),
        (sum(all(own) for own in same), sum(any(own) for own in same)),
        _range(list(options.values()), len(bed.pairs) - SAME_AS_HOPS),
        _range(list(forced.values()), len(bed.pairs) - SAME_AS_HOPS),
    )


def _range(options: Sequence[Sequence[float | None]], differing: int) -> tuple[float, float] | None:
    """The least and the greatest mean of ``differing`` ratios, with one option for each pair; the option ``None`` is a route that does not differ."""
    sums = {0: (0.0, 0.0)}
    for choices in options:
        following: dict[int, tuple[float, float]] = {}
        for count, (least, greatest) in sums.items():
            for ratio in choices:
                step, number = (0.0, count) if ratio is None else (ratio, count + 1)
                low, high = following.get(number, (inf, -inf))
                following[number] = min(low, least + step), max(high, greatest + step)
        sums = following
    if differing not in sums:
        return None
    least, greatest = sums[differing]
    return least / differing, greatest / differing


def averaged_over_ties(bed: Testbed, rates: Rates, flows: int, seed: int) -> float:
    """Table 3's ratio if hop-count spreads its flows evenly over tied paths. It leaves out pairs whose only such path is TCPBP's."""
    ratios = []
    for pair, ties in bed.ties.items():
        own = bed.chosen[TCPBP][pair]
        if ties != [own]:
            shared = sum(rates.bps(path, flows, seed) for path in ties) / len(ties)
            ratios.append(rates.bps(own, flows, seed) / shared)
    return sum(ratios) / len(ratios)
