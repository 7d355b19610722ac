"""Tables of several kinds that one key tells apart, such as algorithms: each kind becomes a model when a scenario first names it."""

from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError, core_schema

from anabranch.foundation.suggest import suggest
from anabranch.scenario.problems import INNER
from anabranch.scenario.table import Table, union


class NamedTable(Table):
    """The base of such tables, and their type in other tables. A name alone stands for the table with its defaults."""

    key: ClassVar[str] = "name"
    """The key that tells the tables apart."""
    what: ClassVar[str]
    """The noun for these tables in messages."""
    default: ClassVar[str | None] = None
    """The name of a table without one."""
    names: ClassVar[tuple[str, ...]] = ()
    """The names there are; empty for one of the tables."""

    @classmethod
    def named(cls, name: str) -> type[Self]:
        """The table of this name, one of ``names``; the same at each call. A table made by it has no ``names``."""
        raise NotImplementedError

    @classmethod
    def named_by(cls, value: Any) -> tuple[type[Self], ...]:
        """The tables that a table of a document can be: the one that it names, or the default if it has no name; otherwise all."""
        name = value.get(cls.key, cls.default)
        return tuple(map(cls.named, [name] if isinstance(name, str) and name in cls.names else cls.names))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Look up the table when there is a value."""
        return core_schema.with_info_plain_validator_function(cls._chosen) if cls.names else handler(source)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> Any:
        """A name or one of the tables."""
        if not cls.names:
            return handler(schema)
        tables = union(map(cls.named, cls.names))
        if len(cls.names) > 1:
            tables = Annotated[tables, Field(discriminator=cls.key)]
        return {"anyOf": [{"type": "string", "enum": list(cls.names)}, handler(TypeAdapter(tables).core_schema)]}

    @classmethod
    def _chosen(cls, value: Any, info: Any) -> Any:
        if isinstance(value, BaseModel):
            return value
        table = {cls.key: value} if isinstance(value, str) else value
        if not isinstance(table, dict):
            raise ValueError(f"must be the name of {cls.what} or a table with {cls.key}")
        name = table.get(cls.key, cls.default)
        if name is None:
            raise ValueError(f"the table needs {cls.key}: one of {', '.join(cls.names)}")
        if name not in cls.names:
            raise ValueError(f'"{name}" is not {cls.what}; {suggest(str(name), cls.names)}')
        try:
            return cls.named(name).model_validate({cls.key: name} | table, context=info.context)
        except ValidationError as error:
            raise PydanticCustomError(INNER, "has problems", {INNER: error}) from None
