"""Finished runs, kept by their contents: a later request for the same run gets its results without running it.

A run is known by the SHA-256 of its compiled form (:mod:`anabranch.compile.run`) and of the engine itself. So another build of the engine
never passes off an old result as its own. Each has a folder with its tables, ``series/``, ``captures/`` and ``facts.json``. The folder
gets its name when the run is complete, so it is there whole or not at all. ``facts.json`` has checksums of the other files.
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

from anabranch.foundation import checksums
from anabranch.foundation.checksums import DamagedError
from anabranch.foundation.folders import Folder
from anabranch.foundation.output_files import unwritable, unwritable_below, write_new, write_new_table
from anabranch.results.captures import FOLDER as CAPTURES
from anabranch.results.files import UNREADABLE
from anabranch.results.schema import SCHEMAS

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

    def __init__(self, directory: Path, *, of: Path | None = None) -> None:
        """The directory need not exist; it is made with the first run. It is in the directory ``of``, which the user has named (its parent by default)."""
        self.directory = directory
        self._folder = Folder.at(directory, of or directory.parent)

    def get(self, key: str) -> KeptRun | None:
        """A finished run, if there is one. One that is damaged is removed.

        Raises:
            FileError: it cannot be removed.
        """
        try:
            if not self._folder.exists(key):
                return None
            try:
                return _whole(self._folder.inside(key))
            except (DamagedError, KeyError, TypeError, *UNREADABLE):
                self._remove(self._folder, key)
        except OSError as error:
            raise unwritable_below(self._folder, error) from None
        return None

    def begin(self, key: str) -> Path:
        """A folder for the series and captures of a run that begins."""
        try:
            self._folder.make()
            return Path(tempfile.mkdtemp(suffix=_PARTIAL, prefix=f"{key}.", dir=self.directory))
        except OSError as error:
            raise unwritable_below(self._folder, error) from None

    def put(self, key: str, run: KeptRun) -> KeptRun:
        """Keep a run that is complete."""
        for name, table in run.tables.items():
            if table.height or name not in _OPTIONAL:
                write_new_table(run.folder / f"{name}.parquet", table)
        own = {"checksums": checksums.of_folder(Folder(run.folder))}
        write_new(run.folder / _FACTS, checksums.sealed_json({**run.facts, **own}))
        folder = self.directory / key
        try:
            run.folder.rename(folder)
        except OSError as error:
            if not self._folder.is_folder(key):
                raise unwritable(folder, error) from None
            shutil.rmtree(run.folder)  # the same run was asked for twice, and the other one was first
            return replace(run, folder=folder, is_new=False)
        return replace(run, folder=folder)

    def count(self) -> int:
        """How many finished runs there are."""
        return sum(not name.endswith(_PARTIAL) for name in self._folder.entries())

    def clear(self) -> None:
        """Remove all runs."""
        holder = Folder.at(self.directory.parent, self._folder.root)
        if holder.exists(self.directory.name):
            self._remove(holder, self.directory.name)

    def sweep(self) -> None:
        """Remove the folders of runs that were not finished, and what a killed process has begun to remove."""
        Folder.at(self.directory.parent, self._folder.root).remove_tree(self.directory.name + _PARTIAL)
        for name in self._folder.entries():
            if name.endswith(_PARTIAL):
                self._folder.remove_tree(name)

    @staticmethod
    def _remove(folder: Folder, name: str) -> None:
        """Remove a folder so that one that is removed by half, after a kill, is not taken for a whole one."""
        folder.remove_tree(name + _PARTIAL)
        folder.move(name, folder, name + _PARTIAL)
        folder.remove_tree(name + _PARTIAL)


def _whole(folder: Folder) -> KeptRun:
    """The run of a folder.

    Raises:
        OSError: a file cannot be read, or is not a regular one.
        DamagedError: a file is not as it was written, or not one of the run's.
    """
    facts = checksums.read_json(folder, _FACTS)
    found = checksums.of_folder(folder)
    del found[_FACTS]
    captures = {f"{CAPTURES}/{record['file']}" for record in facts["captures"]}
    if facts.pop("checksums") != found or not captures <= found.keys():
        raise DamagedError(f"{folder.path}: is damaged")
    optional = {name: pl.DataFrame(schema=SCHEMAS[name]) for name in _OPTIONAL}
    own = {name: f"{name}.parquet" for name in ("flows", "links", *_OPTIONAL)}
    tables = {
        name: pl.read_parquet(folder.file(file), glob=False)
        for name, file in own.items()
        if file in found or name not in _OPTIONAL
    }
    return KeptRun(folder.path, optional | tables, facts)


@cache
def engine_build() -> str:
    """The package's version, and the SHA-256 of the Rust core."""
    from anabranch import _core, version

    return f"{version()} {sha256(Path(_core.__file__).read_bytes()).hexdigest()}"
