"""``anabranch check``."""

from typing import TYPE_CHECKING

from anabranch.cli.exit_status import DONE, FAILED
from anabranch.cli.options import Json, ScenarioFile, Settings
from anabranch.cli.output import json_text, say, tell
from anabranch.cli.scenarios import load, warn
from anabranch.foundation.progress import Computing
from anabranch.foundation.text_table import count

if TYPE_CHECKING:
    from anabranch.scenario import Scenario


def check(scenario: ScenarioFile, /, *, settings: Settings = None, json: Json = False) -> int:
    """Check a scenario: every problem at once, with file, line, field, value, and what would be right.

    Also warns of settings that can run but may be mistakes. Executes no file: a congestion control in Python is only read.
    """
    from anabranch.scenario import ScenarioError

    try:
        loaded = load(scenario, settings)
    except ScenarioError as error:
        if json:
            print(json_text({"problems": error.as_records()}))
            return FAILED
        raise
    from anabranch.engines.refusal import refusals

    with Computing("routes of the traffic"):
        refused, warnings = refusals(loaded), loaded.warnings
    if json:
        print(json_text({"problems": refused.as_records(), "warnings": warnings.as_records()}))
        return FAILED if refused.problems else DONE
    warn(loaded)
    for control in _unexecuted(loaded):
        say(f"note: {control} was read and not executed; only a run shows whether its methods are right")
    if refused.problems:
        say("\n".join(refused.describe()))
    else:
        tell(f"{loaded.source}: {loaded.size} x {count(len(loaded.seeds), 'seed')}, no problems")
    return FAILED if refused.problems else DONE


def _unexecuted(scenario: "Scenario") -> list[str]:
    """The controls in Python that the scenario names."""
    from anabranch.scenario.controls import PythonControl

    controls = [stack.congestion for case in scenario.cases for stack in case.variant.all_stacks().values()]
    return list(dict.fromkeys(control.python for control in controls if isinstance(control, PythonControl)))
