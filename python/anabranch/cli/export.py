"""``anabranch export``."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from anabranch.cli.exit_status import DONE
from anabranch.cli.options import OUTPUT
from anabranch.cli.output import tell
from anabranch.cli.run_directories import run_directories


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
    from anabranch.csv_tables import write

    with run_directories([run]) as (directory,):
        for file in write(directory, output or run / "csv"):
            tell(file)
    return DONE
