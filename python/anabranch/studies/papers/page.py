"""One HTML page of all papers that were run into a directory."""

import base64
import re
from pathlib import Path
from typing import get_args

import markupsafe
from markdown_it import MarkdownIt

from anabranch.foundation.output_files import write_text
from anabranch.pages import plain
from anabranch.studies.papers import findings, readme
from anabranch.studies.papers.registry import PAPERS
from anabranch.studies.papers.study import Verdict

FILE = "index.html"
_VERDICTS = get_args(Verdict)


def write(directory: Path) -> Path:
    """Write ``index.html`` from the studies in the directory."""
    names = [name for name in PAPERS if (directory / name / findings.FILE).is_file()]
    html = plain.page(
        "Five papers, reproduced",
        "anabranch.studies.papers",
        "page.html.j2",
        papers=[_paper(directory / name, name) for name in names],
        verdicts=_VERDICTS,
    )
    page = directory / FILE
    write_text(page, html, named=False)
    return page


def _paper(directory: Path, name: str) -> dict[str, object]:
    document = findings.read(directory)
    text = (directory / readme.FILE).read_text(encoding="utf-8")
    verdicts = [claim["verdict"] for claim in document["claims"]]
    return {
        "name": name,
        "title": text.partition("\n")[0].lstrip("# "),
        "counts": [verdicts.count(verdict) for verdict in _VERDICTS],
        "html": markupsafe.Markup(_html(text, directory)),
    }


def _html(text: str, directory: Path) -> str:
    """The README as HTML, with headings one level lower and its figures embedded."""
    lowered = re.sub(r"^(#+) ", r"#\1 ", text, flags=re.MULTILINE)
    html: str = MarkdownIt("commonmark", {"html": True}).enable("table").render(lowered)
    html = re.sub(r'src="(figures/[^"]+\.svg)"', lambda found: f'src="{_inline(directory / found[1])}"', html)
    for verdict in _VERDICTS:
        html = html.replace(
            f"<strong>{verdict}</strong>", f'<strong class="{verdict.replace(" ", "-")}">{verdict}</strong>'
        )
    return html.replace("<table>", '<div class="scroll"><table>').replace("</table>", "</table></div>")


def _inline(picture: Path) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(picture.read_bytes()).decode()
