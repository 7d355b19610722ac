"""A directory to start a congestion control from: its source, the headers, a Makefile and a scenario."""

import re
from pathlib import Path

_TEMPLATE = Path(__file__).with_name("template")
_HEADERS = [Path(__file__).with_name(name) for name in ("anabranch.bpf.h", "trace.bpf.h", "trace_fields.h")]
_NAME = "my_cc"
"""The control's name in the template's files and in the names of these."""
VALID_NAME = re.compile(r"[A-Za-z]\w{0,14}", re.ASCII)
"""What Linux and C take."""


def create(name: str, parent: Path) -> Path:
    """Make ``parent/name``, and return it; the name is a :data:`VALID_NAME`.

    Raises:
        ValueError: the directory exists or cannot be made.
    """
    directory = parent / name
    try:
        directory.mkdir()
        for path in (*_TEMPLATE.iterdir(), *_HEADERS):
            text = path.read_text(encoding="utf-8")
            text = text if path in _HEADERS else text.replace(_NAME, name)
            (directory / path.name.replace(_NAME, name)).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{directory}: cannot be made ({error.strerror})") from None
    return directory
