"""Finished runs, kept by what was run: whoever asks for the same run again gets its tables without running it.

A run is known by the SHA-256 of its compiled form (:mod:`anabranch.compile`), of the names of its traffic, and of the engine
itself, so that another build of the engine never passes off an old result as its own.
"""

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from anabranch.results import write_json

FACTS = "facts.json"
_PARTIAL = ".partial"


@dataclass(frozen=True)
class KeptRun:
    """What a finished run left: its tables by name, facts for the manifest, and the parts of its series."""

    tables: Mapping[str, pl.DataFrame]
    facts: Mapping[str, Any]
    series: Sequence[Path]


class KeptRuns:
    """A directory of finished runs."""

    def __init__(self, directory: Path) -> None:
        """The directory need not exist; it is made with the first run."""
        self._directory = directory

    def key(self, spec: Mapping[str, Any], traffic: Sequence[str]) -> str:
        """The name of a compiled run."""
        text = json.dumps([_engine(), spec, traffic], sort_keys=True, separators=(",", ":"))
        return sha256(text.encode()).hexdigest()

    def get(self, key: str) -> KeptRun | None:
        """A finished run, if there is one."""
        folder = self._directory / key
        if not (folder / FACTS).is_file():
            return None
        tables = {path.stem: pl.read_parquet(path) for path in folder.glob("*.parquet")}
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        return KeptRun(tables, facts, sorted((folder / "series").glob("*.parquet")))

    def put(self, key: str, run: KeptRun) -> None:
        """Keep a run; it is there whole or not at all, whenever this is cut short."""
        self._directory.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(suffix=_PARTIAL, prefix=f"{key}.", dir=self._directory))
        for name, table in run.tables.items():
            table.write_parquet(folder / f"{name}.parquet")
        if run.series:
            (folder / "series").mkdir()
            for part in run.series:
                shutil.copy2(part, folder / "series")
        write_json(folder / FACTS, run.facts)
        try:
            folder.rename(self._directory / key)
        except OSError:  # the same run stood twice in what was asked for, and the other one was first
            shutil.rmtree(folder)

    def sweep(self) -> None:
        """Remove what an earlier process that was killed has left half written."""
        for folder in self._directory.glob(f"*{_PARTIAL}"):
            shutil.rmtree(folder, ignore_errors=True)


@cache
def _engine() -> str:
    from anabranch import _core

    return sha256(Path(_core.__file__).read_bytes()).hexdigest()
