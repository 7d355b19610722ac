"""The directory of a sweep: tables in parts, each of which is whole at every moment, and the results of former plans.

==================================  ======================================================================
``sweep.json``                      the plan: the columns of its parameters, engines, seeds, its fingerprint
``flows/part-*.parquet``            a row for each run and flow; the truth of which runs are finished
``links/part-*.parquet``            a row for each run and directed link, if the plan asks for them
``.anabranch/kept/*.parquet``       results of former plans, by the run's hash, without their numbers
==================================  ======================================================================

Finished runs are added to the latest part. It is written anew beside the tables, and renamed. So a reader never sees half a part, nor a
run twice, and parts need not be compacted. Links are written before flows, so that a finished run has both.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from anabranch import output_files
from anabranch.locks import Lock
from anabranch.output_files import FileError, unwritable
from anabranch.results import MANIFEST
from anabranch.runs.directory import WORKSPACE
from anabranch.sweep.columns import (
    COMPLETE,
    FACTS_SCHEMA,
    FAILED,
    FLOWS,
    LINKS,
    RESULT_SCHEMAS,
    ROWS_OF_A_RUN,
    conformed,
    schema,
)
from anabranch.sweep.errors import SweepError
from anabranch.sweep.plan import Sweep
from anabranch.sweep.tasks import Batch

PLAN = "sweep.json"
FORMAT = 1
ROWS_PER_PART = 100_000
_LOCK, _KEPT, _NEW = "lock", "kept", "new.parquet"
_TABLES = (LINKS, FLOWS)
"""The tables in the order in which they are written."""


class Store(AbstractContextManager["Store"]):
    """The results of a sweep, locked for this process. ``finished`` has the numbers of the runs that need not be run."""

    def __init__(self, path: Path, sweep: Sweep) -> None:
        """Takes this directory and plan."""
        self.path = path
        self.finished: set[int] = set()
        self._sweep = sweep
        self._workspace = path / WORKSPACE
        self._lock = Lock(self._workspace / _LOCK, of=path)
        self._schemas = {name: schema(name, sweep.labels([]).schema) for name in _TABLES}
        self._where: dict[str, dict[str, Path]] = {name: {} for name in _TABLES}
        """The file that has the results of a run, by its hash."""
        self._part: dict[str, int] = dict.fromkeys(_TABLES, 0)
        self._open: dict[str, pl.DataFrame] = {}
        """The rows of the latest part, if there is room in it."""
        self._added: dict[str, list[pl.DataFrame]] = {name: [] for name in _TABLES}
        self._numbers: dict[str, list[int]] = {}
        """The runs of what was added."""
        self._recalled: dict[str, list[int]] = {}
        """Further runs of what is here already."""
        self._is_torn = False
        """Whether a write has failed half way. Then nothing more is written, and the next command repeats the runs that are missing."""

    def __enter__(self) -> "Store":
        """Make and lock it, and find what is finished.

        Raises:
            FileError: the directory holds something else, is in use, or cannot be written.
            SweepError: a file of it is damaged.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            _require_own(self.path)
            self._workspace.mkdir(exist_ok=True)
        except OSError as error:
            raise unwritable(self.path, error) from None
        self._lock.__enter__()
        try:
            self._take_over()
        except BaseException:
            self.__exit__()
            raise
        return self

    def knows(self, run_hash: str) -> bool:
        """Whether the results of a run are here, for whichever plan it was made."""
        return run_hash in self._numbers or run_hash in self._where[FLOWS]

    def add(self, batch: Batch, numbers: Mapping[str, list[int]]) -> None:
        """Take results, and the numbers of the runs that they are for; :meth:`flush` writes them."""
        facts = pl.DataFrame(batch.facts, schema=FACTS_SCHEMA)
        for name in _TABLES:
            rows = [conformed(table, RESULT_SCHEMAS[name]) for table in batch.tables[name]]
            if name == FLOWS:  # a run without flows, or with an error, has a row nevertheless
                own = [column for column in RESULT_SCHEMAS[FLOWS] if column == "run_hash" or column not in FACTS_SCHEMA]
                flows = pl.concat([pl.DataFrame(schema=RESULT_SCHEMAS[FLOWS]), *rows]).select(own)
                rows = [facts.join(flows, on="run_hash", how="left").select(list(RESULT_SCHEMAS[FLOWS]))]
            self._added[name] += rows
        self._numbers |= numbers

    def recall(self, run_hash: str, number: int) -> None:
        """Give results that are here to a further run."""
        (self._numbers if run_hash in self._numbers else self._recalled).setdefault(run_hash, []).append(number)

    def flush(self) -> None:
        """Write what has been added.

        Raises:
            FileError: it cannot be written.
        """
        together = [*self._numbers.items(), *self._recalled.items()]
        pairs = [(run_hash, number) for run_hash, numbers in together for number in numbers]
        if not pairs or self._is_torn:
            return
        self._is_torn = True
        hashes = pl.Series("run_hash", [run_hash for run_hash, _ in pairs], dtype=pl.String)
        numbering = self._sweep.labels([number for _, number in pairs]).with_columns(hashes)
        for name in _TABLES:
            rows = [*self._added[name], *self._found(name)]
            self._added[name] = []
            if rows:
                try:
                    self._append(name, pl.concat(rows).join(numbering, on="run_hash"))
                except FileError as error:
                    raise FileError(f"{error}; runs written before are kept, and the same command goes on") from None
        self.finished |= {number for _, number in pairs}
        self._numbers, self._recalled = {}, {}
        self._is_torn = False

    def complete(self) -> None:
        """Remove files of former plans whose results this plan has all taken."""
        own = {run_hash for part in parts(self.path, FLOWS) for run_hash in _hashes(part)}
        for path in [*self._kept_files(LINKS), *self._kept_files(FLOWS)]:
            if own.issuperset(_hashes(path)):
                path.unlink(missing_ok=True)

    def __exit__(self, *_: object) -> None:
        """Release it."""
        (self._workspace / _NEW).unlink(missing_ok=True)
        self._lock.__exit__()
        for folder in (self._workspace / _KEPT, self._workspace):
            with suppress(OSError):  # there are kept results
                folder.rmdir()

    def _take_over(self) -> None:
        former = _read_plan(self.path / PLAN)
        if former is None or former.get("fingerprint") != self._sweep.fingerprint:
            if former is not None:
                # From here on, numbers may belong to either plan, so only hashes identify runs.
                output_files.write_json(self.path / PLAN, former | {"fingerprint": None})
            for name in _TABLES:
                for part in parts(self.path, name):
                    self._keep(name, part)
            document = {"format": FORMAT, **self._sweep.document(), "fingerprint": self._sweep.fingerprint}
            output_files.write_json(self.path / PLAN, document)
        for path in self._kept_files(LINKS):
            self._where[LINKS] |= dict.fromkeys(_hashes(path), path)
        for path in self._kept_files(FLOWS):
            head = read(path, ["run_hash", "status"]).filter(~self._is_to_be_run(self._where[LINKS]))
            self._where[FLOWS] |= dict.fromkeys(head["run_hash"].unique(), path)
        self._find_finished()

    def _find_finished(self) -> None:
        """Find the finished runs. Remove runs that are tried again, and links without flows."""
        known: set[str] = set()
        is_finished = ~self._is_to_be_run({run_hash for part in parts(self.path, LINKS) for run_hash in _hashes(part)})
        for part in parts(self.path, FLOWS):
            whole = read(part, ["run", "run_hash", "status"])
            head = whole.filter(is_finished)
            if head.height < whole.height:
                self._rewrite(part, read(part).filter(is_finished))
            self.finished |= set(head["run"])
            hashes = head["run_hash"].unique().to_list()
            known |= set(hashes)
            self._where[FLOWS] |= dict.fromkeys(hashes, part)
        for part in parts(self.path, LINKS):
            found = set(_hashes(part))
            if not known >= found:
                self._rewrite(part, read(part).filter(pl.col("run_hash").is_in(list(known))))
            self._where[LINKS] |= dict.fromkeys(known & found, part)
        for name in _TABLES:
            own = parts(self.path, name)
            if own:
                self._part[name] = int(own[-1].stem.partition("-")[2])
                self._keep_open(name, read(own[-1]))

    def _is_to_be_run(self, linked: Iterable[str]) -> pl.Expr:
        """Whether a run of ``flows`` is tried again: it has failed, or the plan wants its links, of which the file was damaged and removed."""
        is_failed = pl.col("status") == FAILED
        if not self._sweep.links:
            return is_failed
        return is_failed | ((pl.col("status") == COMPLETE) & ~pl.col("run_hash").is_in(list(linked)))

    def _rewrite(self, part: Path, rows: pl.DataFrame) -> None:
        if rows.is_empty():
            part.unlink()
        else:
            self._write(part, rows)

    def _keep(self, name: str, part: Path) -> None:
        """Move a part to the results of former plans."""
        rows = _once(read(part))
        if name == FLOWS:
            rows = rows.filter(pl.col("status") != FAILED)
        data = output_files.parquet(conformed(rows, RESULT_SCHEMAS[name]))
        folder = self._workspace / _KEPT
        folder.mkdir(exist_ok=True)
        # Named by content, so that a move that was killed half way ends with one file.
        output_files.write_bytes(folder / f"{name}-{sha256(data).hexdigest()[:32]}.parquet", data)
        part.unlink()

    def _kept_files(self, name: str) -> list[Path]:
        return sorted((self._workspace / _KEPT).glob(f"{name}-*.parquet"))

    def _found(self, name: str) -> Iterator[pl.DataFrame]:
        """The results that are recalled."""
        wanted: dict[Path, list[str]] = {}
        for run_hash in self._recalled:
            if run_hash in self._where[name]:
                wanted.setdefault(self._where[name][run_hash], []).append(run_hash)
        for path, hashes in wanted.items():
            yield conformed(_once(read(path).filter(pl.col("run_hash").is_in(hashes))), RESULT_SCHEMAS[name])

    def _append(self, name: str, rows: pl.DataFrame) -> None:
        new = conformed(rows, self._schemas[name])
        former = self._open.get(name, new.clear())
        part = self.path / name / f"part-{self._part[name]:05}.parquet"
        whole = pl.concat([former, new]).sort(ROWS_OF_A_RUN[name])
        self._write(part, whole)
        self._where[name] |= dict.fromkeys(new["run_hash"].unique().to_list(), part)
        self._keep_open(name, whole)

    def _keep_open(self, name: str, rows: pl.DataFrame) -> None:
        if rows.height < ROWS_PER_PART:
            self._open[name] = rows
        else:
            self._open.pop(name, None)
            self._part[name] += 1

    def _write(self, part: Path, rows: pl.DataFrame) -> None:
        new = self._workspace / _NEW
        output_files.write_bytes(new, output_files.parquet(rows))
        try:
            part.parent.mkdir(exist_ok=True)
            os.replace(new, part)
        except OSError as error:
            raise unwritable(part, error) from None


