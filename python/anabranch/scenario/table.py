"""The base of all tables of a scenario: no unknown keys, no coercion, unit strings kept as written."""

import functools
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, WithJsonSchema

from anabranch.foundation import units


class Table(BaseModel):
    """A table that refuses unknown keys and values of another type."""

    # Validators are built when the first scenario is validated, not on import. So defaults are made by `model_construct`.
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, validate_default=False, serialize_by_alias=True, defer_build=True
    )
    replaced: ClassVar[Mapping[str, str]] = {}
    """Keys of earlier versions, and what to write instead."""


class TextUnit:
    """Marks a text field that holds a number with its unit."""

    def __init__(
        self, parse: Callable[[str], Any], positive: bool = False, least: tuple[int, str] | None = None
    ) -> None:
        """Keep the parser; ``positive`` refuses zero, ``least`` a smaller value, with its text."""
        self._parse = parse
        self._positive = positive
        self._least = least

    def __call__(self, value: Any) -> Any:
        """Refuse what the parser refuses; the text stays as it is written."""
        parsed = self._parse(value)
        if self._positive and parsed == 0:
            raise ValueError("must be greater than zero")
        if self._least is not None and parsed < self._least[0]:
            raise ValueError(f'must be at least "{self._least[1]}"')
        return value


def _unit(example: str, description: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "description": description, "examples": [example]})


Duration = Annotated[str, BeforeValidator(TextUnit(units.duration)), _unit("10ms", "a duration")]
PositiveDuration = Annotated[
    str, BeforeValidator(TextUnit(units.duration, True)), _unit("10ms", "a duration above zero")
]
Rate = Annotated[str, BeforeValidator(TextUnit(units.rate, True)), _unit("10Mbps", "a rate")]
LinkRate = Annotated[str, BeforeValidator(TextUnit(units.rate, least=(1000, "1kbps"))), _unit("10Mbps", "a rate")]
Size = Annotated[str, BeforeValidator(TextUnit(units.size, True)), _unit("3 MB", "a size in bytes")]
Packets = Annotated[str, BeforeValidator(TextUnit(units.packets, True)), _unit("10 packets", "a number of packets")]
Length = Annotated[str, BeforeValidator(TextUnit(units.length)), _unit("1000km", "a length")]
Speed = Annotated[str, BeforeValidator(TextUnit(units.speed, True)), _unit("2e8 m/s", "a speed")]
Frequency = Annotated[str, BeforeValidator(TextUnit(units.frequency, True)), _unit("100/s", "events in a time")]


class _OrPercentage:
    """Lets a share be a text in per cent as well as a number."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Make a number of the text before its range is checked."""
        from pydantic_core import core_schema

        def number(value: Any) -> Any:
            if isinstance(value, int | float):
                return units.at_most_one(value, value)
            return units.percentage(value) if isinstance(value, str) else value

        return core_schema.no_info_before_validator_function(number, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        """A number or such a text."""
        return {"anyOf": [handler(schema), {"type": "string", "pattern": "%$", "examples": ["1%"]}]}


Ratio = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False), _OrPercentage()]
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False), _OrPercentage()]
Excess = Annotated[float, Field(ge=0, allow_inf_nan=False), _OrPercentage()]
Count = Annotated[int, Field(ge=1, le=2**32 - 1)]


def _two_ends(value: Any) -> Any:
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(end, str) for end in value):
        raise ValueError('must be the two ends of a link, such as ["Denver", "Kansas City"]')
    return value


LinkName = Annotated[list[str], Field(min_length=2, max_length=2), BeforeValidator(_two_ends)]
"""The names of a link's two ends."""


def value_kind(value: Any) -> str | None:
    """The kind of a value: ``<text>``, ``<number>``, ``<list>`` or ``<table>``."""
    if isinstance(value, str):
        return "<text>"
    if isinstance(value, list):
        return "<list>"
    if isinstance(value, dict | BaseModel):
        return "<table>"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "<number>"
    return None


def by_kind(expected: str, kind: Callable[[Any], str | None] = value_kind) -> Discriminator:
    """Tells the members of a union, tagged with their kind, apart; ``expected`` is what the message offers."""
    return Discriminator(kind, custom_error_type="kind", custom_error_message=f"must be {expected}")


def union(members: Iterable[Any]) -> Any:
    """The union of types that are only known at run time."""
    return functools.reduce(operator.or_, members)
