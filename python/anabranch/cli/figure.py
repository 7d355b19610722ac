"""``anabranch figure``."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from anabranch.cli.exit_status import DONE, UsageError
from anabranch.cli.options import OUTPUT
from anabranch.cli.output import say, tell
from anabranch.cli.run_directories import is_outside, run_directories
from anabranch.foundation.output_files import require_writable

LEAST_MM, MOST_MM = 40.0, 1000.0
_WIDTH_MM = 170.0
"""Between the margins of a page of A4."""


def _figures(context: Any) -> dict[str, str]:
    """The names of the figures of the run directories on the command line, with their titles."""
    from anabranch.pages.report.figure_files import figures

    with run_directories([Path(run) for run in context["runs"].raw_tokens]) as directories:
        return {name: figure.title or "Map" for name, figure in figures(directories).items()}


def figure(
    runs: Annotated[list[Path], Parameter(help="Run directories, or directories of sweeps.", negative="")],
    /,
    *,
    name: Annotated[
        str | None,
        Parameter(
            name="--figure",
            group=OUTPUT,
            completer=_figures,
            help="Name of the figure (default: the first one).",
        ),
    ] = None,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], group=OUTPUT, help="The file: .pdf, .svg or .png.")
    ] = None,
    width: Annotated[
        float | None,
        Parameter(group=OUTPUT, help="Width in millimetres (default 170): 88 is a column of a paper of two columns."),
    ] = None,
) -> int:
    """Draw a figure of the report into a file for a paper; without --output, list the figures.

    Texts have 7.5 to 9 points, whatever the width; names of nodes on a narrow map have 6.75.
    """
    if width is not None and output is None:
        raise UsageError("--width goes with --output")
    if width is not None and not LEAST_MM <= width <= MOST_MM:
        raise UsageError(f"--width {width:g}: must be from {LEAST_MM:g} to {MOST_MM:g} millimetres")
    if output is not None:
        from anabranch.foundation.extras import require

        require("figures as files", "figures")
    from anabranch.foundation.progress import Computing
    from anabranch.pages.report.figure_files import FORMATS, FigureError, figures, write

    if output is not None:
        if output.suffix not in FORMATS:
            raise UsageError(f"--output {output}: must end in {' or '.join(FORMATS)}")
        require_writable(output, named=is_outside(output, runs))
    with Computing("figures of the report"), run_directories(runs) as directories:
        found = figures(directories)
    if name is not None and name not in found:
        raise FigureError(f"--figure {name}: is no figure of these runs; possible: {', '.join(found)}")
    if output is None:
        widest = max(map(len, found), default=0)
        for each in found.values() if name is None else [found[name]]:
            tell(f"{each.name:{widest}} {each.title or 'Map'}")
        return DONE
    chosen = found[name or next(iter(found))]
    with Computing(f"figure {chosen.name}"):
        write(chosen, output, _WIDTH_MM if width is None else width, named=is_outside(output, runs))
    if name is None:
        say(
            f"Figure {chosen.name}; --figure chooses another: {', '.join(each for each in found if each != chosen.name)}"
        )
    tell(output)
    return DONE
