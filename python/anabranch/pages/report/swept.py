"""Charts of conditions that are numbers: goodput along one of them, and which treatment is best over two of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from anabranch.pages.report import chart
from anabranch.pages.report.answer import UNDECIDED, is_equal, unjudged
from anabranch.pages.report.chart import three_digits
from anabranch.pages.report.evaluation import Evaluation
from anabranch.pages.report.outcomes import OutcomeMeasure
from anabranch.pages.report.parts import MOST_PANELS, Figure, largest, longest
from anabranch.pages.report.treatments import CONDITION, TREATMENT
from anabranch.pages.report.vega_lite import Specification, faceted, layered, legend, mark, nominal, quantitative
from anabranch.results import comparison
from anabranch.results.matrix_columns import number
from anabranch.results.run_directory import Runs

LEAST_VALUES = 3
"""A condition with fewer values is no axis."""
_MOST_LABELS = 10
_MOST_OF_MEAN = 2
"""Lines end below this multiple of their greatest mean, whatever their intervals."""
_WIDE = 20
"""An axis is logarithmic if its values span more than this factor."""


@dataclass(frozen=True)
class ConditionAxis:
    """A condition as an axis: its key, the title with its unit, its value in each variant, and the texts of the values."""

    key: str
    title: str
    values: Mapping[int, float]
    texts: Mapping[float, str]

    @property
    def ordered(self) -> list[float]:
        """The values from the least to the greatest."""
        return sorted(set(self.values.values()))

    @property
    def scale(self) -> Specification:
        """Logarithmic where the values span much. With a zero, it is linear up to the least value above zero."""
        above = [value for value in self.ordered if value > 0]
        if self.ordered[0] < 0 or above[-1] <= _WIDE * above[0]:
            return {"type": "linear", "zero": False, "nice": False}
        kind = {"type": "log"} if len(above) == len(self.ordered) else {"type": "symlog", "constant": above[0]}
        return {**kind, "nice": False}

    @property
    def ticks(self) -> Specification:
        """A label at every value, if they are few. Vega has no labels of its own for a scale with a zero that is logarithmic above."""
        few = len(self.ordered) <= _MOST_LABELS or self.scale["type"] == "symlog"
        places = {"values": self.ordered} if few else {"tickCount": 6}
        return {**places, "format": ".3~r" if self._are_short else "~g", "labelOverlap": True}

    def label(self, value: float) -> str:
        """A value as the name of a row or column."""
        return (
            number(float(f"{value:.3g}"))
            if self._are_short and self.texts[value] == number(float(f"{value:.6g}"))
            else self.texts[value]
        )

    @property
    def _are_short(self) -> bool:
        """Whether three digits are enough: values of ranges have six."""
        return self.ordered[-1] < 1000 and len({f"{value:.3g}" for value in self.ordered}) == len(self.ordered)


def axes(runs: Runs) -> list[ConditionAxis]:
    """The conditions that are numbers with at least :data:`LEAST_VALUES` values, the one with the most values first."""
    found = []
    for key in runs.keys:
        values = {variant.index: variant.numbers[key] for variant in runs.variants if key in variant.numbers}
        if key in runs.treatments or len(values) < len(runs.variants) or len(set(values.values())) < LEAST_VALUES:
            continue
        factor, unit = _readable(max(map(abs, values.values())), runs.variants[0].units[key])
        values = {index: float(f"{factor * value:.9g}") for index, value in values.items()}
        texts = {values[variant.index]: variant.values[key] for variant in runs.variants}
        found.append(ConditionAxis(key, f"{key}, {unit}" if unit else key, values, texts))
    return sorted(found, key=lambda axis: -len(axis.ordered))


def _readable(most: float, unit: str) -> tuple[float, str]:
    """The factor and the unit in which durations below a second are read; other numbers stay as they are."""
    if unit != "s" or not 0 < most < 1:
        return 1.0, unit
    return (1e3, "ms") if most >= 1e-3 else (1e6, "us")


def lines(e: Evaluation, outcome: OutcomeMeasure, axis: ConditionAxis) -> Figure:
    """A measure along a condition, with its interval as a band: a line for each treatment, a panel for each value of the other conditions."""
    shown, stacks = outcome.shown, e.stacks
    bands = ", mean over the seeds. Bands: 95 % confidence interval." if e.has_several_seeds else "."
    rows = (
        outcome.table.join(e.groups, on=e.by, maintain_order="left")
        .select(
            "stack",
            treatment=TREATMENT,
            panel=pl.struct("variant", CONDITION).map_elements(
                lambda row: _rest(e.runs, row["variant"], row[CONDITION], [axis]), return_dtype=pl.String
            ),
            x=pl.col("variant").replace_strict(axis.values, return_dtype=pl.Float64),
            mean=pl.col(shown.column) * shown.factor,
            half=pl.col(outcome.half) * shown.factor,
        )
        .drop_nulls("mean")
    )
    rows = rows.with_columns(
        low=(pl.col("mean") - pl.col("half")).clip(lower_bound=0), high=pl.col("mean") + pl.col("half")
    ).with_columns(pl.col("mean", "half", "low", "high").round_sig_figs(5))
    distinct = rows["panel"].unique(maintain_order=True).to_list()
    panels = distinct[:MOST_PANELS]
    rows = rows.filter(pl.col("panel").is_in(panels)).sort("x", maintain_order=True)
    treatments = rows["treatment"].unique(maintain_order=True).to_list()
    x = quantitative("x", title=axis.title, scale=axis.scale, axis=axis.ticks)
    dash: Specification = {}
    if rows.group_by("stack").agg(pl.col("treatment").n_unique())["treatment"].max() > 1:  # type: ignore[operator]
        scale = {"domain": treatments, "range": _dashes(rows, treatments)}
        grey = legend("Treatment", symbolStrokeColor="#64748b")
        dash = {"strokeDash": nominal("treatment", scale=scale, legend=grey)}
    shared = {"x": x, "color": chart.stack_colour(stacks), "detail": nominal("treatment")}
    tooltip = [
        nominal("treatment", title="treatment"),
        quantitative("x", title=axis.title),
        quantitative("mean", title=shown.axis),
        quantitative("half", title="± (95 %)"),
    ]
    # Intervals of two seeds may be ten times the mean, and would leave no room for the lines.
    top = _MOST_OF_MEAN * largest(rows["mean"])
    is_cut = largest(rows["high"]) > top > 0
    limit: Specification = {"scale": {"domainMax": top}} if is_cut else {}
    y = quantitative("mean", title=shown.axis, axis={"tickCount": 5}, **limit)
    band = {**shared, "y": quantitative("low"), "y2": {"field": "high"}}
    layers = [mark("area", band, opacity=0.18, clip=True)] if rows["half"].count() else []
    line = {**shared, "y": y, "tooltip": tooltip}
    layers.append(mark("line", line | dash, strokeWidth=1.8))
    # A layer of its own: as a part of the line, points would take the dashes from the legend.
    layers.append(mark("point", line, filled=True, size=30, opacity=1))
    small = {"width": 300, "height": 200, "layer": layers}
    columns = _columns(len(panels))
    layout = {"kind": "panels", "columns": columns, "least": 230, "aspect": 0.6, "tallest": 320}
    layout |= {"legend": longest(treatments)}
    omitted = " Some bands leave the frame." if is_cut else ""
    omitted += f" The first {MOST_PANELS} of {len(distinct)} panels." if len(distinct) > MOST_PANELS else ""
    title = f"{shown.axis}, by {axis.key}"
    return Figure(
        f"along-{shown.column}", title, outcome.caption + bands + omitted, faceted(small, rows, panels, columns), layout
    )


def winners(runs: Runs, outcome: OutcomeMeasure, x: ConditionAxis, y: ConditionAxis) -> Figure:
    """The best treatment over two conditions: a cell for each pair of their values, in the colour of the best.

    Args:
        runs: what was run.
        outcome: the measure by which treatments are judged.
        x: the condition across.
        y: the condition upwards.
    """
    values, shown = outcome.ranked, outcome.shown
    place = values.group_by(CONDITION, maintain_order=True).agg(pl.col("variant").first())
    ranked = comparison.rank(values, [CONDITION], TREATMENT, most_is_best=outcome.most_is_best)
    second = ranked.filter(pl.col("rank") == 2).select(
        CONDITION, "behind", "behind_half", "decided", "predicted", next=TREATMENT
    )
    best = ranked.filter(pl.col("rank") == 1).select(CONDITION, "mean", best=TREATMENT)
    found = best.join(second, on=CONDITION, how="left").join(place, on=CONDITION)
    treatments = values[TREATMENT].unique(maintain_order=True).to_list()
    rows = pl.DataFrame(
        [
            {
                "panel": _rest(runs, row["variant"], row[CONDITION], [x, y]),
                "x": x.label(x.values[row["variant"]]),
                "y": y.label(y.values[row["variant"]]),
                "best": row["best"],
                "next": row["next"] or "–",
                "mean": float(f"{row['mean'] * shown.factor:.5g}"),
                "ahead": 100 * row["behind"] / row["mean"] if row["behind"] is not None and row["mean"] else None,
                "verdict": _verdict(row),
            }
            for row in found.to_dicts()
        ],
        infer_schema_length=None,
    ).with_columns(text=pl.col("mean").map_elements(three_digits, return_dtype=pl.String))
    panels = rows["panel"].unique(maintain_order=True).to_list()[:MOST_PANELS]
    across = nominal(
        "x", title=x.key, sort=[x.label(value) for value in x.ordered], axis={"labelAngle": 0, "labelOverlap": True}
    )
    upwards = nominal(
        "y", title=y.key, sort=[y.label(value) for value in reversed(y.ordered)], axis={"labelOverlap": True}
    )
    tooltip = [
        nominal("best", title="best"),
        quantitative("mean", title=shown.axis),
        nominal("next", title="next"),
        quantitative("ahead", title="ahead of the next, %", format=".3~r"),
        nominal("verdict", title="verdict"),
    ]
    scale = {"domain": treatments, "range": chart.distinct_colours(len(treatments))}
    colour = nominal("best", scale=scale, legend=legend("Best", "square"))
    faint = {"condition": {"test": "datum.verdict === 'decided'", "value": 0.85}, "value": 0.3}
    cells = mark(
        "rect", {"x": across, "y": upwards, "color": colour, "opacity": faint, "tooltip": tooltip}, stroke="#8884"
    )
    numbers = mark("text", {"x": across, "y": upwards, "text": nominal("text")}, fontSize=11)
    name, title = f"best-{shown.column}", f"Which is best, by {x.key} and {y.key}"
    caption = (
        f"Colour: the best treatment. Number: its {shown.title.lower()}, {shown.unit}. Faint: the lead over the next is undecided or none. "
        "Point at a cell for the next."
    )
    legend_width = longest(treatments)
    rows = rows.filter(pl.col("panel").is_in(panels))
    if len(panels) == 1:
        layout = {"kind": "single", "aspect": 0.4, "least": 200, "most": 420, "legend": legend_width}
        layout |= {"bars": len(x.ordered), "height": 44 * len(y.ordered) + 60}
        drawing = layered([cells, numbers], rows, width=640, height=300)
    else:
        columns = _columns(len(panels))
        layout = {
            "kind": "panels",
            "columns": columns,
            "least": 240,
            "aspect": 0.6,
            "tallest": 300,
            "legend": legend_width,
        }
        drawing = faceted({"width": 300, "height": 200, "layer": [cells, numbers]}, rows, panels, columns)
    return Figure(name, title, caption, drawing, layout)


def _verdict(row: Mapping[str, Any]) -> str:
    """The verdict on the lead of the best over the next."""
    if row["next"] is None:
        return "–"
    if is_equal(row):
        return "equal"
    return {True: "decided", False: UNDECIDED, None: unjudged(row)}[row["decided"]]


def _columns(panels: int) -> int:
    """Panels in a row: full rows where that is possible."""
    return 2 if panels in (2, 4) else min(3, panels)


def _rest(runs: Runs, variant: int, condition: str, drawn: Sequence[ConditionAxis]) -> str:
    """The condition without the parts that the axes show; a space if nothing is left."""
    values = runs.variants[variant].values
    shown = {f"{axis.key} {values[axis.key]}" for axis in drawn}
    return " · ".join(part for part in condition.split(" · ") if part not in shown) or " "


def _dashes(rows: pl.DataFrame, treatments: Sequence[str]) -> list[list[int]]:
    """A stack has one colour; its treatments differ in their dashes."""
    place = dict.fromkeys(treatments, 0)
    for (_,), group in rows.group_by(["stack"], maintain_order=True):
        for at, treatment in enumerate(group["treatment"].unique(maintain_order=True)):
            place[treatment] = max(place[treatment], at)
    return [chart.DASHES[place[treatment] % len(chart.DASHES)] for treatment in treatments]
