"""Charts that studies share: lines with confidence bands, and bars with whiskers, beside the published values."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from anabranch.pages.report.chart import PALETTE

WIDTH, HEIGHT = 440, 280


def lines(
    table: pl.DataFrame,
    *,
    x: str,
    colour: str,
    x_title: str,
    y_title: str,
    colour_title: str = "",
    order: Sequence[str] | None = None,
    log_x: bool = False,
    from_zero: bool = True,
    least: float | None = None,
    published: pl.DataFrame | None = None,
    thin: pl.DataFrame | None = None,
) -> Any:
    """Lines of ``mean`` over ``x``, one for each value of ``colour``, with bands of ``half_width``, cut off below ``least``.

    ``published`` has the columns ``x``, ``colour`` and ``mean``: the paper's values, drawn as crosses. ``thin`` has the same: one seed, whose
    fluctuation a mean hides.
    """
    frame = _with_bounds(table)
    if least is not None:
        frame = frame.with_columns(low=pl.max_horizontal("low", pl.lit(least)))
    whole = alt.Axis(tickMinStep=1, format="d") if frame.schema[x].is_integer() else alt.Axis()
    axis = _powers_of_ten(frame[x]) if log_x else whole
    scale = alt.Scale(type="log" if log_x else "linear", zero=False, nice=False)
    horizontal = alt.X(f"{x}:Q", title=x_title, scale=scale, axis=axis)
    colours = _colours(frame, colour, colour_title, order)
    base = alt.Chart(_data(frame)).encode(x=horizontal, color=colours)
    vertical = alt.Y("mean:Q", title=y_title, scale=alt.Scale(zero=from_zero))
    layers = [
        base.mark_area(opacity=0.18).encode(alt.Y("low:Q", title=y_title), alt.Y2("high:Q")),
        base.mark_line().encode(vertical),
    ]
    if thin is None:
        layers.append(base.mark_point(filled=True, size=30).encode(vertical))
    else:
        one = alt.Chart(_data(thin)).encode(x=horizontal, y=vertical, color=colours)
        layers.append(one.mark_line(strokeWidth=0.8, opacity=0.7))
    if published is not None:
        paper = alt.Chart(_data(published)).encode(x=horizontal, y=vertical, color=colours)
        layers.append(paper.mark_point(shape="cross", size=70, filled=False, strokeWidth=2))
    return _sized(alt.layer(*layers))


def bars(
    table: pl.DataFrame,
    *,
    x: str,
    colour: str,
    x_title: str,
    y_title: str,
    colour_title: str = "",
    order: Sequence[str] | None = None,
    x_order: Sequence[str] | None = None,
    published: pl.DataFrame | None = None,
) -> Any:
    """Bars of ``mean``, grouped by ``x``, one for each value of ``colour``, with whiskers of ``half_width``.

    ``published`` has the columns ``x``, ``colour`` and ``mean``: the paper's values, drawn as crosses.
    """
    frame = _with_bounds(table)
    horizontal = alt.X(f"{x}:N", title=x_title, sort=list(x_order) if x_order else None, axis=alt.Axis(labelAngle=0))
    offset = alt.XOffset(f"{colour}:N", sort=_order(frame, colour, order))
    colours = _colours(frame, colour, colour_title, order)
    base = alt.Chart(_data(frame)).encode(x=horizontal, xOffset=offset)
    layers = [
        base.mark_bar().encode(alt.Y("mean:Q", title=y_title), color=colours),
        base.mark_rule(strokeWidth=1.5).encode(alt.Y("low:Q", title=y_title), alt.Y2("high:Q")),
    ]
    if published is not None:
        paper = alt.Chart(_data(published)).encode(x=horizontal, xOffset=offset, y="mean:Q")
        layers.append(paper.mark_point(shape="cross", size=70, filled=False, strokeWidth=2, color="black"))
    return _sized(alt.layer(*layers))


def horizontal_bars(table: pl.DataFrame, *, y: str, x_title: str, order: Sequence[str] | None = None) -> Any:
    """Bars of ``mean`` with whiskers of ``half_width``, one for each value of ``y``: for many values with long names."""
    frame = _with_bounds(table)
    vertical = alt.Y(f"{y}:N", title=None, sort=_order(frame, y, order), axis=alt.Axis(labelLimit=240))
    base = alt.Chart(_data(frame)).encode(y=vertical)
    layers = [
        base.mark_bar(color=PALETTE[0]).encode(alt.X("mean:Q", title=x_title)),
        base.mark_rule(strokeWidth=1.5).encode(alt.X("low:Q", title=x_title), alt.X2("high:Q")),
    ]
    return alt.layer(*layers).properties(width=WIDTH, height=alt.Step(16))


def side_by_side(titled: Sequence[tuple[str, Any]], columns: int = 2) -> Any:
    """Charts of one quantity with a title each, in rows of ``columns``, with the same vertical scale."""
    rows = [titled[start : start + columns] for start in range(0, len(titled), columns)]
    made = (
        alt.hconcat(*(chart.properties(title=title) for title, chart in row)).resolve_scale(y="shared") for row in rows
    )
    return alt.vconcat(*made).resolve_scale(y="shared")


def small_multiples(
    table: pl.DataFrame, *, x: str, panel: str, beside: str, x_title: str, y_title: str, order: Sequence[str]
) -> Any:
    """A panel for each value of ``panel`` with its ``mean`` over ``x`` on a logarithmic axis; the line of ``beside`` is in all, in grey."""
    frame = _with_bounds(table)
    horizontal = alt.X(
        f"{x}:Q", title=x_title, scale=alt.Scale(type="log", nice=False), axis=_powers_of_ten(frame[x], 2)
    )
    panels = []
    for name in order:
        own = alt.Chart(_data(frame.filter(pl.col(panel) == name))).encode(x=horizontal)
        layers = [
            own.mark_area(opacity=0.2, color=PALETTE[0]).encode(alt.Y("low:Q", title=y_title), alt.Y2("high:Q")),
            own.mark_line(color=PALETTE[0]).encode(alt.Y("mean:Q", title=y_title)),
            own.mark_point(filled=True, size=18, color=PALETTE[0]).encode(alt.Y("mean:Q", title=y_title)),
        ]
        other = frame.filter(pl.col(panel) == beside)
        if name != beside and not other.is_empty():
            grey = alt.Chart(_data(other)).mark_line(color="#9aa3ad", strokeDash=[4, 3])
            layers.insert(0, grey.encode(horizontal, alt.Y("mean:Q", title=y_title)))
        panels.append((name, alt.layer(*layers).properties(width=200, height=130)))
    return side_by_side(panels, 3)


def _with_bounds(table: pl.DataFrame) -> pl.DataFrame:
    half = pl.col("half_width").fill_null(0.0)
    return table.with_columns(low=pl.col("mean") - half, high=pl.col("mean") + half)


def _order(frame: pl.DataFrame, colour: str, order: Sequence[str] | None) -> list[str]:
    return list(order) if order else [str(value) for value in frame[colour].unique(maintain_order=True)]


def _colours(frame: pl.DataFrame, colour: str, title: str, order: Sequence[str] | None) -> alt.Color:
    names = _order(frame, colour, order)
    scale = alt.Scale(domain=names, range=[PALETTE[place % len(PALETTE)] for place in range(len(names))])
    return alt.Color(f"{colour}:N", scale=scale, sort=names, legend=alt.Legend(title=title or None, symbolOpacity=1))


def _powers_of_ten(values: pl.Series, step: int = 1) -> alt.Axis:
    exponents = values.log10()
    first, last = math.floor(float(exponents.min() or 0)), math.ceil(float(exponents.max() or 0))  # type: ignore[arg-type]
    return alt.Axis(values=[10.0**exponent for exponent in range(first, last + 1, step)], format=".0e")


ROOM = 0.8
"""Text is drawn at this share of the size for which it is laid out.

The layout is made with a narrow font, that of the renderer. A page shows it in the reader's: DejaVu Sans, the widest that is common, needs up
to a quarter more.
"""
_SIZES = {"labelFontSize": 12.5, "titleFontSize": 13.5}


def svg(chart: Any) -> str:
    """The chart as an SVG whose text fits in any usual font."""
    import vl_convert

    sized = chart.configure(
        axis=_SIZES | {"labelLimit": 400}, legend=_SIZES | {"labelLimit": 400, "titleLimit": 400},
        title={"fontSize": 15}, text={"fontSize": 12.5}, font="sans-serif",
    )  # fmt: skip
    drawn: str = vl_convert.vegalite_to_svg(sized.to_dict())
    return re.sub(r'font-size="([\d.]+)px"', lambda found: f'font-size="{float(found[1]) * ROOM:.4g}px"', drawn)


def _sized(chart: Any) -> Any:
    return chart.properties(width=WIDTH, height=HEIGHT)


def _data(frame: pl.DataFrame) -> alt.InlineData:
    return alt.InlineData(values=frame.to_dicts())
