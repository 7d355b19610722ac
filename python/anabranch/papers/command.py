"""``anabranch paper``."""

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

DONE, INTERRUPTED = 0, 130


def paper(
    name: Annotated[
        Literal["tcpbp", "kikolo", "multipath-forwarding", "fixed-robust-routing", "mprc", "all"],
        Parameter(help="The paper."),
    ],
    /,
    *,
    quick: Annotated[bool, Parameter(negative="", help="A smaller version, in a minute or so.")] = False,
    out: Annotated[
        Path | None, Parameter(name=["--out", "-o"], help="Directory (default runs/papers, or runs/papers-quick).")
    ] = None,
    seeds: Annotated[int | None, Parameter(help="So many seeds instead of those of the scenarios.")] = None,
    jobs: Annotated[int | None, Parameter(name=["--jobs", "-j"], help="Threads (default one for each core).")] = None,
) -> int:
    """Reproduce a paper: its figures and tables, its numbers beside ours, and a verdict for each claim.

    Finished runs are kept: interrupted, the same command goes on where it was. The page index.html gathers all papers of the directory.
    """
    from anabranch.cli import UsageError
    from anabranch.papers import lab, page, registry

    for option, value in (("--seeds", seeds), ("--jobs", jobs)):
        if value is not None and value < 1:
            raise UsageError(f"{option} {value}: must be at least 1")
    directory = out or Path("runs") / ("papers-quick" if quick else "papers")
    for one in registry.PAPERS if name == "all" else (name,):
        place = lab.lab(one, directory, quick=quick, seeds=seeds)
        _say(f"{one}: {place.directory}")
        found = lab.run(place, jobs=jobs, command=["anabranch", *sys.argv[1:]])
        if found is None:
            _say("Interrupted: finished runs are kept; the same command goes on from there.")
            return INTERRUPTED
        for claim in found.claims:
            print(f"{claim.verdict:14} {claim.where}: {claim.says}\n{'':14} {claim.evidence} {claim.reason}".rstrip())
        page.write(directory)
    _say(f"Page: {directory / page.FILE}")
    return DONE


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
