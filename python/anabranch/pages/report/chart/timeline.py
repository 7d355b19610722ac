"""Draws the path of each pair over time."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from anabranch.pages.report.chart.colours import PALETTE
from anabranch.pages.report.parts import largest
from anabranch.pages.report.vega_lite import Specification, layered, mark, nominal, quantitative


def route_timeline(spans: pl.DataFrame, rows: Sequence[str]) -> Specification:
    """Bars that show the path of each pair over time.

    Args:
        spans: one row for each path of a pair: ``row`` (the pair's name), ``path``, ``number`` (of the path among those of
            the pair, which chooses its colour), ``start`` and ``end`` in seconds.
        rows: the names of the pairs, in order.
    """
    total = largest(spans["end"])
    data = spans.with_columns(pl.col("number") % len(PALETTE), chars=pl.col("path").str.len_chars())
    place = {
        "x": quantitative("start", title="Time, s", scale={"domain": [0, total], "nice": False}),
        "y": nominal("row", title=None, sort=list(rows)),
    }
    tooltip = [
        nominal("row", title="pair"),
        nominal("path", title="path"),
        quantitative("start", title="from, s"),
        quantitative("end", title="to, s"),
    ]
    scale = {"domain": list(range(len(PALETTE))), "range": PALETTE}
    colour = {"field": "number", "type": "ordinal", "scale": scale, "legend": None}
    until = {"x2": {"field": "end"}, "color": colour, "tooltip": tooltip}
    bars = mark("bar", {**place, **until}, height=16, cornerRadius=2, opacity=0.35)
    # A name that does not fit is in the bar's tooltip, and in the table.
    fits = {"filter": f"datum.chars * 6.5 + 8 < (datum.end - datum.start) / {total} * width"}
    words = {**place, "text": nominal("path"), "tooltip": tooltip}
    labels = mark("text", words, fits, align="left", dx=5, fontSize=11)
    return layered([bars, labels], data, width=640, height=26 * len(rows))
