"""The algorithms that a scenario may name: their parameters, defaults and ranges come from the registries of the Rust core.

So a scenario can use an algorithm that is added there without changes here.
"""

import json
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, create_model, model_validator

from anabranch import _core, units
from anabranch.scenario.named_tables import NamedTable
from anabranch.scenario.table import Count, Duration, Probability

REGISTRIES: dict[str, list[dict[str, Any]]] = json.loads(_core.algorithms())
"""The algorithms of the core by kind: ``congestion``, ``slow_start``, ``detection``, ``ack``, ``queue``, ``loss``."""


class Algorithm(NamedTable):
    """An algorithm of a registry and its parameters."""

    kind: ClassVar[str]
    """The registry."""
    parameters: ClassVar[tuple[str, ...]] = ()
    durations: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **arguments: Any) -> None:
        """The names are those of the registry; a table of one algorithm has none."""
        super().__init_subclass__(**arguments)
        cls.names = () if "kind" not in vars(cls) else tuple(algorithm["name"] for algorithm in REGISTRIES[cls.kind])

    @classmethod
    def named(cls, name: str) -> type[Self]:
        """The table of an algorithm."""
        return _table(cls, name)

    def compiled(self) -> dict[str, Any]:
        """The name and every parameter, durations in picoseconds."""
        values = {key: getattr(self, key) for key in (self.key, *self.parameters)}
        return {key: units.duration(value) if key in self.durations else value for key, value in values.items()}

    @model_validator(mode="after")
    def _checked(self) -> Self:
        problem = _core.check_algorithm(self.kind, json.dumps(self.compiled()))
        if problem is not None:
            raise ValueError(problem)
        return self


_KINDS: dict[str, Any] = {
    "number": Annotated[float, Field(allow_inf_nan=False)],
    "share": Probability,
    "integer": int,
    "integers": list[Count],
    "boolean": bool,
    "duration": Duration,
}


@cache
def _table(base: type[Algorithm], name: str) -> type[Any]:
    algorithm = next(one for one in REGISTRIES[base.kind] if one["name"] == name)
    fields: dict[str, Any] = {base.key: (Literal[name], ...)}
    for parameter in algorithm["parameters"]:
        fields[parameter["name"]] = _field(parameter)
    words = name.replace("+", " plus ").replace("-", " ").split()
    title = "".join(word.capitalize() for word in words)
    table = create_model(title, __base__=base, __doc__=algorithm["summary"], **fields)
    table.parameters = tuple(parameter["name"] for parameter in algorithm["parameters"])
    table.durations = frozenset(one["name"] for one in algorithm["parameters"] if one["kind"] == "duration")
    return table


def _field(parameter: dict[str, Any]) -> tuple[Any, Any]:
    kind, default = parameter["kind"], parameter["default"]
    limits: dict[str, Any] = {}
    if kind in ("number", "integer") and parameter["range"] is not None:
        least, most = parameter["range"]
        limits = {"ge": least, "le": most}
    if kind == "duration" and default is not None:
        default = units.format_duration(default)
    choices = tuple(parameter["choices"])
    given = {} if default is None else {"default": default}
    return Literal[choices] if choices else _KINDS[kind], Field(description=parameter["doc"], **given, **limits)
