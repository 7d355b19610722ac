"""Goodput relative to a single path with the standard sender and receiver (section IV.A)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from anabranch.pages.report.chart import with_interval
from anabranch.studies.papers import measures
from anabranch.studies.papers.verdicts import Truth, above, between, difference

if TYPE_CHECKING:
    from anabranch.results.result import Result
    from anabranch.studies.papers.study import Lab

REACH = 0.2
"""Our gain over a single path is within reach of the published one if it differs by no more than this share of it."""


class Estimate(NamedTuple):
    """A mean over seeds with half of its 95 % confidence interval."""

    mean: float
    half_width: float | None

    def __str__(self) -> str:
        """The mean and its half width, as text."""
        return with_interval(self.mean, self.half_width)


class Ratios:
    """Relative goodputs: one for each seed and each combination of keys."""

    def __init__(self, table: pl.DataFrame) -> None:
        """The ratios of a table with the columns ``ratio``, ``seed`` and the keys."""
        self.table = table

    def values(self, **where: object) -> list[float]:
        """The ratios of these keys, one for each seed, in the order of seeds."""
        found = self.table.filter(*(pl.col(key) == value for key, value in where.items())).sort("seed")
        if found.is_empty() or found["seed"].is_duplicated().any():
            raise LookupError(f"{len(found)} ratios instead of one for each seed: {where}")
        return found["ratio"].to_list()

    def at(self, **where: object) -> Estimate:
        """The mean ratio of these keys."""
        return Estimate(*measures.over_seeds(self.values(**where)))

    def more(self, one: Mapping[str, object], other: Mapping[str, object], factor: float = 1.0) -> Truth:
        """Whether the ratio of some keys is more than ``factor`` times that of others, seed by seed."""
        return above(difference(self.values(**one), [factor * value for value in self.values(**other)]), 0.0)

    def difference(self, scheme: str, other: str, **where: object) -> Estimate:
        """The mean over seeds of one scheme's ratio less another's."""
        return Estimate(*difference(self.values(scheme=scheme, **where), self.values(scheme=other, **where)))

    def summary(self, *by: str, **where: object) -> pl.DataFrame:
        """Means and half widths by the keys ``by``; ``where`` selects one value of each other key."""
        found = self.table.filter(*(pl.col(key) == value for key, value in where.items()))
        return measures.summary(found.sort(*by, maintain_order=True), by, "ratio")


def total(result: Result, names: Mapping[str, str] | None = None, traffic: str = "ftp") -> pl.DataFrame:
    """Goodput of all flows together, by seed and keys of the matrix."""
    flows = measures.flows(result, names).filter(pl.col("traffic") == traffic)
    keys = [(names or {}).get(key, key) for key in result.keys]
    return flows.group_by("seed", *keys, maintain_order=True).agg(goodput=pl.col("goodput_bps").sum())


def relative(goodput: pl.DataFrame, single: pl.DataFrame, on: Sequence[str] = ()) -> pl.DataFrame:
    """``goodput`` with its ``ratio`` to the goodput of a single path with the same seed and the same keys ``on``."""
    base = single.select("seed", *on, base="goodput")
    return goodput.join(base, on=["seed", *on], how="left", maintain_order="left").with_columns(
        ratio=pl.col("goodput") / pl.col("base")
    )


def in_reach(lab: Lab, found: Mapping[str, Estimate], *, percent: bool = False) -> list[Truth]:
    """Whether the gain of each relative goodput is within reach of the published one. With ``percent``, published numbers are gains in percent."""
    close: list[Truth] = []
    for name, estimate in found.items():
        value = lab.published[name].value
        if value is None:
            raise LookupError(f"{name} is not published as one number")
        theirs = value if percent else 100 * (value - 1)
        close.append(between(gain(estimate), theirs * (1 - REACH), theirs * (1 + REACH)))
    return close


def gain(estimate: Estimate) -> Estimate:
    """The gain of a relative goodput over 1, in percent."""
    half = None if estimate.half_width is None else 100 * estimate.half_width
    return Estimate(100 * (estimate.mean - 1), half)
