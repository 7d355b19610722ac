"""Writes the reference of the scenario file from its schema: ``python docs/guide/scenario.py``."""

from pathlib import Path
from typing import Any

from pydantic_core import PydanticUndefined

from anabranch.scenario import Variant

HERE = Path(__file__).parent
LARGEST = 2**32 - 1
"""A bound that says nothing but how the number is stored."""
SAID_BY_TYPE = (
    "a rate",
    "a duration",
    "a duration above zero",
    "a length",
    "A rate",
    "A duration",
    "A duration above zero",
    "A length",
)
HEAD = """\
# The scenario file

A scenario is a TOML file. `docs/guide/scenario.py` writes this page from the schema.

| value | how it is written |
|---|---|
| quantity | text with a unit: `"10ms"`, `"1.5 Mbit/s"`, `"3 MB"`, `"100 packets"` |
| duration | `ps`, `ns`, `us`, `ms`, `s`, `min`, `h` |
| rate | `bps` (or `bit/s`), `kbps`, `Mbps`, `Gbps`, `Tbps`; bytes as `kB/s` and so on |
| size | `B`, `kB`, `MB`, `GB`, `KiB`, `MiB` and so on |
| share | a number, or a text in per cent: `0.01` or `"1%"` |
| table with its defaults | its name alone: `queue = "codel"` is `queue = { discipline = "codel" }` |

A list at a key that takes one value makes a matrix: one variant of the scenario per value, and per combination of several such keys. Equal
lists at the same key of several `[[traffic]]` entries vary together. The values of a list must differ: `0.01` and `"1%"` are equal. A key with the
default "none" can be left out. A **required** key cannot.
[Results](results.md) lists the columns of the tables that a run writes.

The smallest scenario is a topology and one traffic group:

```toml
[topology]
from = "topozoo/Abilene"

[[traffic]]
from = "Seattle"
to = "Atlanta"
```

It sends bulk data by Linux's CUBIC (`stack = "linux-cubic"`, `bulk = true`) over the path that OSPF finds, for 30 s with seed 1. Links
without a capacity have 100 Mbit/s. Queues hold 100 packets, which is 12 ms at that rate. Links without a delay have that of light in
fibre, and links without a length count as 1000 km. If several stacks or routings are defined, traffic must name one.

## Warnings

`check` and `run` warn of settings that can run but may be mistakes. A warning names the key and the remedy. The manifest, `--json` and the
report keep the warnings. They warn of the following:

- `paths = { disjoint = N }` or `{ shortest = N }` finds fewer than N paths for a pair with traffic. Disjoint paths are counted from the first
  node with a choice. They may share the links on which every path begins or ends.
- A failure leaves a pair with traffic without a path. Without `reconverge` a routing keeps its paths.
- `min_rto` has no effect, because `rto_granularity` is larger.
- `capacity` or `delay` of `[topology]` has no effect, because every link has its own.
- `sample` is longer than the run.
- An event fails a link that is down, or repairs one that is up.
- Later impairments name all links of an earlier one. The latest that names a link holds.
- `mark` or `minimum` of a queue is not below its limit in packets, so it never acts.
- `from = "all"` or `to = "all"` includes nodes that only forward, in generated networks whose nodes are hosts or switches.
- Flows of a `trace`, or behind others by `stagger`, start after the end of the run or after their `stop`, and so never.
- Demands of a `matrix` or of `gravity` are below 1 bit/s. They are left out.
- A key of a stack has no effect beside the others, such as `pacing` with BBR, which always paces.
- Delayed ACKs wait for as long as `min_rto` or longer, so that lone segments of flows that end or pause time out.
- ACKs are delayed beside `fast-rto`, which may take such lone segments for lost.
- FastRTO's `max_rto` is shorter than the round trip of a path, so that each segment there expires before its ACK.
- A round trip takes as long as what is left of the run when a group starts, or longer. Of datagrams, the way there counts.
- A link of a file has a delay of more than a second. A number without unit counts seconds.
- A loss is half of all packets or more, such as `loss = 0.5` where `"0.5%"` was meant.
- Endless flows of a loss-based congestion control meet on a link whose queue is shorter than a tenth of RTT × C / √n, for n flows
  (Appenzeller, Keslassy and McKeown, SIGCOMM 2004). Paced flows, BBR, DCTCP, flows by delay, marking queues with ECN and lossy paths do not count.
- An eBPF program needs what the simulator lacks, shares data among flows, or has a licence that Linux refuses.
- RACK-TLP runs without SACK, which RFC 8985 requires. Stacks that follow Linux then count duplicate ACKs.
- DCTCP runs without ECN, or a queue on its path may fill and does not mark. A queue may fill if earlier links, or a host without a
  slower link, bring more than its link carries.
- Lists at one key of several entries differ in length, such as `stack` of two `[[traffic]]`. Such lists multiply. `check` and `run` print the
  product, as in `6 variants (3 stack x 2 routing)`.
- A topology was changed when read, such as parallel links that became one.

A queue that is too small for a single packet is refused.
"""