def parts(directory: Path, name: str) -> list[Path]:
    """The parts of a table, in their order."""
    return sorted((directory / name).glob("part-*.parquet"))


def finished_runs(directory: Path, sweep: Sweep) -> set[int]:
    """The numbers of the runs that are finished in a directory, if its plan is this one; none otherwise."""
    document = _read_plan(directory / PLAN)
    if document is None or document.get("fingerprint") != sweep.fingerprint:
        return set()
    heads = [read(part, ["run", "status"]) for part in parts(directory, FLOWS)]
    return {number for head in heads for number in head.filter(pl.col("status") != FAILED)["run"]}


def read_plan(directory: Path) -> dict[str, Any]:
    """The contents of ``sweep.json``.

    Raises:
        SweepError: there is none, or it is damaged.
    """
    found = _read_plan(directory / PLAN)
    if found is None:
        raise SweepError(f"{directory}: is not the directory of a sweep; `anabranch sweep` writes one")
    return found


def _read_plan(path: Path) -> dict[str, Any] | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise SweepError(f"{path}: cannot be read ({error}); remove it, and `anabranch sweep` makes it anew") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise SweepError(f"{path}: is not of format {FORMAT}, which this version reads; give another directory")
    return document


def _require_own(path: Path) -> None:
    names = {entry.name for entry in path.iterdir()}
    # A command that is killed before it has written its plan leaves a part of that.
    others = sorted(names - {PLAN, PLAN + output_files.PARTIAL, WORKSPACE, FLOWS, LINKS})
    if MANIFEST in names or (others and PLAN not in names):
        raise FileError(f"{path}: holds {others[0]}, so it is not the directory of a sweep; give another by --out")


def _once(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of each result once, if several runs have it."""
    return rows.filter(pl.col("run") == pl.col("run").min().over("run_hash")) if "run" in rows.columns else rows


def read(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """A part of a table, or some of its columns.

    Raises:
        SweepError: it cannot be read.
    """
    try:
        return pl.read_parquet(path, columns=None if columns is None else list(columns))
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).partition("\n")[0]
        raise SweepError(
            f"{path}: cannot be read ({reason}); remove it, and `anabranch sweep` runs its runs again"
        ) from None


def _hashes(path: Path) -> list[str]:
    return read(path, ["run_hash"])["run_hash"].unique().to_list()
