"""One table of many runs, from the columns that the core gives of each: polars takes longer to make a table than a small run takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from anabranch.foundation.array_types import Integers
from anabranch.results.schema import PREDICTED, TABLES, frame

_UNKNOWN = 2**32 - 1
"""The index of a name that a row does not have, such as the stack of a UDP flow."""


@dataclass(frozen=True)
class RunRows:
    """The rows of a run in a table."""

    run: int
    seed: int
    columns: Mapping[str, Any]
    """As the core gives them: names are indexes."""
    names: Mapping[str, Sequence[str]]
    """The names of the run's scenario by the column that has their indexes."""


def joined(table: str, runs: Sequence[RunRows]) -> pl.DataFrame:
    """The table of all these runs, in their order, with the number and the seed of each."""
    predicted = [column for column in PREDICTED if table == "flows" and runs and column.name in runs[0].columns]
    declared = [column for column in (*TABLES[table], *predicted) if column.name not in ("run", "seed")]
    counts = [len(run.columns[declared[0].name]) for run in runs]
    filled = [run for run, count in zip(runs, counts, strict=True) if count]
    columns: dict[str, Any] = {
        "run": np.repeat(np.array([run.run for run in runs], np.uint32), counts),
        "seed": np.repeat(np.array([run.seed for run in runs], np.uint64), counts),
    }
    names: dict[str, Sequence[str]] = {}
    for column in declared:
        pieces = [run.columns[column.name] for run in filled]
        if column.kind in ("name", "path"):
            key = "src" if column.kind == "path" else column.name
            names[key], places = _together([run.names[key] for run in filled])
            if places and column.kind == "name":
                pieces = [_renumbered(np.asarray(piece), own) for piece, own in zip(pieces, places, strict=True)]
            elif places:
                pieces = [[[own[n] for n in path] for path in piece] for piece, own in zip(pieces, places, strict=True)]
        is_list = column.kind in ("path", "text") or not pieces
        columns[column.name] = list(chain.from_iterable(pieces)) if is_list else np.concatenate(pieces)
    return frame(table, columns, {}, names)


def _together(names: Sequence[Sequence[str]]) -> tuple[Sequence[str], Sequence[Sequence[int]]]:
    """The names of all runs in one list, and for each run the places of its own in it; no places where all runs have the same names."""
    if all(own == names[0] for own in names):
        return names[0] if names else [], []
    place: dict[str, int] = {}
    places = [[place.setdefault(name, len(place)) for name in own] for own in names]
    return list(place), places


def _renumbered(index: Integers, places: Sequence[int]) -> Integers:
    known = np.where((index >= 0) & (index < len(places)), index, len(places)).astype(np.int64)
    return np.array([*places, _UNKNOWN], np.uint32)[known]
