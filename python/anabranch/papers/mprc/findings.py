"""What the results say, figure by figure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from anabranch.papers.mprc import beside, comparisons, errors, fairness, later, one_path, sprayed
from anabranch.papers.study import Claim, Findings, Number, Picture, Table

if TYPE_CHECKING:
    from anabranch.papers.study import Lab
    from anabranch.results import Result

Found = TypeVar("Found", Claim, Number, Picture, Table)


def findings(lab: Lab, results: Mapping[str, Result]) -> Findings:
    """The findings of all parts, in the order of the thesis' figures; then what belongs to none."""
    parts = [part.findings(results) for part in (one_path, sprayed, errors, fairness, beside, later, comparisons)]
    return Findings(
        in_order(claim for part in parts for claim in part.claims),
        in_order(number for part in parts for number in part.numbers),
        in_order(picture for part in parts for picture in part.pictures),
        [table for part in parts for table in part.tables],
    )


def in_order(found: Iterable[Found]) -> list[Found]:
    """By the last figure that ``where`` names."""

    def place(one: Found) -> tuple[int, int]:
        figures = re.findall(r"(\d+)\.(\d+)", one.where) if one.where.startswith("Figure") else []
        return (int(figures[-1][0]), int(figures[-1][1])) if figures else (9, 9)

    return sorted(found, key=place)
