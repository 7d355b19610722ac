"""All problems of a scenario at once, each with its place, its value and a correct value."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from anabranch.foundation.toml_text import Path, format_path, line_numbers

MISSING = object()
"""The value of a problem that is about an absent key."""
INNER = "inner"
"""An error of pydantic of this type has another :class:`ValidationError` under this name: that of a table inside."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong: where, what stands there, and what would be right."""

    path: Path
    message: str
    value: object = MISSING

    def describe(self) -> str:
        """One line without the file: key path, value, message."""
        place, message = _cut(format_path(self.path)), _cut(self.message, 500)
        if self.value is MISSING:
            return f"{place}: {message}" if place else message
        return f"{place} = {shorten(self.value)}: {message}"


class Listing:
    """Problems of one file, in the order of their lines."""

    def __init__(self, problems: Sequence[Problem], source: str, text: str | None = None) -> None:
        """``source`` is the name of the file; its text, where it is known, tells the lines."""
        self.source = source
        numbers = line_numbers(text) if text is not None else {}
        self.problems = sorted(problems, key=lambda problem: _line(problem.path, numbers) or 0)
        self.lines = [_line(problem.path, numbers) for problem in self.problems]

    def describe(self) -> list[str]:
        """A line for each: file, line, key path, value, message."""
        places = (self.source if line is None else f"{self.source}:{line}" for line in self.lines)
        return [f"{place}: {problem.describe()}" for place, problem in zip(places, self.problems, strict=True)]

    def as_records(self) -> list[dict[str, Any]]:
        """The problems as plain data: file, line, field, value, message."""
        return [
            {
                "file": self.source,
                "line": line,
                "field": format_path(problem.path),
                "value": None if problem.value is MISSING else problem.value,
                "message": problem.message,
            }
            for problem, line in zip(self.problems, self.lines, strict=True)
        ]


class ScenarioError(ValueError):
    """A scenario that cannot run; :attr:`listing` and :attr:`problems` hold all that is wrong with it."""

    def __init__(self, problems: Sequence[Problem], source: str = "scenario", text: str | None = None) -> None:
        """The text tells the lines of the problems."""
        self.listing = Listing(problems, source, text)
        self.problems = self.listing.problems
        super().__init__("\n".join(self.listing.describe()))

    def as_records(self) -> list[dict[str, Any]]:
        """The problems as plain data: file, line, field, value, message."""
        return self.listing.as_records()


def from_validation(error: ValidationError, document: Mapping[str, Any], base: Path = ()) -> list[Problem]:
    """The errors of pydantic as problems."""
    problems = []
    for detail in _details(error):
        absent = detail["type"] == "missing"
        path = _document_path(detail["loc"], document, absent)
        if absent:
            problems.append(Problem((*base, *path), "is missing"))
            continue
        message = _message(detail)
        if detail["type"] == "list_type" and isinstance(detail["input"], Mapping):
            message += f"; begin each of its tables with [[{format_path(path)}]]"
        problems.append(Problem((*base, *path), message, detail["input"] if path else MISSING))
    return problems


def _details(error: ValidationError, location: tuple[str | int, ...] = ()) -> Iterator[Any]:
    for detail in error.errors(include_url=False):
        place = location + detail["loc"]
        if detail["type"] == INNER:
            yield from _details(detail["ctx"][INNER], place)
        else:
            yield detail | {"loc": place}


def _line(path: Path, lines: dict[Path, int]) -> int | None:
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None


def _document_path(location: tuple[str | int, ...], document: Any, absent: bool) -> Path:
    """pydantic's location without the names of the union members it went through; the last key may be ``absent``."""
    path: list[str | int] = []
    here = document
    for position, part in enumerate(location):
        last = position == len(location) - 1
        inside = (isinstance(here, Mapping) and part in here) or (
            isinstance(here, list) and isinstance(part, int) and part < len(here)
        )
        if inside:
            here = here[part]
        elif not (last and absent):
            continue
        path.append(part)
    return tuple(path)


def _message(detail: Any) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind == "literal_error":
        return _one_of(context["expected"], detail["input"])
    if kind in ("too_short", "too_long"):
        bound = f"at least {context['min_length']}" if kind == "too_short" else f"at most {context['max_length']}"
        return f"must have {bound} entries, not {context['actual_length']}"
    if kind == "extra_forbidden":
        return "unknown key; this table has none of this name"
    if kind in _KINDS:
        return f"must be {_KINDS[kind]}"
    message = (
        str(detail["msg"]).replace("less than or equal to", "at most").replace("greater than or equal to", "at least")
    )
    return message.replace("Input should be", "must be")


_KINDS = {
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "a text",
    "string_too_short": "a text that is not empty",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
}
"""The values that pydantic requires in its errors of these types."""


def _one_of(expected: str, value: object) -> str:
    """The values that a literal allows, from pydantic's ``'a', 'b' or 'c'``."""
    allowed = re.findall(r"'([^']*)'", expected)
    if not allowed:
        return f"must be {expected.lower()}"
    close = get_close_matches(value, allowed, n=1) if isinstance(value, str) else []
    shown = ", ".join(f'"{text}"' for text in allowed)
    hint = f'; did you mean "{close[0]}"?' if close else ""
    return (f"must be one of {shown}" if len(allowed) > 1 else f"must be {shown}") + hint


def shorten(value: object) -> str:
    """A value as messages show it: JSON of at most 80 characters."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = str(value)
    return _cut(text)


def _cut(text: str, longest: int = 80) -> str:
    return text if len(text) <= longest else text[: longest - 3] + "..."
