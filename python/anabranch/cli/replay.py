"""``anabranch replay``."""

from errno import ENOENT
from os import strerror
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from anabranch.cli.exit_status import DONE, UsageError
from anabranch.cli.options import OUTPUT, SCENARIO, Whole, seconds
from anabranch.cli.output import tell
from anabranch.cli.run_directories import is_outside
from anabranch.foundation.extras import require
from anabranch.foundation.output_files import require_writable


def replay(
    directory: Annotated[Path, Parameter(help="A run directory.")],
    /,
    *,
    run: Annotated[
        Whole | None,
        Parameter(group=SCENARIO, help="Number of the run, as in the column run of its tables (default: the first)."),
    ] = None,
    at: Annotated[
        str | None, Parameter(group=SCENARIO, help="Start of the span: 5s (default: end of the warm-up).")
    ] = None,
    length: Annotated[str, Parameter(name="--for", group=SCENARIO, help="Length of the span: 200ms.")] = "1s",
    run_control: Annotated[
        bool,
        Parameter(
            group=SCENARIO,
            negative="",
            help="Execute the Python control of the run, from the file that the manifest names.",
        ),
    ] = False,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], group=OUTPUT, help="The HTML file (default RUN/replay.html).")
    ] = None,
    film: Annotated[
        Path | None,
        Parameter(
            group=OUTPUT, help="Write the span as a film of 12 s for slides instead: an animated PNG (FILE.png)."
        ),
    ] = None,
) -> int:
    """Play the packets of a short span of a run: they move along the map, queues fill, drops flash.

    The run is simulated again, packet by packet, to the end of the span. A run with a Python control is refused without --run-control.
    """
    from anabranch.pages.replay import record, write
    from anabranch.results import manifest

    for_s = seconds("--for", length)
    if for_s <= 0:
        raise UsageError(f"--for {length}: must be longer than 0 s")
    if film is not None:
        if output is not None:
            raise UsageError("--film and --output: give one; a film is no page")
        if film.suffix.lower() != ".png":
            raise UsageError(f"--film {film}: must end in .png; ffmpeg -i FILE.png FILE.mp4 converts it")
        require("a film", "figures")
        output = film
    if not directory.is_dir():  # which comes before what is wrong with a file in it
        raise manifest.unreadable(directory, FileNotFoundError(ENOENT, strerror(ENOENT), str(directory)))
    target, named = output or directory / "replay.html", is_outside(output, [directory])
    require_writable(target, named=named)
    recording = record(
        directory,
        run=run,
        at_s=None if at is None else seconds("--at", at),
        for_s=for_s,
        progress=True,
        run_control=run_control,
    )
    if film is None:
        tell(write(recording, target, named=named))
    else:
        from anabranch.pages.replay import film as films

        tell(films.write(recording, target, named=named, progress=True))
    return DONE
