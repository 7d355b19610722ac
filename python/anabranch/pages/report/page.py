"""Puts the page together: its sections, in order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import markupsafe
import polars as pl

from anabranch.pages.report import (
    answer,
    differences,
    evaluation,
    facts,
    figures,
    libraries,
    load,
    outcomes,
    predicted,
    routes,
    tables,
    template,
)
from anabranch.pages.report.outcomes import OutcomeMeasure
from anabranch.pages.report.parts import largest
from anabranch.results import statistics


def render(run_directories: Sequence[Path], destination: Path | None = None) -> str:
    """The HTML of the report. Its commands name the run directories, or the ``destination`` of a single one."""
    e = evaluation.read(run_directories)
    runs = e.runs
    judged = outcomes.outcomes(e)
    lacking = libraries.lacking()
    drawn = figures.by_section(e, judged)
    if len(runs.variants) == 1:  # a single bar says no more than the sentence above it
        drawn["answer"] = [figure for figure in drawn["answer"] if figure.layout.get("bars") != 1]
    if lacking is not None:
        drawn |= {section: [] for section in figures.OF_CHARTS}
    return template.render(
        title=" and ".join(dict.fromkeys(source.manifest["title"] for source in runs.sources)),
        sources=[facts.of(source, index, runs, destination) for index, source in enumerate(runs.sources)],
        answers=[answer.of(e, outcome) for outcome in judged],
        seeds_agree=statistics.SEEDS_AGREE if statistics.seeds_agree(runs.flows) else "",
        unfinished=_unfinished(e.whole_times),
        unranked=_unranked(e.whole_times, judged),
        differences=differences.table(e, judged),
        judged=bool(judged),
        figures=drawn,
        lacking=lacking,
        route_changes=routes.changes(runs),
        summary=tables.summary(e),
        completions=tables.completions(e),
        predicted=predicted.table(runs),
        states=tables.states(e),
        links=load.busiest(e),
        several=len(runs.sources) > 1,
        is_single=len(runs.variants) == 1,
        seeds=largest(e.summary["runs"]),
        libraries=markupsafe.Markup(libraries.vega() if lacking is None else ""),
    )


def _unfinished(times: pl.DataFrame) -> list[tuple[str, int, int]]:
    """The groups with flows that did not finish: name, how many finished, of how many."""
    missing = times.filter(pl.col("unfinished") > 0)
    return missing.select("label", (pl.col("flows") - pl.col("unfinished")).alias("finished"), "flows").rows()


def _unranked(times: pl.DataFrame, judged: Sequence[OutcomeMeasure]) -> list[str]:
    """The groups with flows that count, of which no outcome has a completion time."""
    ranked = [outcome.table["label"] for outcome in judged if not outcome.most_is_best]
    names = times.filter(pl.col("flows") > 0)["label"]
    return names.filter(~names.is_in(pl.concat(ranked).implode())).to_list() if ranked else names.to_list()
