"""The generators of topologies as tables of a scenario: their parameters with units, from their signatures."""

import inspect
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, create_model

from anabranch.foundation import units
from anabranch.network.topologies.generate import GENERATORS
from anabranch.scenario.named_tables import NamedTable
from anabranch.scenario.table import Count, Duration, Length, PositiveDuration, Probability, Rate, Ratio

if TYPE_CHECKING:
    from anabranch.network.topologies import Topology

_SUFFIXES: dict[str, tuple[Any, Callable[[str], float]]] = {
    "_bps": (Rate, units.rate),
    "_s": (PositiveDuration, lambda text: units.duration(text) / units.PICOSECONDS_PER_SECOND),
    "_m": (Length, lambda text: float(units.length(text))),
}
"""The unit at the end of a parameter's name, the type of the key without it, and the way from one to the other."""


def _oversubscription(value: Any) -> Any:
    """A number of ``3:1``, as network engineers write it."""
    if not isinstance(value, str):
        return value
    down, colon, up = value.partition(":")
    try:
        if colon and float(up) > 0:
            return float(down) / float(up)
    except ValueError:
        pass
    raise ValueError('must be a ratio such as 3 or "3:1": the rate of a leaf\'s host links to that of its uplinks')


_Oversubscription = Annotated[
    float,
    Field(gt=0, allow_inf_nan=False),
    BeforeValidator(_oversubscription),
    WithJsonSchema({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "examples": ["3:1"]}]}),
]
_TYPES: dict[str, Any] = {
    "loss": Ratio,
    "alpha": Probability,
    "beta": Probability,
    "oversubscription": _Oversubscription,
}
"""The types of numbers without a unit; all others are counts."""


class GeneratedTopology(NamedTable):
    """A topology made by rule."""

    key = "kind"
    what = "a generator"
    names = tuple(GENERATORS)
    convert: ClassVar[dict[str, tuple[str, Callable[[Any], Any]]]] = {}
    kind: str

    @classmethod
    def named(cls, name: str) -> type[Self]:
        """The table of a generator."""
        return _model(name)

    def make(self) -> "Topology":
        """The topology; :class:`ValueError` says what the generator refuses."""
        arguments = {}
        for key in self.model_fields_set - {"kind"}:
            parameter, convert = self.convert[key]
            arguments[parameter] = convert(getattr(self, key))
        return GENERATORS[self.kind](**arguments)


@cache
def _model(kind: str) -> type[Any]:
    generator = GENERATORS[kind]
    fields: dict[str, Any] = {"kind": (Literal[kind], ...)}
    conversions: dict[str, tuple[str, Callable[[Any], Any]]] = {}
    for name, parameter in inspect.signature(generator).parameters.items():
        suffix = next((suffix for suffix in _SUFFIXES if name.endswith(suffix)), "")
        key = name.removesuffix(suffix)
        kind_of_value, convert = _SUFFIXES.get(suffix, (_TYPES.get(key, Count), _same))
        if kind_of_value is PositiveDuration and parameter.default == 0:
            kind_of_value = Duration  # what is nothing by default may be given as nothing
        several = key == "delays"
        if several:
            kind_of_value = Annotated[list[kind_of_value], Field(min_length=1)]  # type: ignore[valid-type]
        default = _shown(parameter.default, suffix)
        fields[key] = (kind_of_value | None, Field(None, json_schema_extra={"default": default}))
        conversions[key] = (name, partial(_each, convert) if several else convert)
    title = "".join(word.capitalize() for word in kind.split("-"))
    model = create_model(title, __base__=GeneratedTopology, __doc__=inspect.getdoc(generator), **fields)
    model.convert, model.names = conversions, ()
    return model


def _shown(default: Any, suffix: str) -> Any:
    """The default of a generator's parameter as a scenario would write it, for the schema."""
    if default is None or not suffix:
        return default
    if suffix == "_s":
        return units.format_duration(round(default * units.PICOSECONDS_PER_SECOND))
    if suffix == "_m":
        return f"{default / 1000:g}km"
    scale, prefix = next((pair for pair in ((10**9, "G"), (10**6, "M"), (10**3, "k")) if default >= pair[0]), (1, ""))
    return f"{default / scale:g}{prefix}bps"


def _same(value: Any) -> Any:
    return value


def _each(convert: Callable[[Any], Any], values: list[Any]) -> list[Any]:
    return [convert(value) for value in values]
