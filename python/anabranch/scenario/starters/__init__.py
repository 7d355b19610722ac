"""Commented scenarios to start from. Each runs as it is, and needs no optional package."""

import os
from pathlib import Path

from anabranch.foundation.output_files import FileError

_FOLDER = Path(__file__).parent
NAMES = ("spraying", "lossy-link", "data-center", "backbone", "my-topology")


def question(name: str) -> str:
    """The question that a scenario asks: its first line."""
    return _text(f"{name}.toml").partition("\n")[0].removeprefix("# ")


def write(name: str, target: Path) -> list[Path]:
    """Write a scenario to ``target``, and the topology that it reads beside it; the files.

    Raises:
        FileError: a file exists already, or cannot be written.
    """
    texts = {target: _text(f"{name}.toml")}
    companion = f"{name}.csv"
    if (_FOLDER / companion).is_file():
        texts[target.with_name(companion)] = _text(companion)
    for path in texts:
        if os.path.lexists(path):
            raise FileError(f"{path}: exists already; give another name with --output")
    for path, text in texts.items():
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise FileError(f"{path}: cannot be written ({error.strerror})") from None
    return list(texts)


def _text(file: str) -> str:
    return (_FOLDER / file).read_text(encoding="utf-8")
