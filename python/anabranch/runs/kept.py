"""Finished runs, kept by their contents: a later request for the same run gets its results without running it.

A run is known by the SHA-256 of its compiled form (:mod:`anabranch.compile.run`) and of the engine itself. So another build of the engine
never passes off an old result as its own. Its record (:mod:`anabranch.runs.record`) is a file of that name. A run with time series or captures
has a folder of that name, with the record, ``series/`` and ``captures/``. The file or folder gets its name when the run is complete, so it
is there whole or not at all. The record has checksums of the other files.
"""

import shutil
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

from anabranch.foundation import checksums
from anabranch.foundation.checksums import DamagedError
from anabranch.foundation.folders import Folder
from anabranch.foundation.json_text import json_line
from anabranch.foundation.output_files import unwritable, unwritable_below, write_new
from anabranch.results.captures import FOLDER as CAPTURES
from anabranch.runs.record import Tables, decoded, encoded

_RECORD = "record"
_PARTIAL = ".partial"


@dataclass(frozen=True)
class KeptRun:
    """The results of a run: its tables, facts for the manifest, and a folder with its series and captures."""

    folder: Path
    """Not there if it has none; if it is kept, this is then its record."""
    tables: Tables
    facts: Mapping[str, Any]
    is_new: bool = False
    """Whether it was made now. Then its series have the number and the matrix values of the present run."""


def run_key(spec: Mapping[str, Any], engine: str = "packet") -> str:
    """The name of a compiled run by this engine."""
    digest = sha256(f"{engine_build()} {engine} ".encode())
    digest.update(json_line(spec))
    return digest.hexdigest()


class KeptRuns:
    """A directory of finished runs, and of runs under way. Only one process may use it at a time."""

    def __init__(self, directory: Path, *, of: Path | None = None) -> None:
        """The directory need not exist; it is made with the first run. It is in the directory ``of``, which the user has named (its parent by default)."""
        self.directory = directory
        self._folder = Folder.at(directory, of or directory.parent)
        self._numbers = count()

    def get(self, key: str) -> KeptRun | None:
        """A finished run, if there is one. One that is damaged is removed.

        Raises:
            FileError: it cannot be removed.
        """
        try:
            if not self._folder.exists(key):
                return None
            try:
                return self._whole(key)
            except (DamagedError, ValueError, KeyError, TypeError, AttributeError, zlib.error, OSError):
                self._remove(self._folder, key)
        except OSError as error:
            raise unwritable_below(self._folder, error) from None
        return None

    def begin(self, key: str) -> Path:
        """The path for a folder with the series and captures of a run that begins."""
        try:
            self._folder.make()
        except OSError as error:
            raise unwritable_below(self._folder, error) from None
        return self.directory / f"{key}.{next(self._numbers)}{_PARTIAL}"

    def put(self, key: str, run: KeptRun) -> KeptRun:
        """Keep a run that is complete."""
        has_folder = run.folder.exists()
        own = {"checksums": checksums.of_folder(Folder(run.folder)) if has_folder else {}}
        write_new(run.folder / _RECORD if has_folder else run.folder, encoded({**run.facts, **own}, run.tables))
        folder = self.directory / key
        try:
            run.folder.rename(folder)
        except OSError as error:
            if not self._folder.is_folder(key):
                raise unwritable(folder, error) from None
            shutil.rmtree(run.folder)  # the same run was asked for twice, and the other one was first
            return replace(run, folder=folder, is_new=False)
        return replace(run, folder=folder)

    def _whole(self, key: str) -> KeptRun:
        """A finished run.

        Raises:
            OSError: a file cannot be read, or is not a regular one.
            DamagedError: a file is not as it was written, or not one of the run's.
        """
        found: dict[str, int] = {}
        if has_folder := self._folder.is_folder(key):
            found = checksums.of_folder(self._folder.inside(key))
            del found[_RECORD]
        facts, tables = decoded(self._folder.read(f"{key}/{_RECORD}" if has_folder else key))
        captures = {f"{CAPTURES}/{record['file']}" for record in facts["captures"]}
        if facts.pop("checksums") != found or not captures <= found.keys():
            raise DamagedError(f"{self.directory / key}: is damaged")
        return KeptRun(self.directory / key, tables, facts)

    def count(self) -> int:
        """How many finished runs there are."""
        return sum(not name.endswith(_PARTIAL) for name in self._folder.entries())

    def clear(self) -> None:
        """Remove all runs."""
        holder = Folder.at(self.directory.parent, self._folder.root)
        if holder.exists(self.directory.name):
            self._remove(holder, self.directory.name)

    def sweep(self) -> None:
        """Remove what is left of runs that were not finished, and what a killed process has begun to remove."""
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


@cache
def engine_build() -> str:
    """The package's version, and the SHA-256 of the Rust core."""
    from anabranch import _core, version

    return f"{version()} {sha256(Path(_core.__file__).read_bytes()).hexdigest()}"
