"""The cost of an outcome: treatments by outcome and cost, and the Pareto front of each condition."""

from __future__ import annotations

from typing import Any

import polars as pl

from anabranch.pages.report import chart
from anabranch.pages.report.costs import Cost, costs
from anabranch.pages.report.evaluation import Evaluation
from anabranch.pages.report.outcomes import OutcomeMeasure
from anabranch.pages.report.parts import MOST_PANELS, Figure, longest
from anabranch.pages.report.treatments import CHOICE, CONDITION, TREATMENT
from anabranch.results import comparison, statistics


def figures(e: Evaluation, judged: list[OutcomeMeasure]) -> list[Figure]:
    """A figure for each outcome and cost; nothing if no condition has two treatments."""
    found = costs(e)
    drawn = [_figure(e, outcome, cost) for outcome in judged for cost in found]
    return [figure for figure in drawn if figure is not None]


def _figure(e: Evaluation, outcome: OutcomeMeasure, cost: Cost) -> Figure | None:
    points = _points(outcome, cost)
    if points.is_empty() or points.group_by("panel").len()["len"].max() == 1:
        return None
    distinct = points["panel"].unique(maintain_order=True).to_list()
    panels = distinct[:MOST_PANELS]
    columns = min(2, len(panels))
    drawing = chart.pareto(
        points.filter(pl.col("panel").is_in(panels)),
        cost.shown,
        outcome.shown,
        panels=panels,
        stacks=e.stacks,
        columns=columns,
    )
    better = "up" if outcome.most_is_best else "down"
    caption = (
        f"Better is left and {better}. A point for each treatment, mean over the seeds, with 95 % confidence intervals. Line and filled points: the "
        f"Pareto front, the treatments that no other beats in both means. {cost.meaning}."
    )
    if len(distinct) > MOST_PANELS:
        caption += f" The first {MOST_PANELS} of {len(distinct)} conditions."
    layout: dict[str, Any] = {"kind": "panels", "columns": columns, "least": 260, "aspect": 0.5, "tallest": 320}
    layout |= {"legend": longest(e.stacks), "own_y": True}
    title = f"{outcome.heading} against {cost.shown.title.lower()}"
    return Figure(f"pareto-{outcome.name}-{cost.name}", title, caption, drawing, layout)


def _points(outcome: OutcomeMeasure, cost: Cost) -> pl.DataFrame:
    """A row for each condition and treatment: ``panel``, ``treatment``, ``stack``, means, ends of intervals, ``on_front``."""
    key = ["source", "run", "seed", "stack", TREATMENT, CHOICE, CONDITION]
    # Rows that differ in more than treatment and condition are of one group: their mean counts.
    y = outcome.ranked.group_by(key, maintain_order=True).agg(y=pl.col("value").mean())
    x = cost.values.group_by(key, maintain_order=True).agg(x=pl.col("value").mean())
    both = y.join(x, on=key, maintain_order="left").drop_nulls(["x", "y"])
    rows = []
    for (condition,), group in both.group_by([CONDITION], maintain_order=True):
        here = [
            {"panel": condition or "all", "treatment": treatment, "stack": part["stack"][0], "choice": part[CHOICE][0]}
            | _interval("x", part["x"] * cost.shown.factor)
            | _interval("y", part["y"] * outcome.shown.factor)
            for (treatment,), part in group.group_by([TREATMENT], maintain_order=True)
        ]
        gains = [row["y"] if outcome.most_is_best else -row["y"] for row in here]
        front = comparison.is_on_front([row["x"] for row in here], gains)
        rows += [row | {"on_front": is_on} for row, is_on in zip(here, front, strict=True)]
    return pl.DataFrame(rows)


def _interval(axis: str, values: pl.Series) -> dict[str, float]:
    mean = float(values.mean() or 0)  # type: ignore[arg-type]
    half = statistics.half_width(values.to_list()) or 0.0
    return {axis: mean, f"{axis}_low": max(mean - half, 0.0), f"{axis}_high": mean + half}
