"""``anabranch study``."""

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from anabranch.cli.exit_status import DONE, INTERRUPTED
from anabranch.cli.options import OUTPUT, WORK, Jobs, Json, Whole, at_least, between
from anabranch.cli.output import json_text, say, tell
from anabranch.foundation.output_files import require_directory
from anabranch.foundation.text_table import print_table

if TYPE_CHECKING:
    from anabranch.studies.fabrics import FabricAnswer

MOST_SEEDS = 1000


@Parameter(name="*", group=WORK)
@dataclass(frozen=True)
class Work:
    """The amount of work."""

    seeds: Annotated[Whole, Parameter(help="Number of seeds.")] = 3
    jobs: Jobs = None


def study(
    name: Annotated[Literal["fabrics"], Parameter(help="The study.")],
    /,
    *,
    work: Work = Work(),
    out: Annotated[
        Path | None,
        Parameter(
            name=["--out", "-o"], group=OUTPUT, help="Keep a run directory for each kind of traffic in this one."
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Compare transports and path selectors on a leaf-spine: TCP, MPRC and Ultra Ethernet, sprayed or not.

    Prints a table for each kind of traffic: a permutation, an incast, a ring all-reduce, and the permutation with a slow spine. A last table has
    the best policy of each transport. Ctrl-C gives the tables of the runs that are complete and ends with status 130; with --out, the same command
    continues from there.
    """
    at_least(1, jobs=work.jobs)
    between("--seeds", work.seeds, work.seeds, 1, MOST_SEEDS)
    if out is not None:
        require_directory(out)
    from anabranch.studies.fabrics import choices
    from anabranch.studies.fabrics import study as answer_of

    answer = answer_of(seeds=work.seeds, directory=out, jobs=work.jobs, command=["anabranch", *sys.argv[1:]])
    if json:
        print(json_text(answer.document() | {"choices": [asdict(choice) for choice in choices(answer)]}))
    else:
        _tell(answer)
    if out is not None:
        say(f"Run directories: {', '.join(str(out / kind) for kind in answer.cells)}")
    if answer.interrupted:
        say(f"Interrupted: {answer.complete} of {answer.planned} runs complete; some rows have fewer seeds, or none.")
        return INTERRUPTED
    return DONE


def _tell(answer: "FabricAnswer") -> None:
    from anabranch.studies.fabrics import choice
    from anabranch.studies.fabrics.answer import NOTES

    for kind, title in answer.titles.items():
        tell(title)
        print_table(answer.table(kind))
        tell()
    tell(choice.TITLE)
    print_table(choice.table(answer))
    tell()
    for note in NOTES:
        tell(note)
