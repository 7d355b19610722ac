"""The tables of a run directory as CSV files, for spreadsheets and other programs."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from anabranch.csv_text import BEGINS, GUARD
from anabranch.output_files import unwritable, write_text
from anabranch.progress import Steps
from anabranch.result_tables import SCHEMAS
from anabranch.results import Result

COMPUTED = ("summary", "completion_times")
"""Tables of a result that are computed from others."""


def write(run_directory: Path, output: Path) -> list[Path]:
    """Write ``NAME.csv`` for each table of :class:`anabranch.results.Result` that has rows; the paths of the files.

    The file of a table without rows is removed: it would be of an earlier result.
    Columns, units and order of rows are those of the tables. A value that is not known is empty. Numbers are written so that reading
    them gives the same number. Texts are guarded as :func:`guarded` says.

    Raises:
        anabranch.runs.manifest.ManifestError: it is no run directory, or damaged.
        anabranch.results.ResultError: a table cannot be read.
        anabranch.output_files.FileError: a file cannot be written or removed; those before it stand.
    """
    result = Result.load(run_directory)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(output, error) from None
    files = []
    with Steps(len(SCHEMAS) + len(COMPUTED), "tables") as progress:
        for name, table in _tables(result):
            file = output / f"{name}.csv"
            if table.height:
                write_text(file, guarded(table).write_csv())
                files.append(file)
            else:
                _remove(file)
            progress.advance()
    return files


def guarded(table: pl.DataFrame) -> pl.DataFrame:
    """A table for CSV: ``'`` precedes texts that a spreadsheet would execute as formulas. Columns of numbers are unchanged.

    :func:`anabranch.csv_text.unguarded` removes it from a text that is read.
    """
    return table.with_columns(pl.col(pl.String).str.replace(f"^({BEGINS})", f"{GUARD}$1"))


def _remove(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(file, error) from None


def _tables(result: Result) -> Iterator[tuple[str, pl.DataFrame]]:
    for name in (*SCHEMAS, *COMPUTED):
        yield name, getattr(result, name)
