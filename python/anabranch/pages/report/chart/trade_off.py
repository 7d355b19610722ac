"""Treatments by cost and outcome, with the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from anabranch.pages.report.chart.colours import stack_colour
from anabranch.pages.report.chart.measure import Measure
from anabranch.pages.report.vega_lite import Specification, faceted, legend, mark, nominal, quantitative

_GREY = "#7b8794"
_SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]


def pareto(
    points: pl.DataFrame,
    cost: Measure,
    outcome: Measure,
    *,
    panels: Sequence[str],
    stacks: Sequence[str],
    columns: int = 2,
) -> Specification:
    """A point for each treatment with its intervals, filled on the front, and a stepped line through the front.

    Args:
        points: ``panel``, ``treatment``, ``stack``, ``choice`` (the treatment without the stack), ``on_front``, and for each axis mean and ends of the interval, as shown:
            ``x``, ``x_low``, ``x_high``, ``y``, ``y_low``, ``y_high``.
        cost: the measure across; less is better.
        outcome: the measure upwards.
        panels: the panels, in order.
        stacks: all stacks, in the order of their colours.
        columns: panels in a row.
    """
    ends = ["x", "x_low", "x_high", "y", "y_low", "y_high"]
    rows = points.select("panel", "treatment", "stack", "choice", "on_front", pl.col(ends).round_sig_figs(5))
    x = quantitative("x", title=cost.axis, axis={"tickCount": 5}, scale={"zero": True})
    y = quantitative("y", title=outcome.axis, axis={"tickCount": 5}, scale={"zero": True})
    tooltip = [
        nominal("treatment", title="treatment"),
        quantitative("y", title=outcome.axis),
        quantitative("x", title=cost.axis),
        nominal("on_front", title="on the front"),
    ]
    colour = {"color": stack_colour(stacks)}
    choices = rows["choice"].unique(maintain_order=True).to_list()
    has_choices = rows.select("panel", "stack").is_duplicated().any()
    shape = {"domain": choices, "range": [_SHAPES[place % len(_SHAPES)] for place in range(len(choices))]}
    shown = legend("With", "circle", symbolFillColor=_GREY, symbolStrokeColor=_GREY)
    del shown["symbolType"]  # the shape of each
    which = {"shape": nominal("choice", scale=shape, legend=shown)} if has_choices else {}
    fill = {"condition": {"test": "datum.on_front", "value": 0.9}, "value": 0}
    on_front = {"filter": "datum.on_front"}
    across = {"x": quantitative("x_low", title=cost.axis), "x2": {"field": "x_high"}, "y": y}
    upwards = {"x": x, "y": quantitative("y_low", title=outcome.axis), "y2": {"field": "y_high"}}
    front = {"x": x, "y": y, "order": quantitative("x")}
    small = {
        "width": 300,
        "height": 200,
        "layer": [
            mark("line", front, on_front, interpolate="step-after", strokeWidth=1.2, strokeDash=[4, 3], color=_GREY),
            mark("rule", across | colour, opacity=0.6),
            mark("rule", upwards | colour, opacity=0.6),
            mark(
                "point",
                {
                    "x": x,
                    "y": y,
                    "tooltip": tooltip,
                    "fillOpacity": fill,
                    "fill": stack_colour(stacks),
                    **colour,
                    **which,
                },
                size=80,
                strokeWidth=1.8,
            ),
        ],
    }
    return faceted(small, rows, panels, columns)
