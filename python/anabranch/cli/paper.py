"""``anabranch paper``."""

import sys
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Annotated, Literal

from cyclopts import Parameter

from anabranch.cli.exit_status import DONE, INTERRUPTED
from anabranch.cli.options import OUTPUT, WORK, Jobs, Whole, at_least
from anabranch.cli.output import say, tell


@Parameter(name="*", group=WORK)
@dataclass(frozen=True)
class Work:
    """The amount of work."""

    quick: Annotated[
        bool,
        Parameter(
            negative="", help="A smaller version, in a minute or two; it leaves undecided what its runs cannot decide."
        ),
    ] = False
    seeds: Annotated[Whole | None, Parameter(help="Number of seeds, instead of the scenarios'.")] = None
    jobs: Jobs = None


def paper(
    name: Annotated[
        Literal["tcpbp", "kikolo", "multipath-forwarding", "fixed-robust-routing", "mprc", "all"],
        Parameter(help="The paper."),
    ],
    /,
    *,
    work: Work = Work(),
    out: Annotated[
        Path | None,
        Parameter(name=["--out", "-o"], group=OUTPUT, help="Directory (default runs/papers, or runs/papers-quick)."),
    ] = None,
) -> int:
    """Reproduce a paper: its figures and tables, its numbers beside ours, and a verdict for each claim.

    Finished runs are kept: interrupted, the same command goes on where it was. The page index.html gathers all papers of the directory.
    """
    from anabranch.studies.papers import lab, page, registry

    at_least(1, seeds=work.seeds, jobs=work.jobs)
    directory = out or Path("runs") / ("papers-quick" if work.quick else "papers")
    for one in registry.PAPERS if name == "all" else (name,):
        start_s = process_time()
        place = lab.lab(one, directory, quick=work.quick, seeds=work.seeds)
        say(f"{one}: {place.directory}")
        try:
            found = lab.run(place, jobs=work.jobs, command=["anabranch", *sys.argv[1:]])
        except KeyboardInterrupt:  # outside the runs, which take it as their own
            found = None
        if found is None:
            say("Interrupted: finished runs are kept; the same command continues from there.")
            return INTERRUPTED
        for claim in found.claims:
            tell(f"{claim.verdict:14} {claim.where}: {claim.says}\n{'':14} {claim.evidence} {claim.reason}".rstrip())
        page.write(directory)
        say(f"{one}: {process_time() - start_s:.0f} s of CPU time, without that of runs kept from an earlier call")
    say(f"Page: {directory / page.FILE}")
    return DONE
