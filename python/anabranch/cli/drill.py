"""``anabranch drill``."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from anabranch.cli.exit_status import DONE, FAILED, USAGE
from anabranch.cli.options import SCENARIO, Json
from anabranch.cli.output import json_text, tell


def drill(
    scripts: Annotated[list[Path], Parameter(help="Scripts (.pkt).", negative="")],
    /,
    *,
    stack: Annotated[
        Literal["linux", "rfc"], Parameter(group=SCENARIO, help="Stack of scripts that name none.")
    ] = "linux",
    json: Json = False,
) -> int:
    """Run scripts in packetdrill's language against the simulated sender and receiver.

    Exit status: 0 all passed, 1 one failed, 2 one is refused or not of the language and none failed.
    """
    from anabranch.engines import drill as drills

    outcomes = [drills.run(script, stack) for script in scripts]
    if json:
        print(json_text({"scripts": [outcome.document() for outcome in outcomes]}))
    else:
        for outcome in outcomes:
            tell("\n".join(drills.describe(outcome)))
        if len(outcomes) > 1:
            tell(drills.summary(outcomes))
    verdicts = {outcome.verdict for outcome in outcomes}
    return FAILED if "failed" in verdicts else DONE if verdicts == {"passed"} else USAGE
