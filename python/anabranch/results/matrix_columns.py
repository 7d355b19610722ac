"""The keys of a scenario's matrix as typed columns of the result tables.

Numbers and truth values keep their type. Texts with units become numbers in the base unit: seconds, bit/s, bytes,
packets, metres, m/s or events per second. A key whose values do not all have one type is a text.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from anabranch.foundation import units
from anabranch.foundation.array_types import Integers
from anabranch.foundation.units import QUANTITIES

CLASH = "variant_"
"""Prefix of a key's name in a table that has a column of that name already."""


def key_table(variants: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """One row for each variant, one column for each key; ``variants`` are the values by key, as a manifest has them."""
    keys = list(variants[0]) if variants else []
    return pl.DataFrame([_typed(key, [variant[key] for variant in variants]) for key in keys])


def with_keys(table: pl.DataFrame, variants: pl.DataFrame, rows: Integers | None = None) -> pl.DataFrame:
    """The table with the columns of variants, which are rows of :func:`key_table`.

    ``rows`` has the row of the variant of each row of the table. Without it, all are of the first variant.
    """
    if variants.width == 0:
        return table
    own = variants[np.zeros(table.height, np.uint32) if rows is None else rows]
    own.columns = column_names(variants.columns, table.columns)
    return table.hstack(own)


def column_names(keys: Sequence[str], taken: Collection[str]) -> list[str]:
    """The names of the columns of keys, beside columns whose names are taken."""
    names: list[str] = []
    for key in keys:
        name = key
        while name in taken or name in names:
            name = CLASH + name
        names.append(name)
    return names


def text(value: object) -> str:
    """A value of the matrix as a text; a dash for a key that a variant does not have."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return number(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def number(value: float) -> str:
    """A number with all of its digits, as people write it: 0.00001 instead of 1e-05, and no exponent above 1e-9 or below 1e15."""
    if value and not 1e-9 <= abs(value) < 1e15:
        return json.dumps(value)
    return np.format_float_positional(value, trim="0" if value == int(value) else "-")


def plain_names(columns: Sequence[str]) -> list[str]:
    """The names of keys for people: without the prefix, which tables alone need, where they stay distinct."""
    plain = [column.removeprefix(CLASH) for column in columns]
    return [name if plain.count(name) == 1 else column for name, column in zip(plain, columns, strict=True)]


def _typed(key: str, values: Sequence[Any]) -> pl.Series:
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return pl.Series(key, values, dtype=pl.Boolean)
    if kinds == {int}:
        return pl.Series(key, values, dtype=pl.Int64)
    if kinds == {float} or kinds == {int, float}:
        return pl.Series(key, [float(value) for value in values], dtype=pl.Float64)
    for parse, scale, _ in QUANTITIES:
        try:
            return pl.Series(key, [float(parse(value) / scale) for value in values], dtype=pl.Float64)
        except units.UnitError:
            continue
    return pl.Series(key, [text(value) for value in values], dtype=pl.String)


def unit(value: object) -> str:
    """The base unit of a value of the matrix that is a text with a unit; empty for any other."""
    if isinstance(value, str):
        for parse, _, base in QUANTITIES:
            try:
                parse(value)
            except units.UnitError:
                continue
            return base
    return ""
