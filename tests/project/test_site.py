"""``make docs``: the site is built without warnings, can be searched, and its links lead somewhere."""

import json
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.browser import started, violations

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow("builds the whole site")
pytest.importorskip("furo", reason="pip install -r requirements/dev.txt")
pytest.importorskip("myst_parser", reason="pip install -r requirements/dev.txt")


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.anchors |= {named["id"]} if named.get("id") else set()
        link = named.get("href" if tag == "a" else "src")
        if link:
            self.links.append(link)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-c", "docs", ".", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_found_by_the_search(site: Path) -> None:
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    names = set(json.loads(index[index.index("{") : index.rindex("}") + 1])["docnames"])
    pages = {str(page.relative_to(ROOT).with_suffix("")) for page in (ROOT / "docs").rglob("*.md")}
    assert pages | {"README", "CONTRIBUTING", "docs/reference"} <= names


def test_links_lead_to_pages_and_anchors(site: Path) -> None:
    pages = {file: Page(file.read_text(encoding="utf-8")) for file in site.rglob("*.html")}
    wrong = []
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or (not parts.path and not parts.fragment):
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            found = target.exists() and (
                target not in pages or not parts.fragment or unquote(parts.fragment) in pages[target].anchors
            )
            if not found:
                wrong.append(f"{file.relative_to(site)}: {link}")
    assert wrong == []


def test_axe_finds_nothing(site: Path, tmp_path: Path) -> None:
    """On a page with wide code, one with tables, and one of the API, light and dark, wide and narrow."""
    with started(tmp_path / "profile") as page:
        for name in (
            "README",
            "docs/guide/install",
            "docs/guide/tasks",
            "docs/models/limits",
            "docs/reference-networks",
        ):
            for width, dark in ((1400, False), (1400, True), (390, False)):
                page.open(site / f"{name}.html", width, dark=dark)
                assert violations(page) == [], (name, width, dark)


def test_the_reference_has_the_docstrings(site: Path) -> None:
    pages = {page.name: page.read_text(encoding="utf-8") for page in (site / "docs").glob("reference*.html")}
    first = pages["reference.html"]
    assert 0 < first.index('id="anabranch.scenario.Scenario"') < first.index('id="anabranch.results.result.Result"')
    text = "".join(pages.values())
    for name in (
        "anabranch.scenario.Scenario",
        "anabranch.results.result.Result.flows",
        "anabranch.engineering.predict.mathis",
        "anabranch.engineering.plan.Planner",
    ):
        assert f'id="{name}"' in text, name
