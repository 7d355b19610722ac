"""The README of a reproduced paper: our readings, verdicts, numbers beside the published ones, pictures, tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from anabranch import version
from anabranch.foundation.output_files import write_text
from anabranch.pages.report.chart import with_interval
from anabranch.studies.papers import charts
from anabranch.studies.papers.findings import number_row

if TYPE_CHECKING:
    from anabranch.studies.papers.study import Claim, Findings, Lab

ABOUT, FILE, FIGURES = "about.md", "README.md", "figures"
_LINKED = re.compile(r"\]\((\w+\.(?:md|csv))\)")
"""Links to pages and tables beside the README."""


def write(lab: Lab, findings: Findings) -> None:
    """Write ``README.md``, ``figures/`` and the pages that it links into the study's directory."""
    figures = lab.directory / FIGURES
    figures.mkdir(parents=True, exist_ok=True)
    drawn = [figures / f"{picture.id}.svg" for picture in findings.pictures]
    for file, picture in zip(drawn, findings.pictures, strict=True):
        write_text(file, charts.svg(picture.chart), named=False)
    about = (lab.folder / ABOUT).read_text(encoding="utf-8")
    write_text(lab.directory / FILE, text(lab, findings, about), named=False)
    linked = {name: (lab.folder / name).read_text(encoding="utf-8") for name in _LINKED.findall(about)}
    further = {name for page in linked.values() for name in _LINKED.findall(page)} - {FILE}
    linked |= {name: (lab.folder / name).read_text(encoding="utf-8") for name in further - linked.keys()}
    for name, page in linked.items():
        write_text(lab.directory / name, page, named=False)
    for file in set(figures.glob("*.svg")) - set(drawn):  # of an earlier version of the study
        file.unlink()


def text(lab: Lab, findings: Findings, about: str) -> str:
    """The README in Markdown; ``about`` has the title, an abstract, then sections. What takes long to read is folded."""
    title, _, rest = about.strip().partition("\n")
    abstract, section, reading = rest.partition("\n## ")
    parts = [title, abstract.strip(), _how(lab), "## Claims", _claims(findings.claims)]
    parts += [_folded(f"{claim.where}: {claim.says}", _evidence(claim)) for claim in findings.claims]
    parts.append((section + reading).strip())
    if findings.pictures:
        parts.append("## Figures")
    for picture in findings.pictures:
        parts += [f"### {picture.where}", f"![{picture.where}]({FIGURES}/{picture.id}.svg)", f"*{picture.caption}*"]
    if findings.tables:
        parts.append("## Tables")
    for table in findings.tables:
        parts.append(_folded(table.where, f"{table.caption}\n\n{markdown_table(table.columns, table.rows)}"))
    rows = [number_row(lab, number) for number in findings.numbers]
    sentences = list(dict.fromkeys(row["sentence"] for row in rows if row["published"] is not None))
    parts += ["## Numbers", _folded(f"{len(rows)} numbers, ours beside the published ones", _numbers(rows, sentences))]
    parts += ["## Sentences", _folded("The paper's words for its numbers", _sentences(sentences))]
    return "\n\n".join(parts) + "\n"


def _how(lab: Lab) -> str:
    quick = " --quick" if lab.quick else ""
    small = " Its runs are few and short: most verdicts need the full version." if lab.quick else ""
    return (
        f"*Written by `anabranch paper {lab.name}{quick}`, Anabranch {version()}.{small} "
        "± is half of the 95 % confidence interval over seeds; a published number is followed by the number of its sentence in the list at the end.*"
    )


def _folded(summary: str, content: str) -> str:
    """A section that opens on a click. Markdown needs the empty lines around its content."""
    return f"<details><summary>{escape(summary)}</summary>\n\n{content}\n\n</details>"


def _claims(claims: Iterable[Claim]) -> str:
    rows = [[claim.where, claim.says, claim.rule, f"**{claim.verdict}**"] for claim in claims]
    return (
        "An interval that contains a threshold, or a resolution that is too coarse, leaves a claim *undecided*. Means of equal seeds are compared seed by "
        "seed. What we found is below the table, claim by claim.\n\n"
        + markdown_table(["Where", "The paper says", "It holds if", "Verdict"], rows)
    )


def _evidence(claim: Claim) -> str:
    return f"**{claim.verdict}.** {f'{claim.evidence} {claim.reason}'.strip()}"


def _numbers(rows: Iterable[dict[str, Any]], sentences: Sequence[str]) -> str:
    return markdown_table(["Where", "What", "Published", "Ours", ""], [_number(row, sentences) for row in rows])


def _number(row: dict[str, Any], sentences: Sequence[str]) -> list[str]:
    unit = f" {row['unit']}" if row["unit"] else ""
    ours = "–" if row["value"] is None else with_interval(row["value"], row["half_width"]) + unit
    published = "–"
    if row["published"] is not None:
        words = f" (“{verbatim(row['said'])}”)" if row["said"] else ""
        published = f"{row['published']}{unit}{words} [{sentences.index(row['sentence']) + 1}]"
    return [row["where"], row["what"], published, ours, row["remark"]]


def _sentences(sentences: Sequence[str]) -> str:
    listed = "\n".join(f"{number}. “{verbatim(sentence)}”" for number, sentence in enumerate(sentences, 1))
    return f"An ellipsis stands for omitted text. A row of a table follows the titles of its columns.\n\n{listed}"


def verbatim(text: str) -> str:
    """The text with its formulas as plain characters, and with Markdown's special characters escaped."""
    return re.sub(r"([\\`*_<>\[\]])", r"\\\1", re.sub(r"\$([^$]*)\$", lambda found: _formula(found[1]), text))


def _formula(latex: str) -> str:
    """A formula of the papers' texts in plain characters: fractions, roots, arrows and a few signs."""
    latex = re.sub(r"\\sqrt\{([^{}]*)\}", r"sqrt(\1)", latex)
    latex = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"\1 / (\2)", latex)
    for command, sign in _SIGNS.items():
        latex = latex.replace(command, sign)
    return " ".join(re.sub(r"\\(?:text|mathrm)\{([^{}]*)\}", r"\1", latex).replace("{", "").replace("}", "").split())


_SIGNS = {r"\neq": "≠", r"\rightarrow": "→", r"\times": "×", r"\leq": "≤", r"\%": "%", r"\sim": "~", r"\approx": "≈"}


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; characters that would end a cell are escaped."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |" for line in lines
    )
