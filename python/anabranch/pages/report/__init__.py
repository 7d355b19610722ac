"""Reports: one self-contained HTML page from one or more run directories.

Nothing heavy is imported before :func:`write` is called. The charts of the page are in :mod:`anabranch.pages.report.chart`,
the numbers behind them in :mod:`anabranch.results.statistics`; both take polars frames, in a notebook as well.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["write"]


def write(run_directories: list[Path], output: Path, *, destination: Path | None = None, named: bool = True) -> Path:
    """Write the report of ``run_directories`` to the file ``output`` and return its path.

    The page loads nothing from anywhere: scripts, styles and data are inside it. Its commands name the run directories, or
    the ``destination`` of a single one that is still to be moved. ``named`` says that the user has named the file
    (:func:`anabranch.foundation.output_files.write_bytes`).

    Raises:
        anabranch.results.run_directory.RunDirectoryError: a run directory lacks a file or has a broken one.
        anabranch.foundation.output_files.FileError: the page cannot be written; a former one stands.
    """
    from polars.exceptions import PolarsError

    from anabranch.foundation.forks import refuse_after_fork
    from anabranch.foundation.output_files import write_text
    from anabranch.pages.report import page
    from anabranch.results.run_directory import unreadable_series

    refuse_after_fork()
    try:
        html = page.render(run_directories, destination)
    except PolarsError as error:
        raise unreadable_series(run_directories, error) from None
    write_text(output, html, named=named)
    return output
