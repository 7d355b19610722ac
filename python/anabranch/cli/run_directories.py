"""Results on the command line: run directories, and directories of sweeps as such."""

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

SWEEP_PLAN = "sweep.json"
"""A file that only the directory of a sweep has (:data:`anabranch.studies.sweep.store.PLAN`)."""


@contextmanager
def run_directories(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """The run directories of these paths: a sweep's results become one of the same name, until the end of the block.

    Raises:
        anabranch.results.run_directory.RunDirectoryError: a path is given twice.
    """
    from anabranch.results.run_directory import refuse_repeated

    refuse_repeated(paths)
    with tempfile.TemporaryDirectory(prefix="anabranch-") as folder:
        try:
            yield [_of_sweep(path, Path(folder) / str(index)) for index, path in enumerate(paths)]
        except ValueError as error:  # a message names the sweep's directory, which ends the path of the copy
            copies = rf"{re.escape(folder)}/\d+(?=/)"
            error.args = tuple(re.sub(copies, "", arg) if isinstance(arg, str) else arg for arg in error.args)
            raise


def is_outside(output: Path | None, directories: Sequence[Path]) -> bool:
    """Whether the user has named an output outside of these directories, whose contents others may have written."""
    if output is None:
        return False
    path = Path(os.path.abspath(output))
    return not any(path.is_relative_to(os.path.abspath(directory)) for directory in directories)


def _of_sweep(path: Path, folder: Path) -> Path:
    if not os.path.lexists(path / SWEEP_PLAN):
        return path
    from anabranch.studies.sweep import SweepResult, run_directory

    whole = path.resolve()
    target = folder / whole.relative_to(
        whole.anchor
    )  # a report that has another sweep of this name takes more of the path
    run_directory.write(SweepResult.load(path), target)
    return target
