"""The algorithms that a scenario may name: their parameters, defaults and ranges come from the registries of the Rust core.

So a scenario can use an algorithm that is added there without changes here.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, create_model, model_validator

from anabranch import _core
from anabranch.foundation import units
from anabranch.scenario.named_tables import NamedTable
from anabranch.scenario.table import Count, Duration, Packets, PositiveDuration, Probability, Size

REGISTRIES: dict[str, list[dict[str, Any]]] = json.loads(_core.algorithms())
"""The algorithms of the core by kind: ``congestion``, ``slow_start``, ``detection``, ``ack``, ``queue``, ``loss``."""


class Algorithm(NamedTable):
    """An algorithm of a registry and its parameters."""

    kind: ClassVar[str]
    """The registry."""
    parameters: ClassVar[tuple[str, ...]] = ()
    units: ClassVar[Mapping[str, "WithUnit"]] = {}
    """The parameters that scenarios write with a unit."""

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
        return without_units({key: getattr(self, key) for key in (self.key, *self.parameters)}, self.units)

    @model_validator(mode="after")
    def _checked(self) -> Self:
        problem = _core.check_algorithm(self.kind, json.dumps(self.compiled()))
        if problem is not None:
            raise ValueError(problem)
        return self


class WithUnit(NamedTuple):
    """A kind of parameter that is a number in the core and a text with a unit in scenarios."""

    annotation: Any
    number: Callable[[Any], int]
    text: Callable[[int], str]


_UNITS = {
    "duration": WithUnit(Duration, units.duration, units.format_duration),
    "positive duration": WithUnit(PositiveDuration, units.duration, units.format_duration),
    "size": WithUnit(Size, units.size, units.format_size),
    "packets": WithUnit(Packets, units.packets, units.format_packets),
}
_KINDS: dict[str, Any] = {
    "number": Annotated[float, Field(allow_inf_nan=False)],
    "share": Probability,
    "integer": int,
    "integers": list[Count],
    "boolean": bool,
}


def units_of(parameters: Iterable[Mapping[str, Any]]) -> dict[str, WithUnit]:
    """The units of declared parameters, by name."""
    return {one["name"]: _UNITS[one["kind"]] for one in parameters if one["kind"] in _UNITS}


def without_units(values: Mapping[str, Any], units: Mapping[str, WithUnit]) -> dict[str, Any]:
    """Values as the core has them: picoseconds, bytes, packets."""
    return {key: units[key].number(value) if key in units else value for key, value in values.items()}


@cache
def _table(base: type[Algorithm], name: str) -> type[Any]:
    algorithm = next(one for one in REGISTRIES[base.kind] if one["name"] == name)
    fields: dict[str, Any] = {base.key: (Literal[name], ...)}
    for parameter in algorithm["parameters"]:
        fields[parameter["name"]] = field(parameter)
    if "limit" in algorithm:
        fields["limit"] = (base.model_fields["limit"].rebuild_annotation(), algorithm["limit"])
    words = name.replace("+", " plus ").replace("-", " ").split()
    title = "".join(word.capitalize() for word in words)
    table = create_model(title, __base__=base, __doc__=algorithm["summary"], **fields)
    table.parameters = tuple(parameter["name"] for parameter in algorithm["parameters"])
    table.units = units_of(algorithm["parameters"])
    return table


def field(parameter: Mapping[str, Any]) -> tuple[Any, Any]:
    """The type and the pydantic field of a declared parameter."""
    kind, default = parameter["kind"], parameter["default"]
    unit = _UNITS.get(kind)
    limits: dict[str, Any] = {}
    if kind in ("number", "integer") and parameter["range"] is not None:
        least, most = parameter["range"]
        limits = {"ge": least, "le": most}
    if unit is not None and default is not None:
        default = unit.text(default)
    choices = tuple(parameter["choices"])
    given = {} if default is None else {"default": default}
    annotation = Literal[choices] if choices else _KINDS[kind] if unit is None else unit.annotation
    return annotation, Field(description=parameter["doc"], **given, **limits)
