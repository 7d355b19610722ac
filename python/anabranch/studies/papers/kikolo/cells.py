"""Names of the variants, and means and intervals by variant and packet error rate: shared by all figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from anabranch.pages.report.chart import with_interval
from anabranch.studies.papers import measures
from anabranch.studies.papers.verdicts import quotient

KIKOLO = "Kikolo"
NAMES = {
    "kikolo": KIKOLO,
    "newreno": "NewReno",
    "vegas": "Vegas",
    "westwood": "Westwood+",
    "bic": "BIC",
    "compound": "Compound",
    "highspeed": "HighSpeed",
    "scalable": "Scalable",
    "cubic": "CUBIC",
}
"""The variants of the paper, in its order, and CUBIC, which it does not have."""
OTHERS = [name for name in NAMES.values() if name != KIKOLO]
RIVALS = [name for name in OTHERS if name != "CUBIC"]
"""The variants that the paper compares with Kikolo: its claims are judged by them."""
TRADITIONAL = ("NewReno", "Vegas", "Westwood+")
PAYLOAD_SHARE = 1460 / 1500
"""The payload that a full link carries, as a share of its rate."""
LEAST_LEAD = 1.01
"""A lead of less than 1 % counts as none."""


@dataclass(frozen=True)
class Cell:
    """A mean over seeds and half of its 95 % confidence interval."""

    mean: float
    half_width: float | None
    values: tuple[float, ...] = ()
    """The value of each seed, if they are known."""

    @classmethod
    def of(cls, values: Sequence[float]) -> Cell:
        """The mean of these values, one for each seed."""
        return cls(*measures.over_seeds(values), tuple(values))

    @property
    def estimate(self) -> tuple[float, float | None]:
        """The mean and half of its interval."""
        return self.mean, self.half_width

    def text(self, unit: str = "") -> str:
        """The mean, its half width and the unit, as text for the evidence of a claim."""
        return with_interval(self.mean, self.half_width) + unit

    def leads(self, other: Cell) -> bool:
        """Whether this mean is greater by more than 1 %, beyond the interval: of the quotients of equal seeds, if they are known."""
        if self.values and len(self.values) == len(other.values):
            mean, half = quotient(self.values, other.values)
            return mean > LEAST_LEAD and mean - (half or 0.0) > 1.0
        apart = self.mean - (self.half_width or 0.0) > other.mean + (other.half_width or 0.0)
        return apart and self.mean > LEAST_LEAD * other.mean


Cells = Mapping[tuple[str, float], Cell]
"""Cells by packet error rate and by the name of a variant or a reading."""


def cells(table: pl.DataFrame, value: str) -> dict[tuple[str, float], Cell]:
    """The cells of a table with the columns ``variant``, ``loss`` and the one that ``value`` names, with a row for each seed."""
    groups = table.group_by(["variant", "loss"], maintain_order=True)
    return {(str(name), float(loss)): Cell.of(rows[value].to_list()) for (name, loss), rows in groups}


def rates(found: Cells, *, above: float = 0.0, below: float = 1.0) -> list[float]:
    """The packet error rates that were simulated, between ``above`` and ``below`` (both excluded)."""
    return sorted({loss for _, loss in found if above * 1.001 < loss < below * 0.999})


def frame(found: Cells, names: Iterable[str] | None = None) -> pl.DataFrame:
    """The cells as a table for charts."""
    wanted = None if names is None else set(names)
    rows = [
        (name, loss, cell.mean, cell.half_width)
        for (name, loss), cell in found.items()
        if wanted is None or name in wanted
    ]
    schema = {"variant": pl.String, "loss": pl.Float64, "mean": pl.Float64, "half_width": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def power(loss: float) -> str:
    """A packet error rate as text, such as 3e-4."""
    digits, _, exponent = f"{loss:.0e}".partition("e")
    return f"{digits}e{int(exponent)}"


def at(losses: Sequence[float]) -> str:
    """Some packet error rates as text."""
    return ", ".join(power(loss) for loss in losses)


def carried(result_flows: pl.DataFrame, capacity_bps: float, by: Sequence[str]) -> pl.DataFrame:
    """The payload that all flows of a run received, in percent of what the link can carry, as ``share``."""
    total = result_flows.group_by(["run", "seed", *by], maintain_order=True).agg(pl.col("goodput_bps").sum())
    return total.with_columns(share=100 * pl.col("goodput_bps") / (capacity_bps * PAYLOAD_SHARE))
