"""The generated part of a page, between two markers."""

import re
from pathlib import Path


def write_part(page: Path, key: str, text: str) -> None:
    """Replace the part of that key; a page without it gets it at its end."""
    begin, end = f"<!-- generated: {key} -->", f"<!-- end: {key} -->"
    part = f"{begin}\n\n{text.strip()}\n\n{end}"
    written = page.read_text(encoding="utf-8") if page.exists() else ""
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    fresh, replaced = pattern.subn(lambda _: part, written)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(fresh if replaced else f"{written.rstrip()}\n\n{part}\n".lstrip(), encoding="utf-8")
