"""Finished runs, kept by their contents: a later request for the same run gets its results without running it.

A run is known by the SHA-256 of its compiled form (:mod:`anabranch.compile.run`) and of the engine itself. So another build of the engine
never passes off an old result as its own. The file ``records`` has a record of each run (:mod:`anabranch.runs.record`): one is added, in one
write, when the run is complete. A run with time series or captures also has a folder of its name, with ``series/`` and ``captures/``. The folder
gets its name before the record is added, and the record has checksums of its files. So a run is there whole or not at all.
"""

import os
import shutil
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from hashlib import sha256
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any

from anabranch.foundation import checksums
from anabranch.foundation.checksums import DamagedError
from anabranch.foundation.folders import Folder
from anabranch.foundation.json_text import json_line
from anabranch.foundation.output_files import unwritable, unwritable_below
from anabranch.results.captures import FOLDER as CAPTURES
from anabranch.runs.record import Tables, decoded, encoded, places

_RECORDS = "records"
_PARTIAL = ".partial"


@dataclass(frozen=True)
class KeptRun:
    """The results of a run: its tables, facts for the manifest, and a folder with its series and captures."""

    folder: Path
    """Not there if it has none."""
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
        self._is_made = False
        self._appending = Lock()

    def get(self, key: str) -> KeptRun | None:
        """A finished run, if there is one. One that is damaged is forgotten.

        Raises:
            FileError: its files cannot be read or removed.
        """
        try:
            if key not in self._places:
                return None
            try:
                return self._whole(key)
            except (DamagedError, ValueError, KeyError, TypeError, AttributeError, zlib.error):
                del self._places[key]
                self._folder.remove_tree(key)
        except OSError as error:
            raise unwritable_below(self._folder, error) from None
        return None

    def begin(self, key: str) -> Path:
        """The path for a folder with the series and captures of a run that begins."""
        try:
            if not self._is_made:
                self._folder.make()
                self._is_made = True
        except OSError as error:
            raise unwritable_below(self._folder, error) from None
        return self.directory / f"{key}.{next(self._numbers)}{_PARTIAL}"

    def put(self, key: str, run: KeptRun) -> KeptRun:
        """Keep a run that is complete.

        Raises:
            FileError: its files cannot be written.
        """
        folder, is_new = self.directory / key, True
        found: dict[str, int] = {}
        if run.folder.exists():
            found = checksums.of_folder(Folder(run.folder))
            try:
                run.folder.rename(folder)
            except OSError as error:
                if not self._folder.is_folder(key):
                    raise unwritable(folder, error) from None
                shutil.rmtree(run.folder)  # the same run was asked for twice, and the other one was first
                is_new = False
        try:
            self._append(key, *encoded(key, {**run.facts, "checksums": found}, run.tables))
        except OSError as error:
            raise unwritable(self.directory / _RECORDS, error) from None
        return replace(run, folder=folder, is_new=is_new)

    def _append(self, key: str, head: bytes, body: bytes) -> None:
        with self._appending:
            file = os.open(self.directory / _RECORDS, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o666)
            try:
                left = memoryview(head + body)
                while left:
                    left = left[os.write(file, left) :]
                self._places[key] = os.lseek(file, 0, os.SEEK_CUR) - len(body), len(body)
            finally:
                os.close(file)

    @cached_property
    def _places(self) -> dict[str, tuple[int, int]]:
        """Where the record of each finished run is in the file: its first byte after the first line, and the number of bytes."""
        return places(self._folder.read(_RECORDS)) if self._folder.exists(_RECORDS) else {}

    def _whole(self, key: str) -> KeptRun:
        """A finished run.

        Raises:
            OSError: a file cannot be read, or is not a regular one.
            DamagedError: a file is not as it was written, or not one of the run's.
        """
        begin, length = self._places[key]
        with open(self._folder.open(_RECORDS), "rb") as file:
            file.seek(begin)
            facts, tables = decoded(file.read(length))
        found = checksums.of_folder(self._folder.inside(key)) if self._folder.is_folder(key) else {}
        captures = {f"{CAPTURES}/{record['file']}" for record in facts["captures"]}
        if facts.pop("checksums") != found or not captures <= found.keys():
            raise DamagedError(f"{self.directory / key}: is damaged")
        return KeptRun(self.directory / key, tables, facts)

    def finished(self) -> set[str]:
        """The names of the finished runs."""
        return {*self._places}

    def clear(self) -> None:
        """Remove all runs."""
        holder, name = Folder.at(self.directory.parent, self._folder.root), self.directory.name
        if holder.exists(name):
            # A folder that is removed by half, after a kill, must not be taken for a whole one.
            holder.remove_tree(name + _PARTIAL)
            holder.move(name, holder, name + _PARTIAL)
            holder.remove_tree(name + _PARTIAL)
        self._places.clear()
        self._is_made = False

    def sweep(self) -> None:
        """Remove what is left of runs that were not finished, and what a killed process has begun to remove."""
        Folder.at(self.directory.parent, self._folder.root).remove_tree(self.directory.name + _PARTIAL)
        for name in self._folder.entries():
            if name != _RECORDS and name not in self._places:
                self._folder.remove_tree(name)


@cache
def engine_build() -> str:
    """The package's version, and the SHA-256 of the Rust core."""
    from anabranch import _core, version

    return f"{version()} {sha256(Path(_core.__file__).read_bytes()).hexdigest()}"
