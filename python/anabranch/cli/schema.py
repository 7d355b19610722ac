"""``anabranch schema``."""

from anabranch.cli.exit_status import DONE
from anabranch.cli.output import json_text


def schema() -> int:
    """Print the JSON Schema of scenarios; begin a scenario with "#:schema FILE" to have an editor use it."""
    from anabranch.scenario import Scenario

    print(json_text(Scenario.json_schema()))
    return DONE
