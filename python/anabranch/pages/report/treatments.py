"""The names of treatments, which one chooses, and of conditions, which are given."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from anabranch.results.run_directory import Runs

CONDITION, TREATMENT, CHOICE = "condition", "treatment", "choice"
"""Columns of :func:`named`. A treatment is a stack and the other keys that one chooses; all other keys are the condition."""


def named(runs: Runs, rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """For each row of a summary its treatment and its condition: the columns ``by``, :data:`TREATMENT`, :data:`CONDITION`, :data:`CHOICE`.

    A treatment names the stack where the stacks of a condition differ, and the other keys that one chooses. It leaves out keys that
    say no more than the stack there. Where a name would stand for different choices under two conditions, all names have the
    values of all keys that one chooses, and the stack only where a variant has several. The choice is the treatment without the stack.
    """
    entries = rows.to_dicts()
    values = [runs.variants[row["variant"]].values for row in entries]
    conditions = []
    for row, of_row in zip(entries, values, strict=True):
        given = [f"{key} {value}" for key, value in of_row.items() if key not in runs.treatments]
        conditions.append(" · ".join([*given, *([row["traffic"]] if "traffic" in by else [])]))
    stacks: dict[str, set[str]] = {}
    own_stacks: dict[tuple[str, int], set[str]] = {}
    telling: dict[str, set[str]] = {}
    for row, of_row, condition in zip(entries, values, conditions, strict=True):
        stacks.setdefault(condition, set()).add(row["stack"])
        own_stacks.setdefault((condition, row["variant"]), set()).add(row["stack"])
        telling.setdefault(condition, set()).update(key for key, value in of_row.items() if value != row["stack"])
    names, full_names = [], []
    meanings: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for row, of_row, condition in zip(entries, values, conditions, strict=True):
        chosen = {key: value for key, value in of_row.items() if key in runs.treatments}
        routing = [row["routing"]] if "routing" in by else []
        short = [value for key, value in chosen.items() if key in telling[condition]]
        names.append(([row["stack"]] if len(stacks[condition]) > 1 else [], [*short, *routing]))
        several = len(own_stacks[condition, row["variant"]]) > 1
        full_names.append(([row["stack"]] if several else [], [*chosen.values(), *routing]))
        meanings.setdefault((*names[-1][0], *names[-1][1]), set()).add(tuple(chosen.values()))
    if any(len(of) > 1 for of in meanings.values()):
        names = full_names
    found = zip(names, entries, strict=True)
    treatments = [
        (" · ".join([*stack, *rest]) or row["stack"], " · ".join(rest) or row["stack"]) for (stack, rest), row in found
    ]
    return rows.select(by).with_columns(
        pl.Series(TREATMENT, [name for name, _ in treatments], pl.String),
        pl.Series(CONDITION, conditions, pl.String),
        pl.Series(CHOICE, [choice for _, choice in treatments], pl.String),
    )
