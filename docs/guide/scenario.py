"""Writes the reference of the scenario file from its schema: ``python docs/guide/scenario.py``."""

from pathlib import Path
from typing import Any

from pydantic_core import PydanticUndefined

from anabranch.scenario import Variant

HERE = Path(__file__).parent
HEAD = """\
# The scenario file

A scenario is a TOML file. This page lists every section and key; `docs/guide/scenario.py` writes it from the schema.

- A quantity is a text with its unit: `"10ms"`, `"1.5 Mbit/s"`, `"3 MB"`, `"100 packets"`. Durations: `ps`,
  `ns`, `us`, `ms`, `s`, `min`, `h`. Rates: `bps` (or `bit/s`), `kbps`, `Mbps`, `Gbps`, `Tbps`, and bytes as `kB/s`
  and so on. Sizes: `B`, `kB`, `MB`, `GB`, `KiB`, `MiB` and so on.
- A share is a number or a text in per cent: `0.01` or `"1%"`.
- A list at a key that takes one value makes a matrix: one variant of the scenario for each value, and for each
  combination of several such keys. Equal lists at the same key of several `[[traffic]]` entries vary together.
- A name alone stands for a table with its defaults: `queue = "codel"` is `queue = { discipline = "codel" }`.
- What a run gives, column by column, is in [results.md](results.md).
- A key with the default "none" can be left out; one that is **required** cannot.

The smallest scenario is a topology and one traffic group:

```toml
[topology]
from = "topozoo/Abilene"

[[traffic]]
from = "Seattle"
to = "Atlanta"
```

It sends all that Linux's CUBIC can (`stack = "linux-cubic"`, `bulk = true`) over the path that OSPF finds, for 30 s with seed 1.
Links without a capacity have 100 Mbit/s, and queues hold 100 packets, 12 ms at that rate. Links without a delay have that of light in
fibre; one without a length counts as 1000 km. Where several stacks or routings are defined, traffic must name one.

## Warnings

`check` and `run` warn of what can run but may not be meant, with the place and the remedy. The manifest, `--json` and the report keep
the warnings.

- `paths = { disjoint = N }` or `{ shortest = N }` finds fewer than N paths for a pair with traffic. Disjoint paths count from the first
  node with a choice: they may share the links that every path begins or ends with.
- A failure leaves a pair without a path while it has traffic. Without `reconverge` a routing keeps its paths, whatever else is left.
- `min_rto` has no effect, because `rto_granularity` is larger.
- DCTCP runs without ECN, or a queue that may fill on its way does not mark. A queue may fill if the links before it, or a host without a
  narrower link behind, bring more than its link carries.
- Lists at one key of several entries differ in length, such as `stack` of two `[[traffic]]`. They multiply, where equal lists vary
  together. Other lists are meant to multiply: `check` and `run` say of which the variants are, as in `6 variants (3 stack x 2 routing)`.
- A topology changed as it was read, such as parallel links that became one.

A queue that cannot hold a packet that comes to it is refused, as it would drop all of them.
"""


def text() -> str:
    """The page."""
    schema = Variant.model_json_schema(by_alias=True)
    definitions = schema["$defs"]
    parts = [HEAD, "## The file", "", *_table(schema, definitions), ""]
    for name in _in_order(schema, definitions):
        definition = definitions[name]
        parts += [f"## {name}", "", *_summary(definition), *_table(definition, definitions), ""]
    return "\n".join(parts)


def _summary(definition: dict[str, Any]) -> list[str]:
    described = definition.get("description", "")
    return [" ".join(described.replace("``", "`").split()), ""] if described else []


def _in_order(schema: dict[str, Any], definitions: dict[str, Any]) -> list[str]:
    """The tables in the order in which they are met, each section with what is inside it."""
    found: list[str] = []

    def visit(part: Any) -> None:
        if isinstance(part, dict):
            name = str(part.get("$ref", "")).rpartition("/")[2]
            if name and name not in found:
                found.append(name)
                visit(definitions[name])
            for key, value in part.items():
                if key not in ("$defs", "discriminator"):
                    visit(value)
        elif isinstance(part, list):
            for item in part:
                visit(item)

    visit(schema["properties"])
    return found


def _table(definition: dict[str, Any], definitions: dict[str, Any]) -> list[str]:
    required = definition.get("required", [])
    lines = ["| Key | Type | Default | Meaning |", "| --- | --- | --- | --- |"]
    for key, value in definition.get("properties", {}).items():
        default = "**required**" if key in required else _default(value.get("default", PydanticUndefined))
        lines.append(f"| `{key}` | {_type(value, definitions)} | {default} | {_meaning(value)} |")
    return lines


def _default(value: Any) -> str:
    if value is None or value is PydanticUndefined or value in ([], {}):
        return "none"
    if isinstance(value, dict):
        return "`{ " + ", ".join(f"{key} = {_plain(item)}" for key, item in value.items() if item is not None) + " }`"
    return f"`{_plain(value)}`"


def _plain(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def _meaning(value: dict[str, Any]) -> str:
    described = value.get("description", "")
    if not described and "anyOf" in value:
        described = next((item["description"] for item in value["anyOf"] if item.get("description")), "")
    if "const" in value and value.get("type") == "string":
        described = "Chooses this table."
    described = " ".join(described.replace("``", "`").split()).replace("|", "\\|")
    described = described[:1].upper() + described[1:]
    return described if not described or described.endswith(".") else described + "."


def _type(value: dict[str, Any], definitions: dict[str, Any]) -> str:
    """What can stand at a key, as a reader would say it."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[table](#{name.lower()})"
    if "const" in value or "enum" in value:
        return ", ".join(f"`{_plain(item)}`" for item in value.get("enum", [value.get("const")]))
    for key in ("anyOf", "oneOf"):
        if key in value:
            kinds = [_type(item, definitions) for item in value[key] if item.get("type") != "null"]
            return " or ".join(dict.fromkeys(kinds))
    if value.get("type") == "array":
        return f"list of {_type(value['items'], definitions)}"
    if value.get("type") == "object":
        return f"tables by name: {_type(value['additionalProperties'], definitions)}"
    if "examples" in value:
        return f'text such as `"{value["examples"][0]}"`'
    if "allOf" in value:
        return _type(value["allOf"][0], definitions)
    names = {"string": "text", "boolean": "`true`, `false`", "integer": "whole number", "number": "number"}
    return names[value["type"]] + _range(value)


def _range(value: dict[str, Any]) -> str:
    """The bounds of a number."""
    words = (("minimum", "from"), ("exclusiveMinimum", "above"), ("maximum", "to"), ("exclusiveMaximum", "below"))
    bounds = [f"{word} {value[key]}" for key, word in words if key in value]
    return f" {' '.join(bounds)}" if bounds else ""


if __name__ == "__main__":
    (HERE / "scenario.md").write_text(text(), encoding="utf-8")
