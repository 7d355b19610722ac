"""Finds, predicts and proves the best way to carry TCP over a network.

>>> from anabranch import Scenario
>>> result = Scenario.load("scenarios/abilene.toml", {"run.duration": "1s", "run.warm_up": "0s"}).run(seed=1)
>>> result.flows.height  # a polars frame, here with one flow of each of 12 variants
12

Import names and modules from here: ``from anabranch import Scenario, topologies``. The rooms below are for developers
(docs/development/architecture.md). A room imports only those under it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anabranch.engineering import plan, predict, robust, routes
    from anabranch.engines import drill
    from anabranch.engines.control import Control
    from anabranch.network import topologies
    from anabranch.pages import report
    from anabranch.results import statistics
    from anabranch.results.result import Result
    from anabranch.runs.execution import run
    from anabranch.scenario import Scenario, ScenarioError
    from anabranch.scenario.trace import flow_trace
    from anabranch.studies.sweep import Sweep, SweepResult

__all__ = [
    "Control", "Result", "Scenario", "ScenarioError", "Sweep", "SweepResult", "drill", "flow_trace", "plan", "predict",
    "report", "robust", "routes", "run", "statistics", "topologies", "version",
]  # fmt: skip

_HOMES = {
    "Control": "anabranch.engines.control",
    "Result": "anabranch.results.result",
    "Scenario": "anabranch.scenario",
    "ScenarioError": "anabranch.scenario",
    "Sweep": "anabranch.studies.sweep",
    "SweepResult": "anabranch.studies.sweep",
    "flow_trace": "anabranch.scenario.trace",
    "run": "anabranch.runs.execution",
}
"""Where a name is defined."""
_MODULES = {
    "drill": "anabranch.engines.drill",
    "plan": "anabranch.engineering.plan",
    "predict": "anabranch.engineering.predict",
    "report": "anabranch.pages.report",
    "robust": "anabranch.engineering.robust",
    "routes": "anabranch.engineering.routes",
    "statistics": "anabranch.results.statistics",
    "topologies": "anabranch.network.topologies",
}
"""Where a module of the API lies."""


def __getattr__(name: str) -> Any:
    """Import what is asked for only then, so that ``import anabranch`` and ``anabranch --help`` stay quick."""
    from importlib import import_module

    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def version() -> str:
    """The version of the installed package, ``unknown`` if it runs without having been installed."""
    from importlib import metadata

    try:
        return metadata.version("anabranch")
    except metadata.PackageNotFoundError:
        return "unknown"
