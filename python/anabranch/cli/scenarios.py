"""Scenarios as ``run`` and ``check`` read them."""

from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.cli.exit_status import UsageError
from anabranch.cli.output import say
from anabranch.foundation.progress import Computing

if TYPE_CHECKING:
    from anabranch.scenario import Scenario


def load(path: Path, settings: list[str] | None) -> "Scenario":
    """The scenario of a file, with the values of ``--set``.

    Raises:
        UsageError: a setting is not KEY=VALUE.
        ScenarioError: every problem of the scenario.
    """
    from anabranch.scenario import Scenario

    values = {}
    for setting in settings or []:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise UsageError(f"--set {setting}: must be KEY=VALUE, such as run.duration=5s")
        values[key] = value
    return Scenario.load(path, values)


def warn(scenario: "Scenario") -> None:
    """Print the scenario's warnings."""
    with Computing("routes of the traffic"):
        warnings = scenario.warnings
    for line in warnings.describe():
        say(f"warning: {line}")
