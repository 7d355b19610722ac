"""The document against the models: which keys exist nowhere, and where a list stands for a matrix.

The rule of matrices: a list at a key that takes one value makes a variant of the scenario for each item.
"""

import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from anabranch.foundation import units
from anabranch.foundation.suggest import suggest
from anabranch.foundation.toml_text import Path, format_path
from anabranch.scenario.named_tables import NamedTable
from anabranch.scenario.problems import MISSING, Problem, shorten
from anabranch.scenario.table import Table, union

MOST_VARIANTS = 10_000


@dataclass(frozen=True)
class MatrixList:
    """A list where one value stands."""

    path: Path
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Dimension:
    """One key of the matrix: its name, and the places that take the same value."""

    name: str
    paths: tuple[Path, ...]
    values: tuple[Any, ...]

    @property
    def is_treatment(self) -> bool:
        """Whether its values are stacks or routings, or settings of these."""
        return all(path[0] in ("stacks", "routing") or path[-1] in ("stack", "routing") for path in self.paths)


def deeper_than(most: int, document: object) -> bool:
    """Whether more tables and lists than these stand inside one another."""
    level: list[Any] = [document]
    for _ in range(most + 1):
        opened = [value.values() if isinstance(value, Mapping) else value for value in level]
        level = [item for values in opened for item in values if isinstance(item, Mapping | list)]
    return bool(level)


def examine(document: object, model: type[BaseModel]) -> tuple[list[Problem], list[MatrixList]]:
    """The unknown keys and the matrix lists of a document."""
    problems: list[Problem] = []
    sweeps: list[MatrixList] = []
    for found in _examine(document, _shape(model), ()):
        if isinstance(found, Problem):
            problems.append(found)
        else:
            sweeps.append(found)
    return problems, sweeps


def dimensions(sweeps: list[MatrixList]) -> list[Dimension]:
    """The keys of the matrix: equal lists at the same key of several array entries vary together."""
    groups: dict[tuple[Path, str], list[MatrixList]] = {}
    for sweep in sweeps:
        key = tuple(part for part in sweep.path if not isinstance(part, int))
        groups.setdefault((key, repr(sweep.values)), []).append(sweep)
    paths = [tuple(sweep.path for sweep in group) for group in groups.values()]
    names = short_names([group[0] if len(group) == 1 else _common(group) for group in paths])
    values = [group[0].values for group in groups.values()]
    return [Dimension(*parts) for parts in zip(names, paths, values, strict=True)]


def combinations(matrix: list[Dimension]) -> list[tuple[Any, ...]]:
    """One value for each dimension, the last varying fastest; a single empty one without a matrix."""
    return list(itertools.product(*(dimension.values for dimension in matrix)))


def count(matrix: list[Dimension]) -> int:
    """How many combinations there are."""
    total = 1
    for dimension in matrix:
        total *= len(dimension.values)
    return total


def multiplied(matrix: list[Dimension]) -> Iterator[Problem]:
    """Lists of different lengths at one key of several entries: they multiply, where equal ones vary together."""
    first: dict[Path, Dimension] = {}
    for dimension in matrix:
        path = dimension.paths[0]
        other = first.setdefault(tuple(part for part in path if not isinstance(part, int)), dimension)
        if len(other.values) != len(dimension.values):
            message = (
                f"has {len(dimension.values)} values and {format_path(other.paths[0])} has {len(other.values)}, so the two lists "
                "multiply; give both the same values for them to vary together"
            )
            yield Problem(path, message, list(dimension.values))


def repeated(matrix: list[Dimension]) -> Iterator[Problem]:
    """Lists with equal values: their runs would be the same, and count as independent."""
    for dimension in matrix:
        try:
            require_distinct(dimension.values)
        except ValueError as error:
            yield Problem(dimension.paths[0], str(error), list(dimension.values))


def require_distinct(values: Sequence[Any]) -> None:
    """Check values that runs differ by.

    Raises:
        ValueError: two of them mean the same, such as ``0.01`` and ``"1%"``.
    """
    first: dict[Hashable, Any] = {}
    for value in values:
        key = meaning(value)
        if key in first:
            raise ValueError(
                f"values must differ from each other; {shorten(first[key])} and {shorten(value)} are equal"
            )
        first[key] = value


