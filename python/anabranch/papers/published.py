"""The numbers that a paper gives: ``published.toml`` in its folder."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = "published.toml"
_FORMS = ("value", "range", "at_most", "at_least")


class PublishedError(ValueError):
    """A mistake in a file of published numbers."""


@dataclass(frozen=True)
class Published:
    """A number as printed: from ``low`` to ``high``, either of which may be open."""

    id: str
    where: str
    """The figure, table or section."""
    what: str
    unit: str
    low: float | None
    high: float | None
    read_off: bool
    """Whether it was read off a figure."""

    @property
    def value(self) -> float | None:
        """The number, if it is one."""
        return self.low if self.low == self.high else None

    def text(self) -> str:
        """As a table shows it; a tilde marks what was read off a figure."""
        about = "≈ " if self.read_off else ""
        if self.low is not None and self.high is not None:
            return about + (f"{self.low:g}" if self.low == self.high else f"{self.low:g} to {self.high:g}")
        return about + (f"at least {self.low:g}" if self.low is not None else f"at most {self.high:g}")


def load(folder: Path) -> dict[str, Published]:
    """The published numbers of a paper, by their ids. :class:`PublishedError` names the entry and what is wrong."""
    path = folder / FILE
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    numbers: dict[str, Published] = {}
    for place, entry in enumerate(document.get("number", [])):
        number = _number(f"{path}: number[{place}]", entry)
        if number.id in numbers:
            raise PublishedError(f'{path}: number[{place}].id = "{number.id}": is there twice')
        numbers[number.id] = number
    return numbers


def _number(place: str, entry: Mapping[str, Any]) -> Published:
    missing = [key for key in ("id", "where", "what", "unit") if not isinstance(entry.get(key), str)]
    if missing:
        raise PublishedError(f"{place}.{missing[0]}: must be a text")
    unknown = set(entry) - {"id", "where", "what", "unit", "read_off", *_FORMS}
    if unknown:
        raise PublishedError(f"{place}.{min(unknown)}: is not a key")
    forms = [form for form in _FORMS if form in entry]
    if len(forms) != 1:
        raise PublishedError(f"{place}: must have one of {', '.join(_FORMS)}; has {', '.join(forms) or 'none'}")
    form, given = forms[0], entry[forms[0]]
    low, high = given if form == "range" else (given, given)
    return Published(
        id=entry["id"],
        where=entry["where"],
        what=entry["what"],
        unit=entry["unit"],
        low=None if form == "at_most" else low,
        high=None if form == "at_least" else high,
        read_off=bool(entry.get("read_off", False)),
    )
