"""Measures that studies share: flows with their variants, means and intervals over seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from anabranch.pages.report.chart import with_interval
from anabranch.results.matrix_columns import CLASH
from anabranch.results.schema import SCHEMAS
from anabranch.results.statistics import half_width

if TYPE_CHECKING:
    from anabranch.results.result import Result


class _Estimate(NamedTuple):
    value: float
    half_width: float | None


class Mean(_Estimate):
    """A mean over seeds, and half of its 95 % confidence interval (``None`` for one value). Its text is ``19.3 ± 0.1``."""

    values: Sequence[float] = ()
    """The value of each seed, if they are known: two means of equal seeds are compared by these."""

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """The mean of these values, one for each seed."""
        made = cls(*over_seeds(values))
        made.values = tuple(values)
        return made

    def __str__(self) -> str:
        """The mean and its half width with three significant digits."""
        return with_interval(self.value, self.half_width)


def flows(result: Result, names: Mapping[str, str] | None = None) -> pl.DataFrame:
    """The flows, with the keys of the matrix as columns.

    ``names`` maps keys (``"traffic[0].stack"``) to column names. Values that are not numbers become texts.
    A key with the name of a column of the flows (``stack``) becomes ``stack_right``, because that column is the flow's own.
    """
    return with_variants(result, result.flows, names)


def with_variants(result: Result, table: pl.DataFrame, names: Mapping[str, str] | None = None) -> pl.DataFrame:
    """A table with a column ``run``, and with the keys of the matrix as further columns, as in :func:`flows`."""
    known = dict(names or {})
    typed = {name for key in result.keys for name in (key, CLASH + key)} - set().union(*SCHEMAS.values())
    table = table.drop(typed, strict=False)
    records = result.manifest["runs"]
    columns: dict[str, list[object]] = {"run": [record["run"] for record in records]}
    for key in result.keys:
        values = [record["variant"][key] for record in records]
        plain = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
        columns[known.get(key, key)] = values if plain else [str(value) for value in values]
    variants = pl.DataFrame(columns, schema_overrides={"run": pl.UInt32})
    return table.join(variants, on="run", maintain_order="left")


def over_seeds(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean and half of its 95 % confidence interval (Student's t), unknown for one value."""
    return math.fsum(values) / len(values), half_width(values)


def summary(table: pl.DataFrame, by: Sequence[str], value: str) -> pl.DataFrame:
    """``mean`` and ``half_width`` (null for one value) of a column for each group, in the order of the table; each row is one seed."""
    rows = []
    for group, values in table.group_by(by, maintain_order=True):
        mean, half = over_seeds(values[value].to_list())
        rows.append([*group, mean, half])
    kinds = {name: table.schema[name] for name in by}
    return pl.DataFrame(rows, schema=kinds | {"mean": pl.Float64, "half_width": pl.Float64}, orient="row")


def means(table: pl.DataFrame, by: Sequence[str], value: str) -> dict[Any, Mean]:
    """The means of :func:`summary` by group. A group is a value if ``by`` is one column, and a tuple of values otherwise."""
    return {
        group[0] if len(by) == 1 else group: Mean.of(rows[value].to_list())
        for group, rows in table.group_by(by, maintain_order=True)
    }
