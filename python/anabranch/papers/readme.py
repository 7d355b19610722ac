"""The README of a reproduced paper: how it was read, verdicts, numbers beside the published ones, pictures, tables."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from anabranch import version
from anabranch.papers.findings import number_row
from anabranch.report.chart import with_interval

if TYPE_CHECKING:
    from anabranch.papers.study import Claim, Findings, Lab

ABOUT, FILE, FIGURES = "about.md", "README.md", "figures"


def write(lab: Lab, findings: Findings) -> None:
    """Write ``README.md`` and ``figures/`` into the study's directory."""
    import vl_convert

    figures = lab.directory / FIGURES
    shutil.rmtree(figures, ignore_errors=True)
    figures.mkdir(parents=True)
    for picture in findings.pictures:
        svg = vl_convert.vegalite_to_svg(picture.chart.to_dict())
        (figures / f"{picture.id}.svg").write_text(svg, encoding="utf-8")
    about = (lab.folder / ABOUT).read_text(encoding="utf-8")
    (lab.directory / FILE).write_text(text(lab, findings, about), encoding="utf-8")


def text(lab: Lab, findings: Findings, about: str) -> str:
    """The README in Markdown; ``about`` has the title and what the paper is about, then sections."""
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
    parts += ["## Numbers", _numbers(lab, findings)]
    return "\n\n".join(parts) + "\n"


def _how(lab: Lab) -> str:
    quick = " --quick" if lab.quick else ""
    return (
        f"*Written by `anabranch paper {lab.name}{quick}`, Anabranch {version()}. "
        "± is half of the 95 % confidence interval over seeds; ≈ marks what was read off a figure.*"
    )


def _claims(claims: Iterable[Claim]) -> str:
    rows = [
        [claim.where, claim.says, f"**{claim.verdict}**", f"{claim.evidence} {claim.reason}".strip()]
        for claim in claims
    ]
    return markdown_table(["Where", "The paper says", "Verdict", "We find"], rows)


def _numbers(lab: Lab, findings: Findings) -> str:
    rows = [_number(number_row(lab, number)) for number in findings.numbers]
    return markdown_table(["Where", "What", "Published", "Ours", ""], rows)


def _number(row: dict[str, Any]) -> list[str]:
    unit = f" {row['unit']}" if row["unit"] else ""
    ours = "–" if row["value"] is None else with_interval(row["value"], row["half_width"]) + unit
    published = "–" if row["published"] is None else row["published"] + unit
    return [row["where"], row["what"], published, ours, row["remark"]]


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; what would end a cell is escaped."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |" for line in lines
    )
