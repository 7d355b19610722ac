"""The tables of a run: their columns, as the Rust core declares them, and their values, as it gives them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from anabranch import _core

Schema = dict[str, type[pl.DataType]]
"""The types of a table's columns by their names, in their order."""

PATH_SEPARATOR = " > "
"""The text between the nodes of a path in a table."""


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
    """The condition under which the value is null; empty if it never is."""

    @property
    def type(self) -> type[pl.DataType]:
        """Its type in the tables."""
        return _TYPES[self.kind]


_TYPES: dict[str, type[pl.DataType]] = {
    "index": pl.UInt32, "count": pl.UInt64, "number": pl.Float64, "text": pl.String, "name": pl.String, "path": pl.String,
}  # fmt: skip
_WHOLE = {"index": np.uint32, "count": np.uint64}
_RUN = ResultColumn("run", "index", "", "Number of the run, from 0.", "")
_SEED = ResultColumn("seed", "count", "", "Seed of the run.", "")
_NUMBERED = {"flows": (_RUN, _SEED), "links": (_RUN, _SEED), "states": (_RUN, _SEED), "routes": (_RUN, _SEED)}
"""The columns before those of the core; the tables of samples have the run's number only."""

TABLES: Mapping[str, Sequence[ResultColumn]] = {
    table: (*_NUMBERED.get(table, (_RUN,)), *(ResultColumn(**column) for column in columns))
    for table, columns in json.loads(_core.result_tables())
}
"""The columns of the tables that a :class:`anabranch.results.result.Result` has of runs, by the table's name there."""
PREDICTED = (
    ResultColumn(
        "low_bps", "number", "bit/s", "Below it are 5 % of the goodputs of single runs of the packet engine.", ""
    ),
    ResultColumn(
        "high_bps", "number", "bit/s", "Above it are 5 % of the goodputs of single runs of the packet engine.", ""
    ),
    ResultColumn(
        "fct_p95_s",
        "number",
        "s",
        "5 % of such flows take longer; fct_s is their median.",
        "without a size; not finished",
    ),
    ResultColumn("limited_by", "text", "", "What limits the flow; the interval is that of such flows.", ""),
)
"""Further columns of the flows that the predict engine gives."""
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
    predicted = [column for column in PREDICTED if table == "flows" and column.name in columns]
    declared = [*TABLES[table], *predicted]
    own = [column for column in declared if column.name not in constants]
    if len(columns[own[0].name]) == 0:  # as most runs' states and routes
        return pl.DataFrame(schema={column.name: column.type for column in declared})
    rows = len(columns[own[0].name])
    # Series by series, without a query: polars takes longer to plan one than a small run takes.
    return pl.DataFrame(
        [
            _series(column, np.full(rows, constants[column.name]), names)
            if column.name in constants
            else _series(column, columns[column.name], names)
            for column in declared
        ]
    )


def _series(column: ResultColumn, values: Any, names: Mapping[str, Sequence[str]]) -> pl.Series:
    if column.kind == "path":
        paths = (PATH_SEPARATOR.join(names["src"][node] for node in path) for path in values)
        return pl.Series(column.name, list(paths), dtype=pl.String)
    if column.kind == "name":  # an index beyond the names (the stack of a UDP flow) is unknown
        count = len(names[column.name])
        values = np.where((values < 0) | (values >= count), count, values).astype(np.uint32)
        return pl.Series(column.name, [*names[column.name], None], dtype=pl.String)[pl.Series(values)]
    wanted = _WHOLE.get(column.kind)
    if wanted is not None and values.dtype != wanted and not np.isnan(values).any():
        values = values.astype(wanted)
    series = pl.Series(column.name, values, nan_to_null=True)
    return series if series.dtype == column.type else series.cast(column.type)
