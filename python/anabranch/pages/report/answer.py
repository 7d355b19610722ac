"""The answer of a report: which treatment is best under each condition, by paired differences over the seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from anabranch.pages.report import chart
from anabranch.pages.report.chart import Measure, three_digits
from anabranch.pages.report.evaluation import Evaluation
from anabranch.pages.report.outcomes import OutcomeMeasure
from anabranch.pages.report.parts import Column, ReportTable, count, first_rows, get
from anabranch.pages.report.treatments import CONDITION, TREATMENT
from anabranch.results import comparison

CLOSE = 0.05
"""A treatment that is behind the best by no more than this share of it is close."""
UNDECIDED = "undecided"
NO_COMMON_SEED = "no common seed"


@dataclass(frozen=True)
class Answer:
    """The page's answer for one measure. Values are texts with their unit."""

    measure: str
    """The name of the outcome: chooses the words."""
    conditions: int
    same: int
    """How many of the conditions have the results of an earlier one in all measured numbers, treatment by treatment and seed by seed: they count once."""
    contested: int
    """Under how many of the other conditions two treatments or more have a value. Only there is one of them the best."""
    tied: int
    """Under how many of these the best two are equal."""
    best: tuple[str, str]
    """Name and value of the best treatment under the first condition, and ``worst`` of the worst one."""
    worst: tuple[str, str] | None
    treatments: int
    """How many treatments have a value under the first condition."""
    close: int
    """How many of them, the best not counted, are behind it by :data:`CLOSE` at most."""
    ahead: tuple[str, str] | None
    """The second of the first condition, and by how much the best is better, in per cent."""
    undecided: list[str]
    """Treatments of the first condition that may be as good as the best."""
    equal: list[str]
    """Treatments of the first condition that had the best one's value with every seed."""
    is_tied: bool
    """Whether all treatments of the first condition, of two or more, had that value."""
    wins: list[tuple[str, int, int]]
    """Treatment, under how many contested conditions it alone is the best, and under how many of these its lead over the second is decided."""
    span: tuple[tuple[str, str, str], tuple[str, str, str]] | None
    """Where no condition is contested: treatment, value and condition of the best row, and of the worst."""
    table: ReportTable | None


def of(e: Evaluation, outcome: OutcomeMeasure) -> Answer | None:
    """The answer by one outcome; nothing if no treatment has a value of it."""
    ranked = comparison.rank(outcome.ranked, [CONDITION], TREATMENT, most_is_best=outcome.most_is_best)
    if ranked.is_empty():
        return None
    shown = outcome.shown

    def say(row: Mapping[str, Any]) -> tuple[str, str]:
        half = row["half"]
        value = chart.with_interval(row["mean"] * shown.factor, None if half is None else half * shown.factor)
        return row[TREATMENT], f"{value} {shown.unit}"

    conditions = ranked[CONDITION].unique(maintain_order=True).to_list()
    first = ranked.filter(pl.col(CONDITION) == conditions[0]).to_dicts()
    distinct = _distinct(e, conditions)
    ranked_once = ranked.filter(pl.col(CONDITION).is_in(distinct))
    seconds = {row[CONDITION]: row for row in ranked_once.filter(pl.col("rank") == 2).to_dicts()}
    tied = {condition for condition, row in seconds.items() if is_equal(row)}
    wins: dict[str, list[bool | None]] = {}
    for condition, treatment in ranked.filter(pl.col("rank") == 1).select(CONDITION, TREATMENT).rows():
        if condition in seconds and condition not in tied:
            wins.setdefault(treatment, []).append(seconds[condition]["decided"])
    ahead = None
    if len(first) > 1 and first[0]["mean"] and first[1]["behind"] is not None:
        ahead = first[1][TREATMENT], f"{_percent(first[1], first[0], 'behind')} %"
    return Answer(
        measure=outcome.name,
        conditions=len(conditions),
        same=len(conditions) - len(distinct),
        contested=len(seconds),
        tied=len(tied),
        best=say(first[0]),
        worst=say(first[-1]) if len(first) > 1 else None,
        treatments=len(first),
        close=sum(row["behind"] is not None and row["behind"] <= CLOSE * abs(first[0]["mean"]) for row in first[1:]),
        ahead=ahead,
        undecided=[row[TREATMENT] for row in first[1:] if row["decided"] is False and not is_equal(row)],
        equal=[row[TREATMENT] for row in first[1:] if is_equal(row)],
        is_tied=len(first) > 1 and all(map(is_equal, first[1:])),
        wins=sorted(((name, len(won), won.count(True)) for name, won in wins.items()), key=lambda win: -win[1]),
        span=_span(ranked, say, outcome.most_is_best) if not seconds and len(conditions) > 1 else None,
        table=_table(ranked, shown, len(conditions) > 1) if seconds else None,
    )


