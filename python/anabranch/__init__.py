"""Finds, predicts and proves the best way to carry TCP over a network.

>>> from anabranch import Scenario
>>> result = Scenario.load("example:abilene", {"run.duration": "1s", "run.warm_up": "0s"}).run(seed=1)
>>> result.flows.height  # a polars frame, here with one flow of each of 18 variants
18

Import names and modules from here: ``from anabranch import Scenario, topologies``. The rooms below are for developers
(docs/development/architecture.md). A room imports only those under it.
"""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anabranch.compile.warnings import route_warnings
    from anabranch.engineering import plan, predict, robust, routes, weights
    from anabranch.engines import control, drill
    from anabranch.engines.control import Control
    from anabranch.network import topologies
    from anabranch.pages import report
    from anabranch.results import statistics
    from anabranch.results.result import Result
    from anabranch.runs.execution import run
    from anabranch.scenario import Scenario, ScenarioError
    from anabranch.scenario.trace import flow_trace
    from anabranch.studies import sweep
    from anabranch.studies.sweep import Sweep, SweepResult

__all__ = [
    "Control", "Result", "Scenario", "ScenarioError", "Sweep", "SweepResult", "control", "drill", "flow_trace", "plan",
    "predict", "report", "robust", "route_warnings", "routes", "run", "statistics", "sweep", "topologies", "version",
    "weights",
]  # fmt: skip

_HOMES = {
    "Control": "anabranch.engines.control",
    "Result": "anabranch.results.result",
    "Scenario": "anabranch.scenario",
    "ScenarioError": "anabranch.scenario",
    "Sweep": "anabranch.studies.sweep",
    "SweepResult": "anabranch.studies.sweep",
    "flow_trace": "anabranch.scenario.trace",
    "route_warnings": "anabranch.compile.warnings",
    "run": "anabranch.runs.execution",
}
"""Where a name is defined."""
_MODULES = {
    "control": "anabranch.engines.control",
    "drill": "anabranch.engines.drill",
    "plan": "anabranch.engineering.plan",
    "predict": "anabranch.engineering.predict",
    "report": "anabranch.pages.report",
    "robust": "anabranch.engineering.robust",
    "routes": "anabranch.engineering.routes",
    "statistics": "anabranch.results.statistics",
    "sweep": "anabranch.studies.sweep",
    "topologies": "anabranch.network.topologies",
    "weights": "anabranch.engineering.weights",
}
"""Where a module of the API lies. It may also be imported as ``anabranch.NAME``; ``NAME.pyi`` says so to type checkers."""


def __getattr__(name: str) -> Any:
    """Import what is asked for only then, so that ``import anabranch`` and ``anabranch --help`` stay quick."""
    from importlib import import_module

    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """What completes after ``anabranch.``: the names of the API as well, which are imported only when they are asked for."""
    return sorted({*globals(), *__all__})


class _ShortNames:
    """Finds ``anabranch.topologies`` and its modules in their room, for code that imports them by these names."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> Any:
        """The specification of a module of the API; :class:`_ShortNames` loads it."""
        package, _, short = name.partition(".")
        if package != __name__ or short.partition(".")[0] not in _MODULES:
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, _ShortNames)  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: object) -> None:
        """Let Python make an empty module, which is replaced at once."""

    @staticmethod
    def exec_module(module: Any) -> None:
        """Put the module of the room in its place, so that there is only one."""
        from importlib import import_module

        head, _, rest = module.__name__.removeprefix(f"{__name__}.").partition(".")
        sys.modules[module.__name__] = import_module(".".join(filter(None, (_MODULES[head], rest))))


sys.meta_path.insert(0, _ShortNames)


def version() -> str:
    """The version of the installed package, ``unknown`` if it runs without having been installed."""
    from importlib import metadata

    try:
        return metadata.version("anabranch")
    except metadata.PackageNotFoundError:
        return "unknown"
