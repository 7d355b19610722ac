"""The results of a sweep as a run directory, which a report opens."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from anabranch.foundation import units
from anabranch.foundation.output_files import unwritable, write_new_table
from anabranch.foundation.text_table import quantity
from anabranch.results.manifest import FORMAT
from anabranch.results.matrix_columns import number, plain_names
from anabranch.results.run_directory import IN_A_SWEEP
from anabranch.results.schema import PREDICTED, SCHEMAS
from anabranch.runs import manifest as manifests
from anabranch.studies.sweep.columns import COMPLETE, FLOWS, LINKS
from anabranch.studies.sweep.errors import SweepError
from anabranch.studies.sweep.result import SweepResult

_SCALES = {"s": (units.duration, units.PICOSECONDS_PER_SECOND), "bit/s": (units.rate, 1)}
"""Quantities that reports write with a prefix: for each unit its parser, and the number of parsed units that make one unit."""
_SUFFIXES = {"a second": "/s"}
"""Units that a scenario writes otherwise than reports."""


def write(result: SweepResult, folder: Path) -> None:
    """Write the complete runs of a sweep as a run directory into a new folder. Keys with one value in the plan are left out.

    Raises:
        SweepError: no run is complete.
        anabranch.foundation.output_files.FileError: it cannot be written.
    """
    document = result.document
    complete = result.flows.filter(pl.col("status") == COMPLETE)
    if complete.is_empty():
        raise SweepError(f"{result.directory}: has no complete run; there is nothing to report")
    keys = result.varied
    names = dict(zip(keys, plain_names(keys), strict=True))
    runs = complete.unique("run", keep="first", maintain_order=True)
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise unwritable(folder, error) from None
    for name in (FLOWS, LINKS):
        own = [*SCHEMAS[name], *(column.name for column in PREDICTED if name == FLOWS)]
        rows = complete if name == FLOWS else result.links
        rows = rows.filter(pl.col(name.removesuffix("s")).is_not_null()).select(own)
        if name == FLOWS and rows["limited_by"].null_count() == rows.height:
            rows = rows.drop(column.name for column in PREDICTED)
        write_new_table(folder / f"{name}.parquet", rows)
    engines = ", ".join(runs["engine"].unique(maintain_order=True))
    manifest = {
        "format": FORMAT,
        "anabranch": document["anabranch"],
        "title": document["title"],
        "engine": engines + IN_A_SWEEP,  # a report offers to replay the runs of a directory, and this one is not kept
        "scenario": document["document"],
        "scenario_hash": document["document_hash"],
        "command": document.get("command") or ["anabranch", "sweep", document["plan"], "-o", str(result.directory)],
        "keys": list(names.values()),
        "treatments": [names[key] for key in keys if key in document["treatments"]],
        "topology": document["topology"],
        "planned_runs": max(runs.height, document["planned_runs"] - result.failures.height),
        "runs": [_record(row, names, document["units"]) for row in runs.to_dicts()],
    }
    manifests.write(folder, manifest)


def _record(row: Mapping[str, Any], names: Mapping[str, str], units_of: Mapping[str, str]) -> dict[str, Any]:
    facts = ("run", "seed", "status", "warm_up_s", "simulated_s", "packet_hops", "packets_expired")
    variant = {name: with_unit(row[key], units_of.get(key, "")) for key, name in names.items()}
    return {name: row[name] for name in facts} | {"variant": variant, "result_hash": row["run_hash"]}


def with_unit(value: Any, unit: str) -> Any:
    """A value with its unit, as in a scenario; with a prefix if that loses no digit. Texts stay unchanged."""
    if not unit or not isinstance(value, float):
        return value
    if unit in _SCALES:
        text = quantity(value, unit)
        parse, scale = _SCALES[unit]
        if float(parse(text) / scale) == value:
            return text
    return f"{number(value).removesuffix('.0')}{_SUFFIXES.get(unit, f' {unit}')}"
