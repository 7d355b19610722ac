"""``anabranch report``."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from anabranch.cli.exit_status import DONE
from anabranch.cli.options import OUTPUT


def report(
    runs: Annotated[list[Path], Parameter(help="Run directories.", negative="")],
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], group=OUTPUT, help="The HTML file.")] = Path(
        "report.html"
    ),
) -> int:
    """Write one self-contained HTML report of one or several run directories."""
    from anabranch.report import write

    print(write(runs, output))
    return DONE
