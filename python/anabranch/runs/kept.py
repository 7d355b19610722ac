"""Finished runs, kept by their contents: a later request for the same run gets its results without running it.

A run is known by the SHA-256 of its compiled form (:mod:`anabranch.compile`) and of the engine itself. So another build of the engine
never passes off an old result as its own. Each has a folder with its tables, ``series/``, ``captures/`` and ``facts.json``. The folder
gets its name when the run is complete, so it is there whole or not at all.
"""

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from anabranch.output_files import unwritable, write_new_json, write_new_table
from anabranch.result_tables import SCHEMAS
from anabranch.results import result_hash

_FACTS = "facts.json"
_PARTIAL = ".partial"
_OPTIONAL = ("states", "routes")
"""Tables that are empty for most runs, and then have no file."""


@dataclass(frozen=True)
class KeptRun:
    """The results of a run: a folder with its series and captures, its tables by name, and facts for the manifest."""

    folder: Path
    tables: Mapping[str, pl.DataFrame]
    facts: Mapping[str, Any]
    is_new: bool = False
    """Whether it was made now. Then its series have the number and the matrix values of the present run."""


def run_key(spec: Mapping[str, Any], engine: str = "packet") -> str:
    """The name of a compiled run by this engine."""
    text = json.dumps([engine_build(), engine, spec], sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


class KeptRuns:
    """A directory of finished runs, and of runs under way. Only one process may use it at a time."""

    def __init__(self, directory: Path) -> None:
        """The directory need not exist; it is made with the first run."""
        self.directory = directory

    def get(self, key: str) -> KeptRun | None:
        """A finished run, if there is one. One that a failing disk has damaged is removed."""
        folder = self.directory / key
        if not folder.is_dir():
            return None
        try:
            facts = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
            read = {path.stem: pl.read_parquet(path) for path in folder.glob("*.parquet")}
            tables = {name: pl.DataFrame(schema=SCHEMAS[name]) for name in _OPTIONAL} | read
            for part in (folder / "series").glob("*.parquet"):
                pl.read_parquet_schema(part)
            whole = result_hash(tables["flows"], tables["links"]) == facts["result_hash"]
        except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError):
            whole = False
        if not whole:
            _remove(folder)
            return None
        return KeptRun(folder, tables, facts)

    def begin(self, key: str) -> Path:
        """A folder for the series and captures of a run that begins."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(suffix=_PARTIAL, prefix=f"{key}.", dir=self.directory))
        except OSError as error:
            raise unwritable(self.directory, error) from None

    def put(self, key: str, run: KeptRun) -> KeptRun:
        """Keep a run that is complete."""
        for name, table in run.tables.items():
            if table.height or name not in _OPTIONAL:
                write_new_table(run.folder / f"{name}.parquet", table)
        write_new_json(run.folder / _FACTS, run.facts)
        folder = self.directory / key
        try:
            run.folder.rename(folder)
        except OSError:  # the same run stood twice in what was asked for, and the other one was first
            shutil.rmtree(run.folder)
            return replace(run, folder=folder, is_new=False)
        return replace(run, folder=folder)

    def count(self) -> int:
        """How many finished runs there are."""
        return sum(folder.suffix != _PARTIAL for folder in self.directory.glob("*"))

    def clear(self) -> None:
        """Remove all runs."""
        if self.directory.exists():
            _remove(self.directory)

    def sweep(self) -> None:
        """Remove the folders of runs that were not finished, and what a killed process has begun to remove."""
        shutil.rmtree(_removed(self.directory), ignore_errors=True)
        for folder in self.directory.glob(f"*{_PARTIAL}"):
            shutil.rmtree(folder, ignore_errors=True)


def _remove(folder: Path) -> None:
    """Remove a folder so that one that is removed by half, after a kill, is not taken for a whole one."""
    removed = _removed(folder)
    shutil.rmtree(removed, ignore_errors=True)
    folder.rename(removed)
    shutil.rmtree(removed, ignore_errors=True)


def _removed(folder: Path) -> Path:
    return folder.with_name(folder.name + _PARTIAL)


@cache
def engine_build() -> str:
    """The package's version, and the SHA-256 of the Rust core."""
    from anabranch import _core, version

    return f"{version()} {sha256(Path(_core.__file__).read_bytes()).hexdigest()}"
