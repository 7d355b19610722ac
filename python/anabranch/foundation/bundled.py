"""Data of optional packages that the base installation needs too. Only a wheel has it: ``distribution/bundle.py`` puts it there."""

from pathlib import Path

FOLDER = Path(__file__).parents[1] / "bundle"


def path(name: str) -> Path | None:
    """The file of that name; ``None`` outside of a wheel."""
    file = FOLDER / name
    return file if file.is_file() else None
