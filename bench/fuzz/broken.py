"""A broken file for each number: a valid one with parts deleted, repeated, swapped, cut off or replaced by what no reader expects."""

import re
from collections.abc import Callable
from random import Random

from bench.fuzz.originals import Original, originals

STRANGE = (
    "", "0", "-1", "1e999", "-1e-999", "1e300", "nan", "NaN", "inf", "-Infinity", "true", "null", "None", "[]", "{}", '""', "''", '"', "'",
    "9" * 30, "9" * 5000, "0x10", "1_000", "1.5", "2.5e0", "1979-05-27", "12:30:00", '"\\ud800"', '"\\u0000"', "\0", "\x1c", "\u2028", "٣",
    "é", "𝔫", "\u202en1", "[" * 40, "{" * 40, "[" * 3000, "{a=" * 300, "<a>" * 60, "[[]]", "#", ";", ",", ",,", "=", "==", ":", "\\", "%", "1%",
    "-5%", "100%", "1e400%", "*", "n*", "all", "hosts", "n9", "10Mbps", "0bps", "1e18Gbps", "5 parsecs", "1ps", "-1ms", "20h", "99h", "3 MB",
    "1 bdp", "1e9 bdp", "0 packets", "4294967296 packets", "1e-30s", "/dev/zero", "../x", ".", "file://x", "a" * 3000, "a." * 800, "&lt;", "&x;",
    "<!DOCTYPE x>", "]]>", "<![CDATA[", "\ufeff", "\r", "\n\n", "\t",
)  # fmt: skip
"""Replacements for a value, a key or anything else."""

LARGEST = 50_000
"""Characters of a text that is changed further: it may grow three hundredfold in a step."""

_TOKEN = re.compile(r'"[^"\n]*"|[\w.+-]+')
_VALUE = re.compile(r'(?<=[=:,>\[ ])\s*("[^"\n]*"|-?[\d.]+(?:e-?\d+)?|true|false|\[[^\[\]\n]*\]|\{[^{}\n]*\})')


def broken(number: int) -> tuple[Original, bytes]:
    """The original that is broken, and what has become of it; the same on every machine."""
    draw = Random(f"broken {number}")
    kinds = originals()
    original = draw.choices(kinds, [kind.weight for kind in kinds])[0]
    text = original.text
    for _ in range(draw.choice([1, 1, 1, 2, 2, 3, 5])):
        if len(text) < LARGEST:
            text = draw.choice(_TEXT_CHANGES)(draw, text)
    data = text.encode("utf-8", "surrogatepass")
    if draw.random() < 0.25:
        data = draw.choice(_BYTE_CHANGES)(draw, data)
    return original, data


def _replace(
    pattern: re.Pattern[str], text_for: Callable[[Random, str, list[str]], str]
) -> Callable[[Random, str], str]:
    def change(draw: Random, text: str) -> str:
        found = list(pattern.finditer(text))
        if not found:
            return text
        match = draw.choice(found)
        return (
            text[: match.start()] + text_for(draw, match.group(), [one.group() for one in found]) + text[match.end() :]
        )

    return change


def _strange(draw: Random, old: str, all_of_them: list[str]) -> str:
    value = draw.choice(STRANGE)
    return f'"{value}"' if old.startswith('"') and draw.random() < 0.5 else value


def _other(draw: Random, old: str, all_of_them: list[str]) -> str:
    return draw.choice(all_of_them)


def _misspelt(draw: Random, old: str, all_of_them: list[str]) -> str:
    place = draw.randrange(len(old))
    return old[:place] + draw.choice(["", old[place] * 2, "x", " "]) + old[place + 1 :]


def _nested(draw: Random, old: str, all_of_them: list[str]) -> str:
    depth = draw.choice([1, 2, 15, 90, 400, 20_000])
    return "[" * depth + old + "]" * depth


def _lines(change: Callable[[Random, list[str]], None]) -> Callable[[Random, str], str]:
    def changed(draw: Random, text: str) -> str:
        lines = text.splitlines(keepends=True) or [""]
        change(draw, lines)
        return "".join(lines)

    return changed


def _delete_line(draw: Random, lines: list[str]) -> None:
    del lines[draw.randrange(len(lines))]


def _repeat_line(draw: Random, lines: list[str]) -> None:
    line = draw.choice(lines)
    lines[draw.randrange(len(lines)) : 0] = [line] * draw.choice([1, 1, 2, 300])


def _swap_lines(draw: Random, lines: list[str]) -> None:
    one, other = (draw.randrange(len(lines)) for _ in range(2))
    lines[one], lines[other] = lines[other], lines[one]


def _cut_off(draw: Random, text: str) -> str:
    return text[: draw.randint(0, len(text))]


def _delete_span(draw: Random, text: str) -> str:
    begin = draw.randint(0, len(text))
    return text[:begin] + text[begin + draw.randint(1, 40) :]


def _insert(draw: Random, text: str) -> str:
    place = draw.randint(0, len(text))
    return text[:place] + draw.choice(STRANGE) + text[place:]


_TEXT_CHANGES: list[Callable[[Random, str], str]] = [
    _replace(_VALUE, _strange),
    _replace(_VALUE, _strange),
    _replace(_VALUE, _other),
    _replace(_VALUE, _nested),
    _replace(_TOKEN, _strange),
    _replace(_TOKEN, _other),
    _replace(_TOKEN, _misspelt),
    _lines(_delete_line),
    _lines(_repeat_line),
    _lines(_swap_lines),
    _cut_off,
    _delete_span,
    _insert,
]


def _insert_bytes(draw: Random, data: bytes) -> bytes:
    place = draw.randint(0, len(data))
    return data[:place] + draw.choice([b"\xff", b"\xc3", b"\0", b"\x80\x80", draw.randbytes(5)]) + data[place:]


_BYTE_CHANGES: list[Callable[[Random, bytes], bytes]] = [
    _insert_bytes,
    lambda draw, data: b"\xef\xbb\xbf" + data,
    lambda draw, data: data.decode("utf-8", "replace").encode("utf-16"),
    lambda draw, data: data.replace(b"\n", b"\r\n"),
    lambda draw, data: data.replace(b"\n", b"\r"),
    lambda draw, data: data + b"\0" * 100,
    lambda draw, data: b"",
]
