"""Parts of Vega-Lite specifications, as the plain data that https://vega.github.io/vega-lite describes.

Altair has classes for all of them, but importing it and copying its objects takes longer than all other work for a report. Tests
compare the specifications with its schema.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

Specification = dict[str, Any]


def quantitative(field: str, **options: Any) -> Specification:
    """A channel that shows a number."""
    return {"field": field, "type": "quantitative", **options}


def nominal(field: str, **options: Any) -> Specification:
    """A channel that shows a name."""
    return {"field": field, "type": "nominal", **options}


def legend(title: str, symbol: str = "stroke", **options: Any) -> Specification:
    """A legend above the chart."""
    shape = {"symbolType": symbol, "symbolOpacity": 1, "symbolStrokeWidth": 2.5}
    return {"title": title, "orient": "top", "labelLimit": 260, **shape, **options}


def mark(kind: str, encoding: Mapping[str, Any], *transform: Mapping[str, Any], **options: Any) -> Specification:
    """A layer that draws a mark for each row."""
    layer = {"mark": {"type": kind, **options}, "encoding": dict(encoding)}
    return layer | ({"transform": list(transform)} if transform else {})


def calculate(**fields: str) -> list[Specification]:
    """Transforms that add fields to each row: a Vega expression for each."""
    return [{"calculate": expression, "as": field} for field, expression in fields.items()]


def layered(layers: Sequence[Specification], rows: pl.DataFrame, *, width: int, height: int) -> Specification:
    """A chart of several layers over the same rows."""
    return {"width": width, "height": height, "data": {"values": rows.to_dicts()}, "layer": list(layers)}


def faceted(small: Specification, rows: pl.DataFrame, panels: Sequence[str], columns: int) -> Specification:
    """A panel with the same chart for each value of ``panel``, in order; a single one has no name."""
    header = {"labelLimit": 300} | ({} if len(panels) > 1 else {"labelExpr": "''"})
    facet = nominal("panel", title=None, sort=list(panels), header=header)
    return {"columns": columns, "data": {"values": rows.to_dicts()}, "facet": facet, "spec": small}


def drawing(
    datasets: Mapping[str, Sequence[Mapping[str, Any]]],
    layers: Sequence[Specification],
    params: Sequence[Specification],
    *,
    width: int,
    height: int,
) -> Specification:
    """A chart of several layers, each of which names one of the datasets."""
    size = {"width": width, "height": height}
    return {**size, "datasets": dict(datasets), "params": list(params), "layer": list(layers)}