def meaning(value: Any) -> Hashable:
    """A key that is the same for values of the same meaning, however they are written; a table of one name is the name."""
    if isinstance(value, str):
        return units.meaning(value)
    if isinstance(value, Mapping):
        items = {key: meaning(item) for key, item in value.items()}
        only = next(iter(items.values()), None)
        return only if len(items) == 1 and isinstance(only, str) else frozenset(items.items())
    return tuple(map(meaning, value)) if isinstance(value, list | tuple) else value


def substitute(document: Any, values: Mapping[Path, Any], here: Path = ()) -> Any:
    """The document, or a copy with other values at some paths."""
    if not values:
        return document
    if here in values:
        return values[here]
    if isinstance(document, Mapping):
        return {key: substitute(value, values, (*here, key)) for key, value in document.items()}
    if isinstance(document, list):
        return [substitute(value, values, (*here, index)) for index, value in enumerate(document)]
    return document


def without(document: Any, paths: frozenset[Path], here: Path = ()) -> Any:
    """The document, or a copy without the keys at some paths; entries of lists stay, so that others keep their index."""
    if not paths:
        return document
    if isinstance(document, Mapping):
        kept = {key: value for key, value in document.items() if (*here, key) not in paths}
        return {key: without(value, paths, (*here, key)) for key, value in kept.items()}
    if isinstance(document, list):
        return [without(value, paths, (*here, index)) for index, value in enumerate(document)]
    return document


@dataclass(frozen=True)
class _Shape:
    """The values that a type allows."""

    members: tuple[Any, ...]
    items: Any | None
    """The type of a list's items, if it may be a list."""
    entries: Any | None
    """The type of a free table's values, if it may be such a table."""
    models: tuple[type[BaseModel], ...]


def _examine(value: Any, shape: _Shape, path: Path) -> Iterator[Problem | MatrixList]:
    if isinstance(value, list):
        if shape.items is not None:
            items = _shape(shape.items)
            for index, item in enumerate(value):
                if isinstance(item, list | Mapping):
                    yield from _examine(item, items, (*path, index))
        elif shape.members and Any not in shape.members:
            if value:
                yield MatrixList(path, tuple(value))
            else:
                yield Problem(path, "a list here makes a matrix and needs at least one value", value)
            for index, item in enumerate(value):
                for found in _examine(item, shape, (*path, index)):
                    if isinstance(found, Problem):
                        yield found
                    else:
                        yield Problem(
                            found.path, "a matrix inside a matrix; use one list or the other", list(found.values)
                        )
    elif isinstance(value, Mapping):
        yield from _examine_table(value, shape, path)


def _examine_table(value: Mapping[str, Any], shape: _Shape, path: Path) -> Iterator[Problem | MatrixList]:
    possible = [named for model in shape.models for named in _tables(model, value)]
    models = tuple(model for model in possible if _selected(model, value)) or tuple(possible)
    models = tuple(model for model in models if _required(model) <= value.keys()) or models
    fields = _fields(models)
    for key, item in value.items():
        if key not in fields and shape.entries is None:
            replaced = [model.replaced[key] for model in models if issubclass(model, Table) and key in model.replaced]
            if replaced:
                yield Problem((*path, key), replaced[0], item)
            elif models:
                hint = _owners(str(key), shape, value) or suggest(str(key), fields)
                yield Problem((*path, key), f"unknown key; {hint}", MISSING)
        elif isinstance(item, list | Mapping):
            yield from _examine(item, _shape(fields.get(key, shape.entries)), (*path, key))


def _owners(key: str, shape: _Shape, value: Mapping[str, Any]) -> str | None:
    """The names that a table without a name would need for this key."""
    for model in shape.models:
        if issubclass(model, NamedTable) and model.default is not None and model.key not in value:
            owners = [f'"{name}"' for name in model.names if key in _fields((model.named(name),))]
            if owners:
                return f'"{model.default}", the default, has none; give {model.key} = {" or ".join(owners)}'
    return None


