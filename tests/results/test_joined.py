"""One table of many runs is the tables of the single runs, one below the other."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from anabranch.results.joined import RunRows, joined
from anabranch.results.schema import SCHEMAS, frame

NAMES = (
    {"src": ["a", "b"], "dst": ["a", "b"], "routing": ["ospf"], "stack": ["cubic"]},
    {"src": ["b", "c", "a"], "dst": ["b", "c", "a"], "routing": ["m", "ospf"], "stack": ["bbr", "cubic"]},
)


def routes(names: dict[str, Any], rows: int) -> dict[str, Any]:
    nodes = len(names["src"])
    index = np.arange(rows, dtype=np.uint32)
    return {
        "time_s": index / 10,
        "routing": index % len(names["routing"]),
        "src": index % nodes,
        "dst": (index + 1) % nodes,
        "path": [[row % nodes, (row + 1) % nodes] for row in range(rows)],
        "delay_s": np.where(index % 2, np.nan, 0.5),
        "loss": np.zeros(rows),
        "cost": np.ones(rows),
    }


def states(names: dict[str, Any], rows: int) -> dict[str, Any]:
    index = np.arange(rows, dtype=np.uint32)
    stack = np.where(index == 1, 2**32 - 1, index % len(names["stack"])).astype(np.uint32)
    return {"flow": index, "stack": stack, "state": [f"s{row}" for row in range(rows)], "share": index / 4}


@pytest.mark.parametrize(("table", "columns"), [("routes", routes), ("states", states)])
@pytest.mark.parametrize("names", [NAMES[:1] * 3, (*NAMES, NAMES[0])], ids=["the same names", "different names"])
def test_it_is_the_tables_of_the_runs_one_below_the_other(table: str, columns: Any, names: Any) -> None:
    """Also where runs have different names, and where one has no rows."""
    runs = [
        RunRows(number, 2**63 - number - 1, columns(own, rows), own)
        for number, (own, rows) in enumerate(zip(names, (4, 0, 3), strict=True))
    ]
    single = [frame(table, run.columns, {"run": run.run, "seed": run.seed}, run.names) for run in runs]
    assert joined(table, runs).equals(pl.concat(single))


@pytest.mark.parametrize("table", ["flows", "links", "states", "routes"])
def test_without_runs_it_has_the_columns(table: str) -> None:
    assert joined(table, []).schema == SCHEMAS[table]
