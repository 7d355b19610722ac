"""``anabranch init``."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from anabranch.cli.exit_status import DONE, UsageError
from anabranch.cli.options import OUTPUT
from anabranch.cli.output import say, tell


def init(
    name: Annotated[str | None, Parameter(help="What to start from, such as spraying or my-topology.")] = None,
    /,
    *,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], group=OUTPUT, help="The file (default NAME.toml).")
    ] = None,
) -> int:
    """Write a commented scenario to start from, which runs as it is; without a name, list them and the examples.

    A file that exists is never replaced.
    """
    from anabranch.foundation.suggest import suggest
    from anabranch.scenario import starters

    if name is None:
        if output is not None:
            raise UsageError("--output goes with a name, such as spraying")
        _list()
        return DONE
    if name not in starters.NAMES:
        raise UsageError(f"{name}: is nothing to start from; {suggest(name, starters.NAMES)}")
    written = starters.write(name, output or Path(f"{name}.toml"))
    for path in written:
        tell(path)
    say(f"Run it: anabranch run {written[0]}")
    return DONE


def _list() -> None:
    from anabranch.foundation import examples
    from anabranch.scenario import starters

    tell("anabranch init NAME writes one of these into the current directory:")
    for name in starters.NAMES:
        tell(f"  {name:22}{starters.question(name)}")
    for folder, command in ((examples.SCENARIOS, "run"), (examples.SWEEPS, "sweep")):
        if known := examples.files(folder):
            tell(f"\nExamples, which anabranch {command} takes as {examples.PREFIX}NAME:")
        for name, path in known.items():
            tell(f"  {name:22}{examples.title(path)}")
