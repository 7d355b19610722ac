"""The tables of a run directory as CSV files, for spreadsheets and other programs."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from anabranch.foundation.csv_text import BEGINS, GUARD
from anabranch.foundation.folders import Folder
from anabranch.foundation.output_files import unwritable, unwritable_below
from anabranch.foundation.progress import Steps
from anabranch.results.result import Result
from anabranch.results.schema import SCHEMAS

COMPUTED = ("summary", "completion_times")
"""Tables of a result that are computed from others."""


def write(run_directory: Path, output: Path, *, of: Path | None = None) -> list[Path]:
    """Write ``NAME.csv`` for each table of :class:`anabranch.results.result.Result` that has rows; the paths of the files.

    ``of`` is the directory that the user has named, if ``output`` is one in it: then no link is followed below it.
    The file of a table without rows is removed: it would be of an earlier result.
    Columns, units and order of rows are those of the tables. A value that is not known is empty. Numbers are written so that reading
    them gives the same number. Texts are guarded as :func:`guarded` says.

    Raises:
        anabranch.results.manifest.ManifestError: it is no run directory, or damaged.
        anabranch.results.result.ResultError: a table cannot be read.
        anabranch.foundation.output_files.FileError: a file cannot be written or removed; those before it stand.
    """
    result = Result.load(run_directory)
    folder = Folder.at(output, of or output)
    try:
        folder.root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder.root, error) from None
    files = []
    with Steps(len(SCHEMAS) + len(COMPUTED), "tables") as progress:
        try:
            folder.make()
            for name, table in _tables(result):
                file = f"{name}.csv"
                if table.height:
                    folder.write(file, guarded(table).write_csv().encode())
                    files.append(output / file)
                else:
                    folder.remove(file)
                progress.advance()
        except OSError as error:
            raise unwritable_below(folder, error) from None
    return files


def guarded(table: pl.DataFrame) -> pl.DataFrame:
    """A table for CSV: ``'`` precedes texts that a spreadsheet would execute as formulas. Columns of numbers are unchanged.

    :func:`anabranch.foundation.csv_text.unguarded` removes it from a text that is read.
    """
    return table.with_columns(pl.col(pl.String).str.replace(f"^({BEGINS})", f"{GUARD}$1"))


def _tables(result: Result) -> Iterator[tuple[str, pl.DataFrame]]:
    for name in (*SCHEMAS, *COMPUTED):
        yield name, getattr(result, name)
