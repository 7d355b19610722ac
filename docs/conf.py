"""The documentation site, which ``make docs`` builds with Sphinx: README, docs, papers and the docstrings of the Python API."""

import re
from pathlib import Path
from typing import Any

from anabranch import version as installed

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\[([^]]+)\]\((?!https?:)([^)#\s]+)\)")

project = "Anabranch"
copyright = "Anabranch, Apache-2.0"
version = release = installed()
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "README"
include_patterns = [
    "README.md",
    "CONTRIBUTING.md",
    "docs/**",
    "python/anabranch/studies/papers/README.md",
    "python/anabranch/studies/papers/*/README.md",
    "python/anabranch/studies/papers/tcpbp/testbed.md",
]
exclude_patterns = [
    ".*",
    "**/.*",
    "target",
    "runs",
    "papers",
    "crates",
    "bench",
    "tests",
    "scenarios",
    "**/_build",
    "**/*.csv",
]
html_theme = "furo"
html_title = "Anabranch"
html_theme_options = {"top_of_page_buttons": []}  # they lie in no landmark
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # generated sections begin at the third level
autodoc_default_options = {"members": True, "undoc-members": True, "show-inheritance": True}
autodoc_typehints = "description"
autodoc_member_order = "bysource"


def folders(app: Any, page: str, source: list[str]) -> None:
    """Make a link to a folder lead to its README, if it has one."""
    here = (ROOT / page).parent

    def link(found: re.Match[str]) -> str:
        text, target = found.groups()
        if not (here / target).is_dir():
            return found[0]
        return f"[{text}]({target}/README.md)" if (here / target / "README.md").exists() else text

    source[0] = LINK.sub(link, source[0])


def navigation(app: Any, page: str, source: list[str]) -> None:
    """Give each index a table of contents: the pages that it links, in its order of reading."""
    if page == "docs/index" or not page.endswith(("index", "README")):
        return
    here = (ROOT / page).parent.resolve()
    linked = [(here / target).resolve() for _, target in LINK.findall(source[0])]
    indexed = {file.parent for file in linked if file.stem == "index"} - {here, ROOT / "docs"}
    pages = [file for file in linked if file.suffix in (".md", ".rst") and file.exists() and here in file.parents]
    chosen = [file for file in pages if file.stem == "index" or file.parent not in indexed]
    names = dict.fromkeys(f"/{file.relative_to(ROOT).with_suffix('')}" for file in chosen)
    source[0] += "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n"


def front_page(app: Any, error: Exception | None) -> None:
    """Lead from ``index.html``, which servers show first, to the README."""
    if error is None:
        text = f'<!doctype html><title>{project}</title><meta http-equiv="refresh" content="0; url={root_doc}.html">\n'
        (Path(app.outdir) / "index.html").write_text(text, encoding="utf-8")


def focusable(app: Any, page: str, template: str, context: dict[str, Any], tree: object) -> None:
    """Let the keyboard reach code and tables that are wider than the page, to scroll them."""
    if "body" in context:
        body = context["body"].replace("<pre>", '<pre tabindex="0">')
        context["body"] = body.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')


def named_landmarks(app: Any, error: Exception | None) -> None:
    """Give the theme's two asides names, by which screen readers tell them apart."""
    for page in Path(app.outdir).rglob("*.html") if error is None else ():
        text = page.read_text(encoding="utf-8")
        for drawer, name in (("sidebar-drawer", "Pages"), ("toc-drawer", "On this page")):
            text = text.replace(f'<aside class="{drawer}', f'<aside aria-label="{name}" class="{drawer}')
        page.write_text(text, encoding="utf-8")


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", folders)
    app.connect("source-read", navigation)
    app.connect("html-page-context", focusable)
    app.connect("build-finished", front_page)
    app.connect("build-finished", named_landmarks)
