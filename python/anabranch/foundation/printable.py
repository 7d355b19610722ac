"""Texts of files and names for a terminal: no character of them controls it."""

import re
from collections.abc import Mapping
from typing import Any

_TERMINAL = "\x00-\x1f\x7f-\x9f"
"""C0 and C1 controls (ECMA-48): they move the cursor, change colours, or write into the terminal's input."""
_DIRECTION = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Controls of the direction of writing (Unicode, UAX 9): they show a text in another order than it has."""
_LINES = "\u2028\u2029"
_CONTROLS = re.compile(f"[{_TERMINAL}{_DIRECTION}{_LINES}]")
_BETWEEN_LINES = re.compile(f"(?![\n\t])[{_TERMINAL}{_DIRECTION}{_LINES}]")


def printable(text: str) -> str:
    """Lines of text whose control characters are written as Python writes them in a literal, such as ``\\x1b``. Tabs and ends of lines stay."""
    return _BETWEEN_LINES.sub(_escape, text)


def printable_line(text: str) -> str:
    """As :func:`printable`, in one line and without tabs."""
    return _CONTROLS.sub(_escape, text)


def printable_json(text: str) -> str:
    """A JSON text with JSON's escapes for control characters: the same document."""
    return _BETWEEN_LINES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def printable_document(value: Any) -> Any:
    """A document of JSON's types, each text as :func:`printable` has it."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {printable_document(key): printable_document(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [printable_document(one) for one in value]
    return value


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
