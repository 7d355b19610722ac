"""Other values at some keys of a scenario's text, which keeps its layout and comments."""

import re
from collections.abc import Mapping
from typing import Any

import tomlkit

from anabranch.foundation.toml_text import Path, TomlError, format_path, parse
from anabranch.scenario import walk
from anabranch.scenario.problems import Problem, ScenarioError
from anabranch.scenario.variant import Variant

_STEP = re.compile(r"""\.?(?:([A-Za-z0-9_-]+)|"([^"]+)"|\[(\d+)\])""")


def with_values(text: str, settings: Mapping[str, Any], source: str) -> str:
    """The text of a scenario with other values at some keys.

    Raises:
        ScenarioError: a key is not one, or leads nowhere.
    """
    document = tomlkit.parse(text)
    for key, value in settings.items():
        put(document, key, _value(value), source)
    return tomlkit.dumps(document)


def put(document: Any, key: str, value: Any, source: str) -> Path:
    """Set a key of a document, with the tables on the way to it; the path of the key.

    A name on the way that stands for a table, such as ``"codel"``, becomes the table.

    Raises:
        ScenarioError: the key is not one, or leads nowhere.
    """
    steps: list[str | int] = []
    position = 0
    while position < len(key):
        match = _STEP.match(key, position)
        if match is None:
            raise ScenarioError(
                [Problem((), f'"{key}" is not a key path such as run.duration or traffic[0].stack')], source
            )
        plain, quoted, index = match.groups()
        steps.append(int(index) if index is not None else quoted or plain)
        position = match.end()
    here = document
    for depth, step in enumerate(steps):
        if isinstance(here, list) and isinstance(step, str) and step.isdigit():
            step = steps[depth] = int(step)
        last = depth == len(steps) - 1
        try:
            if last:
                here[step] = value
                return tuple(steps)
            name = walk.name_key(Variant, tuple(steps[: depth + 1]))
            # Keys that follow the header of a table would be its own, so that only a new section gets one.
            table: Any = {} if here is document or type(here) in (dict, list) else tomlkit.inline_table()
            if isinstance(here, Mapping) and step not in here:
                here[step] = table  # type: ignore[index]
            elif name is not None and isinstance(here[step], str):
                table[name] = str(here[step])
                here[step] = table
            here = here[step]
        except (KeyError, IndexError, TypeError):
            place = format_path(tuple(steps[:depth])) or "the scenario"
            raise ScenarioError([Problem((), f'cannot set "{key}": {place} has no {step}')], source) from None
    raise ScenarioError([Problem((), "a key is empty; give one such as run.duration")], source)


def _value(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parse(f"value = {value}")["value"]
    except TomlError:
        return value