def name_key(model: type[BaseModel], path: Path) -> str | None:
    """The key of the table at a path for which a name alone can stand, such as ``discipline`` of a queue; ``None`` if none can."""
    shape = _shape_at(model, path)
    models = () if shape is None else shape.models
    return next((one.key for one in models if issubclass(one, NamedTable) and one.names), None)


def keys_of(model: type[BaseModel], path: Path) -> frozenset[str]:
    """The keys that a table at a path can have."""
    shape = _shape_at(model, path)
    return frozenset() if shape is None else frozenset(_fields(_all(shape)))


def _shape_at(model: type[BaseModel], path: Path) -> "_Shape | None":
    shape = _shape(model)
    for part in path:
        if isinstance(part, int):
            annotation = shape.items or union(shape.members)  # else a value of a matrix
        else:
            annotation = _fields(_all(shape)).get(part, shape.entries)
        if annotation is None:
            return None
        shape = _shape(annotation)
    return shape


def _all(shape: "_Shape") -> tuple[type[BaseModel], ...]:
    return tuple(named for one in shape.models for named in _all_tables(one))


def _tables(model: type[BaseModel], value: Mapping[str, Any]) -> tuple[type[BaseModel], ...]:
    return model.named_by(value) if issubclass(model, NamedTable) and model.names else (model,)


def _all_tables(model: type[BaseModel]) -> tuple[type[BaseModel], ...]:
    return tuple(map(model.named, model.names)) if issubclass(model, NamedTable) and model.names else (model,)


def _selected(model: type[BaseModel], value: Mapping[str, Any]) -> bool:
    """Whether a table with a discriminating key (``name = "cubic"``) can be of this model."""
    found = _discriminator(model)
    return found is None or not isinstance(value.get(found[0]), str) or value[found[0]] in found[1]


@cache
def _required(model: type[BaseModel]) -> frozenset[str]:
    """The keys that a table needs."""
    return frozenset(field.alias or name for name, field in model.model_fields.items() if field.is_required())


@cache
def _discriminator(model: type[BaseModel]) -> tuple[str, tuple[Any, ...]] | None:
    for name, field in model.model_fields.items():
        if field.is_required() and get_origin(field.annotation) is Literal:
            return field.alias or name, get_args(field.annotation)
    return None


@cache
def _fields(models: tuple[type[BaseModel], ...]) -> dict[str, Any]:
    """The types of all keys of some models."""
    fields: dict[str, list[Any]] = {}
    for model in models:
        for name, field in model.model_fields.items():
            fields.setdefault(field.alias or name, []).append(field.annotation)
    return {key: union(annotations) for key, annotations in fields.items()}


@cache
def _shape(annotation: Any) -> _Shape:
    members = tuple(_members(annotation))
    items = [item for member in members if get_origin(member) is list for item in get_args(member)]
    entries = [get_args(member)[1] for member in members if get_origin(member) is dict]
    models = tuple(member for member in members if isinstance(member, type) and issubclass(member, BaseModel))
    return _Shape(members, union(items) if items else None, union(entries) if entries else None, models)


def _members(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) is Annotated:
        yield from _members(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, UnionType):
        for member in get_args(annotation):
            yield from _members(member)
    elif annotation is not NoneType:
        yield annotation


def _common(paths: tuple[Path, ...]) -> Path:
    return tuple(part for part in paths[0] if not isinstance(part, int))


def short_names(paths: list[Path]) -> list[str]:
    """The last key of each path, lengthened to the left where two would be alike."""
    lengths = [1] * len(paths)
    while True:
        names = [_tail(path, length) for path, length in zip(paths, lengths, strict=True)]
        alike = [i for i, name in enumerate(names) if names.count(name) > 1 and lengths[i] < len(paths[i])]
        if not alike:
            return names
        for i in alike:
            lengths[i] += 1


def _tail(path: Path, length: int) -> str:
    while isinstance(path[-length], int):  # an index says nothing without its array
        length += 1
    return format_path(path[-length:])
