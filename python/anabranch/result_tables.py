"""The tables of a run: their columns, as the Rust core declares them, and their values, as it gives them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from anabranch import _core
from anabranch.array_types import Integers

Schema = dict[str, type[pl.DataType]]
"""The types of a table's columns by their names, in their order."""

PATH_SEPARATOR = " > "
"""Between the nodes of a path in a table."""


@dataclass(frozen=True)
class ResultColumn:
    """A column of a table."""

    name: str
    kind: str
    """``index``, ``count``, ``number``, ``text``; ``name`` and ``path`` are indexes in the core, and names in the tables."""
    unit: str
    """Empty for a plain number."""
    meaning: str
    unknown: str
    """When it is null; empty if it never is."""

    @property
    def type(self) -> type[pl.DataType]:
        """Its type in the tables."""
        return _TYPES[self.kind]


_TYPES: dict[str, type[pl.DataType]] = {
    "index": pl.UInt32, "count": pl.UInt64, "number": pl.Float64, "text": pl.String, "name": pl.String, "path": pl.String,
}  # fmt: skip
_RUN = ResultColumn("run", "index", "", "Number of the run, from 0.", "")
_SEED = ResultColumn("seed", "count", "", "Seed of the run.", "")
_NUMBERED = {"flows": (_RUN, _SEED), "links": (_RUN, _SEED), "states": (_RUN, _SEED), "routes": (_RUN, _SEED)}
"""The columns before those of the core; the tables of samples have the run's number only."""

TABLES: Mapping[str, Sequence[ResultColumn]] = {
    table: (*_NUMBERED.get(table, (_RUN,)), *(ResultColumn(**column) for column in columns))
    for table, columns in json.loads(_core.result_tables())
}
"""The columns of the tables that a :class:`anabranch.results.Result` has of runs, by the table's name there."""
SCHEMAS: Mapping[str, Schema] = {
    table: {column.name: column.type for column in columns} for table, columns in TABLES.items()
}
SERIES_TABLES = {"flows": "series_flows", "links": "series_links", "link_state": "link_state"}
"""The tables of samples by the beginning of their files' names."""


def frame(
    table: str, columns: Mapping[str, Any], constants: Mapping[str, int], names: Mapping[str, Sequence[str]]
) -> pl.DataFrame:
    """A table from the columns of the core: indexes become names, NaN becomes null.

    ``constants`` are the run's number and seed, ``names`` those of the scenario by the column that has their indexes.
    """
    rows = len(next(iter(columns.values()))) if columns else 0
    series = []
    for column in TABLES[table]:
        if column.name in constants:
            values = pl.Series(column.name, [constants[column.name]], dtype=column.type).new_from_index(0, rows)
        elif column.kind == "name":
            values = _named(column.name, columns[column.name], names[column.name])
        elif column.kind == "path":
            paths = (PATH_SEPARATOR.join(names["src"][node] for node in path) for path in columns[column.name])
            values = pl.Series(column.name, list(paths), dtype=column.type)
        else:
            values = pl.Series(column.name, columns[column.name])
            if values.dtype == pl.Float64:
                values = values.fill_nan(None)
            values = values.cast(column.type)
        series.append(values)
    return pl.DataFrame(series)


def _named(name: str, indexes: Integers, names: Sequence[str]) -> pl.Series:
    known: list[str | None] = [*names, None]  # an index beyond the names (the stack of a UDP flow) is unknown
    places = np.where((indexes < 0) | (indexes >= len(names)), len(names), indexes).astype(np.int64)
    return pl.Series(name, known, dtype=pl.String).gather(places)
