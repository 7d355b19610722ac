"""``anabranch export``."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from anabranch.cli.exit_status import DONE
from anabranch.cli.options import OUTPUT


def export(
    run: Annotated[Path, Parameter(help="A run directory.")],
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

    for file in write(run, output or run / "csv"):
        print(file)
    return DONE
