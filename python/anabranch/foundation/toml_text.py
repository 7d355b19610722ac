"""TOML texts: parsed, with the name and the lines of a key that appears twice, and the line of every key."""

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple

Path = tuple[str | int, ...]
"""Keys and indexes from the root of the document."""

MOST_PARTS = 100
"""Parts of a dotted key."""
LONGEST_WORD = 60
"""Characters of a wrong value in a message."""

_CLASHES = ("Cannot overwrite", "Cannot declare", "Cannot mutate", "Duplicate inline")
"""How tomllib's messages about keys that clash begin; it does not always name the key."""


class TomlError(ValueError):
    """A text that is not TOML."""


def parse(text: str) -> dict[str, Any]:
    """The document.

    Raises:
        TomlError: says what is wrong, and in which line.
    """
    if long := _LONG_KEY.search(text):  # tomllib's time grows with the square of the parts
        line = text.count("\n", 0, long.start()) + 1
        raise TomlError(f"is nested too deep: line {line} has a key of more than {MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise TomlError("is nested too deep") from None
    except ValueError as error:  # also an integer of more digits than Python converts
        clash = _clash(text) if str(error).startswith(_CLASHES) else None
        raise TomlError(f"is not TOML: {clash or f'{error}{_remedy(text, str(error))}'}") from None


def _remedy(text: str, error: str) -> str:
    """What to write instead of a value that TOML does not have, such as ``True`` or ``10s``."""
    place = re.search(r"\(at line (\d+), column (\d+)\)", error)
    if place is None or not error.startswith(("Invalid value", "Expected newline or end of document")):
        return ""
    line, column = text.split("\n")[int(place[1]) - 1], int(place[2]) - 1
    key = _KEY.match(line)
    word = re.match(
        r"[^\s,\]}#=\"'\[{]*",
        line[max(column, 0) :] if error.startswith("I") else line[key.end() :].strip() if key else "",
    )
    if word is None or not word[0]:
        return ""
    shown = word[0] if len(word[0]) <= LONGEST_WORD else word[0][: LONGEST_WORD - 3] + "..."
    name = f"{key['keys']} = " if key else ""
    if word[0].lower() in ("true", "false"):
        return f": {name}{shown}; write {word[0].lower()}"
    if word[0].lower() in ("none", "null", "nil"):
        return f": {name}{shown}; TOML has no such value, so leave the key out"
    return f': {name}{shown}; a text needs quotation marks: "{shown}"'


def line_numbers(text: str) -> dict[Path, int]:
    """The line of each table header and each key that begins a line."""
    lines: dict[Path, int] = {}
    for table, path, line, _ in _statements(text):
        for length in range(len(table) + 1, len(path) + 1):
            lines.setdefault(path[:length], line)
    return lines


def format_path(path: Path) -> str:
    """A key path as a reader would write it: ``traffic[0].stack``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            key = part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else json.dumps(part, ensure_ascii=False)
            text += f".{key}" if text else key
    return text


class _Statement(NamedTuple):
    """The header of a table, or a key and its value."""

    table: Path
    """The table in which a key stands; for a header the table above, which need not have one."""
    path: Path
    line: int
    is_header: bool


def _clash(text: str) -> str | None:
    """The first key that stands twice, or has both a value and keys below it, and the two lines."""
    values: dict[Path, int] = {}
    declared: dict[Path, int] = {}
    tables: dict[Path, int] = {}
    for table, path, line, is_header in _statements(text):
        above = [path[:length] for length in range(1, len(path))]
        earlier = next(((values[one], one) for one in [*above, path] if one in values), None)
        other = declared if is_header else tables
        if earlier is None and path in other:
            earlier = other[path], path
        if earlier is not None:
            return f"{format_path(earlier[1])} appears twice, in lines {earlier[0]} and {line}; keep one"
        for one in above:
            tables.setdefault(one, line)
            if not is_header and len(one) > len(table):
                declared.setdefault(one, line)
        if is_header:
            declared[path] = line
            tables.setdefault(path, line)
        else:
            values[path] = line
    return None


def _statements(text: str) -> Iterator[_Statement]:
    table: Path = ()
    counts: dict[Path, int] = {}
    depth = 0
    fence = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if fence:  # inside a text of several lines
            _, fence_found, rest = line.partition(fence)
            fence = "" if fence_found else fence
        elif depth == 0 and (header := _HEADER.match(line)):
            table = _resolve(_keys(header["keys"]), counts, append=header["open"] == "[[")
            yield _Statement(table[:-1], table, number, is_header=True)
            continue
        else:
            rest = line
            if depth == 0 and (key := _KEY.match(line)):
                yield _Statement(table, table + _keys(key["keys"]), number, is_header=False)
        for token in _TOKEN.findall(rest):
            if token.startswith("#"):
                break
            if token in _FENCES:
                fence = token
                break
            depth = max(0, depth + (token in "[{") - (token in "]}"))


_PART = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_KEYS = rf"(?P<keys>{_PART}(?:\s*\.\s*{_PART})*)"
_LONG_KEY = re.compile(
    r"""(?<![A-Za-z0-9_-])(?:(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+)"""
    rf"{{{MOST_PARTS}}}"
)
_HEADER = re.compile(rf"\s*(?P<open>\[\[?)\s*{_KEYS}\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(rf"\s*{_KEYS}\s*=")
_FENCES = ('"""', "'''")
_TOKEN = re.compile(r"""\"{3}(?:\\.|[^\\])*?\"{3}|'{3}.*?'{3}|\"{3}|'{3}|\"(?:[^\"\\]|\\.)*\"|'[^']*'|\#.*|[\[\]{}]""")


def _keys(text: str) -> Path:
    parsed: Any = tomllib.loads(f"{text} = 0")
    keys: list[str] = []
    while isinstance(parsed, dict):
        keys.append(next(iter(parsed)))
        parsed = parsed[keys[-1]]
    return tuple(keys)


def _resolve(keys: Path, counts: dict[Path, int], append: bool) -> Path:
    """The path of a header: tables inside an array of tables belong to its latest entry."""
    path: Path = ()
    for position, key in enumerate(keys):
        path = (*path, key)
        if append and position == len(keys) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path
