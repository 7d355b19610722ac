"""Every link between the Markdown pages leads to a file, and to a heading of it."""

import re
import unicodedata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]+))?\)")


def prose(page: Path) -> str:
    """The page without its code."""
    return re.sub(r"^```.*?^```|`[^`\n]+`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The fragments that GitHub gives the headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        kept = (c for c in plain if c in " -_" or unicodedata.category(c)[0] in "LN")
        slug, count = "".join(kept).replace(" ", "-"), 0
        while slug + (f"-{count}" if count else "") in found:
            count += 1
        found.add(slug + (f"-{count}" if count else ""))
    return found


def broken(page: Path) -> list[str]:
    """Links that lead nowhere."""
    wrong = []
    for target, fragment in LINK.findall(prose(page)):
        file = (page.parent / target).resolve() if target else page
        if not file.exists():
            wrong.append(f"{target}: no such file")
        elif fragment and fragment not in anchors(file):
            wrong.append(f"{target}#{fragment}: no such heading")
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_links_lead_to_files_and_headings(page: Path) -> None:
    assert broken(page) == []


def test_every_page_can_be_reached_from_the_index() -> None:
    seen, waiting = set(), [ROOT / "docs" / "index.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or not page.exists():
            continue
        seen.add(page)
        waiting += [(page.parent / t).resolve() for t, _ in LINK.findall(prose(page)) if t.endswith(".md")]
    assert [page for page in PAGES if page not in seen and page.is_relative_to(ROOT / "docs")] == []


def test_a_wrong_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("# Some heading, twice\n# Some heading, twice\n")
    page = tmp_path / "a.md"
    page.write_text("[1](b.md) [2](c.md) [3](b.md#some-heading-twice-1) [4](b.md#other) [5](#none)\n")
    assert broken(page) == ["c.md: no such file", "b.md#other: no such heading", "#none: no such heading"]
