"""``anabranch check``."""

from anabranch.cli.exit_status import DONE, FAILED
from anabranch.cli.options import Json, ScenarioFile, Settings
from anabranch.cli.output import count, json_text, say
from anabranch.cli.scenarios import load, warn


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

    refused = refusals(loaded)
    if json:
        problems = [{"file": str(scenario), "message": message} for message in refused]
        print(json_text({"problems": problems, "warnings": loaded.warnings.as_records()}))
        return FAILED if refused else DONE
    warn(loaded)
    if refused:
        say("\n".join(f"{scenario}: {message}" for message in refused))
    else:
        print(f"{scenario}: {loaded.size} x {count(len(loaded.seeds), 'seed')}, no problems")
    return FAILED if refused else DONE
