"""The README of a reproduced paper: our readings, verdicts, numbers beside the published ones, pictures, tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from anabranch import version
from anabranch.foundation.output_files import write_text
from anabranch.pages.report.chart import with_interval
from anabranch.studies.papers.findings import number_row

if TYPE_CHECKING:
    from anabranch.studies.papers.study import Claim, Findings, Lab

ABOUT, FILE, FIGURES = "about.md", "README.md", "figures"


def write(lab: Lab, findings: Findings) -> None:
    """Write ``README.md`` and ``figures/`` into the study's directory."""
    import vl_convert

    figures = lab.directory / FIGURES
    figures.mkdir(parents=True, exist_ok=True)
    drawn = [figures / f"{picture.id}.svg" for picture in findings.pictures]
    for file, picture in zip(drawn, findings.pictures, strict=True):
        write_text(file, vl_convert.vegalite_to_svg(picture.chart.to_dict()), named=False)
    about = (lab.folder / ABOUT).read_text(encoding="utf-8")
    write_text(lab.directory / FILE, text(lab, findings, about), named=False)
    for file in set(figures.glob("*.svg")) - set(drawn):  # of an earlier version of the study
        file.unlink()


def text(lab: Lab, findings: Findings, about: str) -> str:
    """The README in Markdown; ``about`` has the title, an abstract, then sections."""
    title, _, rest = about.strip().partition("\n")
    abstract, section, reading = rest.partition("\n## ")
    parts = [title, abstract.strip(), _how(lab), "## Claims", _claims(findings.claims), (section + reading).strip()]
    if findings.pictures:
        parts.append("## Figures")
    for picture in findings.pictures:
        parts += [f"### {picture.where}", f"![{picture.where}]({FIGURES}/{picture.id}.svg)", f"*{picture.caption}*"]
    if findings.tables:
        parts.append("## Tables")
    for table in findings.tables:
        parts += [f"### {table.where}", table.caption, markdown_table(table.columns, table.rows)]
    rows = [number_row(lab, number) for number in findings.numbers]
    sentences = list(dict.fromkeys(row["sentence"] for row in rows if row["published"] is not None))
    parts += ["## Numbers", _numbers(rows, sentences), "## Sentences", _sentences(sentences)]
    return "\n\n".join(parts) + "\n"


def _how(lab: Lab) -> str:
    quick = " --quick" if lab.quick else ""
    return (
        f"*Written by `anabranch paper {lab.name}{quick}`, Anabranch {version()}. "
        "± is half of the 95 % confidence interval over seeds; a published number is followed by the number of its sentence in the list at the end.*"
    )


def _claims(claims: Iterable[Claim]) -> str:
    rows = [
        [claim.where, claim.says, f"**{claim.verdict}**", f"{claim.evidence} {claim.reason}".strip()]
        for claim in claims
    ]
    return markdown_table(["Where", "The paper says", "Verdict", "We find"], rows)


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
    return (
        "The paper's words for its numbers. An ellipsis stands for omitted text. A row of a table follows the titles of its columns."
        f"\n\n{listed}"
    )


def verbatim(text: str) -> str:
    """The text with Markdown's special characters escaped."""
    return re.sub(r"([\\`*_$<>\[\]])", r"\\\1", text)


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; characters that would end a cell are escaped."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |" for line in lines
    )
