"""``anabranch export``."""

import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from anabranch.cli.exit_status import DONE
from anabranch.cli.options import OUTPUT
from anabranch.cli.output import tell
from anabranch.cli.run_directories import is_outside, run_directories


def export(
    run: Annotated[Path, Parameter(help="A run directory, or the directory of a sweep.")],
    /,
    *,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], group=OUTPUT, help="Directory (default RUN/csv).")
    ] = None,
) -> int:
    """Write the tables of a run directory as CSV files.

    It exports results. To export routes for Linux, FRR or OpenFlow, use anabranch routes --export.
    """
    from anabranch.results.csv import write

    folder, own = output or run / "csv", run
    if output is not None:
        own = output if is_outside(output, [run]) else run
        folder = own / os.path.relpath(output, own)
    with run_directories([run]) as (directory,):
        for file in write(directory, folder, of=own):
            tell(file)
    return DONE
