"""``anabranch init``."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from anabranch.cli.exit_status import DONE, UsageError
from anabranch.cli.options import OUTPUT
from anabranch.cli.output import say, tell
from anabranch.foundation.extras import command, missing


def init(
    name: Annotated[
        str | None, Parameter(help="What to start from, such as my-topology, example:fabric or reordering.ipynb.")
    ] = None,
    /,
    *,
    output: Annotated[
        Path | None,
        Parameter(name=["--output", "-o"], group=OUTPUT, help="The file (default: of the name, in this directory)."),
    ] = None,
) -> int:
    """Write a commented scenario to start from, an example, a plan of a sweep or a notebook; without a name, list them.

    A file that exists is never replaced.
    """
    from anabranch.foundation import examples
    from anabranch.foundation.output_files import write_new_texts

    if name is None:
        if output is not None:
            raise UsageError("--output goes with a name, such as spraying")
        _list()
        return DONE
    source = _source(name)
    target = output or Path(source.name)
    write_new_texts(texts := examples.copied(source, target))
    for path in texts:
        tell(path)
    if source.suffix != ".ipynb":
        say(f"Run it: anabranch {'sweep' if examples.is_plan(source) else 'run'} {target}")
    elif missing("notebook"):
        say(f"Install Jupyter, then open it: {command('notebook')}; jupyter lab {target}")
    else:
        say(f"Open it: jupyter lab {target}")
    return DONE


def _source(name: str) -> Path:
    """The file that a name means.

    Raises:
        UsageError: there is none.
        anabranch.foundation.input_files.InputError: there is no example of this name.
    """
    from anabranch.foundation import examples
    from anabranch.foundation.suggest import suggest
    from anabranch.scenario import starters

    if name.startswith(examples.PREFIX):
        is_plan = name.removeprefix(examples.PREFIX) in examples.files(examples.SWEEPS)
        return examples.resolved(Path(name), examples.SWEEPS if is_plan else examples.SCENARIOS)
    known = starters.files() | examples.notebooks()
    if name in known:
        return known[name]
    if any(name in examples.files(folder) for folder in examples.FOLDERS):
        raise UsageError(f"{name}: is an example; write {examples.PREFIX}{name}")
    raise UsageError(f"{name}: is nothing to start from; {suggest(name, known)}")


def _list() -> None:
    from anabranch.foundation import examples
    from anabranch.scenario import starters

    tell("anabranch init NAME writes one of these into the current directory:")
    for name in starters.NAMES:
        tell(f"  {name:22}{starters.question(name)}")
    for name, path in examples.notebooks().items():
        tell(f"  {name:22}{examples.title(path)}")
    for folder, runs in ((examples.SCENARIOS, "run"), (examples.SWEEPS, "sweep")):
        if known := examples.files(folder):
            tell(f"\nExamples, which anabranch {runs} takes as {examples.PREFIX}NAME, and anabranch init copies:")
        for name, path in known.items():
            tell(f"  {name:22}{examples.title(path)}")
