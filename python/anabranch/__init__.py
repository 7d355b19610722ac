"""Finds, predicts and proves the best way to carry TCP over a network.

>>> from anabranch import Scenario
>>> result = Scenario.load("scenarios/abilene.toml", {"run.duration": "1s", "run.warm_up": "0s"}).run(seed=1)
>>> result.flows.height  # a polars frame, here with one flow of each of 12 variants
12
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anabranch.results.result import Result
    from anabranch.scenario import Scenario, ScenarioError
    from anabranch.scenario.trace import flow_trace
    from anabranch.studies.sweep import Sweep, SweepResult

__all__ = ["Result", "Scenario", "ScenarioError", "Sweep", "SweepResult", "flow_trace", "version"]

_HOMES = {
    "Result": "anabranch.results.result",
    "Scenario": "anabranch.scenario",
    "ScenarioError": "anabranch.scenario",
    "Sweep": "anabranch.studies.sweep",
    "SweepResult": "anabranch.studies.sweep",
    "flow_trace": "anabranch.scenario.trace",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for only then, so that ``import anabranch`` and ``anabranch --help`` stay quick."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def version() -> str:
    """The version of the installed package, ``unknown`` if it runs without having been installed."""
    from importlib import metadata

    try:
        return metadata.version("anabranch")
    except metadata.PackageNotFoundError:
        return "unknown"
