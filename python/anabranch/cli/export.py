"""``anabranch export``."""

import os
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from anabranch.cli.exit_status import DONE
from anabranch.cli.options import OUTPUT
from anabranch.cli.output import tell
from anabranch.cli.run_directories import is_outside, run_directories


def export(
    run: Annotated[Path, Parameter(help="A run directory, or the directory of a sweep.")],
    /,
    *,
    form: Annotated[
        Literal["csv", "iperf3", "htsim"],
        Parameter(
            name="--format",
            group=OUTPUT,
            help="The tables as CSV, the TCP flows of each run as the JSON of iperf3, or flows with a size as htsim's connection matrices.",
        ),
    ] = "csv",
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], group=OUTPUT, help="Directory (default RUN/FORMAT).")
    ] = None,
) -> int:
    """Write the tables of a run directory as CSV files, or its flows for other tools.

    It exports results. To export routes for Linux, FRR or OpenFlow, use anabranch routes --export.
    """
    from anabranch.results import csv, exchange

    folder, own = output or run / form, run
    if output is not None:
        own = output if is_outside(output, [run]) else run
        folder = own / os.path.relpath(output, own)
    with run_directories([run]) as (directory,):
        written = (
            csv.write(directory, folder, of=own) if form == "csv" else exchange.write(directory, folder, form, of=own)
        )
        for file in written:
            tell(file)
    return DONE