def _distinct(e: Evaluation, conditions: Sequence[str]) -> list[str]:
    """The conditions without those that have the results of an earlier one."""
    kept: dict[tuple[int, ...], str] = {}
    for condition in conditions:
        kept.setdefault(e.measured[condition], condition)
    return list(kept.values())


def unjudged(row: Mapping[str, Any]) -> str:
    """Why nothing is decided of a row of :func:`anabranch.results.comparison.rank` that is not the best."""
    if row["predicted"]:
        return "no interval"
    return NO_COMMON_SEED if row["behind"] is None else "one seed"


def is_equal(row: Mapping[str, Any]) -> bool:
    """Whether the treatment of a row of :func:`anabranch.results.comparison.rank` had the best one's value with every seed."""
    return row["behind"] == 0 and not row["behind_half"]


def _span(
    ranked: pl.DataFrame, say: Callable[[Mapping[str, Any]], tuple[str, str]], most_is_best: bool
) -> tuple[tuple[str, str, str], tuple[str, str, str]]:
    rows = ranked.sort("mean", descending=most_is_best, maintain_order=True).to_dicts()
    best, worst = ((*say(row), row[CONDITION]) for row in (rows[0], rows[-1]))
    return best, worst


def _percent(row: Mapping[str, Any], best: Mapping[str, Any], name: str) -> str:
    scale = 100 / best["mean"]
    half = row["behind_half"]
    return chart.with_interval(row[name] * scale, None if half is None else half * scale)


def _table(ranked: pl.DataFrame, shown: Measure, several: bool) -> ReportTable:
    best = ranked.group_by(CONDITION, maintain_order=True).agg(best=pl.col("mean").first(), treatments=pl.len())
    rows = ranked.join(best, on=CONDITION, maintain_order="left")

    def share(name: str) -> Callable[[Mapping[str, Any]], float | None]:
        return lambda row: None if row[name] is None or not row["best"] else 100 * row[name] / row["best"]

    def verdict(row: Mapping[str, Any]) -> str:
        if row["rank"] == 1:
            return "best" if row["treatments"] > 1 else "alone"
        if is_equal(row):
            return "equal"
        return {True: "behind", False: UNDECIDED, None: unjudged(row)}[row["decided"]]

    condition = [Column("Condition", "", "What one is given: all other keys of the matrix.", get(CONDITION))]
    columns = [
        *(condition if several else []),
        Column("Rank", "", "Place under this condition, by the mean over the seeds.", get("rank"), count),
        Column("Treatment", "", "What one chooses: stack and routing.", get(TREATMENT)),
        Column(shown.title, shown.unit, "Mean over the seeds.", get("mean", shown.factor), three_digits),
        Column(
            "±\u00a095\u00a0%",
            shown.unit,
            "Half the width of that mean's 95 % confidence interval.",
            get("half", shown.factor),
            lambda value: chart.digits(value, 2),
            lambda row: chart.interval(row["mean"] * shown.factor, row["half"] * shown.factor),
        ),
        Column(
            "Behind the best",
            "%",
            "By how much the best is better, in per cent of the best: mean of the differences seed by seed.",
            share("behind"),
            three_digits,
        ),
        Column(
            "±\u00a095\u00a0%",
            "points",
            "Half the width of the 95 % confidence interval of that mean difference.",
            share("behind_half"),
            lambda value: chart.digits(value, 2),
            lambda row: chart.interval(share("behind")(row), share("behind_half")(row)),
        ),
        Column(
            "Verdict",
            "",
            f"“{UNDECIDED}” where that interval contains zero: more seeds may tell. Of predictions, where the intervals of the two overlap: "
            "the packet engine may tell.",
            verdict,
        ),
    ]
    return first_rows(columns, rows, CONDITION if several else "")
