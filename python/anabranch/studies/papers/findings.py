"""The findings of a study as a document: ``findings.json``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.foundation.output_files import write_json

if TYPE_CHECKING:
    from anabranch.studies.papers.study import Findings, Lab, Number

FILE = "findings.json"


class FindingsError(ValueError):
    """Inconsistent findings: an id occurs twice, or an unpublished number has no description."""


def write(lab: Lab, findings: Findings) -> None:
    """Write claims, and numbers beside the published ones. Raises :class:`FindingsError` if they are inconsistent."""
    for kind in (findings.claims, findings.numbers, findings.pictures, findings.tables):
        ids = [one.id for one in kind]
        twice = {name for name in ids if ids.count(name) > 1}
        if twice:
            raise FindingsError(f"{lab.name}: {min(twice)} is there twice")
    document = {
        "paper": lab.name,
        "quick": lab.quick,
        "cpu_s": round(findings.cpu_s),
        "claims": [asdict(claim) for claim in findings.claims],
        "numbers": [number_row(lab, number) for number in findings.numbers],
        "not_measured": sorted(set(lab.published) - {number.id for number in findings.numbers}),
    }
    lab.directory.mkdir(parents=True, exist_ok=True)
    write_json(lab.directory / FILE, document)


def number_row(lab: Lab, number: Number) -> dict[str, Any]:
    """The row of a number, with the published number if there is one."""
    row = asdict(number)
    known = lab.published.get(number.id)
    if known is None:
        if not (number.what and number.where):
            raise FindingsError(
                f"{lab.name}: the number {number.id} is not published; say what it is, and where it belongs"
            )
        return row | {"published": None}
    return row | {
        "what": known.what,
        "unit": known.unit,
        "where": known.where,
        "published": known.text(),
        "said": known.said,
        "sentence": known.sentence,
    }


def read(directory: Path) -> dict[str, Any]:
    """Read the findings of a study from its directory."""
    document: dict[str, Any] = json.loads((directory / FILE).read_text(encoding="utf-8"))
    return document
