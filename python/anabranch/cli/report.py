"""``anabranch report``."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from anabranch.cli.exit_status import DONE
from anabranch.cli.options import OUTPUT
from anabranch.cli.output import tell
from anabranch.cli.run_directories import run_directories
from anabranch.output_files import require_writable


def report(
    runs: Annotated[list[Path], Parameter(help="Run directories, or directories of sweeps.", negative="")],
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], group=OUTPUT, help="The HTML file.")] = Path(
        "report.html"
    ),
) -> int:
    """Write one self-contained HTML report of one or several run directories, or directories of sweeps."""
    from anabranch.progress import Computing
    from anabranch.report import write

    require_writable(output)
    with Computing("the report"), run_directories(runs) as directories:
        written = write(directories, output)
    tell(written)
    return DONE