def text() -> str:
    """The page."""
    schema = Variant.model_json_schema(by_alias=True)
    definitions = schema["$defs"]
    parts = [HEAD, "## The file", "", *_table(schema, definitions), ""]
    for name in _in_order(schema, definitions):
        definition = definitions[name]
        parts += [f"## {name}", "", *_summary(definition), *_table(definition, definitions), ""]
    return "\n".join(parts).rstrip() + "\n"


def _summary(definition: dict[str, Any]) -> list[str]:
    """The description of the table, and the key that chooses it."""
    described = " ".join(definition.get("description", "").replace("``", "`").split())
    chosen = _chooser(definition)
    lines = [f"`{chosen[0]} = {_plain(chosen[1])}`", ""] if chosen else []
    return [*lines, described, ""] if described else lines


def _chooser(definition: dict[str, Any]) -> tuple[str, str] | None:
    """The key with the one value that tells this table from its alternatives."""
    for key, value in definition.get("properties", {}).items():
        if value.get("type") == "string" and "const" in value:
            return key, value["const"]
    return None


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
    chosen = _chooser(definition)
    rows = {key: value for key, value in definition.get("properties", {}).items() if not chosen or key != chosen[0]}
    if not rows:
        return ["It has no further keys."]
    lines = ["| Key | Type | Default | Meaning |", "| --- | --- | --- | --- |"]
    for key, value in rows.items():
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
    described = " ".join(described.replace("``", "`").split()).replace("|", "\\|")
    if described in SAID_BY_TYPE:
        return ""
    described = described[:1].upper() + described[1:]
    return described if not described or described.endswith(".") else described + "."


def _type(value: dict[str, Any], definitions: dict[str, Any]) -> str:
    """The values that a key allows, in words for a reader."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[table](#{name.lower()})"
    if "const" in value or "enum" in value:
        return ", ".join(f"`{_plain(item)}`" for item in value.get("enum", [value.get("const")]))
    for key in ("anyOf", "oneOf"):
        if key in value:
            return _alternatives([item for item in value[key] if item.get("type") != "null"], definitions)
    if value.get("type") == "array":
        return f"list of {_type(value['items'], definitions)}"
    if value.get("type") == "object":
        return f"tables by name: {_type(value['additionalProperties'], definitions)}"
    if "examples" in value:
        return f'`"{value["examples"][0]}"`'
    if "allOf" in value:
        return _type(value["allOf"][0], definitions)
    names = {"string": "text", "boolean": "boolean", "integer": "whole number", "number": "number"}
    return names[value["type"]] + _range(value)


def _alternatives(items: list[dict[str, Any]], definitions: dict[str, Any]) -> str:
    """The kinds; each name of a table links to it."""
    tables = {}
    for part in (each for item in items for each in (item, *item.get("oneOf", []))):
        name = str(part.get("$ref", "")).rpartition("/")[2]
        chosen = _chooser(definitions[name]) if name else None
        if chosen:
            tables[chosen[1]] = f"[`{_plain(chosen[1])}`](#{name.lower()})"
    named = {word for item in items for word in item.get("enum", [])}
    kinds = []
    for item in items:
        if named and "enum" in item:
            kinds.append(", ".join(tables.get(word, f"`{_plain(word)}`") for word in item["enum"]))
        elif not (named and set(tables) <= named and ("oneOf" in item or _is_chosen(item, definitions))):
            kinds.append(_type(item, definitions))
    return " or ".join(dict.fromkeys(kinds))


def _is_chosen(item: dict[str, Any], definitions: dict[str, Any]) -> bool:
    name = str(item.get("$ref", "")).rpartition("/")[2]
    return bool(name) and _chooser(definitions[name]) is not None


def _range(value: dict[str, Any]) -> str:
    """The bounds of a number."""
    words = (("minimum", "from"), ("exclusiveMinimum", "above"), ("maximum", "to"), ("exclusiveMaximum", "below"))
    bounds = [f"{word} {value[key]:g}" for key, word in words if key in value and value[key] != LARGEST]
    return f" {' '.join(bounds)}" if bounds else ""


if __name__ == "__main__":
    (HERE / "scenario.md").write_text(text(), encoding="utf-8")
