"""The directory of a sweep: tables in parts, each of which is whole at every moment, and the results of former plans.

==================================  ======================================================================
``sweep.json``                      the plan: the columns of its parameters, engines, seeds, its fingerprint
``flows/part-*.parquet``            a row for each run and flow; the truth of which runs are finished
``links/part-*.parquet``            a row for each run and directed link, if the plan asks for them
``.anabranch/kept/*.parquet``       results of former plans, by the run's hash, without their numbers
==================================  ======================================================================

Finished runs are added to the latest part. It is written anew beside the tables, and renamed. So a reader never sees half a part, nor a
run twice, and parts need not be compacted. Links are written before flows, so that a finished run has both.

Each file has its own checksum. A damaged one is refused by readers. A sweep removes it, and its runs are not finished.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from anabranch.foundation import checksums
from anabranch.foundation.checksums import DamagedError
from anabranch.foundation.folders import PARTIAL, Folder
from anabranch.foundation.locks import Lock
from anabranch.foundation.output_files import FileError, parquet, unwritable, unwritable_below
from anabranch.results.files import MANIFEST, UNREADABLE
from anabranch.results.stored import WORKSPACE
from anabranch.studies.sweep.columns import (
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
from anabranch.studies.sweep.errors import SweepError
from anabranch.studies.sweep.plan import Sweep
from anabranch.studies.sweep.tasks import Batch

PLAN = "sweep.json"
FORMAT = 2
ROWS_PER_PART = 100_000
_LOCK, _NEW = "lock", "new.parquet"
_KEPT = f"{WORKSPACE}/kept"
_PART = re.compile(r"part-\d+\.parquet")
_TABLES = (LINKS, FLOWS)
"""The tables in the order in which they are written."""


class DamagedPartError(SweepError):
    """A file of a sweep that is not as it was written."""


class Store(AbstractContextManager["Store"]):
    """The results of a sweep, locked for this process.

    ``finished`` has the numbers of the runs that need not be run, and ``damaged`` the files that were removed because they were damaged.
    """

    def __init__(self, path: Path, sweep: Sweep, command: Sequence[str] = ()) -> None:
        """Takes this directory and plan, and the command that the directory is to name."""
        self.path = path
        self.finished: set[int] = set()
        self.damaged: list[Path] = []
        self._sweep = sweep
        self._command = list(command)
        self._folder = Folder(path)
        self._workspace = self._folder.inside(WORKSPACE)
        self._lock = Lock(self._workspace.path / _LOCK, of=path)
        self._schemas = {name: schema(name, sweep.labels([]).schema) for name in _TABLES}
        self._where: dict[str, dict[str, str]] = {name: {} for name in _TABLES}
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
            SweepError: its plan is damaged, or a file of it cannot be read.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(self.path, error) from None
        try:
            _require_own(self._folder)
            self._workspace.make()
        except OSError as error:
            raise unwritable_below(self._folder, error) from None
        self._lock.__enter__()
        try:
            self._take_over()
        except BaseException as error:
            self.__exit__()
            if isinstance(error, OSError):
                raise unwritable_below(self._folder, error) from None
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
                except OSError as error:
                    raise FileError(f"{unwritable_below(self._folder, error)}; {self._state()}") from None
        self.finished |= {number for _, number in pairs}
        self._numbers, self._recalled = {}, {}
        self._is_torn = False

    def _state(self) -> str:
        """What is left after a write has failed."""
        if not self.path.is_dir():
            return f"{self.path} was removed or renamed while the sweep went on, and its results with it"
        if not _parts(self._folder, FLOWS):
            return "no run has been written, or what was written has been removed; the same command begins anew"
        return "runs written before are kept, and the same command continues"

    def complete(self) -> None:
        """Remove files of former plans whose results this plan has all taken.

        Raises:
            FileError: one of them cannot be removed.
            SweepError: a part cannot be read.
        """
        own = {run_hash for part in _parts(self._folder, FLOWS) for run_hash in self._hashes(part)}
        for name in [*self._kept_files(LINKS), *self._kept_files(FLOWS)]:
            if own.issuperset(self._hashes(name)):
                try:
                    self._folder.remove(name)
                except OSError as error:
                    raise unwritable_below(self._folder, error) from None

    def __exit__(self, *_: object) -> None:
        """Release it."""
        try:
            self._workspace.remove(_NEW)
        except OSError as error:
            raise unwritable_below(self._workspace, error) from None
        finally:
            self._lock.__exit__()
            for name in (_KEPT, WORKSPACE):
                self._folder.remove_empty(name)  # unless there are kept results

    def _take_over(self) -> None:
        former = _read_plan(self._folder)
        if former is None or former.get("fingerprint") != self._sweep.fingerprint:
            if former is not None:
                # From here on, numbers may belong to either plan, so only hashes identify runs.
                self._folder.write(PLAN, checksums.sealed_json(former | {"fingerprint": None}))
            for name in _TABLES:
                for part in _parts(self._folder, name):
                    self._keep(name, part)
            document = {"format": FORMAT, **self._sweep.document(), "fingerprint": self._sweep.fingerprint}
        else:
            document = former
        document = {**document, "command": self._command}
        if document != former:
            self._folder.write(PLAN, checksums.sealed_json(document))
        for file in self._kept_files(LINKS):
            self._where[LINKS] |= dict.fromkeys(self._hashes(file), file)
        for file in self._kept_files(FLOWS):
            head = self._whole(file, ["run_hash", "status"])
            if head is not None:
                own = head.filter(~self._is_to_be_run(self._where[LINKS]))["run_hash"].unique()
                self._where[FLOWS] |= dict.fromkeys(own, file)
        self._find_finished()

    def _whole(self, file: str, columns: Sequence[str] | None = None) -> pl.DataFrame | None:
        """A file of a table; ``None`` for a damaged one, which is removed."""
        try:
            return _read(self._folder, file, columns)
        except DamagedPartError:
            self._folder.remove(file)
            self.damaged.append(self.path / file)
            return None

    def _hashes(self, file: str) -> list[str]:
        rows = self._whole(file, ["run_hash"])
        return [] if rows is None else rows["run_hash"].unique().to_list()

    def _find_finished(self) -> None:
        """Find the finished runs. Remove runs that are tried again, and links without flows."""
        known: set[str] = set()
        linked = {run_hash for part in _parts(self._folder, LINKS) for run_hash in self._hashes(part)}
        is_finished = ~self._is_to_be_run(linked)
        for part in _parts(self._folder, FLOWS):
            whole = self._whole(part)
            if whole is None:
                continue
            head = whole.filter(is_finished)
            if head.height < whole.height:
                self._rewrite(part, head)
            self.finished |= set(head["run"])
            hashes = head["run_hash"].unique().to_list()
            known |= set(hashes)
            self._where[FLOWS] |= dict.fromkeys(hashes, part)
        for part in _parts(self._folder, LINKS):
            found = set(self._hashes(part))
            if not known >= found:
                self._rewrite(part, _read(self._folder, part).filter(pl.col("run_hash").is_in(list(known))))
            self._where[LINKS] |= dict.fromkeys(known & found, part)
        for name in _TABLES:
            own = _parts(self._folder, name)
            if own:
                self._part[name] = _number(own[-1])
                self._keep_open(name, _read(self._folder, own[-1]))

    def _is_to_be_run(self, linked: Iterable[str]) -> pl.Expr:
        """Whether a run of ``flows`` is tried again: it has failed, or the plan wants its links, of which the file was damaged and removed."""
        is_failed = pl.col("status") == FAILED
        if not self._sweep.links:
            return is_failed
        return is_failed | ((pl.col("status") == COMPLETE) & ~pl.col("run_hash").is_in(list(linked)))

    def _rewrite(self, part: str, rows: pl.DataFrame) -> None:
        if rows.is_empty():
            self._folder.remove(part)
        else:
            self._write(part, rows)

    def _keep(self, name: str, part: str) -> None:
        """Move a part to the results of former plans."""
        whole = self._whole(part)
        if whole is None:
            return
        rows = _once(whole)
        if name == FLOWS:
            rows = rows.filter(pl.col("status") != FAILED)
        data = checksums.sealed_parquet(parquet(conformed(rows, RESULT_SCHEMAS[name])))
        self._folder.inside(_KEPT).make()
        # Named by content, so that a move that was killed half way ends with one file.
        self._folder.write(f"{_KEPT}/{name}-{sha256(data).hexdigest()[:32]}.parquet", data)
        self._folder.remove(part)

    def _kept_files(self, name: str) -> list[str]:
        entries = self._folder.inside(_KEPT).entries()
        return [f"{_KEPT}/{file}" for file in entries if re.fullmatch(rf"{name}-[0-9a-f]+\.parquet", file)]

    def _found(self, name: str) -> Iterator[pl.DataFrame]:
        """The results that are recalled."""
        wanted: dict[str, list[str]] = {}
        for run_hash in self._recalled:
            if run_hash in self._where[name]:
                wanted.setdefault(self._where[name][run_hash], []).append(run_hash)
        for file, hashes in wanted.items():
            yield conformed(
                _once(_read(self._folder, file).filter(pl.col("run_hash").is_in(hashes))), RESULT_SCHEMAS[name]
            )

    def _append(self, name: str, rows: pl.DataFrame) -> None:
        new = conformed(rows, self._schemas[name])
        former = self._open.get(name, new.clear())
        part = f"{name}/part-{self._part[name]:05}.parquet"
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

    def _write(self, part: str, rows: pl.DataFrame) -> None:
        self._workspace.write(_NEW, checksums.sealed_parquet(parquet(rows)))
        self._folder.inside(part.partition("/")[0]).make()
        self._workspace.move(_NEW, self._folder, part)


def part_files(directory: Path, table: str) -> list[Path]:
    """The parts of a table, in their order, each of them whole.

    Raises:
        SweepError: one is damaged, or cannot be read.
    """
    folder = Folder(directory)
    return [_checked(folder, part) for part in _parts(folder, table)]


def finished_runs(directory: Path, sweep: Sweep) -> set[int]:
    """The numbers of the runs that are finished in a directory, if its plan is this one; none otherwise."""
    folder = Folder(directory)
    document = _read_plan(folder)
    if document is None or document.get("fingerprint") != sweep.fingerprint:
        return set()
    heads = [_read(folder, part, ["run", "status"]) for part in _parts(folder, FLOWS)]
    return {number for head in heads for number in head.filter(pl.col("status") != FAILED)["run"]}


def read_plan(directory: Path) -> dict[str, Any]:
    """The contents of ``sweep.json``.

    Raises:
        SweepError: there is none, or it is damaged.
    """
    found = _read_plan(Folder(directory))
    if found is None:
        raise SweepError(f"{directory}: is not the directory of a sweep; `anabranch sweep` writes one")
    return found


def _read_plan(folder: Folder) -> dict[str, Any] | None:
    try:
        return checksums.read_json(folder, PLAN, FORMAT)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unreadable(folder, PLAN, error) from None
    except DamagedError as error:
        raise SweepError(
            f"{error}; if this is the directory of a sweep, remove the file, and `anabranch sweep` makes it anew"
        ) from None


def _parts(folder: Folder, table: str) -> list[str]:
    try:
        names = folder.inside(table).entries()
    except OSError as error:
        raise _unreadable(folder, table, error) from None
    return sorted((f"{table}/{name}" for name in names if _PART.fullmatch(name)), key=_number)


def _number(part: str) -> int:
    return int(part.rpartition("-")[2].partition(".")[0])


def _require_own(folder: Folder) -> None:
    names = {*folder.entries()}
    # A command that is killed before it has written its plan leaves a part of that.
    others = sorted(names - {PLAN, PLAN + PARTIAL, WORKSPACE, FLOWS, LINKS})
    if MANIFEST in names or (others and PLAN not in names):
        raise FileError(
            f"{folder.path}: holds {others[0]}, so it is not the directory of a sweep; give another by --out"
        )


def _once(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of each result once, if several runs have it."""
    return rows.filter(pl.col("run") == pl.col("run").min().over("run_hash")) if "run" in rows.columns else rows


def _read(folder: Folder, part: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """A part of a table, or some of its columns.

    Raises:
        DamagedPartError: it is not as it was written.
        SweepError: it cannot be read.
    """
    path = _checked(folder, part)
    try:
        return pl.read_parquet(path, columns=None if columns is None else list(columns), glob=False)
    except UNREADABLE as error:
        raise _unreadable(folder, part, error) from None


def _checked(folder: Folder, part: str) -> Path:
    """The path of a file that is as it was written."""
    try:
        return checksums.parquet_file(folder, part)
    except OSError as error:
        raise _unreadable(folder, part, error) from None
    except DamagedError as error:
        raise DamagedPartError(f"{error}; `anabranch sweep` removes it and runs its runs again") from None


def _unreadable(folder: Folder, name: str, error: BaseException) -> SweepError:
    path, reason = folder.path / name, str(error).partition("\n")[0]
    if isinstance(error, OSError) and error.filename and error.strerror:  # else polars raises it, without them
        path, reason = Path(error.filename), error.strerror
    return SweepError(f"{path}: cannot be read ({reason}); remove it, and `anabranch sweep` runs its runs again")
