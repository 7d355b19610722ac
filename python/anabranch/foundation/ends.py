"""The names that files give to the two ends of a link, a flow or a demand."""

from collections.abc import Iterable

ENDS = {
    "source": ("source", "src", "from"),
    "target": ("target", "dst", "to", "dest", "destination"),
}
"""Each end and its names, the preferred first."""


def canonical(name: str) -> str:
    """``source`` or ``target`` for a name of that end; any other name itself."""
    return next((end for end, names in ENDS.items() if name.lower() in names), name)


def key_of(end: str, keys: Iterable[str]) -> str | None:
    """The one of these keys that names the end; ``None`` if there is none or several."""
    found = [key for key in keys if canonical(key) == end]
    return found[0] if len(found) == 1 else None
