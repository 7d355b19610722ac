"""``anabranch report``."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from anabranch.cli.exit_status import DONE
from anabranch.cli.options import OUTPUT
from anabranch.cli.output import say, tell
from anabranch.cli.run_directories import is_outside, run_directories
from anabranch.foundation.output_files import require_writable


def report(
    runs: Annotated[list[Path], Parameter(help="Run directories, or directories of sweeps.", negative="")],
    /,
    *,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], group=OUTPUT, help="The HTML file (default report.html).")
    ] = None,
) -> int:
    """Write one self-contained HTML report of one or several run directories, or directories of sweeps."""
    from anabranch.foundation.progress import Computing
    from anabranch.pages.report import write

    page, named = output or Path("report.html"), is_outside(output, runs)
    require_writable(page, named=named)
    with Computing("the report"), run_directories(runs) as directories:
        written = write(directories, page, named=named)
    tell(written)
    say_what_lacks()
    return DONE


def say_what_lacks() -> None:
    """Say that a report has no charts, and how to have them."""
    from anabranch.pages.report import libraries

    if (lacking := libraries.lacking()) is not None:
        say(lacking)
