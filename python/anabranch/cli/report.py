"""``anabranch report``."""

import tempfile
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from anabranch.cli.exit_status import DONE
from anabranch.cli.options import OUTPUT

SWEEP_PLAN = "sweep.json"
"""What only the directory of a sweep has (:data:`anabranch.sweep.store.PLAN`)."""


def report(
    runs: Annotated[list[Path], Parameter(help="Run directories, or directories of sweeps.", negative="")],
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], group=OUTPUT, help="The HTML file.")] = Path(
        "report.html"
    ),
) -> int:
    """Write one self-contained HTML report of one or several run directories, or directories of sweeps."""
    from anabranch.report import write

    with tempfile.TemporaryDirectory(prefix="anabranch-") as folder:
        directories = [_of_sweep(path, Path(folder) / str(index)) for index, path in enumerate(runs)]
        print(write(directories, output))
    return DONE


def _of_sweep(path: Path, folder: Path) -> Path:
    """The path of a run directory; of a sweep, that of its results as one, inside the folder."""
    if not (path / SWEEP_PLAN).is_file():
        return path
    from anabranch.sweep import SweepResult, run_directory

    target = folder / path.resolve().name
    run_directory.write(SweepResult.load(path), target)
    return target
