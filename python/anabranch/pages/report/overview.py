"""The figures of the answer: bars, or lines along a condition and who is best over two of them."""

from __future__ import annotations

import polars as pl

from anabranch.pages.report import chart, swept
from anabranch.pages.report.evaluation import Evaluation
from anabranch.pages.report.outcomes import OutcomeMeasure
from anabranch.pages.report.parts import Figure, longest

MOST_BARS = 240


def figures(e: Evaluation, outcomes: list[OutcomeMeasure]) -> list[Figure]:
    """Bars of each outcome; lines and the best instead, if conditions are numbers."""
    axes = swept.axes(e.runs)
    if not axes:
        return [_bars(e, outcome) for outcome in outcomes]
    found = []
    for outcome in outcomes:
        if len(axes) > 1:
            found.append(swept.winners(e.runs, outcome, axes[0], axes[1]))
        found.append(swept.lines(e, outcome, axes[0]))
    return found


def _bars(e: Evaluation, outcome: OutcomeMeasure) -> Figure:
    # Bars of the same variant in several run directories are neighbours.
    own = {variant.index: variant.own_label for variant in e.runs.variants}
    order = {label: place for place, label in enumerate(dict.fromkeys(own.values()))}
    places = {index: order[label] for index, label in own.items()}
    rows = outcome.table.sort(pl.col("variant").replace_strict(places, return_dtype=pl.UInt32), maintain_order=True)
    shown = rows.head(MOST_BARS)
    intervals = ", mean over the seeds. Lines: 95 % confidence interval." if e.has_several_seeds else "."
    caption = outcome.caption + intervals
    if rows.height > MOST_BARS:
        caption += f" The first {MOST_BARS} of {rows.height} groups; the table has all."
    layout = {"kind": "single", "aspect": 0.34, "least": 260, "most": 380, "legend": longest(e.stacks)}
    layout |= (
        {"bars": rows.height}
        if chart.are_upright(shown["group"])
        else {"height": chart.height_of_bars(shown["group"]) + 60}
    )
    title = ", ".join([key for key in e.runs.keys if key not in e.stack_keys] + e.by[2:])
    title = title[:1].upper() + title[1:]  # not capitalize(): the names of stacks in keys keep their capitals
    drawing = chart.measure_bars(
        shown, outcome.shown, half=outcome.half, counted=outcome.counted, x="group", x_title=title, stacks=e.stacks
    )
    return Figure(outcome.name, outcome.heading, caption, drawing, layout)
