"""A sweep that adds seeds until the mean goodput of every cell is known well enough."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from anabranch.results import statistics
from anabranch.results.run_directory import active_share
from anabranch.studies.sweep.columns import SUMMED_UP
from anabranch.studies.sweep.errors import SweepError
from anabranch.studies.sweep.plan import Sweep

_RULE = re.compile(r"\s*ci\s*<\s*(\d+(?:\.\d+)?)\s*%\s*")
DEFAULT_MOST = 100


@dataclass(frozen=True)
class Until:
    """Adds seeds where half the 95 % interval of the mean goodput is more than a share of that mean."""

    share: float
    most: int
    """Seeds of a cell."""

    @classmethod
    def read(cls, text: str | None, most: int | None) -> "Until | None":
        """The rule of a text such as ``ci < 2 %``; none without a text.

        Raises:
            SweepError: it is no such rule, or the greatest number of seeds is too small, or there without a rule.
        """
        if text is None:
            if most is not None:
                raise SweepError("max-seeds goes with until: it ends the seeds that until adds")
            return None
        match = _RULE.fullmatch(text)
        if match is None or not 0 < float(match[1]) < 100:
            raise SweepError(f'until "{text}": must be such as "ci < 2 %"')
        most = DEFAULT_MOST if most is None else most
        if most < 2:
            raise SweepError(f"max-seeds {most}: must be at least 2, as one seed has no interval")
        return cls(float(match[1]) / 100, most)

    def wanted(self, values: list[float]) -> int:
        """The number of seeds that a cell needs, from the goodput with each seed so far; their present number if the goodput is known well enough.

        The interval shrinks with the square root of the seeds. At most twice as many are wanted, since the first estimate is rough.
        """
        have = len(values)
        if have < 2:
            return max(have, min(2, self.most))
        mean, half = math.fsum(values) / have, statistics.half_width(values)
        assert half is not None
        if mean <= 0 or half <= self.share * mean:
            return have
        needed = max(have + 1, math.ceil(have * (half / (self.share * mean)) ** 2))
        return max(have, min(needed, 2 * have, self.most))


class Rounds:
    """The seeds of every cell, round by round: a sweep that was killed reaches the same seeds as one without a kill."""

    def __init__(self, sweep: Sweep, rule: Until) -> None:
        """Every cell begins with the plan's seeds."""
        self._sweep = sweep
        self._rule = rule
        self._seeds = dict.fromkeys(range(sweep.cells), len(sweep.seeds))
        self._open = set(self._seeds)

    def further(self, flows: pl.LazyFrame) -> list[int]:
        """The numbers of further runs, after all runs so far; none once every cell is known well enough."""
        # Only of the seeds so far: a sweep that was killed may have some of the next.
        goodput = goodput_by_cell(self._sweep, flows, self._seeds)
        numbers = []
        for cell in sorted(self._open):
            have = self._seeds[cell]
            values = goodput.get(cell, [])
            # A cell whose runs fail or have no lasting flow has no interval that further seeds would narrow.
            wanted = self._rule.wanted(values) if len(values) == have else have
            if wanted == have:
                self._open.remove(cell)
            self._seeds[cell] = wanted
            numbers += [self._sweep.number(cell, seed) for seed in range(have, wanted)]
        return numbers

    def describe(self, flows: pl.LazyFrame) -> str:
        """The result of the rule, in a sentence."""
        goodput = goodput_by_cell(self._sweep, flows, self._seeds)
        endless = Until(self._rule.share, 2**31)
        known = wide = 0
        for cell, seeds in self._seeds.items():
            values = goodput.get(cell, [])
            known += len(values) == seeds
            wide += len(values) == seeds and endless.wanted(values) > seeds
        text = f"{known - wide} of {self._sweep.cells} means of goodput are within ± {100 * self._rule.share:g} %"
        if wide:
            text += f"; {wide} are not, with {self._rule.most} seeds: --max-seeds may allow more"
        if known < self._sweep.cells:
            text += f"; {self._sweep.cells - known} have no goodput of lasting flows with every seed"
        return f"{text}."


def goodput_by_cell(sweep: Sweep, flows: pl.LazyFrame, seeds: Mapping[int, int]) -> Mapping[int, list[float]]:
    """The goodput of each run, as :func:`anabranch.results.statistics.per_run` adds it up, by cell.

    ``seeds`` is how many seeds of each cell count. What lasts, and so has a goodput, depends on all of them.
    """
    counted = [sweep.number(own, seed) for own, number in seeds.items() for seed in range(number)]
    run = pl.col("run").cast(pl.Int64)
    further = (run - sweep.planned) % sweep.cells
    cell = pl.when(run < sweep.planned).then(run // len(sweep.seeds)).otherwise(further)
    rows = flows.filter(pl.col("flow").is_not_null(), run.is_in(counted)).select(SUMMED_UP)
    table = statistics.per_run(rows.with_columns(active_share(), cell=cell).collect(), ["cell"])
    found: dict[int, list[float]] = {}
    for own, goodput in table.select("cell", "goodput_bps").drop_nulls().iter_rows():
        found.setdefault(own, []).append(goodput)
    return found
