"""The files of a result: tables of all runs, their series and captures under the runs' numbers, and the manifest."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anabranch.foundation.output_files import unwritable, write_new_table
from anabranch.results.captures import FOLDER as CAPTURES
from anabranch.results.files import SERIES
from anabranch.results.joined import joined
from anabranch.results.matrix_columns import with_keys
from anabranch.results.result import result_hashes
from anabranch.results.schema import SCHEMAS, SERIES_TABLES
from anabranch.runs.errors import Refusal
from anabranch.runs.manifest import of_plan
from anabranch.runs.manifest import write as write_manifest
from anabranch.runs.plan import RunPlan
from anabranch.runs.run import Finished


def write(
    folder: Path, plan: RunPlan, ended: Sequence[Finished | Refusal | None], command: Sequence[str]
) -> dict[str, Any]:
    """Write what the planned runs gave into an empty folder; the manifest.

    Raises:
        FileError: a file cannot be written.
    """
    finished = [one for one in ended if isinstance(one, Finished)]
    refusals = {id(one): one for one in ended if isinstance(one, Refusal)}.values()
    numbers = [one.run.number for one in finished]
    keys = pl.concat([one.run.keys for one in finished]) if finished else plan.keys().clear()
    own = {name: joined(name, [one.rows(name) for one in finished]) for name in ("flows", "links", "states", "routes")}
    for name, table in own.items():
        if table.height or name in ("flows", "links"):
            rows = np.searchsorted(numbers, table["run"].to_numpy())
            write_new_table(folder / f"{name}.parquet", with_keys(table, keys, rows))
    hashes = result_hashes(own["flows"], own["links"], numbers)
    records = []
    try:
        for one, result_hash in zip(finished, hashes, strict=True):
            _series(one, folder)
            records.append(_record(one, result_hash, _captures(one, folder)))
    except OSError as error:
        raise unwritable(Path(error.filename2 or error.filename or folder), error) from None
    manifest = of_plan(plan, finished, command)
    planned = sum(not isinstance(one, Refusal) for one in ended)
    manifest |= {"planned_runs": planned, "runs": records}
    if refusals:
        manifest["refused"] = [{"variant": one.case.values, "why": one.why} for one in refusals]
    write_manifest(folder, manifest)
    return manifest


def _series(one: Finished, folder: Path) -> None:
    for part in sorted((one.result.folder / SERIES).glob("*.parquet")):
        (folder / SERIES).mkdir(exist_ok=True)
        kind, _, piece = part.stem.rpartition("-")
        target = folder / SERIES / f"{kind}-{one.run.number}-{piece}.parquet"
        own = list(SCHEMAS[SERIES_TABLES[kind]])
        if one.result.is_new or _has_labels(one, part, own):
            _link(part, target)
        else:
            write_new_table(target, one.labelled(pl.read_parquet(part, columns=own, glob=False)))


def _has_labels(one: Finished, part: Path, own: Sequence[str]) -> bool:
    """Whether it was finished as a run of the same number and matrix."""
    first = pl.read_parquet(part, n_rows=1, glob=False)
    return first.equals(one.labelled(first.select(own)))


def _captures(one: Finished, folder: Path) -> list[dict[str, Any]]:
    records = []
    for record in one.result.facts["captures"]:
        (folder / CAPTURES).mkdir(exist_ok=True)
        name = f"{CAPTURES}/{one.run.number}-{record['file']}"
        _link(one.result.folder / CAPTURES / record["file"], folder / name)
        records.append(record | {"file": name})
    return records


def _link(source: Path, target: Path) -> None:
    """One file under two names, so that large ones take their space once; a copy where the file system has no links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _record(one: Finished, result_hash: str, captures: Sequence[dict[str, Any]]) -> dict[str, Any]:
    head = {"run": one.run.number, "variant": one.run.case.values, "seed": one.run.seed, "run_hash": one.key}
    head["result_hash"] = result_hash
    return head | dict(one.result.facts) | {"captures": captures}
