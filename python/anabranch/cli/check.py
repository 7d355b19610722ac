"""``anabranch check``."""

from anabranch.cli.exit_status import DONE, FAILED
from anabranch.cli.options import Json, ScenarioFile, Settings
from anabranch.cli.output import count, json_text, say, tell
from anabranch.cli.scenarios import load, warn
from anabranch.progress import Computing


def check(scenario: ScenarioFile, /, *, settings: Settings = None, json: Json = False) -> int:
    """Check a scenario: every problem at once, with file, line, field, value, and what would be right.

    Also warns of settings that can run but may be mistakes.
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
    if refused.problems:
        say("\n".join(refused.describe()))
    else:
        tell(f"{loaded.source}: {loaded.size} x {count(len(loaded.seeds), 'seed')}, no problems")
    return FAILED if refused.problems else DONE
