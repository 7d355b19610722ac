"""Differences between run directories: the same variant of each, seed by seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from typing import Any

import polars as pl

from anabranch.pages.report import chart
from anabranch.pages.report.answer import NO_COMMON_SEED, UNDECIDED
from anabranch.pages.report.chart import Measure, three_digits
from anabranch.pages.report.costs import costs
from anabranch.pages.report.evaluation import Evaluation
from anabranch.pages.report.outcomes import OutcomeMeasure
from anabranch.pages.report.parts import Column, ReportTable, cells, get
from anabranch.results import comparison
from anabranch.results.run_directory import DIRECTORY

MOST_ROWS = 2000


@dataclass(frozen=True)
class _Difference:
    """The difference of one measure, for one row of the summary in two run directories. Values are as shown."""

    shown: Measure
    row: Mapping[str, Any]
    other: int
    first: float
    second: float
    difference: float
    half: float | None
    predicted: bool
    """Whether one of the two is a prediction, of which seeds say nothing."""

    @property
    def verdict(self) -> str:
        """More or less than in the first, as far as the seeds decide."""
        if isnan(self.difference):
            return NO_COMMON_SEED
        if self.half is None:
            return "predicted" if self.predicted else "one seed"
        if self.difference == 0 and self.half == 0:
            return "equal"
        if abs(self.difference) <= self.half:
            return UNDECIDED
        return "more" if self.difference > 0 else "less"


def table(e: Evaluation, judged: list[OutcomeMeasure]) -> ReportTable | None:
    """For each measure, variant and further run directory the difference from the first; nothing of a single directory."""
    if len(e.runs.sources) < 2:
        return None
    measures = [(outcome.shown, outcome.values) for outcome in judged]
    measures += [(cost.shown, cost.values) for cost in costs(e)]
    rows = [
        vars(found) | {"verdict": found.verdict}
        for shown, values in measures
        for found in _differences(e, shown, values)
    ]
    names = [source.name for source in e.runs.sources]
    several = len(names) > 2
    keys = [key for key in e.runs.keys if key != DIRECTORY and key not in e.stack_keys]

    def matrix_value(key: str) -> Any:
        return lambda row: e.runs.variants[row["row"]["variant"]].values[key]

    def of_row(key: str) -> Any:
        return lambda row: row["row"][key]

    columns = [
        Column("Measure", "", "What is compared.", lambda row: row["shown"].axis),
        Column("Stack", "", "Transport stack.", of_row("stack")),
        *(Column(key, "", "A value of the scenario's matrix.", matrix_value(key)) for key in keys),
        *(Column(name.capitalize(), "", f"The flows' {name}.", of_row(name)) for name in e.by[2:]),
        *(
            [Column("Run directory", "", "The run directory that is compared.", lambda row: names[row["other"]])]
            if several
            else []
        ),
        Column(f"In {names[0]}", "", "Mean over the seeds in the first run directory.", get("first"), three_digits),
        Column(
            "There" if several else f"In {names[1]}",
            "",
            "Mean over the seeds in the other.",
            get("second"),
            three_digits,
        ),
        Column(
            "Difference",
            "",
            "Mean of the differences seed by seed, over the seeds of both.",
            get("difference"),
            _signed,
        ),
        Column(
            "±\u00a095\u00a0%",
            "",
            "Half the width of that mean's 95 % confidence interval (Student's t).",
            get("half"),
            lambda value: chart.digits(value, 2),
        ),
        Column("Difference", "%", "In per cent of the first.", _percent, _signed),
        Column("Verdict", "", f"“{UNDECIDED}” where the interval contains zero.", get("verdict")),
    ]
    unmatched = _unmatched(e)
    notes = (
        [f"{unmatched} variant{' is' if unmatched == 1 else 's are'} not in all run directories."] if unmatched else []
    )
    if len(rows) > MOST_ROWS:
        notes.append(f"The first {MOST_ROWS} of {len(rows)} rows.")
    shown_rows = rows[:MOST_ROWS]
    groups = [row["shown"].axis for row in shown_rows]
    return ReportTable(columns, [cells(columns, row) for row in shown_rows], groups, " ".join(notes))


def _differences(e: Evaluation, shown: Measure, values: pl.DataFrame) -> list[_Difference]:
    own = {variant.index: variant.own_label for variant in e.runs.variants}
    by_seed: dict[tuple[str, ...], dict[int, dict[int, float]]] = {}
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    predicted: set[int] = set()
    for row in values.drop_nulls("value").to_dicts():
        key = (own[row["variant"]], *(row[name] for name in e.by[1:]))
        rows.setdefault(key, row)
        by_seed.setdefault(key, {}).setdefault(row["source"], {})[row["seed"]] = row["value"] * shown.factor
        predicted.update([row["source"]] if row["predicted"] else [])
    found = []
    for key, sources in by_seed.items():
        for other in range(1, len(e.runs.sources)):
            if 0 in sources and other in sources:
                difference, half = comparison.paired(sources[0], sources[other])
                means = (_mean(sources[0]), _mean(sources[other]))
                is_predicted = not predicted.isdisjoint((0, other))
                half = None if is_predicted else half
                found.append(_Difference(shown, rows[key], other, *means, difference, half, is_predicted))
    return found


def _unmatched(e: Evaluation) -> int:
    sources: dict[str, set[int]] = {}
    for variant in e.runs.variants:
        sources.setdefault(variant.own_label, set()).add(variant.source)
    return sum(len(of) < len(e.runs.sources) for of in sources.values())


def _mean(values: Mapping[int, float]) -> float:
    return sum(values.values()) / len(values)


def _percent(row: Mapping[str, Any]) -> float | None:
    return 100 * row["difference"] / row["first"] if row["first"] else None


def _signed(value: float | None) -> str:
    if value is None or value != value:
        return "–"
    text = three_digits(abs(value))
    return text if text == "0" else f"{'−' if value < 0 else '+'}{text}"
