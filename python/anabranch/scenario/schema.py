"""The JSON Schema of scenarios, for editors."""

from typing import Any

from pydantic import BaseModel


def json_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of a model, in which a list may stand for every value that is not a list itself (the matrix)."""
    schema = model.model_json_schema(by_alias=True)
    definitions = schema.get("$defs", {})
    for table in (schema, *definitions.values()):
        for key, value in table.get("properties", {}).items():
            if "const" not in value and not _takes_list(value, definitions):
                table["properties"][key] = _or_list(value)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Anabranch scenario"
    return schema


def _or_list(value: dict[str, Any]) -> dict[str, Any]:
    outer = {key: value[key] for key in ("description", "default", "title") if key in value}
    inner = {key: item for key, item in value.items() if key not in outer}
    return outer | {"anyOf": [inner, {"type": "array", "minItems": 1, "items": inner}]}


def _takes_list(value: dict[str, Any], definitions: dict[str, Any]) -> bool:
    if value.get("type") == "array":
        return True
    if "$ref" in value:
        return _takes_list(definitions[value["$ref"].rsplit("/", 1)[1]], definitions)
    return any(_takes_list(item, definitions) for key in ("anyOf", "oneOf") for item in value.get(key, []))
