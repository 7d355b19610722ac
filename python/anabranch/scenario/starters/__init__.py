"""Commented scenarios to start from. Each runs as it is, and needs no optional package."""

from pathlib import Path

_FOLDER = Path(__file__).parent
NAMES = ("spraying", "lossy-link", "data-center", "backbone", "my-topology")


def files() -> dict[str, Path]:
    """The scenarios by name."""
    return {name: _FOLDER / f"{name}.toml" for name in NAMES}


def question(name: str) -> str:
    """The question that a scenario asks: its first line."""
    return files()[name].read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
