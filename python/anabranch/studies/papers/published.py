"""The published numbers of a paper, each with the sentence that states it: ``published.toml`` in its folder.

A passage is a sentence, verbatim, with the numbers in it, in their order. ``...`` joins pieces of the text. A row of a table counts as a
sentence; it follows the titles of its columns. If the paper gives a number in words or only roughly, ``said`` has these words.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = "published.toml"
_FORMS = ("value", "at_most", "at_least")
_TEXTS = ("id", "where", "what", "unit", "sentence", "said")
_PRINTED = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?!\w)")


class PublishedError(ValueError):
    """A mistake in a file of published numbers."""


@dataclass(frozen=True)
class Published:
    """A number as printed (``low`` equals ``high``), or a bound: then ``low`` or ``high`` is ``None``."""

    id: str
    where: str
    """The figure, table or section."""
    what: str
    unit: str
    low: float | None
    high: float | None
    sentence: str
    """The paper's sentence; ``...`` stands for omitted text."""
    said: str
    """The words of the sentence for this number, if it is in words or only rough."""

    @property
    def value(self) -> float | None:
        """The number; ``None`` for a bound."""
        return self.low if self.low == self.high else None

    def text(self) -> str:
        """The text of the number in a table, without its unit."""
        if self.low == self.high:
            return f"{self.low:g}"
        return f"at least {self.low:g}" if self.low is not None else f"at most {self.high:g}"


def load(folder: Path) -> dict[str, Published]:
    """The published numbers of a paper, by their ids. :class:`PublishedError` names the entry and its mistake."""
    path = folder / FILE
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    unknown = set(document) - {"passage"}
    if unknown:
        raise PublishedError(f"{path}: {min(unknown)}: is not a key")
    numbers: dict[str, Published] = {}
    for index, passage in enumerate(document.get("passage", [])):
        place = f"{path}: passage[{index}].numbers"
        entries, printed = passage.pop("numbers", None), 0
        if not isinstance(entries, list):
            raise PublishedError(f"{place}: must be a list of numbers")
        for row, entry in enumerate(entries):
            number = _number(f"{place}[{row}]", {"unit": "", "said": "", **passage, **entry})
            if number.id in numbers:
                raise PublishedError(f'{place}[{row}].id = "{number.id}": is there twice')
            printed = _printed(f"{place}[{row}]", number, printed)
            numbers[number.id] = number
    return numbers


def _number(place: str, entry: Mapping[str, Any]) -> Published:
    unknown = set(entry) - {*_TEXTS, *_FORMS}
    if unknown:
        raise PublishedError(f"{place}.{min(unknown)}: is not a key")
    missing = [key for key in _TEXTS if not isinstance(entry.get(key), str)]
    if missing:
        raise PublishedError(f"{place}.{missing[0]}: must be a text")
    forms = [form for form in _FORMS if form in entry]
    if len(forms) != 1:
        raise PublishedError(f"{place}: must have one of {', '.join(_FORMS)}; has {', '.join(forms) or 'none'}")
    form, given = forms[0], entry[forms[0]]
    if not isinstance(given, int | float):
        raise PublishedError(f"{place}.{form}: must be a number")
    low, high = None if form == "at_most" else given, None if form == "at_least" else given
    return Published(**{key: entry[key] for key in _TEXTS}, low=low, high=high)


def _printed(place: str, number: Published, start: int) -> int:
    """Position of the number in its sentence, from that of the number before (``start``) on. Raises :class:`PublishedError` if there is none."""
    end = len(number.sentence)
    if number.said:
        if number.said not in number.sentence:
            raise PublishedError(f'{place}.said = "{number.said}": is not in the sentence')
        if not _PRINTED.search(number.said):
            return start
        start = number.sentence.index(number.said)
        end = start + len(number.said)
    for printed in _PRINTED.finditer(number.sentence, start, end):
        if float(printed[0]) in (number.low, number.high):
            return printed.start()
    where = "said" if number.said else "the sentence"
    raise PublishedError(
        f"{place}: {number.text()} is not in {where}, or only before the number listed ahead of it; words that give it go into said"
    )
