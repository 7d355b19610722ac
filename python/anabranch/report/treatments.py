"""The names of treatments, which one chooses, and of conditions, which are given."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from anabranch.report.run_directory import Runs

CONDITION, TREATMENT = "condition", "treatment"
"""Columns of :func:`named`. A treatment is a stack and the other keys that one chooses; all other keys are the condition."""


def named(runs: Runs, rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """For each row of a summary its treatment and its condition: the columns ``by``, :data:`TREATMENT`, :data:`CONDITION`.

    A treatment names the stack where the stacks of a condition differ, and the other keys that one chooses. It leaves out keys that
    say no more than the stack there.
    """
    entries = rows.to_dicts()
    values = [runs.variants[row["variant"]].values for row in entries]
    conditions = []
    for row, of_row in zip(entries, values, strict=True):
        given = [f"{key} {value}" for key, value in of_row.items() if key not in runs.treatments]
        conditions.append(" · ".join([*given, *([row["traffic"]] if "traffic" in by else [])]))
    stacks: dict[str, set[str]] = {}
    telling: dict[str, set[str]] = {}
    for row, of_row, condition in zip(entries, values, conditions, strict=True):
        stacks.setdefault(condition, set()).add(row["stack"])
        telling.setdefault(condition, set()).update(key for key, value in of_row.items() if value != row["stack"])
    treatments = []
    for row, of_row, condition in zip(entries, values, conditions, strict=True):
        stack = [row["stack"]] if len(stacks[condition]) > 1 else []
        chosen = [of_row[key] for key in of_row if key in runs.treatments and key in telling[condition]]
        parts = [*stack, *chosen, *([row["routing"]] if "routing" in by else [])]
        treatments.append(" · ".join(parts) or row["stack"])
    return rows.select(by).with_columns(
        pl.Series(TREATMENT, treatments, pl.String), pl.Series(CONDITION, conditions, pl.String)
    )
