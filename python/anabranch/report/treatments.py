"""What one chooses and what one is given: the names of treatments and conditions."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from anabranch.report.run_directory import Runs

CONDITION, TREATMENT = "condition", "treatment"
"""Columns of :func:`named`. A treatment is a stack and the other keys that one chooses; all other keys are the condition."""


def named(runs: Runs, rows: pl.DataFrame, by: Sequence[str], stack_keys: set[str]) -> pl.DataFrame:
    """For each row of a summary its treatment and its condition: the columns ``by``, :data:`TREATMENT`, :data:`CONDITION`."""
    treatments, conditions = [], []
    for row in rows.to_dicts():
        values = runs.variants[row["variant"]].values
        chosen = [value for key, value in values.items() if key in runs.treatments and key not in stack_keys]
        given = [f"{key} {value}" for key, value in values.items() if key not in runs.treatments]
        treatments.append(" · ".join([row["stack"], *chosen, *([row["routing"]] if "routing" in by else [])]))
        conditions.append(" · ".join([*given, *([row["traffic"]] if "traffic" in by else [])]))
    return rows.select(by).with_columns(
        pl.Series(TREATMENT, treatments, pl.String), pl.Series(CONDITION, conditions, pl.String)
    )
